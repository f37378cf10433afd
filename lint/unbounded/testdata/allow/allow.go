// Package allow: what is meant as it stands says so, and why.
package allow

import (
	"net"
	"net/http"
)

func onTheLine(u string) {
	http.Get(u) //unbounded:allow defaultclient "a tool for one person, who has Ctrl-C"
	http.Get(u) // want `http.Get calls`
}

func above(u string) {
	//unbounded:allow defaultclient "a tool for one person, who has Ctrl-C"
	http.Get(u)
	http.Get(u) // want `http.Get calls`
}

// Several rules, a line each.
func two() {
	//unbounded:allow servertimeout "only on loopback"
	//unbounded:allow dial "only on loopback"
	net.Dial("tcp", http.ListenAndServe(":8080", nil).Error())
}

// ofTheDeclaration does it all the time.
//
//unbounded:allow defaultclient "the example of the book, as it is printed"
func ofTheDeclaration(u string) {
	http.Get(u)
	http.Head(u)
	http.ListenAndServe(":8080", nil) // want `http.ListenAndServe makes a server`
}

//unbounded:allow clienttimeout "each request comes with a deadline"
var client = &http.Client{}

type service struct {
	// Client is given its timeout by whoever embeds it.
	//
	//unbounded:allow clienttimeout "set by whoever embeds it"
	http.Client
}

func wrong(u string) {
	http.Get(u) //unbounded:allow defaultclient // want `http.Get calls` `allow: gives no reason: write //unbounded:allow defaultclient "<reason>"`
	http.Get(u) //unbounded:allow defaultclient "" // want `http.Get calls` `allow: gives no reason`
	http.Get(u) //unbounded:allow defaultclient because // want `http.Get calls` `allow: gives no reason`
	http.Get(u) //unbounded:allow everything "it is late" // want `http.Get calls` `allow: there is no rule "everything": there are defaultclient, clienttimeout`
	http.Get(u) //unbounded:allow // want `http.Get calls` `allow: names no rule`
	http.Get(u) //unbounded:allow dial "another rule" // want `http.Get calls` `allow: nothing here breaks dial: remove it`
}

func nothing() {
	_ = 1 //unbounded:allow dial "there was one" // want `allow: nothing here breaks dial: remove it, so that it allows nothing tomorrow`
}

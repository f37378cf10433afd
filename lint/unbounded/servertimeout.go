package unbounded

var serverTimeout = Rule{
	Name: "servertimeout",
	Doc: `a server without ReadHeaderTimeout: http.ListenAndServe and its kin, or an http.Server without it

Whoever connects and sends the header of a request slowly, or never, holds a connection and its goroutine for ever; a
few thousand of them are all that a process may have open. ReadHeaderTimeout ends that; ReadTimeout counts too, for the
header is part of what it limits. As for a client, this is a gate: it asks every server, also one that only friends can
reach.`,
	check: checkServerTimeout,
}

func checkServerTimeout(j *judge) {
	for _, name := range []string{"ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"} {
		for _, use := range j.uses["net/http."+name] {
			j.report(use.Node(), nil, "http.%s makes a server without timeouts: a client that sends its header slowly, or "+
				"never, holds a connection for ever; use an http.Server with ReadHeaderTimeout and call its %s",
				name, name)
		}
	}
	for m := range j.making(httpServer) {
		if !j.gives(m, "ReadHeaderTimeout", "ReadTimeout") {
			j.report(m.node, nil, "%s has no ReadHeaderTimeout: a client that sends its header slowly, or never, holds a "+
				"connection for ever; set ReadHeaderTimeout", m.label("http.Server"))
		}
	}
}

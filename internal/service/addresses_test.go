package service

import (
	"strings"
	"testing"
)

func TestAddressesTakeTurns(t *testing.T) {
	a, err := ParseAddresses("http://a:1, http://b:2/under/")
	if err != nil {
		t.Fatal(err)
	}
	b := a // a copy shares the turn
	var got []string
	for range 2 {
		got = append(got, a.URL("/books?page=2"), b.URL("/books?page=2"))
	}
	want := "http://a:1/books?page=2 http://b:2/under/books?page=2 http://a:1/books?page=2 http://b:2/under/books?page=2"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v", got)
	}
	if a.String() != "http://a:1,http://b:2/under/" || a.Len() != 2 {
		t.Errorf("%d: %s", a.Len(), a)
	}
}

// Every address that is wrong is named.
func TestAddressesRefused(t *testing.T) {
	bad := []string{"", "a:1", "ftp://a", "http://", "http://user:secret@a", "http://a?x=1", "http://a#x", "http://a b",
		"http://a:0", "http://a:65536", "http://:80", "http://a:"}
	_, err := ParseAddresses("http://good:1," + strings.Join(bad, ","))
	if err == nil {
		t.Fatal("accepted")
	}
	if n := strings.Count(err.Error(), "address "); n != len(bad) {
		t.Errorf("%d of %d told:\n%v", n, len(bad), err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("a password is told: %v", err)
	}
	for _, one := range bad {
		if _, err := ParseAddresses(one); err == nil {
			t.Errorf("accepted %q", one)
		}
	}
}

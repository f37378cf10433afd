package main

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/holdfast/internal/pgtest"
)

// TestShopWithADatabase proves that a shop whose services have a database keeps its orders while every process of it
// that has one is restarted, and that checkout may then have replicas. All share one database here: no table is another's.
func TestShopWithADatabase(t *testing.T) {
	var empty pgtest.Template
	l := launcher{environ: append(plainEnviron(), "LOG_LEVEL=warn", "DRAIN_DELAY=0s"), freePorts: true, log: dropLogs}
	shop, err := l.open(t.Context(), map[string]map[string]string{
		"all": {"DATABASE_URL": empty.Copy(t)}, "checkout": {"REPLICAS": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := closeShop(t.Context(), shop); err != nil {
			t.Error(err)
		}
	}()
	api := shop.Public("gateway") + "/api/v1"
	var shown struct {
		Book struct {
			Price struct{ Number, Currency string }
		}
	}
	fetch(t, http.MethodGet, api+"/books/moby-dick", "", "", http.StatusOK, &shown)
	body := fmt.Sprintf(`{"items":[{"book":"moby-dick","quantity":1}],"currency":%q,"expected_total":%q}`,
		shown.Book.Price.Currency, shown.Book.Price.Number)
	var placed, again, read struct{ ID, Status string }
	fetch(t, http.MethodPost, api+"/orders", "lasting", body, http.StatusCreated, &placed)

	for _, s := range []string{"checkout", "catalogue", "recommendations"} {
		if err := shop.Restart(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	fetch(t, http.MethodPost, api+"/orders", "lasting", body, http.StatusCreated, &again)
	fetch(t, http.MethodGet, api+"/orders/"+placed.ID, "", "", http.StatusOK, &read)
	if placed.ID == "" || placed != again || placed != read {
		t.Errorf("ordered %v, the same key again %v, read back %v: want one order", placed, again, read)
	}
	if n := related(t, api+"/books/moby-dick"); n == 0 {
		t.Error("a page without a carousel")
	}
}

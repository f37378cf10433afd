package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// ps is what docker compose ps tells of a shop whose catalogue has two replicas; its lines are not in order.
const ps = `
{"Name":"holdfast-catalogue-2","Service":"catalogue","State":"running","Publishers":[{"URL":"127.0.0.1","TargetPort":8081,"PublishedPort":4001},{"URL":"127.0.0.1","TargetPort":9081,"PublishedPort":4002}]}
{"Name":"holdfast-catalogue-1","Service":"catalogue","State":"paused","Publishers":[{"URL":"127.0.0.1","TargetPort":8081,"PublishedPort":4003},{"URL":"127.0.0.1","TargetPort":9081,"PublishedPort":4004}]}
{"Name":"holdfast-checkout-1","Service":"checkout","Publishers":[{"URL":"127.0.0.1","TargetPort":8083,"PublishedPort":4005},{"URL":"127.0.0.1","TargetPort":9083,"PublishedPort":4006}]}
{"Name":"holdfast-currency-1","Service":"currency","Publishers":[{"URL":"127.0.0.1","TargetPort":8084,"PublishedPort":4007},{"URL":"127.0.0.1","TargetPort":9084,"PublishedPort":4008}]}
{"Name":"holdfast-gateway-1","Service":"gateway","Publishers":[{"URL":"127.0.0.1","TargetPort":8080,"PublishedPort":8080},{"URL":"127.0.0.1","TargetPort":9080,"PublishedPort":4009}]}
{"Name":"holdfast-postgres-1","Service":"postgres","Publishers":[{"URL":"","TargetPort":5432,"PublishedPort":0}]}
{"Name":"holdfast-recommendations-1","Service":"recommendations","Publishers":[{"URL":"127.0.0.1","TargetPort":8082,"PublishedPort":4010},{"URL":"127.0.0.1","TargetPort":9082,"PublishedPort":4011}]}
`

func TestContainersTellWhereTheServicesAre(t *testing.T) {
	array := "[" + strings.ReplaceAll(strings.TrimSpace(ps), "\n", ",") + "]" // as before Compose 2.21
	for _, text := range []string{ps, array} {
		found, err := readContainers([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		at, err := addressesOf(found)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.Public("gateway") + " " + at.Admin("checkout"); got != "http://127.0.0.1:8080 http://127.0.0.1:4006" {
			t.Errorf("gateway and checkout at %s", got)
		}
		if got := strings.Join(at["catalogue"].admins(), " "); got != "http://127.0.0.1:4004 http://127.0.0.1:4002" {
			t.Errorf("the catalogue's replicas at %s", got)
		}
	}
}

func TestContainersThatAreNotThereAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"none":           {"", "no container of currency runs"},
		"one is missing": {strings.ReplaceAll(ps, `"Service":"checkout"`, `"Service":"other"`), "no container of checkout runs"},
		"no port":        {strings.ReplaceAll(ps, `"PublishedPort":4006`, `"PublishedPort":0`), "port 9083 of holdfast-checkout-1"},
	} {
		found, err := readContainers([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := addressesOf(found); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := readContainers([]byte("no configuration file provided")); err == nil {
		t.Error("read what is no JSON")
	}
}

// What a service that was scaled is told, all of its replicas are told; what is read is the first one's.
func TestReplicasAreToldTogether(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	replica := func(name string) address {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, name+" "+r.Method+" "+r.URL.RequestURI())
			_, _ = w.Write([]byte("{}"))
		}))
		t.Cleanup(server.Close)
		return address{Public: server.URL, Admin: server.URL}
	}
	first := replica("1")
	first.others = []address{replica("2")}
	at := addresses{"catalogue": first, "gateway": replica("g")}
	want := func(want string) {
		t.Helper()
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("asked: %s, want %s", got, want)
		}
		asked = nil
	}

	var answer struct{}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if err := at.ask(t.Context(), method, "catalogue", "/admin/defences", nil, &answer); err != nil {
			t.Error(err)
		}
	}
	want("1 GET /admin/defences, 1 POST /admin/defences, 2 POST /admin/defences")

	shop, err := openComposedAt(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := shop.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	for _, service := range []string{"catalogue", "gateway"} {
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if err := askAdmin(t.Context(), method, service, shop.Admin(service), "/admin/faults?kind=hold", nil, nil); err != nil {
				t.Error(err)
			}
		}
	}
	want("1 GET /admin/faults?kind=hold, 1 DELETE /admin/faults?kind=hold, 2 DELETE /admin/faults?kind=hold, " +
		"g GET /admin/faults?kind=hold, g DELETE /admin/faults?kind=hold")
}

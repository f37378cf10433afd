package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const prometheusDir = "../../deploy/prometheus/"

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) (rules []rule) {
	t.Helper()
	files, err := filepath.Glob(prometheusDir + "rules/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Groups []struct{ Rules []rule } }
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		for _, g := range doc.Groups {
			rules = append(rules, g.Rules...)
		}
	}
	return rules
}

// TestAlertsSayWhatToDo proves that every alert has a severity and a summary, a case in which it fires, and a line in
// the manual. What the cases prove is promtool's to say: make rules.
func TestAlertsSayWhatToDo(t *testing.T) {
	manual, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := filepath.Glob(prometheusDir + "tests/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	var cases strings.Builder
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases.Write(text)
	}
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		if s := r.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s: severity %q is neither page nor ticket", r.Alert, s)
		}
		if r.Annotations["summary"] == "" {
			t.Errorf("%s has no summary", r.Alert)
		}
		if !strings.Contains(cases.String(), `alertname="`+r.Alert+`"`) {
			t.Errorf("%s fires in no case of %stests", r.Alert, prometheusDir)
		}
		if !strings.Contains(string(manual), "| `"+r.Alert+"` |") {
			t.Errorf("docs/operating.md has no line for %s", r.Alert)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\b(resilience|http|service|slo)[a-z0-9_:]*[_:][a-z0-9_:]+\b`)
	quoted     = regexp.MustCompile(`"[^"]*"`)
)

// rulesNameWhatThereIs proves that every metric that a rule reads is one that the open shop tells, or another rule.
func rulesNameWhatThereIs(t *testing.T, at addresses) {
	var told strings.Builder
	for _, s := range services {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at.Admin(s.name)+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := adminClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(&told, resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	rules := readRules(t)
	read := 0
	for _, r := range rules {
		for _, name := range metricName.FindAllString(quoted.ReplaceAllString(r.Expr, ""), -1) {
			read++
			recorded := slices.ContainsFunc(rules, func(other rule) bool { return other.Record == name })
			if !recorded && !strings.Contains(told.String(), "\n"+name+"{") && !strings.Contains(told.String(), "\n"+name+" ") {
				t.Errorf("%s%s reads %s, which no service tells and no rule records", r.Alert, r.Record, name)
			}
		}
	}
	if read < len(rules) {
		t.Errorf("%d metrics in %d rules: some were overlooked", read, len(rules))
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAProofOfSomeKeepsTheOthers(t *testing.T) {
	dir := t.TempDir()
	c := loadtestProofCommand{Scenarios: []string{"overload"}, Out: dir}
	if p, err := c.others(c.Scenarios); err != nil || len(p.Scenarios) != 0 {
		t.Fatalf("without a proof before: %v, %v", p, err)
	}
	before := `{"scenarios":[{"scenario":"cold-start","verdict":"pass"},{"scenario":"overload","verdict":"void"}]}`
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "proof.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(before)
	p, err := c.others(c.Scenarios)
	if err != nil || len(p.Scenarios) != 1 || p.Scenarios[0].Scenario != "cold-start" {
		t.Errorf("kept %v, %v, want cold-start alone", p.Scenarios, err)
	}
	whole := loadtestProofCommand{Out: dir}
	if p, err := whole.others([]string{"overload"}); err != nil || len(p.Scenarios) != 0 {
		t.Errorf("a whole proof kept %v, %v", p.Scenarios, err)
	}
	write("no proof")
	if _, err := c.others(c.Scenarios); err == nil || !strings.Contains(err.Error(), "proof.json is no proof") {
		t.Errorf("of something else: %v", err)
	}
}

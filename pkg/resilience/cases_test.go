package resilience

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every case B1 to B36 has a test that carries its id, and docs/cases.md names them all (where the package still lives
// beside it).
func TestEveryCaseHasATest(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	names := regexp.MustCompile(`(?m)^func (TestB\d\d_\w+)`).FindAllStringSubmatch(source.String(), -1)
	covered := map[string]bool{}
	for _, n := range names {
		covered[n[1][:len("TestB00")]] = true
	}
	for i := range 36 {
		if id := fmt.Sprintf("TestB%02d", i+1); !covered[id] {
			t.Errorf("no test %s_…", id)
		}
	}
	cases, err := os.ReadFile("../../docs/cases.md")
	if err != nil {
		t.Skip("copied out: there are no cases to compare with")
	}
	named := map[string]bool{}
	for _, n := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(cases), -1) {
		named[n[1]] = true
		if !strings.Contains(source.String(), "func "+n[1]+"(") {
			t.Errorf("docs/cases.md names %s, which is none", n[1])
		}
	}
	for _, n := range names {
		if !named[n[1]] {
			t.Errorf("docs/cases.md does not name %s", n[1])
		}
	}
}

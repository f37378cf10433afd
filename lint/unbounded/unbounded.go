// Package unbounded is an analyzer that finds calls which nothing bounds: a client without a timeout, a server that a
// slow reader can hold, a query that outlives whoever asked. It knows shapes, not runs: each rule names one way of
// writing such a call, says what happens then, and what to write instead.
//
// Tests and generated files are not judged. What is meant as it stands says so, with its reason, on its line, on a line
// of its own above, or in the comment of its declaration:
//
//	//unbounded:allow defaultclient "the act without defences: this is what ordinary code does"
package unbounded

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Rule is one shape of unbounded call.
type Rule struct {
	Name string // as -rules and //unbounded:allow have it
	Doc  string // the first line says what the rule finds

	check func(*judge)
}

// Rules are all that there are, in the order in which they are documented.
var Rules = []Rule{
	defaultClient,
	clientTimeout,
	tinyTimeout,
	sharedTransport,
	serverTimeout,
	requestContext,
	handlerContext,
	dial,
	readAll,
	pgx,
}

// Analyzer applies the rules. The category of a diagnostic is the name of its rule, or "allow" for an allow that is
// wrong or allows nothing.
var Analyzer = &analysis.Analyzer{
	Name:     "unbounded",
	Doc:      documentation(),
	Requires: []*analysis.Analyzer{surveyor},
	Run:      func(pass *analysis.Pass) (any, error) { return nil, apply(pass, options.rules) },
}

// options are the flags of Analyzer.
var options struct {
	rules     selection
	tests     bool
	generated bool
}

func init() {
	Analyzer.Flags.Init("unbounded", flag.ExitOnError)
	Analyzer.Flags.Var(&options.rules, "rules", "apply these `rules` only, by name, separated by commas")
	Analyzer.Flags.BoolVar(&options.tests, "tests", false, "judge test files too")
	Analyzer.Flags.BoolVar(&options.generated, "generated", false, "judge generated files too")
}

// apply judges a package by the rules that are selected.
func apply(pass *analysis.Pass, rules selection) error {
	s := pass.ResultOf[surveyor].(*survey)
	allows, err := readAllows(pass, s.judged)
	if err != nil {
		return err
	}
	var found []analysis.Diagnostic
	for _, r := range Rules {
		if rules.has(r.Name) {
			j := &judge{survey: s, rule: r.Name, allows: allows}
			r.check(j)
			found = append(found, j.found...)
		}
	}
	found = append(found, allows.found(rules)...)
	slices.SortStableFunc(found, func(a, b analysis.Diagnostic) int { return int(a.Pos - b.Pos) })
	for _, d := range found {
		pass.Report(d)
	}
	return nil
}

// judge is what a rule looks through and reports to.
type judge struct {
	*survey
	rule   string
	allows *allows
	found  []analysis.Diagnostic
}

// report tells of a shape at n, unless it is allowed there. A fix is offered only where no number has to be invented.
func (j *judge) report(n analysis.Range, fixes []analysis.SuggestedFix, format string, args ...any) {
	if j.allows.use(j.rule, n.Pos()) {
		return
	}
	j.found = append(j.found, analysis.Diagnostic{
		Pos:            n.Pos(),
		End:            n.End(),
		Category:       j.rule,
		Message:        j.rule + ": " + fmt.Sprintf(format, args...),
		SuggestedFixes: fixes,
	})
}

// selection is a list of rules; empty, it is all of them.
type selection []string

func (s *selection) String() string { return strings.Join(*s, ",") }

// Set reads names that commas separate.
func (s *selection) Set(list string) error {
	*s = nil
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); !isRule(name) {
			return fmt.Errorf("no rule %q: there are %s", name, strings.Join(ruleNames(), ", "))
		}
		*s = append(*s, name)
	}
	return nil
}

func (s selection) has(rule string) bool { return len(s) == 0 || slices.Contains(s, rule) }

func isRule(name string) bool { return slices.Contains(ruleNames(), name) }

func ruleNames() []string {
	var names []string
	for _, r := range Rules {
		names = append(names, r.Name)
	}
	return names
}

func documentation() string {
	var doc strings.Builder
	doc.WriteString("report calls that nothing bounds\n\n")
	for _, r := range Rules {
		fmt.Fprintf(&doc, "%s: %s\n\n", r.Name, strings.TrimSpace(r.Doc))
	}
	doc.WriteString("What is meant as it stands says so: //unbounded:allow <rule> \"<reason>\"")
	return doc.String()
}

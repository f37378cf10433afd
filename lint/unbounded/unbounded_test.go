package unbounded

import (
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestRules judges testdata: the wants of a package named as a rule are what that rule says, and where it says nothing;
// the other packages are judged by all rules. The fixes are applied and compared with the .golden beside the code.
func TestRules(t *testing.T) {
	judge := *Analyzer
	judge.Run = func(pass *analysis.Pass) (any, error) {
		var rules selection
		if isRule(pass.Pkg.Name()) {
			rules = selection{pass.Pkg.Name()}
		}
		return nil, apply(pass, rules)
	}
	packages := []string{"./allow", "./exempt", "./defaultset", "./facts"}
	for _, r := range Rules {
		packages = append(packages, "./"+r.Name)
	}
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), &judge, packages...)
}

// TestFacts proves what is handed on of the functions and variables of a package.
func TestFacts(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), surveyor, "./facts/helpers")
}

package unbounded

import (
	"go/ast"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// survey is what the rules share about one package: who gives which value to what, and what is known of its functions
// and of those that it imports.
type survey struct {
	*values
	pkg    *types.Package
	module string             // its path; "" if unknown
	files  []inspector.Cursor // all but tests
	judged []inspector.Cursor // of these, what is not generated
	uses   map[string][]inspector.Cursor
	known  map[types.Object]*summary
}

var surveyor = &analysis.Analyzer{
	Name:       "unboundedsurvey",
	Doc:        "gather for unbounded what functions do with the clients, requests, contexts and readers they are given",
	Requires:   []*analysis.Analyzer{inspect.Analyzer},
	Run:        runSurvey,
	ResultType: reflect.TypeFor[*survey](),
	FactTypes:  []analysis.Fact{new(summary)},
}

func runSurvey(pass *analysis.Pass) (any, error) {
	s := &survey{
		values: &values{info: pass.TypesInfo},
		pkg:    pass.Pkg,
		uses:   map[string][]inspector.Cursor{},
		known:  map[types.Object]*summary{},
	}
	if pass.Module != nil {
		s.module = pass.Module.Path
	}
	if s.module == "" && isStandard(s.pkg.Path()) {
		return s, nil // the rules know the standard library by name
	}
	for c := range pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root().Children() {
		file := c.Node().(*ast.File)
		if strings.HasSuffix(pass.Fset.Position(file.FileStart).Filename, "_test.go") && !options.tests {
			continue
		}
		s.files = append(s.files, c)
		if options.generated || !ast.IsGenerated(file) {
			s.judged = append(s.judged, c)
		}
	}
	s.values = newValues(s.info, s.files)
	for _, fact := range pass.AllObjectFacts() {
		s.known[fact.Object] = fact.Fact.(*summary)
	}
	s.findUses()
	s.summarize(pass)
	return s, nil
}

// isStandard tells a package of the standard library by its path, as the go command does.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// findUses notes where judged code names a function or a variable of another package, under its full name.
func (s *survey) findUses() {
	for _, f := range s.judged {
		for c := range f.Preorder((*ast.Ident)(nil)) {
			obj := s.info.Uses[c.Node().(*ast.Ident)]
			if obj == nil || obj.Pkg() == nil || obj.Pkg() == s.pkg || obj.Parent() != obj.Pkg().Scope() {
				continue
			}
			if c.ParentEdgeKind() == selectorName {
				c = c.Parent()
			}
			name := obj.Pkg().Path() + "." + obj.Name()
			s.uses[name] = append(s.uses[name], c)
		}
	}
}

// callee is the function or method that a call names, if it does; of a generic one, the declaration.
func (s *survey) callee(call *ast.CallExpr) *types.Func {
	if f, ok := typeutil.Callee(s.info, call).(*types.Func); ok {
		return f.Origin()
	}
	return nil
}

// calleeName is its full name, net/http.Get or (*net/http.Client).Do, or "".
func (s *survey) calleeName(call *ast.CallExpr) string {
	if f := s.callee(call); f != nil {
		return f.FullName()
	}
	return ""
}

// summaryOf is what is known of the function that a call names; the zero value if nothing is.
func (s *survey) summaryOf(call *ast.CallExpr) summary {
	if f := s.callee(call); f != nil && s.known[f] != nil {
		return *s.known[f]
	}
	return summary{}
}

// typeName is the full name of e's type, without its pointer: net/http.Client.
func (s *survey) typeName(e ast.Expr) string { return nameOf(s.info.TypeOf(e)) }

func nameOf(t types.Type) string {
	if t == nil {
		return ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ""
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

// afterSlash is a full name as code has it: smtp.SendMail.
func afterSlash(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// fullName is what findUses files a package's function or variable under.
func fullName(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

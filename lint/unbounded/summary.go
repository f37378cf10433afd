package unbounded

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// summary is what others need to know of a function, a method or a variable: the fact that is handed from package to
// package.
type summary struct {
	Sends  params // requests that are sent with the context they come with
	Calls  params // contexts that an outbound call is made with
	Reads  params // readers that are read to their end, however far that is
	Limits params // contexts and requests that are given a deadline
	Sets   []set  // fields of parameters that are given a value

	UnboundedClient bool // what it returns, or is, is an http.Client that nothing bounds
	BoundedContext  bool // what it returns is a context with a deadline
	Bounding        bool // what it returns is an http.RoundTripper that ends its calls by itself
}

// params is a set of parameters, a bit each; those after the 63rd are never in it.
type params uint64

func (p params) has(i int) bool { return i >= 0 && i < 63 && p&(1<<i) != 0 }

func (p *params) add(i int) {
	if i >= 0 && i < 63 {
		*p |= 1 << i
	}
}

func (p params) String() string {
	var list []string
	for i := range 63 {
		if p.has(i) {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, ",")
}

// set is a field of a parameter that a function gives a value.
type set struct {
	Param int
	Field string
}

// AFact marks summary as what analysis hands on.
func (*summary) AFact() {}

// String is what tests of facts compare.
func (s *summary) String() string {
	var all []string
	for _, p := range []struct {
		what   string
		params params
	}{{"sends", s.Sends}, {"calls", s.Calls}, {"reads", s.Reads}, {"limits", s.Limits}} {
		if p.params != 0 {
			all = append(all, p.what+" "+p.params.String())
		}
	}
	for _, f := range s.Sets {
		all = append(all, fmt.Sprintf("sets %d.%s", f.Param, f.Field))
	}
	for _, b := range []struct {
		what string
		is   bool
	}{{"unbounded client", s.UnboundedClient}, {"bounded context", s.BoundedContext}, {"bounding", s.Bounding}} {
		if b.is {
			all = append(all, b.what)
		}
	}
	return strings.Join(all, "; ")
}

func (s *summary) empty() bool { return s.String() == "" }

// function is a declared function and its body.
type function struct {
	obj    *types.Func
	body   *ast.BlockStmt
	params map[types.Object]int
}

// summarize finds the summaries of the package's functions and variables, and hands on those that say something.
func (s *survey) summarize(pass *analysis.Pass) {
	var all []function
	for _, f := range s.files {
		for _, d := range f.Node().(*ast.File).Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if obj, ok := s.info.Defs[d.Name].(*types.Func); ok {
					all = append(all, function{obj, d.Body, paramsOf(obj)})
				}
			}
		}
	}
	// What a function does may hang on what another does. Summaries only grow, so this ends.
	for changed := true; changed; {
		changed = false
		for _, f := range all {
			if s.known[f.obj] == nil {
				s.known[f.obj] = &summary{}
			}
			before := s.known[f.obj].String()
			s.look(f, s.known[f.obj])
			changed = changed || s.known[f.obj].String() != before
		}
	}
	for _, f := range all {
		if fact := s.known[f.obj]; !fact.empty() {
			pass.ExportObjectFact(f.obj, fact)
		}
	}
	for _, name := range s.pkg.Scope().Names() {
		v, ok := s.pkg.Scope().Lookup(name).(*types.Var)
		if ok && v.Exported() && nameOf(v.Type()) == httpClient && s.unboundedVariable(v) {
			fact := &summary{UnboundedClient: true}
			s.known[v] = fact
			pass.ExportObjectFact(v, fact)
		}
	}
}

func paramsOf(f *types.Func) map[types.Object]int {
	all := map[types.Object]int{}
	for i := range f.Signature().Params().Len() {
		all[f.Signature().Params().At(i)] = i
	}
	return all
}

// look adds to sum what the function's body shows.
func (s *survey) look(f function, sum *summary) {
	for i := range f.obj.Signature().Params().Len() {
		for _, field := range s.settings[f.obj.Signature().Params().At(i)] {
			sum.addSet(set{i, field.path})
		}
	}
	ast.Inspect(f.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			s.lookAtCall(f, call, sum)
		}
		return true
	})
	s.lookAtResults(f, sum)
}

func (s *survey) lookAtCall(f function, call *ast.CallExpr, sum *summary) {
	param := func(e ast.Expr) int {
		if i, ok := f.params[s.object(e)]; ok {
			return i
		}
		return -1
	}
	for _, arg := range s.sent(call) {
		if !s.givenContext(s.object(arg)) {
			sum.Sends.add(param(arg))
		}
	}
	for _, ctx := range s.outboundContexts(call) {
		if !s.boundedContext(ctx) {
			sum.Calls.add(param(s.derivedFrom(ctx)))
		}
	}
	for _, reader := range s.readWhole(call) {
		sum.Reads.add(param(s.unwrapReader(reader)))
	}
	for _, limited := range s.limited(call) {
		sum.Limits.add(param(s.derivedFrom(limited)))
	}
	for _, field := range s.summaryOf(call).Sets {
		if field.Param >= len(call.Args) {
			continue
		}
		// From now on it is set here too, for whoever asks.
		root, fields := s.path(call.Args[field.Param])
		if n := len(fields); n > 0 {
			root = fields[n-1]
		}
		if root != nil && !s.isSet(root, field.Field) {
			s.settings[root] = append(s.settings[root], setting{field.Field, call.Args[field.Param]})
		}
	}
}

func (s *summary) addSet(f set) {
	for _, have := range s.Sets {
		if have == f {
			return
		}
	}
	s.Sets = append(s.Sets, f)
}

func (v *values) isSet(of types.Object, path string) bool {
	for _, have := range v.settings[of] {
		if have.path == path {
			return true
		}
	}
	return false
}

// lookAtResults adds what every return of the function's own says of its first result.
func (s *survey) lookAtResults(f function, sum *summary) {
	results := f.obj.Signature().Results()
	if results.Len() == 0 {
		return
	}
	first := results.At(0).Type()
	sum.UnboundedClient = nameOf(first) == httpClient && s.everyReturn(f.body, s.unboundedClient)
	sum.BoundedContext = nameOf(first) == "context.Context" && s.everyReturn(f.body, s.boundedContext)
	sum.Bounding = isRoundTripper(first) && s.everyReturn(f.body, s.bounds)
}

// everyReturn tells whether holds says yes to the first result of every return but those that return nil, and there
// is one.
func (s *survey) everyReturn(body *ast.BlockStmt, holds func(ast.Expr) bool) bool {
	found, all := false, true
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) > 0 && !s.isZero(n.Results[0]) {
				found, all = true, all && holds(n.Results[0])
			} else if len(n.Results) == 0 {
				all = false
			}
		}
		return true
	})
	return found && all
}

package unbounded

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

const defaultClientName = "net/http.DefaultClient"

var defaultClient = Rule{
	Name: "defaultclient",
	Doc: `use of http.DefaultClient, by name or through http.Get, Head, Post and PostForm

The default client has no Timeout, so a server that accepts and never answers keeps its caller waiting for ever. All
code of the process has the same one: nobody can give it a timeout that fits every destination. A request that is seen
to have a deadline may be sent with it.`,
	check: checkDefaultClient,
}

func checkDefaultClient(j *judge) {
	if j.setsDefaultClient() {
		return
	}
	for _, name := range []string{"Get", "Head", "Post", "PostForm"} {
		for _, use := range j.uses["net/http."+name] {
			j.report(use.Node(), nil, "http.%s calls with http.DefaultClient, which has no Timeout: a server that never "+
				"answers keeps the caller waiting for ever; make a request with a context and send it with an "+
				"http.Client of your own that has a Timeout", name)
		}
	}
	for _, use := range j.uses[defaultClientName] {
		if j.isHarmlessDefault(use) {
			continue
		}
		j.report(use.Node(), nil, "http.DefaultClient has no Timeout: a server that never answers keeps the caller "+
			"waiting for ever; use an http.Client of your own, with a Timeout that fits this destination")
	}
}

// setsDefaultClient tells whether the package replaces the default client or gives it a timeout.
func (s *survey) setsDefaultClient() bool {
	for _, use := range s.uses[defaultClientName] {
		obj := s.info.Uses[nameAt(use)]
		for _, value := range s.settings[obj] {
			if value.path == "Timeout" && !s.isZero(value.value) {
				return true
			}
		}
		if len(s.origins[obj]) > 0 {
			return true
		}
	}
	return false
}

// nameAt is the identifier at a use: itself, or behind the name of its package.
func nameAt(use inspector.Cursor) *ast.Ident {
	switch n := use.Node().(type) {
	case *ast.SelectorExpr:
		return n.Sel
	case *ast.Ident:
		return n
	}
	return nil
}

// isHarmlessDefault tells a use of the default client that sends nothing with it, or only within a deadline.
func (s *survey) isHarmlessDefault(use inspector.Cursor) bool {
	if isCompared(use) || isAssigned(use) || isBlank(s.destination(use, 0)) || s.isFieldRead(use) {
		return true
	}
	if name, call := methodCall(use); call != nil {
		return name == "CloseIdleConnections" || s.doesWithin(name, call)
	}
	if use.ParentEdgeKind() == edge.StarExpr_X { // a copy, which may be given its own
		copied := s.destination(use, 0)
		return len(s.given(copied, "Timeout")) > 0
	}
	return false
}

// isFieldRead tells whether only a field is taken out of the struct at c.
func (s *survey) isFieldRead(c inspector.Cursor) bool {
	if c.ParentEdgeKind() != edge.SelectorExpr_X {
		return false
	}
	selection := s.info.Selections[c.Parent().Node().(*ast.SelectorExpr)]
	return selection != nil && selection.Kind() == types.FieldVal
}

// isCompared tells whether the expression at c is only compared with another.
func isCompared(c inspector.Cursor) bool {
	kind := c.ParentEdgeKind()
	return kind == edge.BinaryExpr_X || kind == edge.BinaryExpr_Y || kind == edge.SwitchStmt_Tag ||
		kind == edge.CaseClause_List
}

// doesWithin tells a client's call that sends a request which is seen to have a deadline.
func (s *survey) doesWithin(method string, call *ast.CallExpr) bool {
	return method == "CloseIdleConnections" ||
		method == "Do" && len(call.Args) == 1 && s.boundedRequest(call.Args[0])
}

// unboundedClient tells whether e is an http.Client that nothing is seen to bound, wherever it was made.
func (s *survey) unboundedClient(e ast.Expr) bool {
	e = ast.Unparen(e)
	switch n := e.(type) {
	case *ast.UnaryExpr:
		return s.unboundedClient(n.X)
	case *ast.CompositeLit:
		return s.typeName(n) == httpClient && !s.clientBounded(n, nil)
	case *ast.CallExpr:
		if s.isBuiltin(n.Fun, "new") {
			return s.typeName(n) == httpClient
		}
		return s.summaryOf(n).UnboundedClient
	}
	obj := s.object(e)
	if fullName(obj) == defaultClientName && obj.Parent() == obj.Pkg().Scope() {
		return true
	}
	v, ok := obj.(*types.Var)
	return ok && v.Kind() == types.LocalVar && s.unboundedVariable(v)
}

// unboundedVariable tells whether all that a variable is given is unbounded, and nothing bounds it afterwards.
func (s *survey) unboundedVariable(v *types.Var) bool {
	if len(s.given(v, "Timeout")) > 0 || s.givenBoundingTransport(v) {
		return false
	}
	for _, o := range s.origins[v] {
		if o.result != 0 || !s.unboundedClient(o.expr) {
			return false
		}
	}
	if len(s.origins[v]) > 0 {
		return true
	}
	_, isPointer := types.Unalias(v.Type()).(*types.Pointer)
	return !isPointer
}

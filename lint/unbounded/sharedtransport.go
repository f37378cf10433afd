package unbounded

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var sharedTransport = Rule{
	Name: "sharedtransport",
	Doc: `http.DefaultTransport handed on as it is, also inside a wrapper

The default transport is one pool of connections for the whole process: a destination that hangs takes what the others
need, and whoever sets its limits sets everybody's. Give each destination a transport of its own; a Clone of the default
one is that. A wrapper that is made around nil takes the default transport too.`,
	check: checkSharedTransport,
}

// aroundNil are functions that wrap the default transport when they are given nil, and structs that do when the field
// is not set.
var (
	aroundNil = map[string]bool{
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.NewTransport": true,
	}
	aroundNilField = map[string]string{
		"golang.org/x/oauth2.Transport":                              "Base",
		"go.opencensus.io/plugin/ochttp.Transport":                   "Base",
		"github.com/opentracing-contrib/go-stdlib/nethttp.Transport": "RoundTripper",
	}
)

const shared = "the default transport is one pool of connections for the whole process, so a destination that hangs " +
	"takes what others need; give this one a transport of its own, such as " +
	"http.DefaultTransport.(*http.Transport).Clone()"

func checkSharedTransport(j *judge) {
	for _, use := range j.uses[defaultTransport] {
		if !j.isHarmlessTransport(use) {
			j.report(use.Node(), j.cloneFix(use), "http.DefaultTransport is shared: %s", shared)
		}
	}
	for _, f := range j.judged {
		for c := range f.Preorder((*ast.CallExpr)(nil)) {
			call := c.Node().(*ast.CallExpr)
			if aroundNil[j.calleeName(call)] && len(call.Args) > 0 && j.info.Types[call.Args[0]].IsNil() {
				j.report(call, nil, "%s(nil) wraps http.DefaultTransport: %s", shortName(j.callee(call)), shared)
			}
		}
	}
	for wrapper, field := range aroundNilField {
		for m := range j.making(wrapper) {
			if !j.gives(m, field) {
				j.report(m.node, nil, "%s has no %s, so it wraps http.DefaultTransport: %s", m.label("Transport"), field, shared)
			}
		}
	}
}

// isHarmlessTransport tells a use of the default transport that sends nothing through it: it is cloned, compared,
// replaced, or its idle connections are closed.
func (s *survey) isHarmlessTransport(use inspector.Cursor) bool {
	if isCompared(use) || use.ParentEdgeKind() == edge.AssignStmt_Lhs {
		return true
	}
	c := use
	for c.ParentEdgeKind() == edge.ParenExpr_X || c.ParentEdgeKind() == edge.TypeAssertExpr_X {
		c = c.Parent()
	}
	if name, call := methodCall(c); call != nil {
		return name == "Clone" || name == "CloseIdleConnections"
	}
	if c == use { // not as an *http.Transport
		return false
	}
	v, ok := s.destination(c, 0).(*types.Var)
	if !ok || v.Kind() != types.LocalVar {
		return false
	}
	for _, u := range s.usesOf(v, use) {
		if name, _ := methodCall(u); name != "Clone" && !isCompared(u) {
			return false
		}
	}
	return true
}

// cloneFix makes a copy instead. Only of what is made once, at package level: a clone for each call would be a new
// pool for each call.
func (j *judge) cloneFix(use inspector.Cursor) []analysis.SuggestedFix {
	for range use.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message: "Clone the default transport",
		TextEdits: []analysis.TextEdit{{
			Pos: use.Node().End(), End: use.Node().End(), NewText: []byte(".(*http.Transport).Clone()"),
		}},
	}}
}

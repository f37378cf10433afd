package unbounded

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var requestContext = Rule{
	Name: "requestctx",
	Doc: `an outbound request made without a context

http.NewRequest gives a request context.Background: it goes on when whoever asked has left, and no deadline reaches it.
The rule reports a request that is sent, or leaves the function that makes it, and is given no context on the way. One
that a handler of this process serves itself is none of its business.`,
	check: checkRequestContext,
}

func checkRequestContext(j *judge) {
	for _, use := range j.uses["net/http.NewRequest"] {
		if use.ParentEdgeKind() != edge.CallExpr_Fun {
			j.report(use.Node(), nil, "http.NewRequest as a value makes requests without a context: they go on when whoever "+
				"asked has left; use http.NewRequestWithContext")
			continue
		}
		call := use.Parent()
		request := j.destination(call, 0)
		if request != nil && (j.getsContext(request, call) || !j.leaves(request, call)) {
			continue
		}
		if request == nil && call.ParentEdgeKind() == edge.ExprStmt_X {
			continue
		}
		j.report(call.Node(), j.contextFix(use, call), "http.NewRequest makes a request without a context: it goes on when "+
			"whoever asked has left, and no deadline reaches it; use http.NewRequestWithContext")
	}
	for m := range j.making(httpRequest) {
		if m.as != nil && !j.getsContext(m.as, m.at) && j.isSent(m.as, m.at) || m.as == nil && j.sentInPlace(m.at) {
			j.report(m.node, nil, "%s has no context: it goes on when whoever asked has left, and no deadline reaches it; "+
				"make it with http.NewRequestWithContext", m.label("http.Request"))
		}
	}
}

// getsContext tells whether a request made at c is given a context before, or as, it is sent.
func (s *survey) getsContext(request types.Object, c inspector.Cursor) bool {
	for _, r := range s.reaches(request) {
		if s.givenContext(r) {
			return true
		}
		for _, use := range s.usesOf(r, c) {
			if name, call := methodCall(use); call != nil && replacesContext[name] {
				return true
			}
		}
	}
	return false
}

// isSent tells whether a request made at c is sent in the same function, itself or by a function that does.
func (s *survey) isSent(request types.Object, c inspector.Cursor) bool {
	for _, r := range s.reaches(request) {
		for _, use := range s.usesOf(r, c) {
			if s.sentInPlace(use) {
				return true
			}
		}
	}
	return false
}

// sentInPlace tells whether the request at c is an argument of a call that sends it.
func (s *survey) sentInPlace(c inspector.Cursor) bool {
	for c.ParentEdgeKind() == edge.ParenExpr_X || c.ParentEdgeKind() == edge.UnaryExpr_X {
		c = c.Parent()
	}
	if c.ParentEdgeKind() != edge.CallExpr_Args {
		return false
	}
	for _, arg := range s.sent(c.Parent().Node().(*ast.CallExpr)) {
		if arg == c.Node() {
			return true
		}
	}
	return false
}

// leaves tells whether a request made at c is sent, returned, or kept in a field.
func (s *survey) leaves(request types.Object, c inspector.Cursor) bool {
	if s.isSent(request, c) {
		return true
	}
	for _, r := range s.reaches(request) {
		if v, ok := r.(*types.Var); ok && v.IsField() {
			return true
		}
		for _, use := range s.usesOf(r, c) {
			if use.ParentEdgeKind() == edge.ReturnStmt_Results {
				return true
			}
		}
	}
	return false
}

// contextFix hands the context at hand to http.NewRequestWithContext.
func (j *judge) contextFix(use, call inspector.Cursor) []analysis.SuggestedFix {
	code, param := j.atHand(call)
	args := call.Node().(*ast.CallExpr).Args
	if code == "" || len(args) == 0 || !j.visible(param, call.Node()) {
		return nil
	}
	name := nameAt(use)
	return []analysis.SuggestedFix{{
		Message: "Make the request with " + code,
		TextEdits: []analysis.TextEdit{
			{Pos: name.Pos(), End: name.End(), NewText: []byte("NewRequestWithContext")},
			{Pos: args[0].Pos(), End: args[0].Pos(), NewText: []byte(code + ", ")},
		},
	}}
}

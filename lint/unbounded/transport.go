package unbounded

import (
	"go/ast"
	"go/types"
)

const defaultTransport = "net/http.DefaultTransport"

// isRoundTripper tells whether t has RoundTrip, itself or behind its pointer.
func isRoundTripper(t types.Type) bool { return roundTrip(t) != nil }

// roundTrip is the RoundTrip method of t.
func roundTrip(t types.Type) *types.Func {
	if t == nil {
		return nil
	}
	f, _ := method(t, "RoundTrip").(*types.Func)
	if f == nil || f.Signature().Params().Len() != 1 || !isRequest(f.Signature().Params().At(0).Type()) {
		return nil
	}
	return f
}

// bounds tells whether a transport is seen to end a call by itself: an http.Transport with ResponseHeaderTimeout, a
// type whose RoundTrip gives the request a deadline, or something made around one of these.
func (s *survey) bounds(e ast.Expr) bool { return s.transportEnds(e, map[types.Object]bool{}) }

func (s *survey) transportEnds(e ast.Expr, seen map[types.Object]bool) bool {
	e = ast.Unparen(e)
	if s.isZero(e) {
		return false
	}
	if f := roundTrip(s.info.TypeOf(e)); f != nil && s.known[f.Origin()] != nil && s.known[f.Origin()].Limits.has(0) {
		return true
	}
	switch n := e.(type) {
	case *ast.UnaryExpr:
		return s.transportEnds(n.X, seen)
	case *ast.CompositeLit:
		if s.typeName(n) == httpTransport {
			timeout := s.field(n, "ResponseHeaderTimeout")
			return timeout != nil && !s.isZero(timeout)
		}
		for i := range n.Elts { // what it is made around
			_, value := s.element(n, i)
			if value != nil && isRoundTripper(s.info.TypeOf(value)) && s.transportEnds(value, seen) {
				return true
			}
		}
		return false
	case *ast.CallExpr:
		return s.callBounds(n, seen)
	case *ast.TypeAssertExpr:
		return s.transportEnds(n.X, seen)
	}
	obj := s.object(e)
	if obj == nil || seen[obj] {
		return false
	}
	seen[obj] = true
	for _, timeout := range s.given(obj, "ResponseHeaderTimeout") {
		if !s.isZero(timeout) {
			return true
		}
	}
	for _, o := range s.origins[obj] {
		if o.result == 0 && s.transportEnds(o.expr, seen) {
			return true
		}
	}
	return false
}

// callBounds looks at a transport that a call returns: a conversion, a copy, a wrapper, or what a function is known to
// return.
func (s *survey) callBounds(call *ast.CallExpr, seen map[types.Object]bool) bool {
	if s.summaryOf(call).Bounding {
		return true
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sel.Sel.Name == "Clone" {
		return s.transportEnds(sel.X, seen)
	}
	for _, arg := range call.Args {
		if lit, ok := ast.Unparen(arg).(*ast.FuncLit); ok && s.literalLimits(lit) {
			return true
		}
		if isRoundTripper(s.info.TypeOf(arg)) && s.transportEnds(arg, seen) {
			return true
		}
	}
	return false
}

// literalLimits tells whether a function written in place gives a deadline to anything: roundTripper(func(r …) …).
func (s *survey) literalLimits(lit *ast.FuncLit) bool {
	found := false
	ast.Inspect(lit.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(s.limited(call)) > 0 {
			found = true
		}
		return !found
	})
	return found
}

package unbounded

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

const contextType = "context.Context"

// makesDeadline are the functions that give a context an end in time.
var makesDeadline = map[string]bool{
	"context.WithTimeout":       true,
	"context.WithTimeoutCause":  true,
	"context.WithDeadline":      true,
	"context.WithDeadlineCause": true,
}

// boundedContext tells whether e is seen to be a context with a deadline: made with one here, derived from one that
// is, or returned by a function that makes one.
func (s *survey) boundedContext(e ast.Expr) bool { return s.hasDeadline(e, map[types.Object]bool{}) }

func (s *survey) hasDeadline(e ast.Expr, seen map[types.Object]bool) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		obj := s.object(e)
		if obj == nil || seen[obj] {
			return false
		}
		seen[obj] = true
		for _, o := range s.origins[obj] {
			if o.result == 0 && s.hasDeadline(o.expr, seen) {
				return true
			}
		}
		return false
	}
	if makesDeadline[s.calleeName(call)] || s.summaryOf(call).BoundedContext {
		return true
	}
	parent := s.parentContext(call)
	return parent != nil && s.hasDeadline(parent, seen)
}

// parentContext is the context that a call derives its first result from, if that is a context: context.WithValue's,
// errgroup.WithContext's second result is not asked for.
func (s *survey) parentContext(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 0 || !isContext(s.info.TypeOf(call.Args[0])) {
		return nil
	}
	switch t := s.info.TypeOf(call).(type) {
	case *types.Tuple:
		for i := range t.Len() {
			if isContext(t.At(i).Type()) {
				return call.Args[0]
			}
		}
	default:
		if isContext(t) {
			return call.Args[0]
		}
	}
	return nil
}

func isContext(t types.Type) bool { return nameOf(t) == contextType }

// derivedFrom follows a context or a request back to what it comes from: the variable behind ctx, r.Context(),
// context.WithValue(ctx, k, v), r.WithContext(ctx).
func (s *survey) derivedFrom(e ast.Expr) ast.Expr {
	for seen := map[types.Object]bool{}; ; {
		if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && len(call.Args) == 0 && sel.Sel.Name == "Context" {
				e = sel.X
			} else if ok && isRequest(s.info.TypeOf(sel.X)) && replacesContext[sel.Sel.Name] && len(call.Args) == 1 {
				e = call.Args[0]
			} else if parent := s.parentContext(call); parent != nil {
				e = parent
			} else {
				return e
			}
			continue
		}
		obj := s.object(e)
		if obj == nil || seen[obj] || len(s.origins[obj]) != 1 {
			return e
		}
		seen[obj] = true
		next := s.origins[obj][0].expr
		if t := s.info.TypeOf(next); !isContext(t) && !isRequest(t) && s.callOf(next) == nil {
			return e
		}
		e = next
	}
}

func (s *survey) callOf(e ast.Expr) *ast.CallExpr {
	call, _ := ast.Unparen(e).(*ast.CallExpr)
	return call
}

// background names the call when e is context.Background() or TODO(), or a variable that holds nothing else.
func (s *survey) background(e ast.Expr) string {
	if call := s.callOf(e); call != nil {
		switch name := s.calleeName(call); name {
		case "context.Background", "context.TODO":
			return name
		}
		return ""
	}
	v, ok := s.object(e).(*types.Var)
	if !ok || v.Kind() != types.LocalVar && v.Kind() != types.PackageVar || len(s.origins[v]) != 1 {
		return ""
	}
	if call := s.callOf(s.origins[v][0].expr); call != nil {
		return s.background(call)
	}
	return ""
}

// limited is the contexts and requests that a call gives a deadline to, or hands to a function that does.
func (s *survey) limited(call *ast.CallExpr) (found []ast.Expr) {
	if makesDeadline[s.calleeName(call)] {
		return call.Args[:1]
	}
	sum := s.summaryOf(call)
	for i, arg := range call.Args {
		if sum.Limits.has(i) {
			found = append(found, arg)
		}
	}
	return found
}

// atHand is the context of the request that is being served at c, as code, if there is one: from the parameters of
// the functions around, up to one that is started or deferred to go on without its caller.
func (s *survey) atHand(c inspector.Cursor) (code string, param *types.Var) {
	for e := range c.Enclosing((*ast.FuncLit)(nil), (*ast.FuncDecl)(nil), (*ast.GoStmt)(nil), (*ast.DeferStmt)(nil),
		(*ast.CommClause)(nil), (*ast.IfStmt)(nil)) {
		var signature *ast.FuncType
		switch n := e.Node().(type) {
		case *ast.GoStmt, *ast.DeferStmt:
			return "", nil
		case *ast.CommClause:
			if n.Comm != nil && s.asksWhetherOver(n.Comm) {
				return "", nil
			}
			continue
		case *ast.IfStmt:
			if s.asksWhetherOver(n.Cond) {
				return "", nil
			}
			continue
		case *ast.FuncLit:
			if s.outlives(e) {
				return "", nil
			}
			signature = n.Type
		case *ast.FuncDecl:
			signature = n.Type
		}
		for _, field := range signature.Params.List {
			for _, name := range field.Names {
				v, ok := s.info.Defs[name].(*types.Var)
				if !ok || name.Name == "_" {
					continue
				}
				if suffix, ok := contextOf(v.Type()); ok {
					return name.Name + suffix, v
				}
			}
		}
	}
	return "", nil
}

// asksWhetherOver tells a condition on the end of a context: what follows may well need another.
func (s *survey) asksWhetherOver(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isContext(s.info.TypeOf(sel.X)) {
			found = found || sel.Sel.Name == "Done" || sel.Sel.Name == "Err"
		}
		return !found
	})
	return found
}

// outlives tells a function literal that runs when its caller's context is over.
func (s *survey) outlives(c inspector.Cursor) bool {
	if c.ParentEdgeKind() != edge.CallExpr_Args {
		return false
	}
	return s.calleeName(c.Parent().Node().(*ast.CallExpr)) == "context.AfterFunc"
}

// contextOf says how to get the context out of a parameter of type t: it is one, or has the request's.
func contextOf(t types.Type) (suffix string, ok bool) {
	if isContext(t) {
		return "", true
	}
	if isRequest(t) {
		return ".Context()", true
	}
	// The contexts of web frameworks: a field Request, as gin has it, or a method, as echo has it.
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, "Request")
	switch obj := obj.(type) {
	case *types.Var:
		return ".Request.Context()", isRequest(obj.Type())
	case *types.Func:
		results := obj.Signature().Results()
		return ".Request().Context()", results.Len() == 1 && isRequest(results.At(0).Type()) &&
			obj.Signature().Params().Len() == 0
	}
	// A gRPC stream.
	if f, ok := method(t, "Context").(*types.Func); ok && method(t, "RecvMsg") != nil {
		results := f.Signature().Results()
		return ".Context()", results.Len() == 1 && isContext(results.At(0).Type())
	}
	return "", false
}

func method(t types.Type, name string) types.Object {
	obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	return obj
}

// replace is the fix that writes the context at hand instead of the call n. There is none for a variable, which may
// have other uses, nor where the name of the one at hand means another.
func (s *survey) replace(n ast.Expr, code string, param *types.Var) []analysis.SuggestedFix {
	if s.callOf(n) == nil || !s.visible(param, n) {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message:   "Use " + code,
		TextEdits: []analysis.TextEdit{{Pos: n.Pos(), End: n.End(), NewText: []byte(code)}},
	}}
}

// visible tells whether v's name means v at n.
func (s *survey) visible(v *types.Var, n ast.Node) bool {
	if v == nil {
		return false
	}
	inner := s.pkg.Scope().Innermost(n.Pos())
	if inner == nil {
		return false
	}
	_, obj := inner.LookupParent(v.Name(), n.Pos())
	return obj == v
}

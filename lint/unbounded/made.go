package unbounded

import (
	"go/ast"
	"go/types"
	"iter"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// made is a place where a value of some struct type comes into being.
type made struct {
	at   inspector.Cursor
	node ast.Node          // what to point at
	lit  *ast.CompositeLit // nil where it is made without one, and all its fields are zero
	as   types.Object      // the variable or field that it is made for, or nil
}

// making is every place in judged code that makes a value of the type called name: a literal, new, a variable declared
// without a value, or a field that is part of its struct. A variable or field that is also given a value somewhere is
// left to that place.
func (s *survey) making(name string) iter.Seq[made] {
	return func(yield func(made) bool) {
		for _, f := range s.judged {
			for c := range f.Preorder((*ast.CompositeLit)(nil), (*ast.CallExpr)(nil), (*ast.ValueSpec)(nil), (*ast.Field)(nil)) {
				for _, m := range s.madeAt(c, name) {
					if !yield(m) {
						return
					}
				}
			}
		}
	}
}

func (s *survey) madeAt(c inspector.Cursor, name string) (all []made) {
	switch n := c.Node().(type) {
	case *ast.CompositeLit:
		if as := s.destination(c, 0); isValueOf(s.info.TypeOf(n), name) && !isBlank(as) && !isCompared(c) {
			all = append(all, made{c, n, n, as})
		}
	case *ast.CallExpr:
		if len(n.Args) == 1 && s.isBuiltin(n.Fun, "new") && s.info.Types[n.Args[0]].IsType() &&
			isValueOf(s.info.TypeOf(n.Args[0]), name) {
			all = append(all, made{c, n, nil, s.destination(c, 0)})
		}
	case *ast.ValueSpec:
		if len(n.Values) == 0 {
			all = s.zeros(c, n.Names, name)
		}
	case *ast.Field:
		if c.Parent().ParentEdgeKind() == edge.StructType_Fields {
			all = s.zeros(c, fieldNames(n), name)
		}
	}
	return all
}

// zeros is those of the names that are declared with a zero value of the type and given no other.
func (s *survey) zeros(c inspector.Cursor, names []*ast.Ident, name string) (all []made) {
	for _, id := range names {
		obj := s.info.Defs[id] // of an embedded field too: the name of its type declares it
		if obj != nil && id.Name != "_" && isValueOf(obj.Type(), name) && len(s.origins[obj]) == 0 {
			all = append(all, made{c, id, nil, obj})
		}
	}
	return all
}

// isBlank tells the variable _, which is declared to prove that a type has certain methods.
func isBlank(obj types.Object) bool { return obj != nil && obj.Name() == "_" }

func fieldNames(f *ast.Field) []*ast.Ident {
	if len(f.Names) > 0 {
		return f.Names
	}
	switch t := f.Type.(type) {
	case *ast.Ident:
		return []*ast.Ident{t}
	case *ast.SelectorExpr:
		return []*ast.Ident{t.Sel}
	}
	return nil // by its pointer: no value is made
}

func isValueOf(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	_, isPointer := types.Unalias(t).(*types.Pointer)
	return !isPointer && nameOf(t) == name
}

func (s *survey) isBuiltin(fun ast.Expr, name string) bool {
	id, ok := ast.Unparen(fun).(*ast.Ident)
	if !ok {
		return false
	}
	b, ok := s.info.Uses[id].(*types.Builtin)
	return ok && b.Name() == name
}

// gives tells whether one of the fields is given a value other than zero: in the literal or on any line.
func (s *survey) gives(m made, fields ...string) bool {
	values := s.given(m.as, fields...)
	if m.lit != nil {
		for _, f := range fields {
			if value := s.field(m.lit, f); value != nil {
				values = append(values, value)
			}
		}
	}
	for _, value := range values {
		if !s.isZero(value) {
			return true
		}
	}
	return false
}

// label names what was made, for a message.
func (m made) label(what string) string {
	if m.as == nil {
		return "this " + what
	}
	return "the " + what + " in " + m.as.Name()
}

// usesOf is the uses of a variable in the function around c.
func (s *survey) usesOf(obj types.Object, c inspector.Cursor) (all []inspector.Cursor) {
	var outer inspector.Cursor
	for e := range c.Enclosing((*ast.FuncDecl)(nil)) {
		outer = e
	}
	if !outer.Valid() || obj == nil {
		return nil
	}
	for id := range outer.Preorder((*ast.Ident)(nil)) {
		if s.info.Uses[id.Node().(*ast.Ident)] == obj {
			all = append(all, id)
		}
	}
	return all
}

// methodCall is the call of a method of the value at c, and the method's name.
func methodCall(c inspector.Cursor) (string, *ast.CallExpr) {
	for c.ParentEdgeKind() == edge.ParenExpr_X || c.ParentEdgeKind() == edge.UnaryExpr_X {
		c = c.Parent()
	}
	if c.ParentEdgeKind() != edge.SelectorExpr_X {
		return "", nil
	}
	sel := c.Parent()
	if sel.ParentEdgeKind() != edge.CallExpr_Fun {
		return "", nil
	}
	return sel.Node().(*ast.SelectorExpr).Sel.Name, sel.Parent().Node().(*ast.CallExpr)
}

// boundedUse tells whether what was made is only ever called here, each time within a deadline that is seen.
func (s *survey) boundedUse(m made, within func(method string, call *ast.CallExpr) bool) bool {
	if name, call := methodCall(m.at); call != nil {
		return within(name, call)
	}
	v, ok := m.as.(*types.Var)
	if !ok || v.Kind() != types.LocalVar {
		return false
	}
	calls := 0
	for _, use := range s.usesOf(v, m.at) {
		name, call := methodCall(use)
		switch {
		case call != nil && within(name, call):
			calls++
		case isAssigned(use): // a field of it, or the variable itself
		default:
			return false
		}
	}
	return calls > 0
}

// isAssigned tells whether the variable at c is what a statement assigns to, or the struct of the field that is.
func isAssigned(c inspector.Cursor) bool {
	for c.ParentEdgeKind() == edge.SelectorExpr_X {
		c = c.Parent()
	}
	return c.ParentEdgeKind() == edge.AssignStmt_Lhs
}

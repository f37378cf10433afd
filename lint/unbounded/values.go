package unbounded

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

const selectorName = edge.SelectorExpr_Sel

// origin is what a variable or a field is given: an expression, and which of its results.
type origin struct {
	expr   ast.Expr
	result int
}

// setting is a value that a field of a variable is given, or a field of whatever another field holds.
type setting struct {
	path  string // Timeout, ConnConfig.ConnectTimeout
	value ast.Expr
}

// values says where the variables and fields of a package get their values. It does not follow the order of
// statements: what is set on any line counts as set, and a field is one thing, whichever value it is a field of.
type values struct {
	info     *types.Info
	origins  map[types.Object][]origin
	settings map[types.Object][]setting
	onward   map[types.Object][]types.Object // the variables and fields that are given this one
	scaled   map[types.Object]bool           // those that are multiplied by a duration: they count units
}

func newValues(info *types.Info, files []inspector.Cursor) *values {
	v := &values{
		info:     info,
		origins:  map[types.Object][]origin{},
		settings: map[types.Object][]setting{},
		onward:   map[types.Object][]types.Object{},
		scaled:   map[types.Object]bool{},
	}
	for _, f := range files {
		for c := range f.Preorder(
			(*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.CompositeLit)(nil), (*ast.BinaryExpr)(nil)) {
			switch n := c.Node().(type) {
			case *ast.BinaryExpr:
				if n.Op == token.MUL && nameOf(info.TypeOf(n)) == "time.Duration" {
					v.scaled[v.object(n.X)], v.scaled[v.object(n.Y)] = true, true
				}
			case *ast.AssignStmt:
				if n.Tok == token.ASSIGN || n.Tok == token.DEFINE {
					v.assign(n.Lhs, n.Rhs)
				}
			case *ast.ValueSpec:
				var names []ast.Expr
				for _, name := range n.Names {
					names = append(names, name)
				}
				v.assign(names, n.Values)
			case *ast.CompositeLit:
				for i := range n.Elts {
					if field, value := v.element(n, i); field != nil {
						v.give(field, origin{expr: value})
					}
				}
			}
		}
	}
	return v
}

func (v *values) assign(lhs, rhs []ast.Expr) {
	for i, l := range lhs {
		var o origin
		switch {
		case len(lhs) == len(rhs):
			o.expr = rhs[i]
		case len(rhs) == 1:
			o = origin{rhs[0], i}
		default: // var a, b int
			return
		}
		root, fields := v.path(l)
		if len(fields) == 0 {
			v.give(root, o)
			continue
		}
		v.give(fields[len(fields)-1], o)
		v.set(root, fields, o.expr)
	}
}

// set notes that root.a.b, and so a.b of whatever holds a, is given a value.
func (v *values) set(root types.Object, fields []*types.Var, value ast.Expr) {
	for i := range fields {
		of := root
		if i > 0 {
			of = fields[i-1]
		}
		if of != nil {
			v.settings[of] = append(v.settings[of], setting{join(fields[i:]), value})
		}
	}
}

func join(fields []*types.Var) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name())
	}
	return strings.Join(names, ".")
}

func (v *values) give(to types.Object, o origin) {
	if to == nil {
		return
	}
	v.origins[to] = append(v.origins[to], o)
	if from := v.object(o.expr); from != nil && from != to {
		v.onward[from] = append(v.onward[from], to)
	}
}

// element is the field that element i of a struct literal gives a value to, and the value.
func (v *values) element(lit *ast.CompositeLit, i int) (*types.Var, ast.Expr) {
	if kv, ok := lit.Elts[i].(*ast.KeyValueExpr); ok {
		if key, ok := kv.Key.(*ast.Ident); ok {
			if field, ok := v.info.Uses[key].(*types.Var); ok && field.IsField() {
				return field.Origin(), kv.Value
			}
		}
		return nil, nil
	}
	if t, ok := under(v.info.TypeOf(lit)).(*types.Struct); ok && i < t.NumFields() {
		return t.Field(i).Origin(), lit.Elts[i]
	}
	return nil, nil
}

// field is the value that a struct literal gives to the field called name, or nil.
func (v *values) field(lit *ast.CompositeLit, name string) ast.Expr {
	for i := range lit.Elts {
		if f, value := v.element(lit, i); f != nil && f.Name() == name {
			return value
		}
	}
	return nil
}

// under is the type below a name, a pointer or both.
func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.Underlying()
}

// path takes x.a.b apart into the variable x and the fields a and b, the embedded ones that the code leaves out
// included. x is nil if it is no variable.
func (v *values) path(e ast.Expr) (root types.Object, fields []*types.Var) {
	switch e := e.(type) {
	case *ast.Ident:
		return v.info.ObjectOf(e), nil
	case *ast.ParenExpr:
		return v.path(e.X)
	case *ast.StarExpr:
		return v.path(e.X)
	case *ast.TypeAssertExpr:
		return v.path(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return v.path(e.X)
		}
	case *ast.SelectorExpr:
		selection := v.info.Selections[e]
		if selection == nil { // a variable of another package
			return v.info.Uses[e.Sel], nil
		}
		if selection.Kind() != types.FieldVal {
			return nil, nil
		}
		root, fields = v.path(e.X)
		return root, append(fields, fieldPath(selection)...)
	}
	return nil, nil
}

// fieldPath is the fields that a selection goes through.
func fieldPath(selection *types.Selection) []*types.Var {
	var fields []*types.Var
	t := selection.Recv()
	for _, i := range selection.Index() {
		s, ok := under(t).(*types.Struct)
		if !ok {
			return fields
		}
		fields = append(fields, s.Field(i).Origin())
		t = s.Field(i).Type()
	}
	return fields
}

// object is the variable or field that e names, or nil.
func (v *values) object(e ast.Expr) types.Object {
	root, fields := v.path(e)
	if len(fields) > 0 {
		return fields[len(fields)-1]
	}
	if _, ok := root.(*types.Var); ok {
		return root
	}
	return nil
}

// reaches is the variables and fields that hold what obj holds, obj first.
func (v *values) reaches(obj types.Object) []types.Object {
	if obj == nil {
		return nil
	}
	all, seen := []types.Object{obj}, map[types.Object]bool{obj: true}
	for i := 0; i < len(all); i++ {
		for _, next := range v.onward[all[i]] {
			if !seen[next] {
				seen[next] = true
				all = append(all, next)
			}
		}
	}
	return all
}

// given is what any line gives to one of the fields of what obj holds; a field of an inner struct by its last name.
func (v *values) given(obj types.Object, fields ...string) (found []ast.Expr) {
	for _, o := range v.reaches(obj) {
		for _, s := range v.settings[o] {
			if last := s.path[strings.LastIndexByte(s.path, '.')+1:]; slices.Contains(fields, last) {
				found = append(found, s.value)
			}
		}
	}
	return found
}

// destination is the variable or field that is given the expression at c, or its result so-and-so, or nil.
func (v *values) destination(c inspector.Cursor, result int) types.Object {
	for {
		kind, i := c.ParentEdge()
		c = c.Parent()
		switch kind {
		case edge.ParenExpr_X, edge.UnaryExpr_X, edge.StarExpr_X:
			continue
		case edge.AssignStmt_Rhs:
			s := c.Node().(*ast.AssignStmt)
			if len(s.Lhs) > len(s.Rhs) {
				i = result
			}
			return v.object(s.Lhs[i])
		case edge.ValueSpec_Values:
			s := c.Node().(*ast.ValueSpec)
			if len(s.Names) > len(s.Values) {
				i = result
			}
			return v.info.Defs[s.Names[i]]
		case edge.KeyValueExpr_Value:
			if key, ok := c.Node().(*ast.KeyValueExpr).Key.(*ast.Ident); ok {
				if field, ok := v.info.Uses[key].(*types.Var); ok && field.IsField() {
					return field.Origin()
				}
			}
			return nil
		case edge.CompositeLit_Elts:
			field, _ := v.element(c.Node().(*ast.CompositeLit), i)
			if field == nil {
				return nil
			}
			return field
		default:
			return nil
		}
	}
}

// isZero tells nil and a constant that is zero.
func (v *values) isZero(e ast.Expr) bool {
	tv := v.info.Types[e]
	if tv.IsNil() {
		return true
	}
	return tv.Value != nil && (tv.Value.Kind() == constant.Int || tv.Value.Kind() == constant.Float) &&
		constant.Sign(tv.Value) == 0
}

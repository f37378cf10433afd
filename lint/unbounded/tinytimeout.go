package unbounded

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"time"

	"golang.org/x/tools/go/ast/inspector"
)

var tinyTimeout = Rule{
	Name: "tinytimeout",
	Doc: `a timeout that is a number without a unit, or zero where zero means none

A time.Duration counts nanoseconds. Timeout: 5 fails every call before it has begun, and whoever sees that takes the
timeout away; Timeout: 0 of an http.Client or a net.Dialer is no timeout at all. The rule looks at whatever is called a
timeout or a deadline and is a time.Duration: fields, variables and parameters, those of other libraries and your own.
It reports constants below a millisecond that are written without a unit, and conversions of a number whose name says
that it counts seconds, milliseconds or minutes. A variable or field that is multiplied by its unit where it is used is
left alone.`,
	check: checkTinyTimeout,
}

func checkTinyTimeout(j *judge) {
	for _, f := range j.judged {
		for c := range f.Preorder(
			(*ast.CompositeLit)(nil), (*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.CallExpr)(nil)) {
			switch n := c.Node().(type) {
			case *ast.CompositeLit:
				for i := range n.Elts {
					if field, value := j.element(n, i); field != nil {
						j.checkDuration(field, nameOf(j.info.TypeOf(n)), value)
					}
				}
			case *ast.AssignStmt:
				if n.Tok == token.ASSIGN && len(n.Lhs) == len(n.Rhs) {
					for i, l := range n.Lhs {
						j.checkAssigned(l, n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				j.checkDeclared(n)
			case *ast.CallExpr:
				j.checkArguments(c, n)
			}
		}
	}
}

func (j *judge) checkAssigned(lhs, value ast.Expr) {
	v, ok := j.object(lhs).(*types.Var)
	if !ok {
		return
	}
	owner := ""
	if sel, ok := ast.Unparen(lhs).(*ast.SelectorExpr); ok && v.IsField() {
		owner = ownerOf(j.info.Selections[sel])
	}
	j.checkDuration(v, owner, value)
}

// ownerOf is the name of the struct type whose field a selection ends at.
func ownerOf(selection *types.Selection) string {
	if selection == nil {
		return ""
	}
	fields := fieldPath(selection)
	if len(fields) > 1 {
		return nameOf(fields[len(fields)-2].Type())
	}
	return nameOf(selection.Recv())
}

// checkDeclared looks at variables and constants that are declared as durations: var timeout time.Duration = 5.
func (j *judge) checkDeclared(n *ast.ValueSpec) {
	if n.Type == nil || len(n.Names) != len(n.Values) {
		return
	}
	for i, name := range n.Names {
		if obj := j.info.Defs[name]; obj != nil {
			j.checkDuration(obj, "", n.Values[i])
		}
	}
}

func (j *judge) checkArguments(c inspector.Cursor, call *ast.CallExpr) {
	f := j.callee(call)
	if f == nil {
		return
	}
	params := f.Signature().Params()
	for i, arg := range call.Args {
		if i >= params.Len() {
			return
		}
		if f.FullName() == "net/http.TimeoutHandler" && i == 1 || isTimeout(params.At(i)) && !j.scaled[params.At(i)] {
			j.checkValue(shortName(f), arg, zeroIsNone[f.FullName()])
		}
	}
}

// zeroIsNone is where a zero or negative timeout means that there is none.
var zeroIsNone = map[string]bool{
	"net/http.Client": true,
	"net.Dialer":      true,
	"net.DialTimeout": true,
}

// checkDuration looks at the value given to a timeout; owner is the struct that it is a field of, if it is one.
func (j *judge) checkDuration(to types.Object, owner string, value ast.Expr) {
	if !isTimeout(to) || j.scaled[to] {
		return
	}
	name := to.Name()
	if owner != "" && to.Pkg() != nil {
		name = to.Pkg().Name() + owner[strings.LastIndexByte(owner, '.'):] + "." + name
	}
	j.checkValue(name, value, zeroIsNone[owner] && to.Name() == "Timeout")
}

// isTimeout tells a time.Duration that is called a timeout or a deadline.
func isTimeout(obj types.Object) bool {
	if nameOf(obj.Type()) != "time.Duration" {
		return false
	}
	name := strings.ToLower(obj.Name())
	return strings.Contains(name, "timeout") || strings.Contains(name, "deadline")
}

func (j *judge) checkValue(name string, e ast.Expr, zeroIsNone bool) {
	value := j.info.Types[e].Value
	if value == nil {
		if unit := j.unitOfNumber(e); unit != "" {
			j.report(e, nil, "%s is given %s as nanoseconds: it ends before anything can have happened; "+
				"multiply it by its unit, time.Duration(n) * %s", name, exprText(e), unit)
		}
		return
	}
	n, ok := constant.Int64Val(constant.ToInt(value))
	switch {
	case !ok:
	case n <= 0 && zeroIsNone:
		j.report(e, nil, "%s of %d is no timeout: whoever does not answer is waited for without end; "+
			"give it a duration, such as 2 * time.Second", name, n)
	case n > 0 && n < int64(time.Millisecond) && !j.hasUnit(e, map[types.Object]bool{}):
		j.report(e, nil, "%s of %d is %v, for a time.Duration counts nanoseconds: it ends before anything can have "+
			"happened; write the unit, such as %d * time.Second", name, n, time.Duration(n), n)
	}
}

// hasUnit tells whether a constant is made with a duration: 5 * time.Second, or a constant that is.
func (j *judge) hasUnit(e ast.Expr, seen map[types.Object]bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return !found
		}
		c, ok := j.info.Uses[id].(*types.Const)
		if !ok || seen[c] || nameOf(c.Type()) != "time.Duration" {
			return true
		}
		seen[c] = true
		if c.Pkg() != j.pkg || len(j.origins[c]) == 0 {
			found = true
			return false
		}
		for _, o := range j.origins[c] {
			found = found || j.hasUnit(o.expr, seen)
		}
		return !found
	})
	return found
}

// units are how the names of numbers end that count something other than nanoseconds.
var units = []struct{ suffix, unit string }{
	{"nanoseconds", ""},
	{"microseconds", "time.Microsecond"},
	{"milliseconds", "time.Millisecond"},
	{"millis", "time.Millisecond"},
	{"seconds", "time.Second"},
	{"secs", "time.Second"},
	{"sec", "time.Second"},
	{"minutes", "time.Minute"},
}

// unitOfNumber is the unit that a number says it has which is converted to a duration as it stands:
// time.Duration(cfg.TimeoutSeconds).
func (j *judge) unitOfNumber(e ast.Expr) string {
	call := j.callOf(e)
	if call == nil || len(call.Args) != 1 || !j.info.Types[call.Fun].IsType() ||
		nameOf(j.info.TypeOf(call.Args[0])) == "time.Duration" {
		return ""
	}
	obj := j.object(call.Args[0])
	if obj == nil {
		return ""
	}
	name := strings.ToLower(obj.Name())
	for _, u := range units {
		if strings.HasSuffix(name, u.suffix) {
			return u.unit
		}
	}
	return ""
}

func exprText(e ast.Expr) string { return types.ExprString(e) }

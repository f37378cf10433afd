package unbounded

import (
	"go/ast"
	"go/types"
	"strings"
)

var pgx = Rule{
	Name: "pgx",
	Doc: `a pgx pool without a connect timeout or MaxConns, or a query with context.Background

A pool without connect timeout waits for minutes for a database that does not answer, and everybody who needs a
connection waits with it. Without MaxConns its size is the machine's number of processors, four at least: chosen by
nobody, and another on the next machine. Both can be set in the connection string (connect_timeout, pool_max_conns) or
on the configuration; a string that is not in the code is not seen. A query with context.Background or TODO holds its
connection for as long as the database likes.`,
	check: checkPgx,
}

func isPgx(f *types.Func) bool {
	return f.Pkg() != nil && strings.HasPrefix(f.Pkg().Path(), "github.com/jackc/pgx/")
}

// pgxQueries are the methods that hold a connection until the database has answered. Rollback and Close are not among
// them: to give up with Background is right.
var pgxQueries = map[string]bool{
	"Acquire": true, "AcquireFunc": true, "Begin": true, "BeginTx": true, "BeginFunc": true, "BeginTxFunc": true,
	"Commit": true, "CopyFrom": true, "Exec": true, "Ping": true, "Prepare": true, "Query": true, "QueryRow": true,
	"SendBatch": true,
}

func isPgxQuery(f *types.Func) bool {
	return isPgx(f) && f.Signature().Recv() != nil && pgxQueries[f.Name()]
}

func checkPgx(j *judge) {
	for _, f := range j.judged {
		for c := range f.Preorder((*ast.CallExpr)(nil)) {
			call := c.Node().(*ast.CallExpr)
			callee := j.callee(call)
			if callee == nil || len(call.Args) == 0 || !isPgx(callee) {
				continue
			}
			if isPgxQuery(callee) {
				if name := j.background(call.Args[0]); name != "" {
					code, param := j.atHand(c)
					fixes := j.replace(call.Args[0], code, param)
					if code == "" {
						code = "a context that ends"
					}
					j.report(call.Args[0], fixes, "%s with %s holds its connection for as long as the database likes; pass %s",
						shortName(callee), name, code)
				}
			}
			j.checkPool(made{at: c, node: call, as: j.destination(c, 0)}, call, callee)
		}
	}
}

// checkPool looks at where a pool, or its configuration, is made of a connection string.
func (j *judge) checkPool(m made, call *ast.CallExpr, callee *types.Func) {
	if !strings.HasSuffix(callee.Pkg().Path(), "/pgxpool") {
		return
	}
	var conn ast.Expr
	switch callee.Name() {
	case "New", "Connect":
		if len(call.Args) < 2 {
			return
		}
		conn = call.Args[1]
	case "ParseConfig":
		conn = call.Args[0]
	default:
		return
	}
	var missing []string
	if !j.mentions(conn, "connect_timeout") && !j.gives(m, "ConnectTimeout", "DialFunc") && !j.setsBeforeConnect(m) {
		missing = append(missing, "connect timeout: a database that does not answer is waited for, for minutes "+
			"(connect_timeout, or ConnConfig.ConnectTimeout)")
	}
	if !j.mentions(conn, "pool_max_conns") && !j.gives(m, "MaxConns") {
		missing = append(missing, "MaxConns: the number of processors decides how many connections it may hold "+
			"(pool_max_conns, or MaxConns)")
	}
	if len(missing) > 0 {
		j.report(call, nil, "the pool of %s has no %s", shortName(callee), strings.Join(missing, "; and no "))
	}
}

// setsBeforeConnect tells whether a configuration's hook gives each connection its timeout.
func (s *survey) setsBeforeConnect(m made) bool {
	found := false
	for _, hook := range s.given(m.as, "BeforeConnect") {
		ast.Inspect(hook, func(n ast.Node) bool {
			if assign, ok := n.(*ast.AssignStmt); ok {
				for _, l := range assign.Lhs {
					sel, ok := l.(*ast.SelectorExpr)
					found = found || ok && sel.Sel.Name == "ConnectTimeout"
				}
			}
			return !found
		})
	}
	return found
}

// mentions tells whether a constant part of e, or of what the variable e is given, holds the word.
func (s *survey) mentions(e ast.Expr, word string) bool {
	found := false
	look := func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && strings.Contains(s.text(e), word) {
			found = true
		}
		return !found
	}
	ast.Inspect(e, look)
	for _, o := range s.origins[s.object(e)] {
		ast.Inspect(o.expr, look)
	}
	return found
}

package unbounded

import (
	"go/ast"
	"go/types"
	"strings"
)

// outboundContexts is the contexts that a call gives to an operation over the network, as far as that is known: by
// name, by the library it comes from, or because the function called is seen to do it.
func (s *survey) outboundContexts(call *ast.CallExpr) (found []ast.Expr) {
	f := s.callee(call)
	if f == nil || len(call.Args) == 0 {
		return nil
	}
	if isContext(s.info.TypeOf(call.Args[0])) && (isOutbound(f) || isPgxQuery(f)) {
		return call.Args[:1]
	}
	sum := s.summaryOf(call)
	for i, arg := range call.Args {
		if sum.Calls.has(i) {
			found = append(found, arg)
		}
	}
	return found
}

// outbound are functions of the standard library that call over the network, or make the request that will, with
// their first argument.
var outbound = map[string]bool{
	"net/http.NewRequestWithContext":       true,
	"(*net.Dialer).DialContext":            true,
	"(*crypto/tls.Dialer).DialContext":     true,
	"(*net.Resolver).LookupHost":           true,
	"(*net.Resolver).LookupIP":             true,
	"(*net.Resolver).LookupIPAddr":         true,
	"(*net.Resolver).LookupNetIP":          true,
	"(*net.Resolver).LookupAddr":           true,
	"(*net.Resolver).LookupCNAME":          true,
	"(*net.Resolver).LookupMX":             true,
	"(*net.Resolver).LookupNS":             true,
	"(*net.Resolver).LookupSRV":            true,
	"(*net.Resolver).LookupTXT":            true,
	"(*database/sql.DB).BeginTx":           true,
	"(*database/sql.DB).Conn":              true,
	"(*database/sql.DB).ExecContext":       true,
	"(*database/sql.DB).PingContext":       true,
	"(*database/sql.DB).PrepareContext":    true,
	"(*database/sql.DB).QueryContext":      true,
	"(*database/sql.DB).QueryRowContext":   true,
	"(*database/sql.Conn).BeginTx":         true,
	"(*database/sql.Conn).ExecContext":     true,
	"(*database/sql.Conn).PingContext":     true,
	"(*database/sql.Conn).QueryContext":    true,
	"(*database/sql.Conn).QueryRowContext": true,
	"(*database/sql.Stmt).ExecContext":     true,
	"(*database/sql.Stmt).QueryContext":    true,
	"(*database/sql.Stmt).QueryRowContext": true,
	"(*database/sql.Tx).ExecContext":       true,
	"(*database/sql.Tx).PrepareContext":    true,
	"(*database/sql.Tx).QueryContext":      true,
	"(*database/sql.Tx).QueryRowContext":   true,
}

// clientLibraries are packages, by the beginning of their paths, whose methods call over the network when they take a
// context first.
var clientLibraries = []string{
	"github.com/redis/go-redis/",
	"github.com/go-redis/redis/",
	"go.mongodb.org/mongo-driver/",
	"github.com/jmoiron/sqlx",
	"github.com/aws/aws-sdk-go-v2/service/",
}

// callOptions are the options that the generated methods of gRPC and Google's clients end with.
var callOptions = map[string]bool{
	"google.golang.org/grpc.CallOption":          true,
	"github.com/googleapis/gax-go/v2.CallOption": true,
}

func isOutbound(f *types.Func) bool {
	if outbound[f.FullName()] {
		return true
	}
	signature := f.Signature()
	if n := signature.Params().Len(); signature.Variadic() {
		if last, ok := signature.Params().At(n - 1).Type().(*types.Slice); ok && callOptions[nameOf(last.Elem())] {
			return true
		}
	}
	if f.Pkg() == nil || signature.Recv() == nil {
		return false
	}
	for _, library := range clientLibraries {
		if strings.HasPrefix(f.Pkg().Path()+"/", library) {
			return true
		}
	}
	return false
}

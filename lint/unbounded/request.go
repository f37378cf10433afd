package unbounded

import (
	"go/ast"
	"go/types"
)

const (
	httpClient    = "net/http.Client"
	httpRequest   = "net/http.Request"
	httpResponse  = "net/http.Response"
	httpServer    = "net/http.Server"
	httpTransport = "net/http.Transport"
)

// replacesContext are the methods of a request that give its copy another context.
var replacesContext = map[string]bool{"WithContext": true, "Clone": true}

func isRequest(t types.Type) bool { return nameOf(t) == httpRequest }

// sent is the requests that a call sends: it takes a request and answers with a response, as Do and RoundTrip, or it is
// seen to hand the request to something that does.
func (s *survey) sent(call *ast.CallExpr) (found []ast.Expr) {
	signature, ok := under(s.info.TypeOf(call.Fun)).(*types.Signature)
	if !ok {
		return nil
	}
	answers := false
	for i := range signature.Results().Len() {
		answers = answers || nameOf(signature.Results().At(i).Type()) == httpResponse
	}
	sum := s.summaryOf(call)
	for i, arg := range call.Args {
		if isRequest(s.info.TypeOf(arg)) && (answers || sum.Sends.has(i)) {
			found = append(found, arg)
		}
	}
	return found
}

// givenContext tells whether a variable is, on any line, a request made with a context of somebody's choice.
func (s *survey) givenContext(request types.Object) bool {
	for _, o := range s.origins[request] {
		call := s.callOf(o.expr)
		if call == nil {
			continue
		}
		if s.calleeName(call) == "net/http.NewRequestWithContext" {
			return true
		}
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && replacesContext[sel.Sel.Name] {
			return true
		}
	}
	return false
}

// boundedRequest tells whether e is seen to be a request whose context has a deadline.
func (s *survey) boundedRequest(e ast.Expr) bool { return s.requestEnds(e, map[types.Object]bool{}) }

func (s *survey) requestEnds(e ast.Expr, seen map[types.Object]bool) bool {
	if call := s.callOf(e); call != nil {
		sel, isMethod := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if isMethod && replacesContext[sel.Sel.Name] && isRequest(s.info.TypeOf(sel.X)) ||
			s.calleeName(call) == "net/http.NewRequestWithContext" {
			return s.boundedContext(call.Args[0])
		}
		return false
	}
	obj := s.object(e)
	if obj == nil || seen[obj] {
		return false
	}
	seen[obj] = true
	for _, o := range s.origins[obj] {
		if o.result == 0 && s.requestEnds(o.expr, seen) {
			return true
		}
	}
	return false
}

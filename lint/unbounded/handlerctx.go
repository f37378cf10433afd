package unbounded

import "go/ast"

var handlerContext = Rule{
	Name: "handlerctx",
	Doc: `context.Background or TODO handed straight to an outbound call where a request's context is at hand

The call goes on when the person who asked has left, and the request's deadline does not end it. The rule looks into
functions that are given a context, an *http.Request, or what a web framework or gRPC hands to a handler; work that is
started or deferred to outlive its caller (go, defer, context.AfterFunc) is left alone, and so is what is done once the
context is over (case <-ctx.Done(), if ctx.Err() != nil), and a Background that is given a timeout first.`,
	check: checkHandlerContext,
}

func checkHandlerContext(j *judge) {
	for _, f := range j.judged {
		for c := range f.Preorder((*ast.CallExpr)(nil)) {
			call := c.Node().(*ast.CallExpr)
			callee := j.callee(call)
			if callee == nil || isPgx(callee) { // its own rule tells of it
				continue
			}
			for _, ctx := range j.outboundContexts(call) {
				name := j.background(ctx)
				if name == "" {
					continue
				}
				code, param := j.atHand(c)
				if code == "" {
					continue
				}
				j.report(ctx, j.replace(ctx, code, param), "%s is called with %s, though %s is at hand: the call "+
					"goes on when whoever asked has left, and waits as long as it likes; pass %s", shortName(callee), name, code, code)
			}
		}
	}
}

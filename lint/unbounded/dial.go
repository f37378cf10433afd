package unbounded

import (
	"go/ast"
	"go/constant"
	"net"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

var dial = Rule{
	Name: "dial",
	Doc: `a connection or a look-up without a limit: net.Dial and its kin, a net.Dialer without Timeout, net.Lookup*

An address that drops packets is waited for until the kernel gives up, about two minutes; smtp.SendMail then also waits
for every answer without end. A net.Dialer or tls.Dialer needs Timeout (or Deadline), unless it is seen to dial only
with a context that has a deadline. Names are looked up by the methods of net.Resolver, which take a context. What never
waits is left alone: Unix sockets, and UDP to an address of numbers.`,
	check: checkDial,
}

const (
	waits     = "an address that does not answer is waited for until the kernel gives up, minutes later"
	useDialer = "use a net.Dialer with Timeout, and its DialContext"
	silence   = waits + ", and a server that stops talking is waited for without end"
)

// dials are the functions that connect without a limit: what happens, and what to write instead.
var dials = []struct{ name, happens, instead string }{
	{"net.Dial", waits, useDialer},
	{"net.DialTCP", waits, useDialer},
	{"crypto/tls.Dial", waits + ", and the handshake has no limit at all", "use a tls.Dialer whose NetDialer has Timeout"},
	{"net/smtp.Dial", silence, useDialer + ", then smtp.NewClient and a deadline on the connection"},
	{"net/smtp.SendMail", silence, useDialer + ", then smtp.NewClient and a deadline on the connection"},
	{"net/rpc.Dial", waits, useDialer + ", then rpc.NewClient"},
	{"net/rpc.DialHTTP", waits, useDialer + ", then rpc.NewClient"},
	{"net/rpc.DialHTTPPath", waits, useDialer + ", then rpc.NewClient"},
	{"net/rpc/jsonrpc.Dial", waits, useDialer + ", then jsonrpc.NewClient"},
	{"net/textproto.Dial", waits, useDialer + ", then textproto.NewConn"},
}

var lookups = []string{
	"LookupHost", "LookupIP", "LookupAddr", "LookupCNAME", "LookupMX", "LookupNS", "LookupSRV", "LookupTXT",
}

func checkDial(j *judge) {
	for _, d := range dials {
		for _, use := range j.uses[d.name] {
			if !j.neverWaits(use) {
				j.report(use.Node(), nil, "%s has no timeout: %s; %s", afterSlash(d.name), d.happens, d.instead)
			}
		}
	}
	for _, name := range lookups {
		for _, use := range j.uses["net."+name] {
			j.report(use.Node(), j.lookupFix(use), "net.%s takes no context: a name server that does not answer is waited "+
				"for, whoever has left meanwhile; use net.DefaultResolver.%s", name, name)
		}
	}
	for m := range j.making("net.Dialer") {
		if !j.gives(m, "Timeout", "Deadline") && !hasField(j, m, "Timeout") && !j.boundedUse(m, j.dialsWithin) {
			j.report(m.node, nil, "%s has no Timeout: %s; set Timeout", m.label("net.Dialer"), waits)
		}
	}
	for m := range j.making("crypto/tls.Dialer") {
		if !j.gives(m, "NetDialer") && !j.boundedUse(m, j.dialsWithin) {
			j.report(m.node, nil, "%s has no NetDialer: %s; give it a net.Dialer with Timeout",
				m.label("tls.Dialer"), waits)
		}
	}
}

// hasField tells whether the field is set at all: if to zero, tinytimeout tells of it.
func hasField(j *judge, m made, name string) bool {
	return m.lit != nil && j.field(m.lit, name) != nil || len(j.given(m.as, name)) > 0
}

// dialsWithin tells a dialer's call with a context that is seen to have a deadline.
func (s *survey) dialsWithin(method string, call *ast.CallExpr) bool {
	return method == "DialContext" && len(call.Args) > 0 && s.boundedContext(call.Args[0])
}

// neverWaits tells a call whose constant arguments say that it does not wait for anybody.
func (s *survey) neverWaits(use inspector.Cursor) bool {
	if use.ParentEdgeKind() != edge.CallExpr_Fun {
		return false
	}
	args := use.Parent().Node().(*ast.CallExpr).Args
	if len(args) < 2 {
		return false
	}
	network := s.text(args[0])
	if strings.HasPrefix(network, "unix") {
		return true
	}
	host, _, err := net.SplitHostPort(s.text(args[1]))
	return strings.HasPrefix(network, "udp") && err == nil && net.ParseIP(host) != nil
}

// text is the value of a constant string, or "".
func (v *values) text(e ast.Expr) string {
	if value := v.info.Types[e].Value; value != nil && value.Kind() == constant.String {
		return constant.StringVal(value)
	}
	return ""
}

// lookupFix hands the context at hand to the resolver. LookupIP's method has another signature, so it has no fix.
func (j *judge) lookupFix(use inspector.Cursor) []analysis.SuggestedFix {
	sel, ok := use.Node().(*ast.SelectorExpr)
	if !ok || use.ParentEdgeKind() != edge.CallExpr_Fun || sel.Sel.Name == "LookupIP" {
		return nil
	}
	code, param := j.atHand(use)
	args := use.Parent().Node().(*ast.CallExpr).Args
	if code == "" || len(args) == 0 || !j.visible(param, use.Node()) {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message: "Look up with " + code,
		TextEdits: []analysis.TextEdit{
			{Pos: sel.Sel.Pos(), End: sel.Sel.Pos(), NewText: []byte("DefaultResolver.")},
			{Pos: args[0].Pos(), End: args[0].Pos(), NewText: []byte(code + ", ")},
		},
	}}
}

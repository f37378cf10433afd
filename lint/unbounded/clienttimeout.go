package unbounded

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

var clientTimeout = Rule{
	Name: "clienttimeout",
	Doc: `an http.Client without Timeout and without a Transport that bounds its calls

This is a gate, not an accusation: each request may yet come with a deadline, but one that comes without waits for ever,
and the client is the one place that all of them pass. Set Timeout, here or on a following line, or a Transport that
bounds a call: an http.Transport with ResponseHeaderTimeout, or a RoundTripper that is seen to give each request a
deadline. Clients made by a literal, by new, as a variable and as part of a struct are judged where they are made, once;
one that a function or a variable of another module hands out is judged where it is taken.`,
	check: checkClientTimeout,
}

func checkClientTimeout(j *judge) {
	for m := range j.making(httpClient) {
		if j.clientBounded(m.lit, m.as) || j.boundedUse(m, j.doesWithin) {
			continue
		}
		but := ""
		if j.hasTransport(m) {
			but = " and its Transport is not seen to bound a call"
		}
		j.report(m.node, nil, "%s has no Timeout%s: a request without a deadline waits for ever, and keeps its "+
			"connection; set Timeout", m.label("http.Client"), but)
	}
	j.clientsOfOthers()
}

// clientBounded tells whether a client made by lit (nil: without any field set) for as is bounded. A Timeout of zero
// counts as set here: tinytimeout tells of it.
func (s *survey) clientBounded(lit *ast.CompositeLit, as types.Object) bool {
	if len(s.given(as, "Timeout")) > 0 || s.givenBoundingTransport(as) {
		return true
	}
	if lit == nil {
		return false
	}
	if s.field(lit, "Timeout") != nil {
		return true
	}
	transport := s.field(lit, "Transport")
	return transport != nil && s.bounds(transport)
}

func (s *survey) givenBoundingTransport(client types.Object) bool {
	for _, t := range s.given(client, "Transport") {
		if s.bounds(t) {
			return true
		}
	}
	return false
}

func (s *survey) hasTransport(m made) bool { return s.gives(m, "Transport") }

// clientsOfOthers reports unbounded clients that come out of other modules, where nobody is told of them.
func (j *judge) clientsOfOthers() {
	for _, f := range j.judged {
		for c := range f.Preorder((*ast.CallExpr)(nil)) {
			call := c.Node().(*ast.CallExpr)
			made := j.callee(call)
			if made == nil || !j.isForeign(made) || !j.summaryOf(call).UnboundedClient {
				continue
			}
			if j.clientBounded(nil, j.destination(c, 0)) {
				continue
			}
			j.report(call, nil, "%s returns an http.Client without Timeout: a request without a deadline waits for ever; "+
				"set its Timeout", shortName(made))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.uses)) {
		for _, use := range j.uses[name] {
			v, ok := j.info.Uses[nameAt(use)].(*types.Var)
			if !ok || !j.isForeign(v) || j.known[v] == nil || isAssigned(use) || isCompared(use) {
				continue
			}
			if method, call := methodCall(use); call != nil && j.doesWithin(method, call) || len(j.given(v, "Timeout")) > 0 {
				continue
			}
			j.report(use.Node(), nil, "%s is an http.Client without Timeout: a request without a deadline waits for ever; "+
				"use a client of your own", afterSlash(name))
		}
	}
}

// isForeign tells an object of another module than the one that is judged.
func (s *survey) isForeign(obj types.Object) bool {
	if obj.Pkg() == nil || obj.Pkg() == s.pkg || s.module == "" {
		return false
	}
	path := obj.Pkg().Path()
	return path != s.module && !strings.HasPrefix(path, s.module+"/")
}

// shortName is a function as code has it: cleanhttp.DefaultClient, (*oauth2.Config).Client.
func shortName(f *types.Func) string {
	qualify := func(p *types.Package) string { return p.Name() }
	if recv := f.Signature().Recv(); recv != nil {
		return "(" + types.TypeString(recv.Type(), qualify) + ")." + f.Name()
	}
	return f.Pkg().Name() + "." + f.Name()
}

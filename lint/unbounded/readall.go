package unbounded

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"
)

var readAll = Rule{
	Name: "readall",
	Doc: `a response body read whole, or decoded, without a limit on its size

How much is read is decided by who answers: an answer that does not end fills the memory of whoever asked. io.ReadAll,
buf.ReadFrom, io.Copy into memory and a decoder are such readers, and a function that does one of these with the reader
it is given, in this package or another. A limit is io.LimitReader, an io.LimitedReader or http.MaxBytesReader, around
the body or put in its place. Code that streams an answer and means to go on without end is for an allow.`,
	check: checkReadAll,
}

// readers are the functions that read one of their arguments to its end into memory.
var readers = map[string]int{
	"io.ReadAll":               0,
	"io/ioutil.ReadAll":        0,
	"(*bytes.Buffer).ReadFrom": 0,
}

// decoders are the packages, by a part of their path, whose NewDecoder reads values whole.
var decoders = regexp.MustCompile(`json|xml|gob|yaml|toml|msgpack|cbor|sonic`)

func checkReadAll(j *judge) {
	for _, f := range j.judged {
		for c := range f.Preorder((*ast.CallExpr)(nil)) {
			call := c.Node().(*ast.CallExpr)
			for _, reader := range j.readWhole(call) {
				if body := j.unlimitedBody(reader, map[types.Object]bool{}); body != nil {
					j.report(call, nil, "%s reads %s without a limit: whoever answers decides how much memory that takes; "+
						"read through io.LimitReader(%s, max) or http.MaxBytesReader",
						shortName(j.callee(call)), exprText(body), exprText(body))
				}
			}
		}
	}
}

// readWhole is the readers that a call reads whole into memory.
func (s *survey) readWhole(call *ast.CallExpr) (found []ast.Expr) {
	f := s.callee(call)
	if f == nil {
		return nil
	}
	if i, ok := readers[f.FullName()]; ok && i < len(call.Args) {
		return call.Args[i : i+1]
	}
	if f.Name() == "NewDecoder" && f.Pkg() != nil && decoders.MatchString(f.Pkg().Path()) && len(call.Args) > 0 {
		return call.Args[:1]
	}
	if f.FullName() == "io.Copy" && len(call.Args) == 2 {
		switch s.typeName(call.Args[0]) {
		case "bytes.Buffer", "strings.Builder":
			return call.Args[1:]
		}
	}
	sum := s.summaryOf(call)
	for i, arg := range call.Args {
		if sum.Reads.has(i) {
			found = append(found, arg)
		}
	}
	return found
}

// unlimitedBody follows a reader back to the response body that it reads without a limit, or nil.
func (s *survey) unlimitedBody(e ast.Expr, seen map[types.Object]bool) ast.Expr {
	e = ast.Unparen(e)
	if s.isBody(e) {
		if s.limits(s.bodyGiven(e)) {
			return nil
		}
		return e
	}
	if call := s.callOf(e); call != nil {
		if inner := s.wrapped(call); inner != nil {
			return s.unlimitedBody(inner, seen)
		}
		return nil
	}
	obj := s.object(e)
	if obj == nil || seen[obj] {
		return nil
	}
	seen[obj] = true
	var body ast.Expr
	for _, o := range s.origins[obj] {
		if s.limits([]ast.Expr{o.expr}) {
			return nil
		}
		if found := s.unlimitedBody(o.expr, seen); found != nil {
			body = found
		}
	}
	return body
}

// isBody tells the Body of an *http.Response.
func (s *survey) isBody(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Body" && s.typeName(sel.X) == httpResponse
}

// bodyGiven is what is put in the place of a body, on any line.
func (s *survey) bodyGiven(body ast.Expr) []ast.Expr {
	return s.given(s.object(body.(*ast.SelectorExpr).X), "Body")
}

// limits tells whether one of the readers is, or is made around, one that ends.
func (s *survey) limits(readers []ast.Expr) bool {
	found := false
	for _, r := range readers {
		ast.Inspect(r, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				found = found || s.isLimiter(n)
			case *ast.CompositeLit:
				found = found || s.typeName(n) == "io.LimitedReader"
			}
			return !found
		})
	}
	return found
}

// isLimiter tells a function that says by its name that it limits what is read: LimitReader, MaxBytesReader.
func (s *survey) isLimiter(call *ast.CallExpr) bool {
	f := s.callee(call)
	if f == nil {
		return false
	}
	name := strings.ToLower(f.Name())
	return strings.Contains(name, "limit") || strings.Contains(name, "max")
}

// wrapped is the reader that a call puts another around: bufio.NewReader, gzip.NewReader, io.TeeReader, a conversion.
func (s *survey) wrapped(call *ast.CallExpr) ast.Expr {
	if s.isLimiter(call) || !canRead(s.firstResult(call)) {
		return nil
	}
	for _, arg := range call.Args {
		if canRead(s.info.TypeOf(arg)) {
			return arg
		}
	}
	return nil
}

func (s *survey) firstResult(call *ast.CallExpr) types.Type {
	t := s.info.TypeOf(call)
	if tuple, ok := t.(*types.Tuple); ok {
		if tuple.Len() == 0 {
			return nil
		}
		return tuple.At(0).Type()
	}
	return t
}

func canRead(t types.Type) bool { return t != nil && method(t, "Read") != nil }

// unwrapReader follows a reader back to the variable it reads from, through what is put around it.
func (s *survey) unwrapReader(e ast.Expr) ast.Expr {
	for {
		call := s.callOf(e)
		if call == nil {
			return e
		}
		inner := s.wrapped(call)
		if inner == nil {
			return e
		}
		e = inner
	}
}

package unbounded

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// directive is an allow's beginning; what follows is read by readAllow.
const directive = "//unbounded:allow"

// allow is one //unbounded:allow <rule> "<reason>".
type allow struct {
	comment *ast.Comment
	rule    string
	wrong   string    // what is wrong with it; such an allow allows nothing
	file    string    // where it holds:
	line    int       // on this line,
	from    token.Pos // or in this declaration
	to      token.Pos
	used    bool
}

// allows are those of a package's judged files.
type allows struct {
	fset *token.FileSet
	all  []*allow
}

func readAllows(pass *analysis.Pass, judged []inspector.Cursor) (*allows, error) {
	read := &allows{fset: pass.Fset}
	for _, c := range judged {
		file := c.Node().(*ast.File)
		declarations := documented(c)
		for _, group := range file.Comments {
			for _, comment := range group.List {
				a := readAllow(comment)
				if a == nil {
					continue
				}
				at := pass.Fset.Position(comment.Pos())
				a.file, a.line = at.Filename, at.Line
				if n := declarations[group]; n != nil {
					a.from, a.to = n.Pos(), n.End()
				} else if alone, err := standsAlone(pass, at); err != nil {
					return nil, err
				} else if alone {
					a.line = pass.Fset.Position(group.End()).Line + 1
				}
				read.all = append(read.all, a)
			}
		}
	}
	return read, nil
}

// documented is the declarations of a file by their comments.
func documented(file inspector.Cursor) map[*ast.CommentGroup]ast.Node {
	docs := map[*ast.CommentGroup]ast.Node{}
	add := func(doc *ast.CommentGroup, n ast.Node) {
		if doc != nil {
			docs[doc] = n
		}
	}
	for c := range file.Preorder((*ast.FuncDecl)(nil), (*ast.GenDecl)(nil), (*ast.ValueSpec)(nil),
		(*ast.TypeSpec)(nil), (*ast.Field)(nil)) {
		switch n := c.Node().(type) {
		case *ast.FuncDecl:
			add(n.Doc, n)
		case *ast.GenDecl:
			add(n.Doc, n)
		case *ast.ValueSpec:
			add(n.Doc, n)
		case *ast.TypeSpec:
			add(n.Doc, n)
		case *ast.Field:
			add(n.Doc, n)
		}
	}
	return docs
}

// standsAlone tells whether nothing but space is before a comment on its line.
func standsAlone(pass *analysis.Pass, at token.Position) (bool, error) {
	source, err := pass.ReadFile(at.Filename)
	if err != nil {
		return false, err
	}
	start := bytes.LastIndexByte(source[:at.Offset], '\n') + 1
	return len(bytes.TrimSpace(source[start:at.Offset])) == 0, nil
}

var allowed = regexp.MustCompile(`^\s+([a-z]+)(?:\s+(.*))?$`)

// readAllow reads a comment; nil, if it is no allow.
func readAllow(c *ast.Comment) *allow {
	rest, ok := strings.CutPrefix(c.Text, directive)
	if !ok {
		return nil
	}
	a := &allow{comment: c}
	parts := allowed.FindStringSubmatch(rest)
	switch {
	case parts == nil:
		a.wrong = `names no rule: write ` + directive + ` <rule> "<reason>"`
	case !isRule(parts[1]):
		a.wrong = fmt.Sprintf("there is no rule %q: there are %s", parts[1], strings.Join(ruleNames(), ", "))
	case !hasReason(parts[2]):
		a.wrong = fmt.Sprintf(`gives no reason: write %s %s "<reason>", for whoever reads it next`, directive, parts[1])
	default:
		a.rule = parts[1]
	}
	return a
}

// hasReason tells whether s is a quoted reason, and then nothing but perhaps a comment.
func hasReason(s string) bool {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return false
	}
	reason, err := strconv.Unquote(quoted)
	rest := strings.TrimSpace(s[len(quoted):])
	return err == nil && strings.TrimSpace(reason) != "" && (rest == "" || strings.HasPrefix(rest, "//"))
}

// use tells whether an allow for the rule holds at pos, and notes that it was of use.
func (as *allows) use(rule string, pos token.Pos) bool {
	at := as.fset.Position(pos)
	found := false
	for _, a := range as.all {
		here := a.file == at.Filename && a.line == at.Line || a.from <= pos && pos < a.to
		if a.rule == rule && here {
			a.used, found = true, true
		}
	}
	return found
}

// found is the allows that are wrong, and those that allow nothing though their rule was applied.
func (as *allows) found(applied selection) (all []analysis.Diagnostic) {
	for _, a := range as.all {
		d := analysis.Diagnostic{Pos: a.comment.Pos(), End: a.comment.End(), Category: "allow"}
		switch {
		case a.wrong != "":
			d.Message = "allow: " + a.wrong
		case !a.used && applied.has(a.rule):
			d.Message = fmt.Sprintf("allow: nothing here breaks %s: remove it, so that it allows nothing tomorrow", a.rule)
			d.SuggestedFixes = []analysis.SuggestedFix{{
				Message:   "Remove the allow",
				TextEdits: []analysis.TextEdit{{Pos: d.Pos, End: d.End}},
			}}
		default:
			continue
		}
		all = append(all, d)
	}
	return all
}

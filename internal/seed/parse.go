package seed

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const file = "books.yaml" // as errors call it

// fields are the keys of an entry, in the order in which missing ones are told. All but stock are required.
var fields = []string{
	"id", "title", "author", "year", "language", "subjects", "price_cents", "stock", "description",
}

// parse reads the books and checks every rule of them. It returns them sorted by id, or an error that joins all
// mistakes, each with its line, book and field and with what is allowed there.
//
// It walks the syntax tree rather than decode into a struct: a decoder stops at an entry's first mistake, takes an
// empty value for zero, and a forgotten stock for a sold-out book.
func parse(data []byte) ([]Book, error) {
	doc, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey()) // told by book and field instead, below
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Docs) != 1 {
		return nil, fmt.Errorf("%s: holds %d documents, must hold one", file, len(doc.Docs))
	}
	list, ok := doc.Docs[0].Body.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return nil, fmt.Errorf("%s: must be a list of books, each beginning with a dash", file)
	}
	var books []Book
	var errs []error
	firstLine := map[string]int{} // of each id
	for i, node := range list.Values {
		entry, ok := node.(ast.MapNode)
		if !ok {
			errs = append(errs,
				fmt.Errorf("%s:%d: entry %d: must be a book: lines of field: value", file, lineOf(node), i+1))
			continue
		}
		book, mistakes := parseBook(entry)
		line := lineOf(node)
		if first, taken := firstLine[book.ID]; taken && book.ID != "" {
			taken := fmt.Sprintf("is taken by the book at line %d, must be unique", first)
			mistakes = append(mistakes, mistake{line, "id", taken})
		} else {
			firstLine[book.ID] = line
		}
		name := cmp.Or(book.ID, book.Title, fmt.Sprintf("entry %d", i+1))
		for _, m := range mistakes {
			errs = append(errs, fmt.Errorf("%s:%d: %s: %s: %s", file, cmp.Or(m.line, line), name, m.field, m.text))
		}
		books = append(books, book)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortFunc(books, func(a, b Book) int { return strings.Compare(a.ID, b.ID) })
	return books, nil
}

// mistake is one broken rule of one entry.
type mistake struct {
	line  int // 0: that of the entry
	field string
	text  string // what it is, and what is allowed
}

// parseBook reads one entry and tells all that is wrong with it.
func parseBook(entry ast.MapNode) (Book, []mistake) {
	b := Book{Stock: AlwaysInStock}
	read := map[string]func(ast.Node) error{
		"id":          func(n ast.Node) error { return readText(n, &b.ID) },
		"title":       func(n ast.Node) error { return readText(n, &b.Title) },
		"author":      func(n ast.Node) error { return readText(n, &b.Author) },
		"year":        func(n ast.Node) error { return readNumber(n, &b.Year, 1450, 1929) }, // in print, and free by now
		"language":    func(n ast.Node) error { return readChoice(n, &b.Language, Languages) },
		"subjects":    func(n ast.Node) error { return readChoices(n, &b.Subjects, Subjects, 4) },
		"price_cents": func(n ast.Node) error { return readNumber(n, &b.PriceCents, 500, 9000) },
		"stock":       func(n ast.Node) error { return readNumber(n, &b.Stock, 0, AlwaysInStock) },
		"description": func(n ast.Node) error { return readDescription(n, &b.Description) },
	}
	var mistakes []mistake
	seen := map[string]bool{}
	for pair := entry.MapRange(); pair.Next(); {
		field := pair.Key().String()
		line := lineOf(pair.Key())
		switch reader, known := read[field]; {
		case !known:
			unknown := "is no field of a book, must be one of " + strings.Join(fields, ", ")
			mistakes = append(mistakes, mistake{line, field, unknown})
		case seen[field]:
			mistakes = append(mistakes, mistake{line, field, "is given twice, must be given once"})
		default:
			if err := reader(pair.Value()); err != nil {
				mistakes = append(mistakes, mistake{line, field, err.Error()})
			}
		}
		seen[field] = true
	}
	for _, field := range fields {
		if !seen[field] && field != "stock" {
			mistakes = append(mistakes, mistake{0, field, "is missing"})
		}
	}
	if want := slug(b.Title); b.ID != "" && b.Title != "" && (b.ID != want || !ValidID(b.ID)) {
		mistakes = append(mistakes, mistake{0, "id", fmt.Sprintf(
			"is %q, must be %q, the title's slug, of at most %d letters", b.ID, want, MaxIDLength)})
	}
	return b, mistakes
}

// readText reads one line of text: not empty, no space around it, no control characters, at most 1,000 bytes.
func readText(n ast.Node, to *string) error {
	var s string
	switch n := n.(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode: // a block: |, >, >-
		s = n.Value.Value
	default:
		return fmt.Errorf("is %s, must be text (in quotes where it looks like something else)", describe(n))
	}
	if s == "" || s != strings.TrimSpace(s) || len(s) > 1000 || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("is %q, must be one line of text, 1 to 1,000 bytes, without space around it", s)
	}
	*to = s
	return nil
}

func readNumber[T int | int64](n ast.Node, to *T, least, most T) error {
	var v T
	if _, ok := n.(*ast.IntegerNode); !ok || yaml.NodeToValue(n, &v) != nil || v < least || v > most {
		return fmt.Errorf("is %s, must be a whole number, %d to %d", describe(n), least, most)
	}
	*to = v
	return nil
}

func readChoice(n ast.Node, to *string, from []string) error {
	var s string
	if err := readText(n, &s); err != nil {
		return err
	}
	if !slices.Contains(from, s) {
		return fmt.Errorf("is %q, must be one of %s", s, strings.Join(from, ", "))
	}
	*to = s
	return nil
}

func readChoices(n ast.Node, to *[]string, from []string, most int) error {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) < 1 || len(list.Values) > most {
		return fmt.Errorf("is %s, must be a list of 1 to %d of %s", describe(n), most, strings.Join(from, ", "))
	}
	var choices []string
	var errs []error
	for _, value := range list.Values {
		var s string
		if err := readChoice(value, &s, from); err != nil {
			errs = append(errs, err)
		} else if slices.Contains(choices, s) {
			errs = append(errs, fmt.Errorf("has %q twice, must have it once", s))
		}
		choices = append(choices, s)
	}
	if len(errs) > 0 {
		return joinInline(errs)
	}
	*to = choices
	return nil
}

func readDescription(n ast.Node, to *string) error {
	var s string
	if err := readText(n, &s); err != nil {
		return err
	}
	if got := sentences(s); got != 2 {
		return fmt.Errorf("has %d sentences, must have 2 (and no other full stop before a space: Dr, not Dr.)", got)
	}
	*to = s
	return nil
}

// sentences counts what ends with a full stop, a question or an exclamation mark, quotes and brackets let pass. Words
// after the last of these count as one more, so that a text that trails off does not pass for two.
func sentences(s string) int {
	count, open := 0, false
	for word := range strings.FieldsSeq(s) {
		last := strings.TrimRight(word, `"'”’)`)
		open = !strings.HasSuffix(last, ".") && !strings.HasSuffix(last, "!") && !strings.HasSuffix(last, "?")
		if !open {
			count++
		}
	}
	if open {
		count++
	}
	return count
}

// joinInline puts the mistakes of one field on one line.
func joinInline(errs []error) error {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return errors.New(strings.Join(texts, "; "))
}

// describe shows a value as the file has it.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.StringNode:
		return fmt.Sprintf("%q", n.Value)
	}
	s := []rune(strings.Join(strings.Fields(n.String()), " "))
	if len(s) > 60 {
		return string(s[:60]) + "…"
	}
	return string(s)
}

func lineOf(n ast.Node) int { return n.GetToken().Position.Line }

package catalogue

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/seed"
)

// What a request may ask for at most.
const (
	maxText        = 100 // characters of q and of subject
	maxPerPage     = 48
	defaultPerPage = 24
	maxPrices      = 50 // ids
)

// parameters reads the query of a request and gathers every rule that it breaks, to tell them at once.
type parameters struct {
	values url.Values
	broken []problem.FieldError
}

func parametersOf(r *http.Request) *parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &parameters{values: values}
	if err != nil {
		p.breaks("query", "is not a well-formed query string")
	}
	return p
}

func (p *parameters) breaks(field, format string, args ...any) {
	p.broken = append(p.broken, problem.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// err returns nil, or the problem with all broken rules.
func (p *parameters) err() error {
	if len(p.broken) == 0 {
		return nil
	}
	return invalid(p.broken...)
}

func invalid(broken ...problem.FieldError) *problem.Problem {
	return problem.Invalid("Correct the fields listed and ask again.", broken...)
}

// text reads words that a person wrote.
func (p *parameters) text(name string) string {
	s := p.values.Get(name)
	switch {
	case len(s) > maxText*utf8.UTFMax || utf8.RuneCountInString(s) > maxText:
		p.breaks(name, "is longer than %d characters", maxText)
		return ""
	case !utf8.ValidString(s):
		p.breaks(name, "is not UTF-8")
		return ""
	}
	return strings.TrimSpace(s)
}

// oneOf reads one of a few words; the first is meant where none is given.
func oneOf[S ~string](p *parameters, name string, words ...S) S {
	s := S(p.values.Get(name))
	if s == "" {
		return words[0]
	}
	for _, w := range words {
		if s == w {
			return s
		}
	}
	p.breaks(name, "is none of %s", fmt.Sprint(words))
	return words[0]
}

// whole reads a whole number. One that no int can hold is the largest or the smallest.
func (p *parameters) whole(name string, otherwise int) int {
	s := p.values.Get(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		p.breaks(name, "is not a whole number")
		return otherwise
	}
	return n
}

// currency reads the code of a currency, which need not be one that we have a rate for.
func (p *parameters) currency() string {
	code := strings.ToUpper(p.values.Get("currency"))
	if code == "" {
		return Home
	}
	if len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		p.breaks("currency", "is not a currency code of three letters, such as EUR")
		return Home
	}
	return code
}

func (p *parameters) query() Query {
	q := Query{
		Text:    p.text("q"),
		Subject: p.text("subject"),
		Sort:    oneOf(p, "sort", ByTitle, ByAuthor, ByYear, ByPrice),
		Page:    p.whole("page", 1),
		PerPage: p.whole("per_page", defaultPerPage),
	}
	if p.values.Has("ids") { // a cart: it fits on one page
		q.IDs, q.PerPage = p.ids(), p.whole("per_page", maxPerPage)
	}
	if q.PerPage < 1 || q.PerPage > maxPerPage {
		p.breaks("per_page", "is not between 1 and %d", maxPerPage)
	}
	return q
}

// ids reads a list of books.
func (p *parameters) ids() []string {
	list := p.values.Get("ids")
	if list == "" {
		p.breaks("ids", "is missing: name 1 to %d books, with commas between them", maxPrices)
		return nil
	}
	if strings.Count(list, ",") >= maxPrices {
		p.breaks("ids", "names more than %d books", maxPrices)
		return nil
	}
	ids := strings.Split(list, ",")
	for i, id := range ids {
		if !seed.ValidID(id) {
			p.breaks("ids", "number %d is not the id of a book", i+1)
		}
	}
	return ids
}

package gateway

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/holdfast/internal/problem"
)

// What may be asked of the shelf: the catalogue's own bounds, asked here too, so that nonsense costs it nothing and
// never becomes the key of a copy.
const (
	maxText    = 100 // characters
	maxPage    = 10_000
	maxPerPage = 48
	perPage    = 24
)

const formType = "application/x-www-form-urlencoded"

var sorts = []string{"title", "author", "year", "price"}

// queryOf reads the query string, which must be well formed.
func queryOf(r *http.Request) (url.Values, error) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid("address", "has a query that cannot be read")
	}
	return v, nil
}

// readForm reads a form that was sent as pages send theirs; nothing else is taken for one with empty fields.
func readForm(r *http.Request) error {
	if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != formType {
		return invalid("form", "must be sent as "+formType)
	}
	if err := r.ParseForm(); err != nil {
		return invalid("form", "cannot be read")
	}
	return nil
}

// shelfQueryOf reads what is asked of the shelf. The error tells every broken rule.
func shelfQueryOf(v url.Values) (shelfQuery, error) {
	var errs []problem.FieldError
	broken := func(field, message string) { errs = append(errs, problem.FieldError{Field: field, Message: message}) }
	text := func(name string) string {
		s := v.Get(name)
		if !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxText || strings.ContainsRune(s, 0) {
			broken(name, "must be text of at most 100 characters")
			return ""
		}
		return strings.Join(strings.Fields(s), " ")
	}
	number := func(name string, otherwise, most int) int {
		if v.Get(name) == "" {
			return otherwise
		}
		n, err := strconv.Atoi(v.Get(name))
		if err != nil || n < 1 || n > most {
			broken(name, "must be a whole number from 1 to "+strconv.Itoa(most))
		}
		return n
	}
	q := shelfQuery{
		Text: text("q"), Subject: text("subject"), Sort: v.Get("sort"),
		Page: number("page", 1, maxPage), PerPage: number("per_page", perPage, maxPerPage),
	}
	if q.Sort == "" {
		q.Sort = sorts[0]
	}
	if !slices.Contains(sorts, q.Sort) {
		broken("sort", "must be one of "+strings.Join(sorts, ", "))
	}
	if errs != nil {
		return shelfQuery{}, problem.Invalid("The shelf cannot be asked for that.", errs...)
	}
	return q, nil
}

// address is the page of the shelf that shows q, as short as it can be said.
func (q shelfQuery) address() string {
	v := url.Values{}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if q.Subject != "" {
		v.Set("subject", q.Subject)
	}
	if q.Sort != sorts[0] {
		v.Set("sort", q.Sort)
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if len(v) == 0 {
		return "/books"
	}
	return "/books?" + v.Encode()
}

package gateway

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bojanz/currency"
)

//go:embed templates
var templateFiles embed.FS

// parseTemplates reads every template: the frame, the parts that pages share, and for each page what it has in the
// frame.
func parseTemplates() (*template.Template, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"asset": func(name string) string { return assetURLs[name] },
	}).ParseFS(templateFiles, "templates/*.html", "templates/pages/*.html")
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	return t, nil
}

// frame is what every page shows around its own.
type frame struct {
	Title      string
	Search     string // what the search box holds
	Currency   string
	Currencies template.HTML // the options to choose from
	Here       string        // where to go back to after choosing a currency
	Volumes    int           // in the cart
	Notice     string        // something to be told once
	Offers     offersView
	Main       template.HTML // the page itself
}

func frameOf(v visitor, title string) frame {
	return frame{
		Title: title, Currency: v.currency, Currencies: currencyOptions[v.currency], Here: v.here,
		Volumes: v.cart.volumes(), Notice: v.notice,
	}
}

// currencyOptions are the options of the form that every page has, with one of them chosen. They are made once:
// thirty of them in a template take as long as the rest of a page.
var currencyOptions = func() map[string]template.HTML {
	all := make(map[string]template.HTML, len(currencies))
	for _, chosen := range currencies {
		var b strings.Builder
		for _, code := range currencies {
			if code == chosen {
				b.WriteString("<option selected>" + code + "</option>")
			} else {
				b.WriteString("<option>" + code + "</option>")
			}
		}
		all[chosen] = template.HTML(b.String()) // of our own constants
	}
	return all
}()

// show answers with a page, whole or not at all: half a page is worse than an error. For a request that is over it is
// not made: it would take longer than all else, and nobody waits for it.
func (s *Service) show(
	w http.ResponseWriter, r *http.Request, status int, f frame, main func() (template.HTML, error),
) (err error) {
	if err := r.Context().Err(); err != nil {
		return err
	}
	if f.Main, err = main(); err != nil {
		return err
	}
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := s.templates.ExecuteTemplate(b, "frame.html", f); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "private, no-cache") // every page shows the visitor's cart
	}
	return write(w, status, b.Bytes())
}

// page makes a page of data, without its frame.
func (s *Service) page(name string, data any) func() (template.HTML, error) {
	return func() (template.HTML, error) { return s.render(name, data) }
}

func (s *Service) render(page string, data any) (template.HTML, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	if err := s.templates.ExecuteTemplate(b, page+".html", data); err != nil {
		return "", fmt.Errorf("page %s: %w", page, err)
	}
	return template.HTML(b.String()), nil // of a template of ours, which has escaped what is not
}

// buffers are for pages: they all have much the same size.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// write sends a whole body. That the visitor has gone meanwhile is no error of ours.
func write(w http.ResponseWriter, status int, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}

// markDegraded tells machines what in the answer came from a fallback: what any of the calls behind it says.
func markDegraded(w http.ResponseWriter, calls ...[]string) {
	var what []string
	for _, token := range slices.Concat(calls...) {
		if !slices.Contains(what, token) {
			what = append(what, token)
		}
	}
	if len(what) > 0 {
		w.Header().Set("X-Degraded", strings.Join(what, ", "))
	}
}

// bookView is a book on a page.
type bookView struct {
	ID, Title, Author, Year, Language, Description string
	Subjects                                       []subjectView
	Price                                          price
	Stock                                          availability
}

type subjectView struct {
	Name, Address string
	Count         int
	Current       bool
}

func (s *Service) bookView(b book) bookView {
	return bookView{
		ID: b.ID, Title: b.Title, Author: b.Author, Year: year(b.Year), Language: b.Language,
		Description: b.Description, Price: priceOf(b.Price), Stock: s.availability(b.ID),
	}
}

// subjectViews lead from a book's own page to its subjects' shelves. A shelf does not show them: two dozen books'
// addresses would cost a tenth of it.
func subjectViews(names []string) []subjectView {
	views := make([]subjectView, len(names))
	for i, name := range names {
		q := shelfQuery{Subject: name, Sort: sorts[0]}
		views[i] = subjectView{Name: name, Address: q.address()}
	}
	return views
}

// availabilities is all that pages say of the stock of books.
func (s *Service) availabilities(books []book) string {
	var all strings.Builder
	for _, b := range books {
		all.WriteString(s.availability(b.ID).Text)
		all.WriteByte('\n')
	}
	return all.String()
}

func (s *Service) bookViews(books []book) []bookView {
	views := make([]bookView, len(books))
	for i, b := range books {
		views[i] = s.bookView(b)
	}
	return views
}

// availability is what the last count of the stock lets a page say of a book. The zero value says nothing.
type availability struct {
	Text         string
	Few, SoldOut bool
}

func (s *Service) availability(id string) availability {
	switch n, known := s.stock.left(id); {
	case !known:
		return availability{}
	case n <= 0:
		return availability{Text: "Sold out", SoldOut: true}
	case n <= fewLeft:
		return availability{Text: strconv.Itoa(n) + " left", Few: true}
	default:
		return availability{Text: "In stock"}
	}
}

// lineView is a title of a cart, of a quote or of an order.
type lineView struct {
	ID, Title   string
	Quantity    int
	Unit, Total price
	Stock       availability
	Gone        bool // the shop has it no more
}

func (s *Service) orderLines(lines []orderLine) []lineView {
	views := make([]lineView, len(lines))
	for i, l := range lines {
		views[i] = lineView{
			ID: l.Book, Title: s.titles.of(l.Book), Quantity: l.Quantity,
			Unit: priceOf(l.UnitPrice), Total: priceOf(l.LineTotal),
		}
	}
	return views
}

// priceNote says in one line why prices are not what was asked for; "" where they are. shown is a price on the page.
func priceNote(asked string, shown currency.Amount, degraded []string, ratesAsOf string) string {
	got := shown.CurrencyCode()
	switch day, err := time.Parse(time.DateOnly, ratesAsOf); {
	case got != asked && got != "":
		return "Prices in " + currencyName(got) + ": today’s rates are not at hand."
	case !slices.Contains(degraded, pricesDegraded):
		return ""
	case err == nil:
		return "Prices at the rates of " + day.Format("2 January 2006") + ": today’s are not at hand."
	default:
		return "Prices at the last rates we have: today’s are not at hand."
	}
}

// copyNote says how old a page made from a copy is; "" for a fresh one.
func copyNote(copiedAt time.Time) string {
	if copiedAt.IsZero() {
		return ""
	}
	return "From a copy made " + ago(time.Since(copiedAt)) + "."
}

func ago(d time.Duration) string {
	switch minutes := int(d / time.Minute); {
	case minutes > 1:
		return strconv.Itoa(minutes) + " minutes ago"
	case minutes == 1:
		return "a minute ago"
	default:
		return "less than a minute ago"
	}
}

// year is how a year is printed: the ones before our era are negative.
func year(y int) string {
	switch {
	case y < 0:
		return strconv.Itoa(-y) + " BC"
	case y == 0:
		return ""
	default:
		return strconv.Itoa(y)
	}
}

// notes drops the empty ones.
func notes(all ...string) (said []string) {
	for _, n := range all {
		if n != "" {
			said = append(said, n)
		}
	}
	return said
}

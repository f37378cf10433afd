package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bojanz/currency"
	"github.com/go-chi/chi/v5"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
)

// The documents of /api/v1. They are the gateway's own: what the services say to each other may change, these not.
type (
	apiBooks struct {
		Books    []apiBook      `json:"books"`
		Total    int            `json:"total"`
		Page     int            `json:"page"`
		Pages    int            `json:"pages"`
		Subjects []subjectCount `json:"subjects"`
		apiState
	}

	apiBookPage struct {
		Book    apiBook   `json:"book"`
		Related []apiBook `json:"related"`
		apiState
	}

	apiRelated struct {
		Related []apiBook `json:"related"`
		apiState
	}

	apiBook struct {
		ID          string          `json:"id"`
		Title       string          `json:"title"`
		Author      string          `json:"author"`
		Year        int             `json:"year,omitempty"`
		Language    string          `json:"language,omitempty"`
		Subjects    []string        `json:"subjects,omitempty"`
		Description string          `json:"description,omitempty"`
		Price       currency.Amount `json:"price"`
		Stock       *int            `json:"stock,omitempty"` // copies at the last count; absent: unknown
	}

	// apiState says what in the answer is not as it should be.
	apiState struct {
		Degraded []string   `json:"degraded,omitempty"`
		CopiedAt *time.Time `json:"copied_at,omitempty"`
	}

	apiOrder struct {
		ID        string          `json:"id"`
		Status    string          `json:"status"`
		CreatedAt time.Time       `json:"created_at"`
		Items     []orderLine     `json:"items"`
		Total     currency.Amount `json:"total"`
		Currency  string          `json:"currency"`
	}
)

func (s *Service) apiBooks(w http.ResponseWriter, r *http.Request) error {
	v, err := queryOf(r)
	if err != nil {
		return err
	}
	q, err := shelfQueryOf(v)
	if err != nil {
		return err
	}
	if q.Currency, err = currencyAsked(v); err != nil {
		return err
	}
	a, err := s.catalogue.list(r.Context(), q)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, a.degraded(), apiBooks{
		Books: s.apiBookList(a.Body.Books), Total: a.Body.Total, Page: a.Body.Page, Pages: a.Body.Pages,
		Subjects: a.Body.Subjects, apiState: stateOf(a.degraded(), a.CopiedAt),
	})
}

func (s *Service) apiBook(w http.ResponseWriter, r *http.Request) error {
	id, code, err := bookAsked(r)
	if err != nil {
		return err
	}
	a, err := s.catalogue.find(r.Context(), id, code, !s.deferred)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, a.degraded(), apiBookPage{
		Book: s.apiBookOf(a.Body.Book), Related: s.apiBookList(a.Body.Related),
		apiState: stateOf(a.degraded(), a.CopiedAt),
	})
}

func (s *Service) apiRelated(w http.ResponseWriter, r *http.Request) error {
	id, code, err := bookAsked(r)
	if err != nil {
		return err
	}
	a, err := s.catalogue.alsoBought(r.Context(), id, code)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, a.Degraded, apiRelated{
		Related: s.apiBookList(a.Related), apiState: stateOf(a.Degraded, time.Time{}),
	})
}

func (s *Service) apiPlaceOrder(w http.ResponseWriter, r *http.Request) error {
	keys := r.Header.Values(keyHeader)
	if len(keys) == 0 || keys[0] == "" {
		return problem.New(problem.KeyRequired, "Send an Idempotency-Key header: any text of 1 to 64 characters, "+
			"new for a new order, the same when this one is tried again.")
	}
	if len(keys) > 1 { // the sender cannot know which of them would be the order's
		return problem.Invalid("Nothing was ordered: which "+keyHeader+" is meant cannot be told.",
			problem.FieldError{Field: keyHeader, Message: "must be given once"})
	}
	o, err := orderOf(r)
	if err != nil {
		return err
	}
	placed, err := s.checkout.place(r.Context(), keys[0], o)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/orders/"+placed.ID)
	return reply(w, http.StatusCreated, nil, apiOrderOf(placed))
}

func (s *Service) apiOrder(w http.ResponseWriter, r *http.Request) error {
	o, err := s.checkout.find(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, nil, apiOrderOf(o))
}

// orderOf reads the body of an order. What is obviously none goes no further; whether it can be had, and for how
// much, is checkout's to say.
func orderOf(r *http.Request) (o orderRequest, err error) {
	if err := service.RequireJSON(r); err != nil {
		return o, err
	}
	doc, err := io.ReadAll(r.Body) // the chassis has read it whole, at most 64 KiB
	if err != nil {
		return o, err
	}
	shape := "must be one JSON object: items, currency and expected_total"
	if broken := service.DecodeJSON(doc, &o, shape); broken != nil {
		return o, problem.Invalid("The order cannot be read. Nothing was ordered.", *broken)
	}
	var errs []problem.FieldError
	broken := func(field, message string) { errs = append(errs, problem.FieldError{Field: field, Message: message}) }
	if n := len(o.Items); n < 1 || n > maxLines {
		broken("items", "must name 1 to "+strconv.Itoa(maxLines)+" titles")
	} else {
		for i, item := range o.Items {
			if !validBook(item.Book) {
				broken(fmt.Sprintf("items[%d].book", i), "is not the id of a book")
			}
			if item.Quantity < 1 || item.Quantity > maxQuantity {
				broken(fmt.Sprintf("items[%d].quantity", i), "must be from 1 to "+strconv.Itoa(maxQuantity))
			}
		}
	}
	if !validCurrency(o.Currency) {
		broken("currency", "must be one of "+strings.Join(currencies, ", "))
	}
	if !decimal.MatchString(o.ExpectedTotal) {
		broken("expected_total", `must be the total that was shown, a decimal such as "21.40"`)
	}
	if errs != nil {
		return o, problem.Invalid("The order cannot be taken as it is. Nothing was ordered.", errs...)
	}
	return o, nil
}

func bookAsked(r *http.Request) (id, code string, err error) {
	if id = chi.URLParam(r, "id"); !validBook(id) {
		return "", "", errNoBook
	}
	v, err := queryOf(r)
	if err != nil {
		return "", "", err
	}
	code, err = currencyAsked(v)
	return id, code, err
}

func (s *Service) apiBookList(books []book) []apiBook {
	list := make([]apiBook, len(books))
	for i, b := range books {
		list[i] = s.apiBookOf(b)
	}
	return list
}

func (s *Service) apiBookOf(b book) apiBook {
	a := apiBook{
		ID: b.ID, Title: b.Title, Author: b.Author, Year: b.Year, Language: b.Language,
		Subjects: b.Subjects, Description: b.Description, Price: b.Price,
	}
	if n, known := s.stock.left(b.ID); known {
		a.Stock = &n
	}
	return a
}

func apiOrderOf(o order) apiOrder {
	return apiOrder{
		ID: o.ID, Status: o.Status, CreatedAt: o.CreatedAt,
		Items: o.Items, Total: o.Total, Currency: o.Total.CurrencyCode(),
	}
}

func stateOf(degraded []string, copiedAt time.Time) apiState {
	s := apiState{Degraded: degraded}
	if !copiedAt.IsZero() {
		s.CopiedAt = &copiedAt
	}
	return s
}

// reply answers with a JSON document.
func reply(w http.ResponseWriter, status int, degraded []string, doc any) error {
	body, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	markDegraded(w, degraded)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return write(w, status, body)
}

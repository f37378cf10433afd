package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/bojanz/currency"

	"example.com/holdfast/internal/problem"
	"example.com/holdfast/internal/service"
	"example.com/holdfast/pkg/resilience"
)

// What the gateway says to checkout, and the fields that it reads of the answers.
type (
	orderRequest struct {
		Items         []orderItem `json:"items"`
		Currency      string      `json:"currency"`
		ExpectedTotal string      `json:"expected_total"` // what the person was shown, and all that may be charged
	}

	orderItem struct {
		Book     string `json:"book"`
		Quantity int    `json:"quantity"`
	}

	order struct {
		ID        string          `json:"id"`
		Status    string          `json:"status"`
		CreatedAt time.Time       `json:"created_at"`
		Items     []orderLine     `json:"items"`
		Total     currency.Amount `json:"total"`
	}

	orderLine struct {
		Book      string          `json:"book"`
		Quantity  int             `json:"quantity"`
		UnitPrice currency.Amount `json:"unit_price"`
		LineTotal currency.Amount `json:"line_total"`
	}

	// quote is what checkout would charge, when that is not what the person was shown.
	quote struct {
		Items []orderLine     `json:"items"`
		Total currency.Amount `json:"total"`
	}

	// shortage is a title of which fewer copies are left than were asked for.
	shortage struct {
		Book  string `json:"book"`
		Asked int    `json:"asked"`
		Left  int    `json:"left"`
	}
)

// UnmarshalJSON refuses an order without a number: a 201 that says nothing is no order.
func (o *order) UnmarshalJSON(doc []byte) error {
	type plain order // without this method
	if err := json.Unmarshal(doc, (*plain)(o)); err != nil {
		return err
	}
	if !orderID.MatchString(o.ID) {
		return errors.New("the order has no number")
	}
	return nil
}

const keyHeader = "Idempotency-Key"

var orderID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkout places orders and reads them back.
type checkout struct {
	to          *service.Addresses
	order, read *resilience.Endpoint
}

// place asks for an order under an idempotency key: the same key with the same order is one order, however often.
func (c *checkout) place(ctx context.Context, key string, o orderRequest) (order, error) {
	placed, err := service.PostJSON[order](ctx, c.order, c.to, "/orders", http.Header{keyHeader: {key}}, o)
	if err != nil {
		return order{}, orderError(err)
	}
	return placed, nil
}

func (c *checkout) find(ctx context.Context, id string) (order, error) {
	if !orderID.MatchString(id) {
		return order{}, errNoOrder
	}
	o, err := service.GetJSON[order](ctx, c.read, c.to, "/orders/"+id)
	if err != nil {
		return order{}, ordersError(err)
	}
	return o, nil
}

// extra reads a member of a problem that checkout has sent; a missing or malformed one leaves it empty.
func extra[T any](p *problem.Problem, member string) (v T) {
	doc, err := json.Marshal(p.Extra[member])
	if err == nil {
		err = json.Unmarshal(doc, &v)
	}
	if err != nil {
		var none T
		return none
	}
	return v
}

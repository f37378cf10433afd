package loadtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// maxOrderSample is how many of the orders that the shop accepted are asked for afterwards.
const maxOrderSample = 200

// sampled is a fair sample of a stream of orders (Vitter's algorithm R: every order has the same chance to be in it).
type sampled struct {
	chance *rand.Rand
	seen   int
	kept   []storedOrder
}

func (s *sampled) offer(o storedOrder) {
	s.seen++
	if len(s.kept) < maxOrderSample {
		s.kept = append(s.kept, o)
		return
	}
	if i := s.chance.IntN(s.seen); i < maxOrderSample {
		s.kept[i] = o
	}
}

// orderCheck is what became of the orders that the shop said it had stored.
type orderCheck struct {
	accepted, asked, found int
	missing                error // the first that is not there, or not as it was accepted
}

// orderPatience bounds the whole check: a shop that has just been let go has a little time to come to itself.
const orderPatience = 15 * time.Second

// checkOrders asks the shop for a sample of the orders that it accepted during the act.
func (p *act) checkOrders(ctx context.Context) orderCheck {
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	sample := p.tally.orders
	check := orderCheck{accepted: sample.seen, asked: len(sample.kept)}
	for _, o := range sample.kept {
		if err := p.checkOrder(ctx, o); err == nil {
			check.found++
		} else if check.missing == nil {
			check.missing = err
		}
	}
	return check
}

func (p *act) checkOrder(ctx context.Context, want storedOrder) error {
	address := p.shop.Public("gateway") + "/api/v1/orders/" + url.PathEscape(want.id)
	var err error
	for range 3 {
		var body json.RawMessage
		if err = p.admin.get(ctx, address, &body); err == nil {
			return want.same(body)
		}
		if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusNotFound {
			break
		}
		// Anything else is no proof that the order is missing.
		if sleepUntil(ctx, time.Now().Add(200*time.Millisecond)) != nil {
			break
		}
	}
	return fmt.Errorf("order %s was accepted and cannot be read back: %w", want.id, err)
}

// same compares what is stored with what was accepted.
func (o storedOrder) same(body []byte) error {
	got, err := readOrder(body)
	switch {
	case err != nil:
		return err
	case got.id != o.id:
		return fmt.Errorf("order %s: the shop answered with order %s", o.id, got.id)
	case !got.total.Equal(o.total):
		return fmt.Errorf("order %s was accepted for %s and is stored as %s", o.id, o.total, got.total)
	}
	return nil
}

package checkout

// The store of a single process: everything in memory, gone with it.

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// MaxOrders is how many orders a Memory keeps in the shop. An order of two titles takes about 1 KiB, its key
// included; one of thirty about 5 KiB.
const MaxOrders = 100_000

// Memory is a Store that lasts as long as its process. It keeps a fixed number of orders and then refuses: it never
// forgets one to make room.
type Memory struct {
	limit int

	mu     sync.Mutex
	stock  map[string]int
	orders map[string]Order
	keys   map[string]keyRecord
}

var _ Store = (*Memory)(nil)

// keyRecord is a key that is claimed (orderID "") or completed.
type keyRecord struct {
	fingerprint Fingerprint
	token       string    // of the claim
	lapses      time.Time // of the claim
	orderID     string
}

func (r keyRecord) completed() bool { return r.orderID != "" }

// NewMemory returns a store with the given first stock that keeps at most limit orders, which must be positive.
func NewMemory(stock map[string]int, limit int) (*Memory, error) {
	var faults []error
	if limit <= 0 {
		faults = append(faults, errors.New("memory store: the limit of orders must be positive"))
	}
	for _, book := range slices.Sorted(maps.Keys(stock)) {
		if stock[book] < 0 {
			faults = append(faults, errors.New("memory store: the stock of "+book+" is negative"))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	own := make(map[string]int, len(stock)) // never nil
	maps.Copy(own, stock)
	return &Memory{
		limit:  limit,
		stock:  own,
		orders: make(map[string]Order),
		keys:   make(map[string]keyRecord),
	}, nil
}

// Claim implements Store. Every record is a completed order or an order that may yet be: bounding the records
// reserves the room, so that Place never finds the store full.
func (m *Memory) Claim(ctx context.Context, key string, fp Fingerprint, lease time.Duration) (Claim, *Order, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Claim{}, nil, err
	}
	now := time.Now()
	record, taken := m.keys[key]
	if taken && !record.completed() && !now.Before(record.lapses) {
		taken = false
		delete(m.keys, key)
	}
	switch {
	case taken && record.fingerprint != fp:
		return Claim{}, nil, ErrKeyReused
	case taken && record.completed():
		o := m.orders[record.orderID]
		o.Lines = slices.Clone(o.Lines)
		return Claim{}, &o, nil
	case taken:
		return Claim{}, nil, ErrInProgress
	}
	if len(m.keys) >= m.limit {
		return Claim{}, nil, ErrFull
	}
	c := Claim{Key: key, Token: rand.Text()}
	m.keys[key] = keyRecord{fingerprint: fp, token: c.Token, lapses: now.Add(lease)}
	return c, nil, nil
}

// Place implements Store.
func (m *Memory) Place(ctx context.Context, c Claim, o Order) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	record, ok := m.keys[c.Key]
	if !ok || record.token != c.Token || record.completed() {
		return ErrClaimLost
	}
	if short := shortages(o.Lines, func(book string) int { return m.stock[book] }); short != nil {
		return short
	}
	for _, l := range o.Lines {
		m.stock[l.Book] -= l.Quantity
	}
	o.Lines = slices.Clone(o.Lines)
	m.orders[o.ID] = o
	record.orderID = o.ID
	m.keys[c.Key] = record
	return nil
}

// Release implements Store.
func (m *Memory) Release(ctx context.Context, c Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if record, ok := m.keys[c.Key]; ok && record.token == c.Token && !record.completed() {
		delete(m.keys, c.Key)
	}
	return nil
}

// Order implements Store.
func (m *Memory) Order(ctx context.Context, id string) (Order, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Order{}, err
	}
	o, ok := m.orders[id]
	if !ok {
		return Order{}, ErrNotFound
	}
	o.Lines = slices.Clone(o.Lines)
	return o, nil
}

// Stock implements Store.
func (m *Memory) Stock(ctx context.Context) (map[string]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return maps.Clone(m.stock), nil
}

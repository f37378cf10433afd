package recommendations

import (
	"context"
	"sync"
)

// Memory is a Store that lives as long as the process. Its zero value is empty and ready.
type Memory struct {
	mu      sync.Mutex
	history []Order
}

var _ Store = (*Memory)(nil)

// Seed is Store.Seed.
func (m *Memory) Seed(ctx context.Context, history []Order) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkHistory(history); err != nil {
		return err
	}
	own := copyHistory(history)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.history) == 0 {
		m.history = own
	}
	return nil
}

// Orders is Store.Orders.
func (m *Memory) Orders(ctx context.Context) ([]Order, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return copyHistory(m.history), nil // within the lock it is cheap; Orders is called once
}

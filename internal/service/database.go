package service

import (
	"context"

	"example.com/holdfast/internal/defence"
	"example.com/holdfast/internal/postgres"
)

// OpenDatabase opens the service's database at url for the purpose that the edge declares. It is a dependency as Open
// makes one, with as many connections as the edge has slots, and closed when the service has stopped. While the
// defence `shallow_readiness` is off, /readyz asks it too.
func (c *Chassis) OpenDatabase(url string, e defence.Edge) (*postgres.DB, error) {
	dep, err := c.Open(e)
	if err != nil {
		return nil, err
	}
	opened := c.board.Edges()
	slots := opened[len(opened)-1].Policy.Slots // TUNE may have changed them
	db, err := postgres.Open(url, slots, dep)
	if err != nil {
		return nil, err
	}
	c.Go("connections of "+e.Dependency, func(ctx context.Context) error {
		<-ctx.Done()
		if err := db.Close(); err != nil {
			c.log.Warn("connections are left to the end of the process", "dependency", e.Dependency, "error", err)
		}
		return nil
	})
	c.asks = append(c.asks, ask{e.Dependency, func(ctx context.Context) error {
		if db.Ping(ctx) != nil {
			return errNoAnswer
		}
		return nil
	}})
	return db, nil
}

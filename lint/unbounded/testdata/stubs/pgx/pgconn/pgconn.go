// Package pgconn stands in for pgx's.
package pgconn

import "time"

type CommandTag struct{}

type Config struct {
	Host           string
	ConnectTimeout time.Duration
}

// Package grpc stands in for google.golang.org/grpc.
package grpc

import "context"

type CallOption interface{ before() }

type ServerStream interface {
	Context() context.Context
	RecvMsg(m any) error
}

//go:build !linux

package transport

import "net"

// batch and bulk are for Linux, which reads and writes many datagrams with one system call.
type (
	batch struct{}
	bulk  struct{}
)

func newBatch(*net.UDPConn) (*batch, error) { return &batch{}, nil }
func newBulk(*net.UDPConn) (*bulk, error)   { return &bulk{}, nil }

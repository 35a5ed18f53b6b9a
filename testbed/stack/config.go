package stack

import (
	"fmt"
	"net/netip"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/processor/essp"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/statestore"
)

// Config says what a Stack consists of.
type Config struct {
	// Listen is the UDP address for SCTP (RFC 6951); port 0 takes a free one. It means nothing where there are Listeners.
	Listen netip.AddrPort
	// Listeners are several addresses, or ones of another kind. The first one is the stack's address.
	Listeners []transport.Listener
	// Transport are the limits of the SCTP endpoint.
	Transport transport.Config
	// NATSHost and NATSPort are where NATS inside the process listens, port 0 takes a free one.
	// They mean nothing when NATS names a server of its own.
	NATSHost string
	NATSPort int
	// NATS is how it is reached. An empty URL starts a server inside the process.
	NATS bus.Config
	// Redis is where sessions are kept. An empty URL starts a private redis-server in Dir.
	Redis statestore.Config
	// Dir is where the private redis-server keeps its data.
	Dir string
	// Dispatcher configures the one dispatcher.
	Dispatcher dispatcher.Config
	// Processor configures each processor; ids are made of its own by appending -1, -2, ...
	Processor processor.Config
	// ESSP is how long processors wait in log-ons and calls.
	ESSP essp.Config
	// Processors is how many there are in this process; with 0 they are started elsewhere, and Start does not wait for them.
	Processors int
}

// Validate checks what no part of the stack checks by itself when it is made.
func (c Config) Validate() error {
	if c.Processors < 0 {
		return fmt.Errorf("processors: %d: at least 0 is right", c.Processors)
	}

	return nil
}

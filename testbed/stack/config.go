package stack

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
	"skyring/statestore"
)

// Config says what a Stack consists of.
type Config struct {
	// Listen is the UDP address for SCTP (RFC 6951); port 0 takes a free one.
	Listen netip.AddrPort
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
	// Processors is how many there are, at least 1.
	Processors int
}

// Validate names all faults at once, by the keys of the sections that hold them.
func (c Config) Validate() error {
	faults := []error{
		section("sctp", c.Transport.Validate()),
		section("dispatcher", c.Dispatcher.Validate()),
		section("processor", c.Processor.Validate()),
	}

	if c.NATS.URL != "" {
		faults = append(faults, section("nats", c.NATS.Validate()))
	}

	if c.Redis.URL != "" {
		faults = append(faults, section("redis", c.Redis.Validate()))
	}

	if c.Processors < 1 {
		faults = append(faults, fmt.Errorf("processors: %d must be at least 1", c.Processors))
	}

	return errors.Join(faults...)
}

// section puts the section's name before each fault of a joined error.
func section(name string, err error) error {
	if err == nil {
		return nil
	}

	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = name + "." + lines[i]
	}

	return errors.New(strings.Join(lines, "\n"))
}

package trace

import (
	"errors"
	"fmt"
)

// Config says what is taken as SCTP and how much of a capture is read.
type Config struct {
	// UDPPorts are the UDP ports whose datagrams are SCTP packets (RFC 6951); 9899 is IANA's.
	UDPPorts []uint16 `yaml:"udpPorts" env:"UDP_PORTS"`
	// Limits bound the memory and time that a capture takes.
	Limits Limits `yaml:"limits" envPrefix:"LIMITS_"`
}

// Limits end the reading of a capture, with a warning that says where; what was read until then is kept. Each is at
// least 1.
type Limits struct {
	Packets      uint64 `yaml:"packets" env:"PACKETS"`           // records of the file
	Messages     uint64 `yaml:"messages" env:"MESSAGES"`         // fragments kept, each at most one message
	Bytes        uint64 `yaml:"bytes" env:"BYTES"`               // user data kept
	Associations uint64 `yaml:"associations" env:"ASSOCIATIONS"` // associations kept
}

// DefaultConfig reads SCTP over IP and over UDP port 9899, and stops at 50 million packets, 5 million fragments, 1 GiB of
// user data or 100,000 associations.
func DefaultConfig() Config {
	return Config{
		UDPPorts: []uint16{9899},
		Limits:   Limits{Packets: 50_000_000, Messages: 5_000_000, Bytes: 1 << 30, Associations: 100_000},
	}
}

// Validate names every setting that cannot be, and what would be right.
func (c Config) Validate() error {
	var faults []error
	for i, port := range c.UDPPorts {
		if port == 0 {
			faults = append(faults, fmt.Errorf("udpPorts[%d] is 0: name a port from 1 to 65535", i))
		}
	}
	for _, limit := range []struct {
		key   string
		value uint64
	}{
		{"packets", c.Limits.Packets},
		{"messages", c.Limits.Messages},
		{"bytes", c.Limits.Bytes},
		{"associations", c.Limits.Associations},
	} {
		if limit.value == 0 {
			faults = append(faults, fmt.Errorf("limits.%s is 0: it is at least 1", limit.key))
		}
	}
	return errors.Join(faults...)
}

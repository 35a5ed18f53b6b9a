package client

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"skyring/protocol"
)

// Config says which station a Client is and where its gateways are.
type Config struct {
	// Station is the station's id, not 0.
	Station protocol.StationID
	// Key is the station's key, shared with the station table of the gateway.
	Key [32]byte
	// Beam is the beam that the station is in.
	Beam protocol.Beam
	// Class is the class of the terminal; 0: not said.
	Class uint8
	// Targets are the addresses of dispatchers, in the order in which they are tried; at least
	// one. How packets travel there, in UDP, in DTLS or over IP, where the port is 0, is the Dialer's matter.
	Targets []netip.AddrPort
	// Port is the SCTP port of the dispatchers, not 0.
	Port uint16
	// Streams is how many SCTP streams an association has each way; all messages of a station go
	// over stream 0, since their order matters. At least 1.
	Streams uint16
	// PPID is the payload protocol identifier, protocol.PPID unless the network has its own.
	PPID uint32
	// MaxCalls is how many calls the station can be in at a time; more are answered with user busy.
	// At least 1.
	MaxCalls int
	// DialTimeout bounds the making of an association.
	DialTimeout time.Duration
	// Timers are the protocol's.
	Timers Timers
}

// DefaultConfig is a station on a terrestrial or low-orbit link, without id, key and targets.
func DefaultConfig() Config {
	return Config{
		Port:        9899,
		Streams:     1,
		PPID:        protocol.PPID,
		MaxCalls:    1,
		DialTimeout: 10 * time.Second,
		Timers:      DefaultTimers(),
	}
}

// Validate names every fault at once, each by its field.
func (c Config) Validate() error {
	var faults []error

	wrong := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}

	wrong(c.Station == 0, "station: is 0, which names no station")
	wrong(len(c.Targets) == 0, "targets: are missing, the address of at least one dispatcher is right")

	for _, target := range c.Targets {
		wrong(!target.IsValid(), "targets: %q is no address", target)
	}

	wrong(c.Port == 0, "port: is 0, the SCTP port of the dispatchers is right")
	wrong(c.Streams == 0, "streams: is 0, at least 1 is right")
	wrong(c.PPID == 0, "ppid: is 0, which says no protocol")
	wrong(c.MaxCalls < 1 || c.MaxCalls > int(protocol.MaxCall), "maxCalls: %d, 1 to %d is right", c.MaxCalls, protocol.MaxCall)
	wrong(c.DialTimeout <= 0, "dialTimeout: %s, more than 0 is right", c.DialTimeout)

	return errors.Join(append(faults, c.Timers.Validate())...)
}

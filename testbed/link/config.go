package link

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Limits of the configuration.
const (
	MaxClients = 50_000
	maxTime    = time.Hour // for a delay, a jitter, and by how much a packet is late
	maxRate    = 100_000_000_000
	minQueue   = 2048    // bytes: room for one packet of an Ethernet
	maxQueue   = 1 << 30 // bytes
)

// Config is a link between clients and a target. Times count from the moment at which Run starts.
type Config struct {
	// Listen is the UDP address that clients send to; port 0 takes a free one.
	Listen netip.AddrPort
	// Target is the UDP address that their packets go on to.
	Target netip.AddrPort
	// ToTarget and ToClient say what happens to packets, each way.
	ToTarget, ToClient Direction
	// RebindAt are the times at which the target begins to see every client at a new UDP port.
	RebindAt []time.Duration
	// RebindEvery has that happen again and again; 0 never.
	RebindEvery time.Duration
	// Seed is of all that is random.
	Seed uint64
	// MaxClients is how many client addresses may be relayed at a time, each with a socket of its own; packets of
	// more are dropped.
	MaxClients int
	// ClientIdle is how long a client may be silent, both ways, before its port is given back.
	ClientIdle time.Duration
	// MaxBuffered is how many bytes may be under way at a time, both ways together; more are dropped.
	MaxBuffered int
}

// Direction is what a link does to packets one way. The zero value passes all on as it comes.
type Direction struct {
	// Delay is the time that a packet takes.
	Delay time.Duration
	// Jitter is by how much that varies: evenly, from Delay - Jitter to Delay + Jitter. It reorders nothing by itself: a
	// packet waits for the ones of its client before it.
	Jitter time.Duration
	// Loss is the share of packets that are lost, 0 to 1, each by itself.
	Loss float64
	// Duplicate is the share that arrive twice.
	Duplicate float64
	// Reorder is the share that come late, by ReorderBy: what the client sends within that time overtakes them.
	Reorder   float64
	ReorderBy time.Duration
	// Outages are the times in which all that is sent is lost.
	Outages []Outage
	// Rate is how many bits of UDP payload a second pass, for all clients together; 0 any number. What comes faster waits, up
	// to Queue bytes; what would be more is dropped.
	Rate  int64
	Queue int
}

// Outage is a time without a link.
type Outage struct{ From, For time.Duration }

// DefaultConfig passes everything on at once; Target has to be set.
func DefaultConfig() Config {
	way := Direction{ReorderBy: 50 * time.Millisecond, Queue: 64 << 10}
	return Config{
		Listen: netip.MustParseAddrPort("127.0.0.1:0"), ToTarget: way, ToClient: way, Seed: 1,
		MaxClients: 10_000, ClientIdle: 5 * time.Minute, MaxBuffered: 64 << 20,
	}
}

// Both sets both directions to the same.
func (c *Config) Both(d Direction) { c.ToTarget, c.ToClient = d, d }

// Validate names all faults at once.
func (c Config) Validate() error {
	faults := []error{
		c.addresses(),
		within("clients", int64(c.MaxClients), 1, MaxClients),
		within("bytes under way", int64(c.MaxBuffered), 1<<16, 1<<33),
		lasting("client idle time", c.ClientIdle, time.Second, 24*time.Hour),
		named("to target", c.ToTarget.Validate()),
		named("to client", c.ToClient.Validate()),
	}
	for _, at := range c.RebindAt {
		if at < 0 {
			faults = append(faults, fmt.Errorf("rebind: %s: a time from the start is right, 0s or more", at))
		}
	}
	if c.RebindEvery != 0 {
		faults = append(faults, lasting("rebind every", c.RebindEvery, 10*time.Millisecond, 24*time.Hour))
	}
	return errors.Join(faults...)
}

func (c Config) addresses() error {
	switch {
	case !c.Listen.IsValid():
		return errors.New("listen: a UDP address is right, such as 127.0.0.1:9900")
	case !c.Target.IsValid() || c.Target.Port() == 0 || c.Target.Addr().IsUnspecified() || c.Target.Addr().IsMulticast():
		return fmt.Errorf("target: %s: the UDP address of one host is right, such as 127.0.0.1:9899", c.Target)
	case c.Listen == c.Target:
		return fmt.Errorf("listen and target: both are %s: the link would send to itself", c.Target)
	}
	return nil
}

// Validate names all faults at once.
func (d Direction) Validate() error {
	faults := []error{
		lasting("delay", d.Delay, 0, maxTime),
		lasting("jitter", d.Jitter, 0, maxTime),
		share("loss", d.Loss), share("duplicate", d.Duplicate), share("reorder", d.Reorder),
		within("rate in bit/s", d.Rate, 0, maxRate),
	}
	if d.Jitter > d.Delay {
		faults = append(faults, fmt.Errorf("jitter: %s: at most the delay of %s is right: no packet comes before it was sent", d.Jitter, d.Delay))
	}
	if d.Reorder > 0 {
		faults = append(faults, lasting("reorder by", d.ReorderBy, time.Microsecond, maxTime))
	}
	if d.Rate > 0 {
		faults = append(faults, within("queue in bytes", int64(d.Queue), minQueue, maxQueue))
	}
	for _, o := range d.Outages {
		if o.From < 0 || o.For <= 0 {
			faults = append(faults, fmt.Errorf("outage: from %s for %s: from 0s or later, for more than 0s is right", o.From, o.For))
		}
	}
	return errors.Join(faults...)
}

// named says of each fault where it is.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	all, many := err.(interface{ Unwrap() []error })
	if !many {
		return fmt.Errorf("%s: %w", name, err)
	}
	var faults []error
	for _, one := range all.Unwrap() {
		faults = append(faults, fmt.Errorf("%s: %w", name, one))
	}
	return errors.Join(faults...)
}

func share(key string, value float64) error {
	if value >= 0 && value <= 1 { // not so for NaN
		return nil
	}
	return fmt.Errorf("%s: %v: a share from 0 to 1 is right, such as 0.05", key, value)
}

func within(key string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %d: %d to %d is right", key, value, low, high)
	}
	return nil
}

func lasting(key string, value, low, high time.Duration) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %s: %s to %s is right", key, value, low, high)
	}
	return nil
}

package dispatcher

import (
	"errors"
	"fmt"
	"time"

	"skyring/dispatcher/routing"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/receipt"
	"skyring/ring"
	"skyring/ring/policy"
)

// Config is what an operator may set for a Dispatcher. All dispatchers and
// processors of a system share the namespace.
type Config struct {
	// ID names the dispatcher, uniquely in its namespace.
	ID string `env:"ID" yaml:"id"`
	// Namespace is the first part of all subjects after "skyring.".
	Namespace bus.Namespace `yaml:"-"` // set by the owner of the configuration: it is the same for all sections
	// Receipts makes the dispatcher answer each committed message that has no reply of its own with a receipt.
	Receipts bool `env:"RECEIPTS" yaml:"receipts"`

	// ESSPPPID is the SCTP payload protocol identifier under which stations speak ESSP.
	ESSPPPID uint32 `env:"ESSP_PPID" yaml:"esspPPID"`

	// Window is how many messages of a key may be in flight; at most the 8 replies that a record keeps for a source.
	Window int `env:"WINDOW" yaml:"window"`
	// Deadline is how long a first attempt may take, or four times what the node's answers take of late; it doubles with each further one.
	Deadline time.Duration `env:"DEADLINE" yaml:"deadline"`
	// DeadlineMax is where the doubling ends.
	DeadlineMax time.Duration `env:"DEADLINE_MAX" yaml:"deadlineMax"`
	// RetryDelay is the wait before a key is tried again that its node could not serve; it doubles up to Deadline.
	RetryDelay time.Duration `env:"RETRY_DELAY" yaml:"retryDelay"`
	// RetryShare is how many resends each first send allows; moves off dead and stalled nodes are free.
	RetryShare float64 `env:"RETRY_SHARE" yaml:"retryShare"`
	// RetryRate is how many resends a second are allowed besides.
	RetryRate float64 `env:"RETRY_RATE" yaml:"retryRate"`
	// Probe is how long a node that holds messages may answer nothing before one of them is sent again to see whether it is there.
	Probe time.Duration `env:"PROBE" yaml:"probe"`
	// Expiry is how long after it is sent an attempt may still commit, by Redis' clock. An ESSP message is given up then: its station sends it again.
	Expiry time.Duration `env:"EXPIRY" yaml:"expiry"`

	// Heartbeat is the interval at which processors report: suspect after 2.5, dead after 4 without.
	Heartbeat time.Duration `env:"HEARTBEAT" yaml:"heartbeat"`
	// Policy is the algorithm that picks a processor for a message, one of those that docs/policies.md describes; all dispatchers need the same.
	Policy string `env:"POLICY" yaml:"policy"`
	// RingBits makes a ring of 2^ringBits slots: 16 for up to some 256 processors, 20 for thousands.
	RingBits uint8 `env:"RING_BITS" yaml:"ringBits"`
	// RingEpsilon is how far a processor's slots may exceed its share: 0 not at all, 0.01 by one percent, -1 without bound, which moves the fewest stations when processors come or go.
	RingEpsilon float64 `env:"RING_EPSILON" yaml:"ringEpsilon"`

	// InFlightLimit is how many messages in flight make a node be at its limit, unless it tells a number of its own; fewer, down to an eighth, when it takes longer than responseTarget to answer them.
	InFlightLimit int `env:"IN_FLIGHT_LIMIT" yaml:"inFlightLimit"`
	// HardCap is how many messages in flight a node has at most, when all are at their limit; 0: no such bound, the paper's rule.
	HardCap int `env:"HARD_CAP" yaml:"hardCap"`
	// CPUThreshold is the used part of its processor time, 0 to 1, from which a node is at its limit, until it is under nine tenths of that; 0: it never is.
	CPUThreshold float64 `env:"CPU_THRESHOLD" yaml:"cpuThreshold"`
	// MemoryThreshold is the same of its memory.
	MemoryThreshold float64 `env:"MEMORY_THRESHOLD" yaml:"memoryThreshold"`
	// RateThreshold is at how many times its capacity, in messages a second, a node's weight is 0; 0: the rate does not weigh.
	RateThreshold float64 `env:"RATE_THRESHOLD" yaml:"rateThreshold"`
	// ResponseTarget is the time to an answer at which a node's weight is 0, and which limits of messages in flight aim at.
	ResponseTarget time.Duration `env:"RESPONSE_TARGET" yaml:"responseTarget"`
	// Hysteresis is the least time between two changes of a node's state by CPU and memory.
	Hysteresis time.Duration `env:"HYSTERESIS" yaml:"hysteresis"`
	// MaxBytesPerNode is how many bytes in flight a node has at most, give or take one message.
	MaxBytesPerNode int `env:"MAX_BYTES_PER_NODE" yaml:"maxBytesPerNode"`
	// MaxNodes is how many processors are listened to; a further one takes the place of the one that is dead for longest.
	MaxNodes int `env:"MAX_NODES" yaml:"maxNodes"`
	// NodeMemory is how long a processor that is gone stays listed.
	NodeMemory time.Duration `env:"NODE_MEMORY" yaml:"nodeMemory"`

	// FrameMessages is how many envelopes go into one NATS message.
	FrameMessages int `env:"FRAME_MESSAGES" yaml:"frameMessages"`
	// FrameBytes is how long a frame of several envelopes may be.
	FrameBytes int `env:"FRAME_BYTES" yaml:"frameBytes"`
	// MaxMessage is the longest message taken, in bytes; it must fit in a NATS message. A longer one ends its association.
	MaxMessage int `env:"MAX_MESSAGE" yaml:"maxMessage"`

	// AssociationMessages is how many messages of an association may be unanswered, or their replies and receipts not taken, before it is not read.
	AssociationMessages int `env:"ASSOCIATION_MESSAGES" yaml:"associationMessages"`
	// AssociationBytes is how many bytes of such messages there may be before it is not read.
	AssociationBytes int `env:"ASSOCIATION_BYTES" yaml:"associationBytes"`
	// ReplyQueue is how many replies may wait for a peer that does not take them; more end its association.
	ReplyQueue int `env:"REPLY_QUEUE" yaml:"replyQueue"`

	// AskTimeout is how long a processor may take to answer a query.
	AskTimeout time.Duration `env:"ASK_TIMEOUT" yaml:"askTimeout"`
	// ClockRefresh is the interval at which Redis' clock is asked for.
	ClockRefresh time.Duration `env:"CLOCK_REFRESH" yaml:"clockRefresh"`
	// DrainTimeout is how long the dispatcher takes at most to end: three quarters for messages in flight to be answered, the rest for associations to close.
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" yaml:"drainTimeout"`
}

// DefaultConfig is one dispatcher of a system on its own.
func DefaultConfig() Config {
	return Config{
		ID:        "d1",
		Namespace: "default",
		ESSPPPID:  protocol.PPID,

		Policy:      policy.Default,
		RingBits:    ring.DefaultConfig().Bits,
		RingEpsilon: ring.DefaultConfig().Epsilon,

		Window:      8,
		Deadline:    400 * time.Millisecond,
		DeadlineMax: 5 * time.Second,
		RetryDelay:  25 * time.Millisecond,
		RetryShare:  0.2,
		RetryRate:   500,
		Probe:       50 * time.Millisecond,
		Expiry:      30 * time.Second,

		Heartbeat:       time.Second,
		InFlightLimit:   1024,
		HardCap:         2048,
		CPUThreshold:    0.75,
		MemoryThreshold: 0.90,
		RateThreshold:   1,
		ResponseTarget:  100 * time.Millisecond,
		Hysteresis:      30 * time.Second,
		MaxBytesPerNode: 8 << 20,
		MaxNodes:        1024,
		NodeMemory:      10 * time.Minute,

		FrameMessages: 256,
		FrameBytes:    256 << 10,
		MaxMessage:    512 << 10,

		AssociationMessages: 1024,
		AssociationBytes:    2 << 20,
		ReplyQueue:          4096,

		AskTimeout:   time.Second,
		ClockRefresh: 10 * time.Second,
		DrainTimeout: 10 * time.Second,
	}
}

// maxWindow is how many transactions of a source a session record keeps with their
// replies. A larger window would lose replies.
const maxWindow = 8

// Validate names every key that is wrong and what would be right.
func (c Config) Validate() error {
	return errors.Join(
		named("id", bus.ValidateID(c.ID)),
		named("namespace", c.Namespace.Validate()),
		named("esspPPID", validPPID(c.ESSPPPID)),
		between("window", c.Window, 1, maxWindow),
		atLeast("deadline", c.Deadline, 10*time.Millisecond),
		atLeast("deadlineMax", c.DeadlineMax, c.Deadline),
		atLeast("retryDelay", c.RetryDelay, time.Millisecond),
		between("retryShare", c.RetryShare, 0, 10),
		between("retryRate", c.RetryRate, 1, 1e6),
		atLeast("probe", c.Probe, time.Millisecond),
		atLeast("expiry", c.Expiry, 2*c.DeadlineMax),
		atLeast("heartbeat", c.Heartbeat, 10*time.Millisecond),
		between("inFlightLimit", c.InFlightLimit, 1, 1<<20),
		c.validHardCap(),
		between("cpuThreshold", c.CPUThreshold, 0, 1),
		between("memoryThreshold", c.MemoryThreshold, 0, 1),
		between("rateThreshold", c.RateThreshold, 0, 1000),
		atLeast("responseTarget", c.ResponseTarget, time.Millisecond),
		atLeast("hysteresis", c.Hysteresis, 0),
		between("maxBytesPerNode", c.MaxBytesPerNode, 64<<10, 32<<20),
		c.validRing(),
		named("policy", policy.Known(c.Policy)),
		atLeast("nodeMemory", c.NodeMemory, time.Second),
		between("frameMessages", c.FrameMessages, 1, bus.MaxCount),
		between("frameBytes", c.FrameBytes, 1<<10, 64<<20),
		between("maxMessage", c.MaxMessage, 1, 64<<20),
		between("associationMessages", c.AssociationMessages, 1, 1<<20),
		between("associationBytes", c.AssociationBytes, 1, 1<<30),
		between("replyQueue", c.ReplyQueue, 1, 1<<20),
		atLeast("askTimeout", c.AskTimeout, 10*time.Millisecond),
		atLeast("clockRefresh", c.ClockRefresh, 100*time.Millisecond),
		atLeast("drainTimeout", c.DrainTimeout, time.Millisecond),
	)
}

// validHardCap allows none, or one that leaves room for the limit.
func (c Config) validHardCap() error {
	if c.HardCap == 0 || c.HardCap >= c.InFlightLimit && c.HardCap <= 1<<20 {
		return nil
	}

	return fmt.Errorf("hardCap: %d: 0 (none), or %d (inFlightLimit) to %d is right", c.HardCap, c.InFlightLimit, 1<<20)
}

// validRing checks the ring, and the number of nodes that it has room for.
func (c Config) validRing() error {
	most := ring.MaxNodes
	if c.RingBits >= ring.MinBits && c.RingBits < 16 {
		most = 1 << c.RingBits
	}

	return errors.Join(
		between("ringBits", c.RingBits, ring.MinBits, ring.MaxBits),
		between("ringEpsilon", c.RingEpsilon, -1, 1),
		between("maxNodes (2^ringBits bounds it)", c.MaxNodes, 1, most),
	)
}

// ring is the configuration of the ring.
func (c Config) ring() ring.Config { return ring.Config{Bits: c.RingBits, Epsilon: c.RingEpsilon} }

// validPPID refuses what stands for something else.
func validPPID(ppid uint32) error {
	if ppid == 0 || ppid == receipt.PPID || ppid != protocol.PPID && protocolOf(ppid) != payloadOther {
		return fmt.Errorf("%d is taken: %d, or another one for private use, is right", ppid, protocol.PPID)
	}

	return nil
}

func named(key string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}

	return nil
}

func between[T int | uint8 | float64](key string, v, least, most T) error {
	if v >= least && v <= most {
		return nil
	}

	return fmt.Errorf("%s: %v: %v to %v is right", key, v, least, most)
}

func atLeast(key string, v, least time.Duration) error {
	if v >= least {
		return nil
	}

	return fmt.Errorf("%s: %v: at least %v is right", key, v, least)
}

// fits checks what a server's largest message allows.
func (c Config) fits(payload int) error {
	room := payload - bus.EnvelopeFrameOverhead - bus.EnvelopeOverhead - bus.MaxKeyLen

	return errors.Join(
		between("maxMessage (the NATS server's max_payload bounds it)", c.MaxMessage, 1, room),
		between("frameBytes (the NATS server's max_payload bounds it)", c.FrameBytes, 1, payload),
	)
}

func (c Config) routing() routing.Config {
	return routing.Config{
		Window:          c.Window,
		InFlightLimit:   c.InFlightLimit,
		HardCap:         c.HardCap,
		MaxBytesPerNode: c.MaxBytesPerNode,
		Deadline:        c.Deadline,
		DeadlineMax:     c.DeadlineMax,
		RetryDelay:      c.RetryDelay,
		RetryShare:      c.RetryShare,
		RetryRate:       c.RetryRate,
		Probe:           c.Probe,
		Expiry:          c.Expiry,
		Heartbeat:       c.Heartbeat,
		MaxNodes:        c.MaxNodes,
		NodeMemory:      c.NodeMemory,
		CPUThreshold:    c.CPUThreshold,
		MemoryThreshold: c.MemoryThreshold,
		RateThreshold:   c.RateThreshold,
		ResponseTarget:  c.ResponseTarget,
		Hysteresis:      c.Hysteresis,
	}
}

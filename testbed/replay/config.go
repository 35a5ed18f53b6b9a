package replay

import (
	"errors"
	"fmt"
	"math"
	"time"

	"skyring/protocol/transport"
)

// Side says whose messages are sent.
type Side string

// The sides of captured associations.
const (
	Client Side = "client" // what clients sent
	Server Side = "server" // what servers sent
	Both   Side = "both"   // either, each endpoint over an association of its own
)

// ReceiptMode says whether the target answers with receipts.
type ReceiptMode string

// How receipts are treated.
const (
	ReceiptsAuto ReceiptMode = "auto" // waited for; where none comes at all the ledger alone judges
	ReceiptsOn   ReceiptMode = "on"   // each message has one or is lost
	ReceiptsOff  ReceiptMode = "off"  // none are waited for, the ledger alone judges
)

// Slowest is the lowest speed: slower ones are slips of the hand.
const Slowest = 0.001

// Config says what is sent where, how fast, and how long to wait for answers.
type Config struct {
	// Side selects the endpoints.
	Side Side
	// Speed divides the time between messages: 1 as captured, 10 ten times as fast, +Inf as
	// fast as the target answers. At least 0.001.
	Speed float64
	// Times is how often the captures are sent, one round after another, at least 1.
	Times int
	// Target is where the target listens.
	Target transport.Target
	// Secure is how the replay proves itself to a Target that wants DTLS, one client for all associations.
	Secure transport.SecureConfig
	// SCTPPort is the target's SCTP port. 0: the port that the captured server had.
	SCTPPort uint16
	// Receipts says whether the target answers with receipts.
	Receipts ReceiptMode
	// Window is how many messages of one association may wait for their receipt when Speed is +Inf,
	// at least 1. At a pace there is no bound.
	Window int
	// Dials is how many associations may be in the making at a time, at least 1.
	Dials int
	// IdleTimeout is how long nothing at all may happen before what is unanswered is lost.
	IdleTimeout time.Duration
	// DialTimeout bounds the making of one association, after the handshake of DTLS.
	DialTimeout time.Duration
	// CloseTimeout bounds the graceful end of all associations.
	CloseTimeout time.Duration
	// Transport configures replay's own end of the associations; its limits are raised to what the captures
	// need.
	Transport transport.Config
}

// DefaultConfig sends what both sides sent, once, as fast as it goes.
func DefaultConfig() Config {
	return Config{
		Side:         Both,
		Speed:        math.Inf(1),
		Times:        1,
		Receipts:     ReceiptsAuto,
		Window:       32,
		Dials:        64,
		IdleTimeout:  10 * time.Second,
		DialTimeout:  10 * time.Second,
		CloseTimeout: 10 * time.Second,
		Transport:    transport.DefaultConfig(),
	}
}

// Validate names every setting that cannot work.
func (c Config) Validate() error {
	faults := c.validateChoices()

	if math.IsNaN(c.Speed) || c.Speed < Slowest {
		faults = append(faults, fmt.Errorf("speed: %v, want a factor of at least %v, or max", c.Speed, Slowest))
	}

	if err := c.Target.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("target: %w", err))
	}

	for _, atLeast := range []struct {
		key   string
		value int
	}{{"times", c.Times}, {"window", c.Window}, {"dials", c.Dials}} {
		if atLeast.value < 1 {
			faults = append(faults, fmt.Errorf("%s: %d, want at least 1", atLeast.key, atLeast.value))
		}
	}

	for _, positive := range []struct {
		key   string
		value time.Duration
	}{{"idleTimeout", c.IdleTimeout}, {"dialTimeout", c.DialTimeout}, {"closeTimeout", c.CloseTimeout}} {
		if positive.value <= 0 {
			faults = append(faults, fmt.Errorf("%s: %s, want more than 0", positive.key, positive.value))
		}
	}

	if err := c.Transport.Validate(); err != nil {
		faults = append(faults, fmt.Errorf("transport: %w", err))
	}

	return errors.Join(faults...)
}

func (c Config) validateChoices() []error {
	var faults []error

	switch c.Side {
	case Client, Server, Both:
	default:
		faults = append(faults, fmt.Errorf("side: %q, want client, server or both", c.Side))
	}

	switch c.Receipts {
	case ReceiptsAuto, ReceiptsOn, ReceiptsOff:
	default:
		faults = append(faults, fmt.Errorf("receipts: %q, want auto, on or off", c.Receipts))
	}

	return faults
}

// asFastAsItGoes tells whether the capture's times do not matter.
func (c Config) asFastAsItGoes() bool { return math.IsInf(c.Speed, 1) }

// dialTimeout bounds the making of one association.
func (c Config) dialTimeout() time.Duration {
	if c.Target.Mode == transport.ModeDTLS {
		return c.DialTimeout + c.Secure.HandshakeTimeout
	}

	return c.DialTimeout
}

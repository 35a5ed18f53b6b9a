package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol"
	"skyring/protocol/transport"
)

// Dialer makes associations. *transport.Dialer is one, for targets of any mode, and *transport.Endpoint, for those that its
// first link leads to. Many clients may share it.
type Dialer interface {
	Dial(ctx context.Context, to netip.AddrPort, dial transport.Dial) (*transport.Association, error)
}

// Client is one station. Its methods may be called by any goroutine.
type Client struct {
	// static after New
	cfg    Config
	dialer Dialer
	hear   Listener
	log    zerolog.Logger
	boot   uint64
	wake   chan struct{} // holds one: effects or a deadline changed

	mu      sync.Mutex
	machine *machine
	room    *sync.Cond // effects were taken, or the client stopped

	// owned by Run
	links sync.WaitGroup
	link  *link // the latest; nil before the first
}

// maxEffects is how many effects may wait for Run before messages are read no further.
const maxEffects = 256

// New makes a station that is off. The boot nonce is drawn here: a Client is one start of
// a station, and what a gateway knows of another one is gone once this one has logged on.
func New(cfg Config, dialer Dialer, hear Listener, log zerolog.Logger) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("station %s: %w", cfg.Station, err)
	}

	boot, err := newBoot()
	if err != nil {
		return nil, err
	}

	c := &Client{
		cfg: cfg, dialer: dialer, hear: hear, boot: boot, wake: make(chan struct{}, 1),
		log: log.With().Stringer("station", cfg.Station).Logger(), machine: newMachine(cfg, boot),
	}
	c.machine.owner = c
	c.room = sync.NewCond(&c.mu)

	return c, nil
}

// Boot is the boot nonce, by which call detail records name the station's calls.
func (c *Client) Boot() uint64 { return c.boot }

// Station is the station's id.
func (c *Client) Station() protocol.StationID { return c.cfg.Station }

// State is where the station is with its log-on.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.machine.state
}

// CallOptions say what a call is for.
type CallOptions struct {
	Service  uint8             // one of protocol's Service constants, or the operator's
	Priority protocol.Priority // at most what the station table allows
}

// Call sets up a call to another station. It returns as soon as CALL-SETUP is on its way;
// the Listener is told what comes of it. The error is ErrNotLoggedOn, ErrBusy or ErrStopped.
func (c *Client) Call(called protocol.StationID, o CallOptions) (*Call, error) {
	var call *Call

	err := c.act(func(m *machine, at moment) (err error) {
		call, err = m.place(at, called, o)

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("call station %s: %w", called, err)
	}

	return call, nil
}

// Run logs the station on, and keeps it so, until ctx ends; it then logs off and returns
// nil. It returns sooner when a gateway refuses the station for good, with the *CauseError.
// All its goroutines have ended then. Call it once.
func (c *Client) Run(ctx context.Context) error {
	defer c.links.Wait()

	lasting := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)

	defer timer.Stop()

	ending := ctx.Done()

	c.step(func(m *machine, _ moment) { m.start() })

	for {
		c.perform(lasting)

		deadline, stopped, err := c.outlook()
		if stopped {
			return err
		}

		if deadline.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(deadline))
		}

		select {
		case <-ending:
			ending = nil

			c.step(func(m *machine, at moment) { m.stop(at) })
		case <-timer.C:
			c.step(func(m *machine, at moment) { m.expired(at) })
		case <-c.wake:
		}
	}
}

// outlook is what Run has to wait for.
func (c *Client) outlook() (deadline time.Time, stopped bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	m := c.machine

	return m.deadline(), m.stopped && len(m.effects) == 0, m.fatal
}

// step runs a step of the machine and wakes Run.
func (c *Client) step(f func(*machine, moment)) {
	c.mu.Lock()
	f(c.machine, moment{now: time.Now(), random: rand.Float64()}) //nolint:gosec // spreads load, keeps no secret
	c.mu.Unlock()

	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// act is step for an act that may be refused.
func (c *Client) act(f func(*machine, moment) error) (err error) {
	c.step(func(m *machine, at moment) {
		if m.stopped {
			err = ErrStopped

			return
		}

		err = f(m, at)
	})

	return err
}

// perform does the effects that wait.
func (c *Client) perform(ctx context.Context) {
	for {
		c.mu.Lock()
		effects := c.machine.take()
		c.room.Broadcast()
		c.mu.Unlock()

		if len(effects) == 0 {
			return
		}

		for i := range effects {
			c.do(ctx, &effects[i])
		}
	}
}

func (c *Client) do(ctx context.Context, e *effect) {
	switch e.kind {
	case effectDial:
		c.dial(ctx, e)
	case effectTell:
		e.tell(c.hear)
	case effectSend, effectClose, effectAbort:
		if c.link != nil && c.link.generation == e.generation {
			c.link.do(ctx, e)
		}
	}
}

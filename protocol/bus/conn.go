package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Conn is one connection to NATS. A dispatcher subscribes to its answers on the
// connection on which it publishes: only there does NATS report that nobody
// listens on a node's subject.
//
// Nothing is buffered while the server is away: Publish fails then (or, in the
// moment in which the loss is not yet known, succeeds for nothing), and what was
// sent is the caller's to send again after OnReconnect.
type Conn struct {
	// static after Connect
	nats   *nats.Conn
	cfg    Config
	log    zerolog.Logger
	closed chan struct{} // closed by the connection's last callback

	disconnects  atomic.Uint64
	reconnects   atomic.Uint64
	slowConsumer atomic.Uint64
	failures     atomic.Uint64

	mu           sync.Mutex
	onDisconnect []func(error) // guarded by mu
	onReconnect  []func()      // guarded by mu
}

// ConnStats counts what befell a connection.
type ConnStats struct {
	Disconnects  uint64 // the server went away
	Reconnects   uint64 // and was found again
	SlowConsumer uint64 // times that a subscription was over its pending limits and lost messages
	Failures     uint64 // other errors that NATS reported
}

// Message is what a subscription delivers.
type Message struct {
	Subject string
	Reply   string // subject for the answer; empty: none wanted
	Data    []byte // the handler's after delivery

	NoResponders bool   // NATS' own answer: nobody listens on the subject For
	For          string // only with NoResponders
}

// Connect connects to the server under the name that the server's monitoring
// shows, and tries again until cfg.ConnectTimeout is over. The error names the URL.
func Connect(ctx context.Context, cfg Config, name string, log zerolog.Logger) (*Conn, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("NATS configuration: %w", err)
	}

	c := &Conn{cfg: cfg, log: log, closed: make(chan struct{})}
	options := c.options(name)

	timeout := time.NewTimer(cfg.ConnectTimeout)
	defer timeout.Stop()

	again := time.NewTicker(cfg.ReconnectWait)
	defer again.Stop()

	for {
		nc, err := nats.Connect(cfg.URL, options...)
		if err == nil {
			c.nats = nc

			return c, nil
		}

		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("NATS server at %s refuses our credentials: %w", redact(cfg.URL), err)
		}

		if errors.Is(err, nats.ErrNoInfoReceived) {
			return nil, unreached(cfg, err)
		}

		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to NATS at %s: %w (last: %w)", redact(cfg.URL), context.Cause(ctx), err)
		case <-timeout.C:
			return nil, unreached(cfg, err)
		case <-again.C:
		}
	}
}

// unreached says whether nobody answers, or something that is no NATS server: a server speaks
// first and at once, so who takes the connection and does not is another service.
func unreached(cfg Config, err error) error {
	var network *net.OpError

	switch {
	case errors.Is(err, nats.ErrNoInfoReceived):
		return fmt.Errorf("what answers at %s is no NATS server, another service has this port: %w", redact(cfg.URL), err)
	case errors.Is(err, nats.ErrNoServers), errors.As(err, &network) && network.Op == "dial":
		return fmt.Errorf("no NATS server answers at %s, tried for %s: %w", redact(cfg.URL), cfg.ConnectTimeout, err)
	default:
		return fmt.Errorf("something listens at %s but does not answer as a NATS server does, perhaps another service, tried for %s: %w",
			redact(cfg.URL), cfg.ConnectTimeout, err)
	}
}

// options are no buffer while disconnected, for ever
// reconnecting, a half-open link noticed in seconds instead of minutes.
func (c *Conn) options(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.Timeout(min(c.cfg.ConnectTimeout, 2*time.Second)),
		nats.ReconnectBufSize(-1),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(c.cfg.ReconnectWait),
		nats.ReconnectJitter(c.cfg.ReconnectWait, c.cfg.ReconnectWait),
		nats.IgnoreAuthErrorAbort(),
		nats.NoEcho(),
		nats.PingInterval(c.cfg.PingInterval),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(time.Second),
		nats.ReconnectOnFlusherError(),
		nats.DisconnectErrHandler(func(nc *nats.Conn, err error) { c.disconnected(nc, err) }),
		nats.ReconnectHandler(func(nc *nats.Conn) { c.reconnected(nc) }),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) { c.failed(s, err) }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
}

// OnDisconnect calls f whenever the server is lost; the error may be nil. Calls of
// f and those of OnReconnect come one after another; f must not block for long.
func (c *Conn) OnDisconnect(f func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.onDisconnect = append(c.onDisconnect, f)
}

// OnReconnect calls f whenever the server is found again and all subscriptions
// were sent to it.
func (c *Conn) OnReconnect(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.onReconnect = append(c.onReconnect, f)
}

func (c *Conn) disconnected(nc *nats.Conn, err error) {
	if nc.IsClosed() { // by ourselves
		return
	}

	c.disconnects.Add(1)
	c.log.Warn().Err(err).Str("url", redact(c.cfg.URL)).Msg("lost the NATS server, connecting again")

	c.mu.Lock()
	calls := c.onDisconnect
	c.mu.Unlock()

	for _, f := range calls {
		f(err)
	}
}

func (c *Conn) reconnected(nc *nats.Conn) {
	c.reconnects.Add(1)
	c.log.Info().Str("url", nc.ConnectedUrlRedacted()).Msg("the NATS server is back")

	c.mu.Lock()
	calls := c.onReconnect
	c.mu.Unlock()

	for _, f := range calls {
		f()
	}
}

func (c *Conn) failed(s *nats.Subscription, err error) {
	subject := ""
	if s != nil {
		subject = s.Subject
	}

	if errors.Is(err, nats.ErrSlowConsumer) {
		c.slowConsumer.Add(1)
	} else {
		c.failures.Add(1)
	}

	c.log.Warn().Err(err).Str("subject", subject).Msg("NATS reports an error")
}

// Publish sends data to a subject; reply, when not empty, is where answers and
// NATS' NoResponders go. The data is copied. An error means that nothing was sent.
func (c *Conn) Publish(subject, reply string, data []byte) error {
	var err error
	if reply == "" {
		err = c.nats.Publish(subject, data)
	} else {
		err = c.nats.PublishRequest(subject, reply, data)
	}

	if err != nil {
		return fmt.Errorf("publish to %s: %w", subject, err)
	}

	return nil
}

// Request sends data to a subject and waits for one answer until ctx ends. It is
// ErrNoResponders when nobody listens.
func (c *Conn) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	m, err := c.nats.RequestWithContext(ctx, subject, data)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("request to %s: %w", subject, ErrNoResponders)
	}

	if err != nil {
		return nil, fmt.Errorf("request to %s: %w", subject, err)
	}

	return m.Data, nil
}

// Flush returns when the server has taken all that was sent before, subscriptions
// included. ctx must have a deadline.
func (c *Conn) Flush(ctx context.Context) error {
	if err := c.nats.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush NATS: %w", err)
	}

	return nil
}

// Drain handles what has arrived, sends what was published, and closes. When ctx
// ends first, or the server is away, it closes at once.
func (c *Conn) Drain(ctx context.Context) error {
	if err := c.nats.Drain(); err != nil {
		c.nats.Close()

		if errors.Is(err, nats.ErrConnectionClosed) {
			return nil
		}

		return fmt.Errorf("drain NATS: %w", err)
	}

	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		c.nats.Close()

		return fmt.Errorf("drain NATS: %w", context.Cause(ctx))
	}
}

// Close closes at once. It may be called again.
func (c *Conn) Close() { c.nats.Close() }

// Connected tells whether the server is there, as far as is known.
func (c *Conn) Connected() bool { return c.nats.IsConnected() }

// MaxPayload is the largest message in bytes that the server takes.
func (c *Conn) MaxPayload() int { return int(c.nats.MaxPayload()) }

// Stats are the counters since Connect.
func (c *Conn) Stats() ConnStats {
	return ConnStats{
		Disconnects:  c.disconnects.Load(),
		Reconnects:   c.reconnects.Load(),
		SlowConsumer: c.slowConsumer.Load(),
		Failures:     c.failures.Load(),
	}
}

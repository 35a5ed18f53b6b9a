package client_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/protocol"
	"skyring/protocol/client"
	"skyring/protocol/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// endpoint opens a socket that runs until the test ends.
func endpoint(t *testing.T) *transport.Endpoint {
	t.Helper()

	link, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}

	e, err := transport.New(link, transport.DefaultConfig(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())

	var running sync.WaitGroup

	running.Go(func() { _ = e.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })

	return e
}

// gateway is a scripted gateway: it takes associations and hands what comes to the test.
type gateway struct {
	t        *testing.T
	endpoint *transport.Endpoint
	arrived  chan arrival
	current  *transport.Association // owned by the test
	sequence uint32
}

// arrival is a message that came, or an association that ended.
type arrival struct {
	association *transport.Association
	header      protocol.Header
	message     protocol.Message
	err         error
}

func newGateway(t *testing.T) *gateway {
	t.Helper()

	g := &gateway{t: t, endpoint: endpoint(t), arrived: make(chan arrival, 64)}
	ctx, cancel := context.WithCancel(context.Background())

	var serving sync.WaitGroup

	serving.Go(func() {
		for {
			a, err := g.endpoint.Accept(ctx)
			if err != nil {
				return
			}

			serving.Go(func() {
				err := a.Receive(ctx, func(m transport.Message) {
					h, msg, err := protocol.Decode(m.Payload)
					g.arrived <- arrival{a, h, msg, err}
				})
				g.arrived <- arrival{association: a, err: err}
			})
		}
	})
	t.Cleanup(func() { cancel(); serving.Wait() })

	return g
}

// expect waits for a message of a type, over others.
func (g *gateway) expect(of protocol.Type) arrival {
	g.t.Helper()

	timeout := time.NewTimer(patience)
	defer timeout.Stop()

	for {
		select {
		case a := <-g.arrived:
			if a.message != nil && a.header.Type == of {
				g.current = a.association

				return a
			}
		case <-timeout.C:
			g.t.Fatalf("no %s came", of)
		}
	}
}

func (g *gateway) send(h protocol.Header, m protocol.Message) {
	g.t.Helper()

	payload, err := protocol.Append(nil, h, m)
	if err != nil {
		g.t.Fatal(err)
	}

	if err := g.current.Send(g.t.Context(), transport.Message{PPID: protocol.PPID, Payload: payload}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gateway) request(call protocol.CallReference, m protocol.Message) {
	g.t.Helper()

	g.sequence++
	g.send(protocol.Header{Station: station, Call: call, Sequence: g.sequence}, m)
}

// admit plays the gateway's part of a log-on and returns the boot nonce.
func (g *gateway) admit() uint64 {
	g.t.Helper()

	g.send(g.expect(protocol.TypeLogonRequest).header.Answer(), protocol.LogonChallenge{Nonce: [protocol.NonceSize]byte{1}})

	a := g.expect(protocol.TypeLogonAuth)
	auth, _ := a.message.(protocol.LogonAuth)
	g.send(a.header.Answer(), protocol.LogonConfirm{Heartbeat: time.Minute, Inactivity: time.Hour})
	g.expect(protocol.TypeLogonAck)

	return auth.BootNonce
}

// ear is a Listener that hands events to the test.
type ear struct{ events chan event }

type event struct {
	name string
	call *client.Call
	err  error
}

func newEar() *ear { return &ear{events: make(chan event, 64)} }

func (e *ear) LoggedOn(client.LogOn)             { e.events <- event{name: "LoggedOn"} }
func (e *ear) LoggedOff(why error)               { e.events <- event{name: "LoggedOff", err: why} }
func (e *ear) Announced(c *client.Call)          { e.events <- event{name: "Announced", call: c} }
func (e *ear) Proceeding(c *client.Call)         { e.events <- event{name: "Proceeding", call: c} }
func (e *ear) Alerting(c *client.Call)           { e.events <- event{name: "Alerting", call: c} }
func (e *ear) Connected(c *client.Call)          { e.events <- event{name: "Connected", call: c} }
func (e *ear) Cleared(c *client.Call, err error) { e.events <- event{"Cleared", c, err} }
func (e *ear) Assigned(c *client.Call, _ protocol.Channel) {
	e.events <- event{name: "Assigned", call: c}
}

// await waits for an event, which has to be the next one.
func (e *ear) await(t *testing.T, name string) event {
	t.Helper()

	select {
	case got := <-e.events:
		if got.name != name {
			t.Fatalf("%s (%v) instead of %s", got.name, got.err, name)
		}

		return got
	case <-time.After(patience):
		t.Fatalf("no %s came", name)

		return event{}
	}
}

// start runs a client with targets until the test ends, and returns what ends it sooner.
func start(t *testing.T, e *ear, targets ...*gateway) (c *client.Client, end func() error) {
	t.Helper()

	cfg := testConfig()
	cfg.Targets = nil
	cfg.Timers.T330 = 10 * time.Millisecond
	cfg.Timers.TA50.Interval = 500 * time.Millisecond // log-off is not answered in each test

	for _, g := range targets {
		cfg.Targets = append(cfg.Targets, g.endpoint.LocalAddr())
	}

	c, err := client.New(cfg, endpoint(t), e, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- c.Run(ctx) }()

	end = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = end() })

	return c, end
}

// TestWholeCall plays a call through over real SCTP, from log-on to log-off.
func TestWholeCall(t *testing.T) {
	g, e := newGateway(t), newEar()
	c, end := start(t, e, g)

	if boot := g.admit(); boot != c.Boot() {
		t.Errorf("boot nonce %x, the client says %x", boot, c.Boot())
	}

	e.await(t, "LoggedOn")

	call, err := c.Call(peer, client.CallOptions{Service: protocol.ServiceVoice})
	if err != nil {
		t.Fatal(err)
	}

	setup := g.expect(protocol.TypeCallSetup)
	if setup.header.Call != call.Reference() || setup.header.Sequence != call.Sequence() {
		t.Errorf("CALL-SETUP %+v, the call is %s, %d", setup.header, call.Reference(), call.Sequence())
	}

	g.send(setup.header.Answer(), protocol.CallProceeding{})
	e.await(t, "Proceeding")
	g.request(call.Reference(), protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 9}})
	e.await(t, "Assigned")

	if err := call.Locked(); err != nil {
		t.Fatal(err)
	}

	g.expect(protocol.TypeChannelStatus)
	g.request(call.Reference(), protocol.CallAlert{})
	e.await(t, "Alerting")
	g.request(call.Reference(), protocol.CallConnect{})
	e.await(t, "Connected")

	if call.State() != protocol.StateActive || call.Channel() != (protocol.Channel{Beam: 3, Number: 9}) {
		t.Errorf("the call is %s on channel %s", call.State(), call.Channel())
	}

	if err := call.HangUp(protocol.CauseNormalClearing); err != nil {
		t.Fatal(err)
	}

	g.send(g.expect(protocol.TypeDisconnect).header.Answer(), protocol.Release{})
	g.expect(protocol.TypeReleaseComplete)

	if why := e.await(t, "Cleared").err; !errors.Is(why, &client.CauseError{Cause: protocol.CauseNormalClearing}) {
		t.Errorf("cleared: %v", why)
	}

	ended := make(chan error, 1)

	go func() { ended <- end() }()

	g.send(g.expect(protocol.TypeLogoffRequest).header.Answer(), protocol.LogoffAck{})

	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}

	if _, err := c.Call(peer, client.CallOptions{}); !errors.Is(err, client.ErrStopped) {
		t.Errorf("call after the end: %v", err)
	}
}

// TestReassociation loses the association to the first gateway: the client logs on with the
// second, with the same boot nonce, and an incoming call stays up.
func TestReassociation(t *testing.T) {
	first, second, e := newGateway(t), newGateway(t), newEar()
	c, _ := start(t, e, first, second)

	first.admit()
	e.await(t, "LoggedOn")

	first.request(incoming, protocol.CallAnnounce{Calling: peer, Service: protocol.ServiceVoice})

	call := e.await(t, "Announced").call
	if !call.Incoming() || call.Peer() != peer {
		t.Errorf("call %s of station %s", call.Reference(), call.Peer())
	}

	first.expect(protocol.TypeStatus)
	first.current.Abort("gateway goes away")
	e.await(t, "LoggedOff")

	if boot := second.admit(); boot != c.Boot() {
		t.Errorf("logged on again with boot nonce %x instead of %x", boot, c.Boot())
	}

	e.await(t, "LoggedOn")
	second.sequence = first.sequence
	second.request(incoming, protocol.ChannelAssign{Channel: protocol.Channel{Beam: 3, Number: 9}})
	e.await(t, "Assigned")

	if err := call.LockLost(protocol.CauseContinuityFailure); err != nil {
		t.Fatal(err)
	}

	second.expect(protocol.TypeChannelStatus)
}

// TestRefusedForGood ends Run with the cause.
func TestRefusedForGood(t *testing.T) {
	g, e := newGateway(t), newEar()
	_, end := start(t, e, g)
	ended := make(chan error, 1)

	go func() {
		e.await(t, "LoggedOff")

		ended <- end()
	}()

	g.send(g.expect(protocol.TypeLogonRequest).header.Answer(), protocol.LogonReject{Cause: protocol.CauseStationBarred})

	if err := <-ended; !errors.Is(err, &client.CauseError{Cause: protocol.CauseStationBarred}) {
		t.Errorf("Run: %v", err)
	}
}

// TestEndsWhileItConnects ends a client that nobody answers.
func TestEndsWhileItConnects(t *testing.T) {
	cfg := testConfig()
	cfg.Targets = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}

	c, err := client.New(cfg, endpoint(t), newEar(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)

	go func() { done <- c.Run(ctx) }()

	cancel()

	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
}

func TestConfigNamesAllFaults(t *testing.T) {
	t.Parallel()

	_, err := client.New(client.Config{}, nil, newEar(), zerolog.Nop())
	if err == nil {
		t.Fatal("an empty configuration was taken")
	}

	if joined, ok := errors.Unwrap(err).(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) < 6 {
		t.Errorf("only these faults are named: %v", err)
	}
}

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/protocol/transport"
	"skyring/testbed/interop"
	"skyring/testbed/link"
)

const (
	patience = time.Minute // for what must happen
	port     = 2905        // SCTP's, of servers
)

// built is the program of the peer, and why there is none. It is set before the tests begin.
var built struct {
	dir     string // for the suite's files, gone at its end
	program string
	err     error
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(suite{m}) }

// suite compiles the peer before the tests.
type suite struct{ m *testing.M }

func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "skyring-interop-")
	if err != nil {
		built.err = err
		return s.m.Run()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built.dir = dir
	built.program, built.err = interop.Build(context.Background(), dir)
	return s.m.Run()
}

// needPeer skips a test where there is no compiler, but not under CI, which would prove nothing then.
func needPeer(t *testing.T) string {
	t.Helper()
	switch {
	case built.err == nil:
	case errors.Is(built.err, interop.ErrNoCompiler) && os.Getenv("CI") != "true":
		t.Skip(built.err)
	default:
		t.Fatal(built.err)
	}
	return built.program
}

func loopback(host string) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(host), 0) }

var lastPort atomic.Uint32

// freePort is a UDP port that nobody has, below those that the kernel gives away by itself.
func freePort(tb testing.TB) uint16 {
	tb.Helper()
	for range 5000 {
		one := 20_000 + (uint32(os.Getpid())*37+lastPort.Add(1))%12_000
		socket, err := net.ListenPacket("udp", fmt.Sprintf(":%d", one)) //nolint:noctx // of a test
		if err == nil {
			_ = socket.Close()
			return uint16(one)
		}
	}
	tb.Fatal("no free UDP port")
	return 0
}

// endpoint runs one of ours on a link until the test ends; stop ends it before.
func endpoint(t *testing.T, over transport.Link, cfg transport.Config) (e *transport.Endpoint, stop func()) {
	t.Helper()
	e, err := transport.New(over, cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return e, running(t, "endpoint", e.Run)
}

// running runs something until the test ends, or stop is called.
func running(t *testing.T, what string, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// relay runs a link to a target until the test ends, and gives the address to send to.
func relay(t *testing.T, target netip.AddrPort, terms link.Direction) (netip.AddrPort, *link.Emulator) {
	t.Helper()
	cfg := link.DefaultConfig()
	cfg.Target = target
	cfg.Both(terms)
	e, err := link.New(cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	running(t, "link", e.Run)
	return e.Addr(), e
}

func listen(t *testing.T, at netip.AddrPort) *tap {
	t.Helper()
	socket, err := transport.ListenUDP(at)
	if err != nil {
		t.Fatal(err)
	}
	return &tap{Link: socket}
}

// startPeer starts a peer that ends with the test.
func startPeer(t *testing.T, o interop.Options) *peer {
	t.Helper()
	p, err := interop.Start(context.Background(), needPeer(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return &peer{Peer: p, t: t}
}

// peer fails the test when it is not understood.
type peer struct {
	*interop.Peer
	t *testing.T
}

func (p *peer) tell(format string, args ...any) {
	p.t.Helper()
	if err := p.Command(format, args...); err != nil {
		p.t.Fatal(err)
	}
}

// run has a shell run a command where the peer is.
func (p *peer) run(command string) {
	p.t.Helper()
	p.tell("run %s", command)
	if e := p.expect("ran"); e.Word(0) != "0" {
		p.t.Fatalf("%s: status %s", command, e.Word(0))
	}
}

// expect waits for the next event, which must be of a kind.
func (p *peer) expect(kind string) interop.Event {
	p.t.Helper()
	select {
	case e, ok := <-p.Events():
		if !ok {
			p.t.Fatalf("the peer ended; wanted %q", kind)
		}
		if e.Kind != kind {
			p.t.Fatalf("the peer says %q; wanted %q", e, kind)
		}
		return e
	case <-time.After(patience):
		p.t.Fatalf("the peer says nothing; wanted %q", kind)
	}
	return interop.Event{}
}

// lab is where meetings take place: it has a peer, and a way between that and ours.
type lab interface {
	// listen opens our link, at an address or, when that is not valid, where the lab likes.
	listen(t *testing.T, at netip.AddrPort) *tap
	// peer gives the options of a peer that has yet to be told what to do, and where we find it.
	peer(t *testing.T) (interop.Options, netip.AddrPort)
	// start starts a peer that ends with the test.
	start(t *testing.T, o interop.Options) *peer
	// seen is one of our addresses as the peer has it.
	seen(ours netip.AddrPort) netip.AddrPort
	// cause is what an ABORT of the peer's says.
	cause() string
}

// loopbackLab has a process of usrsctp on loopback. Its value is the address of both.
type loopbackLab string

func (l loopbackLab) listen(t *testing.T, at netip.AddrPort) *tap {
	t.Helper()
	if !at.IsValid() {
		at = loopback(string(l))
	}
	return listen(t, at)
}

func (l loopbackLab) peer(t *testing.T) (interop.Options, netip.AddrPort) {
	t.Helper()
	host := netip.MustParseAddr(string(l))
	o := interop.Options{UDP: freePort(t), Bind: []netip.Addr{host}}
	return o, netip.AddrPortFrom(host, o.UDP)
}

func (l loopbackLab) start(t *testing.T, o interop.Options) *peer {
	t.Helper()
	return startPeer(t, o)
}

func (l loopbackLab) seen(ours netip.AddrPort) netip.AddrPort { return ours }
func (l loopbackLab) cause() string                           { return "user initiated abort (12): peer aborts" }

// side says who dials.
type side string

const (
	peerDials side = "peer dials"
	weDial    side = "we dial"
)

// trial is a test for one side, in a lab.
type trial struct {
	*testing.T
	who side
	lab lab
}

// onLoopback is a trial against usrsctp.
func onLoopback(t *testing.T, who side) trial {
	t.Helper()
	needPeer(t)
	return trial{T: t, who: who, lab: loopbackLab("127.0.0.1")}
}

// bothSides runs a test on loopback for either.
func bothSides(t *testing.T, test func(trial)) {
	t.Helper()
	testCase{test: test}.run(t, func(*testing.T) lab { return loopbackLab("127.0.0.1") })
}

// setting is what may differ in a meeting.
type setting struct {
	terms link.Direction // of a link between; none when there is no delay and no loss
	cfg   func(*transport.Config)
	peer  func(*interop.Options)
}

// meeting is an association of ours with a peer.
type meeting struct {
	lab      lab
	peer     *peer
	ours     *transport.Association
	endpoint *transport.Endpoint
	tap      *tap
	link     *link.Emulator // nil when there is none between
	to       netip.AddrPort // where who dials sends to
	options  interop.Options
}

// prepare has all ready for an association, but starts no peer.
func prepare(on trial, s setting) *meeting {
	on.Helper()
	cfg := transport.DefaultConfig()
	cfg.MaxMissedHeartbeats = 100 // a busy machine is no failed path
	if s.cfg != nil {
		s.cfg(&cfg)
	}
	m := &meeting{lab: on.lab, tap: on.lab.listen(on.T, netip.AddrPort{})}
	m.endpoint, _ = endpoint(on.T, m.tap, cfg)
	m.options, m.to = on.lab.peer(on.T)
	m.options.Streams = 16
	if on.who == peerDials {
		m.to = m.endpoint.LocalAddr()
	}
	if s.terms.Delay > 0 || s.terms.Loss > 0 {
		m.to, m.link = relay(on.T, m.to, s.terms)
	}
	if on.who == peerDials {
		seen := on.lab.seen(m.to)
		m.options.Connect, m.options.To, m.options.RemoteUDP = seen.Addr(), port, seen.Port()
	} else {
		m.options.Port = port
	}
	if s.peer != nil {
		s.peer(&m.options)
	}
	return m
}

// meet sets an association up.
func meet(on trial, s setting) *meeting {
	on.Helper()
	m := prepare(on, s)
	m.begin(on.T, on.who)
	return m
}

// begin starts the peer and has who dials dial.
func (m *meeting) begin(t *testing.T, who side) {
	t.Helper()
	m.peer = m.lab.start(t, m.options)
	if who == peerDials {
		m.ours = accept(t, m.endpoint)
	} else {
		m.peer.expect("ready")
		m.ours = dial(t, m.endpoint, m.to, transport.Dial{RemotePort: port})
	}
	m.peer.expect("up")
}

func accept(t *testing.T, e *transport.Endpoint) *transport.Association {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := e.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func dial(t *testing.T, e *transport.Endpoint, to netip.AddrPort, d transport.Dial) *transport.Association {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := e.Dial(ctx, to, d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// collect receives in the background.
func collect(t *testing.T, a *transport.Association) <-chan transport.Message {
	t.Helper()
	messages, done := make(chan transport.Message, 4096), make(chan struct{})
	go func() {
		defer close(done)
		defer close(messages)
		if err := a.Receive(context.Background(), func(m transport.Message) { messages <- m }); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Receive: %v", err)
		}
	}()
	t.Cleanup(func() { a.Abort("test over"); <-done })
	return messages
}

// ended waits for the end of an association of ours.
func ended(t *testing.T, a *transport.Association) transport.CloseError {
	t.Helper()
	select {
	case <-a.Done():
	case <-time.After(patience):
		t.Fatal("the association did not end")
	}
	var why *transport.CloseError
	if !errors.As(a.Err(), &why) {
		t.Fatalf("ended with %v", a.Err())
	}
	return *why
}

package essp_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/processor/essp"
	"skyring/processor/ledger"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/stack"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// foreignPPID is of no protocol that anybody knows: its session is the association.
const foreignPPID = 4711

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](tb testing.TB) func(T, error) T {
	tb.Helper()

	return func(v T, err error) T {
		tb.Helper()

		if err != nil {
			tb.Fatal(err)
		}

		return v
	}
}

// gateway is a dispatcher, processors and their servers.
func gateway(t *testing.T) *stack.Stack {
	t.Helper()

	cfg := stack.Config{
		Listen: netip.MustParseAddrPort("127.0.0.1:0"), Transport: transport.DefaultConfig(), NATSHost: "127.0.0.1",
		NATS: bus.DefaultConfig(), Redis: statestore.DefaultConfig(), Dir: t.TempDir(), Dispatcher: dispatcher.DefaultConfig(),
		Processor: processor.DefaultConfig(), ESSP: essp.DefaultConfig(), Processors: 1,
	}
	cfg.NATS.URL, cfg.Redis.URL = "", ""
	cfg.Dispatcher.CPUThreshold, cfg.Dispatcher.MemoryThreshold = 0, 0 // of a machine that others use
	cfg.Processor.ID = "p"

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	s := must[*stack.Stack](t)(stack.Start(ctx, cfg, zerolog.Nop()))

	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})

	return s
}

// associate dials a gateway; what it says is in the channel.
func associate(t *testing.T, to netip.AddrPort) (*transport.Association, <-chan transport.Message) {
	t.Helper()

	link := must[*transport.UDPLink](t)(transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0")))
	endpoint := must[*transport.Endpoint](t)(transport.New(link, transport.DefaultConfig(), zerolog.Nop()))
	running, halt := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)

	go func() { ended <- endpoint.Run(running) }()

	t.Cleanup(func() {
		halt()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	a := must[*transport.Association](t)(endpoint.Dial(ctx, to, transport.Dial{RemotePort: 2905}))
	said := make(chan transport.Message, 16)
	received := make(chan struct{})

	go func() {
		defer close(received)

		_ = a.Receive(running, func(m transport.Message) { said <- m })
	}()

	t.Cleanup(func() {
		a.Abort("the test is over")
		<-received
	})

	return a, said
}

// Messages that tell no station are answered, and are no part of any session: neither
// of their association's, which others of its messages may have, nor of a station's.
func TestUnreadableMessagesAreAnsweredAndWriteNothing(t *testing.T) {
	s := gateway(t)
	a, said := associate(t, s.Addr())
	send := func(stream uint16, ppid uint32, payload []byte) {
		t.Helper()

		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()

		if err := a.Send(ctx, transport.Message{Stream: stream, PPID: ppid, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}

	valid := must[[]byte](t)(protocol.Append(nil, protocol.Header{Station: 17, Sequence: 1}, protocol.Heartbeat{}))
	other := func(at int, value byte) []byte {
		b := append([]byte(nil), valid...)
		b[at] = value

		return b
	}

	refused := must[[]byte](t)(protocol.Append(nil, protocol.Header{}, protocol.Error{Cause: protocol.CauseNotLoggedOn}))

	send(2, foreignPPID, []byte("before"))
	send(2, protocol.PPID, refused)          // an ERROR is not answered
	send(2, protocol.PPID, other(3, 1)[:19]) // too short
	send(2, protocol.PPID, other(0, 2))      // of another version
	send(2, protocol.PPID, other(15, 0))     // of station 0
	send(2, foreignPPID, []byte("after"))

	answered(t, said, 0, protocol.ErrTruncated.Cause())
	answered(t, said, 0, protocol.ErrVersion.Cause())
	answered(t, said, 0, protocol.ErrStation.Cause())
	send(2, protocol.PPID, valid) // nobody knows this station, but it is one
	answered(t, said, 17, protocol.CauseNotLoggedOn)
	awaitForeign(t, s)
}

// answered waits for an ERROR to a station.
func answered(t *testing.T, said <-chan transport.Message, station protocol.StationID, cause protocol.Cause) {
	t.Helper()

	select {
	case m := <-said:
		h, message, err := protocol.Decode(m.Payload)
		if e, ok := message.(protocol.Error); !ok || err != nil || h.Station != station || e.Cause != cause || m.Stream != 2 || m.PPID != protocol.PPID {
			t.Errorf("%+v: %+v, %+v, %v; want cause %v", m, h, message, err, cause)
		}
	case <-time.After(patience):
		t.Fatalf("no answer, want cause %v", cause)
	}
}

// awaitForeign waits until the only session is that of the association, with the two
// foreign messages.
func awaitForeign(t *testing.T, s *stack.Stack) {
	t.Helper()

	deadline := time.NewTimer(patience)
	defer deadline.Stop()

	for count := uint64(0); count != 2; {
		for session, err := range s.Store().Sessions(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}

			l := must[*ledger.Ledger](t)(ledger.Decode(session.Record.Body))
			if count = l.Count; key.KindOf(session.Key) != key.KindAssociation || count > 2 || l.PPID != foreignPPID {
				t.Fatalf("session %s: %+v", key.Format(session.Key), l)
			}
		}

		select {
		case <-deadline.C:
			t.Fatalf("%d messages in the ledger", count)
		default:
		}
	}
}

package transport_test

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// journal keeps what an endpoint logs.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), text)
}

func (j *journal) holds(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.text.String(), text)
}

// journaled runs an endpoint that keeps its log.
func journaled(t *testing.T, cfg transport.Config) (e *transport.Endpoint, log *journal, stop func()) {
	t.Helper()
	log = &journal{}
	e, err := transport.New(listenUDP(t), cfg, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return e, log, stop
}

// Every end of an association has its reason: in its error, in the log, and in the counts.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  transport.CloseReason
		end   func(t *testing.T, s *station, a *transport.Association, stop func())
		level string
		text  string
	}{
		{"the peer shuts down", transport.PeerShutdown, func(_ *testing.T, s *station, _ *transport.Association, _ func()) {
			s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(s.serverTSN-1)))
			s.expect(packet.TypeShutdownAck)
			s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeShutdownComplete, 0, nil))
		}, "debug", "peer shutdown"},
		{"we shut down", transport.LocalShutdown, func(t *testing.T, s *station, a *transport.Association, _ func()) {
			t.Helper()
			closed := make(chan error, 1)
			go func() { closed <- a.Close(deadline(t)) }()
			s.expect(packet.TypeShutdown)
			s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil))
			s.expect(packet.TypeShutdownComplete)
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}, "debug", "local shutdown"},
		{"the peer aborts", transport.PeerAbort, func(_ *testing.T, s *station, _ *transport.Association, _ func()) {
			cause := packet.AppendParameter(nil, 12, []byte("power off"))
			s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeAbort, 0, cause))
		}, "info", "user initiated abort (12): power off"},
		{"we abort", transport.LocalAbort, func(_ *testing.T, s *station, a *transport.Association, _ func()) {
			a.Abort("operator")
			s.expect(packet.TypeAbort)
		}, "debug", "operator"},
		{"silence", transport.PathFailed, func(_ *testing.T, _ *station, a *transport.Association, _ func()) {
			for now := time.Now(); a.Err() == nil; now = now.Add(2 * time.Hour) {
				transport.Beat(a, now)
			}
		}, "info", "100 heartbeats unanswered"},
		{"restart", transport.PeerRestarted, func(_ *testing.T, s *station, _ *transport.Association, _ func()) {
			s.tag++
			s.connect()
		}, "info", "peer restarted"},
		{"the end of Run", transport.EndpointClosed, func(_ *testing.T, _ *station, _ *transport.Association, stop func()) {
			stop()
		}, "debug", "endpoint closed"},
		{"violation", transport.ProtocolViolation, func(_ *testing.T, s *station, _ *transport.Association, _ func()) {
			s.send(s.serverTag, s.data(whole(0, "")))
		}, "info", "DATA without user data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, log, stop := journaled(t, idle())
			s := newStation(t, server)
			s.connect()
			a := accept(t, server)
			collect(t, a)
			c.end(t, s, a, stop)
			if detail := wantReason(t, a, c.want); !strings.Contains(c.want.String()+": "+detail, c.text) {
				t.Errorf("detail %q", detail)
			}
			eventually(t, "the end is logged", func() bool { return log.holds("association ended") })
			for _, text := range []string{c.text, c.want.String(), `"level":"` + c.level + `"`} {
				if !log.holds(text) {
					t.Errorf("%q is not logged", text)
				}
			}
			for reason, n := range server.Stats().Ends() {
				if n != map[bool]uint64{true: 1}[reason == c.want] {
					t.Errorf("%s: %d", reason, n)
				}
			}
		})
	}
}

// Peers that end their associations as fast as they can do not fill the log: what is beyond is for debugging, and counts.
func TestEndsDoNotFillTheLog(t *testing.T) {
	cfg := idle()
	cfg.InitsPerSecond, cfg.InitsPerSourcePerSecond = 1<<20, 1<<20
	log := &journal{}
	link := &hole{ended: make(chan struct{})}
	e, err := transport.New(link, cfg, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	const ends = 1500
	from := netip.MustParseAddrPort("192.0.2.1:9899")
	for range ends {
		a := handMade(t, e, link, from)
		local, _ := transport.Tags(a)
		b := packet.Header{SourcePort: a.PeerPort(), DestinationPort: a.LocalPort(), VerificationTag: local}.Append(nil)
		b = packet.AppendChunk(b, packet.TypeAbort, 0, nil)
		packet.PutChecksum(b)
		transport.Handle(e, b, from)
		wantReason(t, a, transport.PeerAbort)
	}
	if n := log.count(`"level":"info"`); n == 0 || n == ends {
		t.Errorf("%d of %d ends are logged for everybody", n, ends)
	}
	if n := log.count("association ended"); n != ends || e.Stats().Ended(transport.PeerAbort) != ends {
		t.Errorf("%d ends are logged at all", n)
	}
}

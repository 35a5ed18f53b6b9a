package transport_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// hole is a link that gets nothing and keeps nothing but the last packet written.
type hole struct {
	ended chan struct{}

	mu   sync.Mutex
	last []byte
}

func (h *hole) ReadPacket([]byte) (int, transport.Peer, error) {
	<-h.ended
	return 0, transport.Peer{}, net.ErrClosed
}

func (h *hole) WritePacket(b []byte, _ transport.Peer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = append(h.last[:0], b...)
	return nil
}

func (h *hole) Mode() transport.Mode      { return transport.ModeUDP }
func (h *hole) LocalAddr() netip.AddrPort { return loopback() }
func (h *hole) Close() error              { close(h.ended); return nil }

// FuzzEndpoint: whatever comes, with a right checksum or not, under an association's tag or another, nothing panics, and
// no association comes to be without a cookie. Each input gets an association of its own, so that it can be tried again.
func FuzzEndpoint(f *testing.F) {
	for _, seed := range [][]byte{
		captured(),
		{},
		packet.AppendChunk(nil, packet.TypeCookieEcho, 0, make([]byte, transport.CookieLen)),
		packet.AppendChunk(nil, packet.TypeSack, 0, make([]byte, 12)),
		{0xC0, 0, 0, 8, 0, 0, 3, 0xE8},
		packet.AppendChunk(nil, packet.TypeReconfig, 0, make([]byte, 16)),
		packet.Init{InitiateTag: 1, Window: 9999, OutboundStreams: 1, InboundStreams: 1}.Append(nil, packet.TypeInit),
	} {
		f.Add(seed)
	}
	link := &hole{ended: make(chan struct{})}
	cfg := steady()
	cfg.InitsPerSecond, cfg.InitsPerSourcePerSecond, cfg.BlueRepliesPerSecond = 1<<20, 1<<20, 1<<20
	e, _ := startOn(f, link, cfg)
	from := netip.MustParseAddrPort("192.0.2.1:9899")
	f.Fuzz(func(t *testing.T, b []byte) {
		a := handMade(t, e, link, from)
		before := e.Stats().Count(transport.AssociationsAccepted)
		transport.Handle(e, b, from)
		if len(b) >= packet.HeaderLen {
			whole := append([]byte(nil), b...)
			packet.PutChecksum(whole)
			transport.Handle(e, whole, from)
		}
		if after := e.Stats().Count(transport.AssociationsAccepted); after != before {
			t.Fatal("an association without a cookie")
		}
		if err := a.Err(); err != nil {
			t.Fatalf("ended by what has not its tag: %v", err)
		}
		local, _ := transport.Tags(a)
		chunks := packet.Header{SourcePort: a.PeerPort(), DestinationPort: a.LocalPort(), VerificationTag: local}.Append(nil)
		chunks = append(chunks, b...)
		packet.PutChecksum(chunks)
		transport.Handle(e, chunks, from)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := a.Pause(ctx); err != nil && !errors.Is(err, transport.ErrClosed) { // pion has seen it then
			t.Fatalf("neither goes on nor ends: %v", err)
		}
	})
}

func captured() []byte {
	return packet.Data{TSN: 1000, Beginning: true, Ending: true, Payload: []byte("abcde")}.Append(nil)
}

// handMade sets an association up by handing packets to the endpoint.
func handMade(tb testing.TB, e *transport.Endpoint, link *hole, from netip.AddrPort) *transport.Association {
	tb.Helper()
	init := packet.Header{SourcePort: 5, DestinationPort: 6}.Append(nil)
	init = packet.Init{
		InitiateTag: 9, Window: 1 << 16, OutboundStreams: 4, InboundStreams: 4, InitialTSN: 1000,
	}.Append(init, packet.TypeInit)
	packet.PutChecksum(init)
	transport.Handle(e, init, from)
	link.mu.Lock()
	ack := append([]byte(nil), link.last...)
	link.mu.Unlock()
	c, _, err := packet.ChunkAt(ack, packet.HeaderLen)
	if err != nil {
		tb.Fatal(err)
	}
	fixed, err := packet.ParseInit(c)
	if err != nil {
		tb.Fatal(err)
	}
	for p, err := range packet.Parameters(fixed.Parameters) {
		if err != nil || p.Type != 7 {
			continue
		}
		echo := packet.Header{SourcePort: 5, DestinationPort: 6, VerificationTag: fixed.InitiateTag}.Append(nil)
		echo = packet.AppendChunk(echo, packet.TypeCookieEcho, 0, p.Value)
		packet.PutChecksum(echo)
		transport.Handle(e, echo, from)
	}
	a := accept(tb, e)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Receive(context.Background(), func(transport.Message) {}); !errors.Is(err, transport.ErrClosed) {
			tb.Errorf("Receive: %v", err)
		}
	}()
	tb.Cleanup(func() { a.Abort("over"); <-done })
	return a
}

package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

const patience = 10 * time.Second // for what must happen; nothing waits that long when all is well

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := runChild(what); err != nil {
			log.Fatal(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func logger(tb testing.TB) zerolog.Logger {
	tb.Helper()
	if os.Getenv("TRANSPORT_LOG") == "" {
		return zerolog.Nop()
	}
	return zerolog.New(zerolog.NewTestWriter(tb))
}

// restless is a configuration that finds dead peers soon.
func restless() transport.Config {
	cfg := quick()
	cfg.HeartbeatInterval = 50 * time.Millisecond
	cfg.MaxMissedHeartbeats = 4
	return cfg
}

// quick is a configuration that gives up dialling soon.
func quick() transport.Config {
	cfg := steady()
	cfg.InitTimeout = 100 * time.Millisecond
	cfg.MaxInitRetransmits = 3
	return cfg
}

// steady never finds a path failed on a busy machine.
func steady() transport.Config {
	cfg := transport.DefaultConfig()
	cfg.MaxMissedHeartbeats = 100
	return cfg
}

func loopback() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") }

func listenUDP(tb testing.TB) *transport.UDPLink {
	tb.Helper()
	link, err := transport.ListenUDP(loopback())
	if err != nil {
		tb.Fatal(err)
	}
	return link
}

// start runs an endpoint on loopback until the test ends.
func start(tb testing.TB, cfg transport.Config) *transport.Endpoint {
	tb.Helper()
	e, _ := startOn(tb, listenUDP(tb), cfg)
	return e
}

// startOn runs an endpoint on a link; stop ends it before the test does.
func startOn(tb testing.TB, link transport.Link, cfg transport.Config) (e *transport.Endpoint, stop func()) {
	tb.Helper()
	return startOver(tb, []transport.Link{link}, cfg)
}

func startOver(tb testing.TB, links []transport.Link, cfg transport.Config) (e *transport.Endpoint, stop func()) {
	tb.Helper()
	e, err := transport.NewOver(links, cfg, logger(tb))
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			tb.Errorf("Run: %v", err)
		}
	})
	tb.Cleanup(stop)
	return e, stop
}

func deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// connect sets an association up and gives both its ends.
func connect(tb testing.TB, client, server *transport.Endpoint) (dialled, accepted *transport.Association) {
	tb.Helper()
	dialled, err := client.Dial(deadline(tb), server.LocalAddr(), transport.Dial{RemotePort: 2905})
	if err != nil {
		tb.Fatal(err)
	}
	return dialled, accept(tb, server)
}

func accept(tb testing.TB, e *transport.Endpoint) *transport.Association {
	tb.Helper()
	a, err := e.Accept(deadline(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// collect receives in the background; messages come through the channel, which is closed when Receive returns.
func collect(tb testing.TB, a *transport.Association) <-chan transport.Message {
	tb.Helper()
	messages := make(chan transport.Message, 4096)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(messages)
		err := a.Receive(context.Background(), func(m transport.Message) { messages <- m })
		if !errors.Is(err, transport.ErrClosed) {
			tb.Errorf("Receive: %v", err)
		}
	}()
	tb.Cleanup(func() { a.Abort("test over"); <-done })
	return messages
}

func next(tb testing.TB, messages <-chan transport.Message) transport.Message {
	tb.Helper()
	return nextWithin(tb, messages, patience)
}

func nextWithin(tb testing.TB, messages <-chan transport.Message, limit time.Duration) transport.Message {
	tb.Helper()
	select {
	case m, ok := <-messages:
		if !ok {
			tb.Fatal("the association ended before the message came")
		}
		return m
	case <-time.After(limit):
		tb.Fatal("no message came")
	}
	return transport.Message{}
}

// ended waits for the end of an association and gives its reason.
func ended(tb testing.TB, a *transport.Association) transport.CloseError {
	tb.Helper()
	select {
	case <-a.Done():
	case <-time.After(patience):
		tb.Fatal("the association did not end")
	}
	var why *transport.CloseError
	if !errors.As(a.Err(), &why) {
		tb.Fatalf("Err is %v", a.Err())
	}
	return *why
}

func wantReason(tb testing.TB, a *transport.Association, want transport.CloseReason) (detail string) {
	tb.Helper()
	why := ended(tb, a)
	if why.Reason != want {
		tb.Fatalf("ended with %q, want %q", &why, want)
	}
	return why.Detail
}

// echoes checks that an association still carries a message there and back.
func echoes(tb testing.TB, from *transport.Association, sent, received <-chan transport.Message, to *transport.Association) {
	tb.Helper()
	for _, way := range []struct {
		a    *transport.Association
		into <-chan transport.Message
	}{{from, received}, {to, sent}} {
		if err := way.a.Send(deadline(tb), transport.Message{Stream: 1, PPID: 3, Payload: []byte("still here")}); err != nil {
			tb.Fatal(err)
		}
		if m := next(tb, way.into); string(m.Payload) != "still here" {
			tb.Fatalf("got %q", m.Payload)
		}
	}
}

// eventually waits for a condition that nothing announces.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-ticker.C:
		case <-limit:
			tb.Fatalf("never: %s", what)
		}
	}
}

// station is a raw peer: it sends and reads packets as bytes.
type station struct {
	t      testing.TB
	socket *net.UDPConn
	server netip.AddrPort
	buffer []byte

	port, serverPort uint16
	tag, serverTag   uint32
	tsn, serverTSN   uint32
	ssn              map[uint16]uint16
}

func newStation(tb testing.TB, server *transport.Endpoint) *station {
	tb.Helper()
	return newStationAt(tb, server, loopback())
}

func newStationAt(tb testing.TB, server *transport.Endpoint, at netip.AddrPort) *station {
	tb.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = socket.Close() })
	return &station{
		t: tb, socket: socket, server: server.LocalAddr(), buffer: make([]byte, 1<<16),
		port: 4000, serverPort: 2905, tag: 0x1111, tsn: 1000,
	}
}

// send sends chunks under a tag.
func (s *station) send(tag uint32, chunks ...[]byte) {
	s.t.Helper()
	s.raw(s.packet(tag, chunks...))
}

func (s *station) packet(tag uint32, chunks ...[]byte) []byte {
	b := packet.Header{SourcePort: s.port, DestinationPort: s.serverPort, VerificationTag: tag}.Append(nil)
	for _, c := range chunks {
		b = append(b, c...)
	}
	packet.PutChecksum(b)
	return b
}

func (s *station) raw(b []byte) {
	s.t.Helper()
	if _, err := s.socket.WriteToUDPAddrPort(b, s.server); err != nil && len(b) < 65000 {
		s.t.Fatal(err)
	}
}

// read gives the chunks of the next packet.
func (s *station) read() (packet.Header, []packet.Chunk) {
	s.t.Helper()
	_ = s.socket.SetReadDeadline(time.Now().Add(patience))
	n, _, err := s.socket.ReadFromUDPAddrPort(s.buffer)
	if err != nil {
		s.t.Fatal(err)
	}
	b := append([]byte(nil), s.buffer[:n]...)
	h, err := packet.ParseHeader(b)
	if err != nil || !packet.ChecksumOK(b) {
		s.t.Fatalf("bad packet from the endpoint: %v", err)
	}
	var chunks []packet.Chunk
	for c, err := range packet.Chunks(b) {
		if err != nil {
			s.t.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	return h, chunks
}

// expect reads until a chunk of the type comes.
func (s *station) expect(want packet.ChunkType) (packet.Header, packet.Chunk) {
	s.t.Helper()
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
		h, chunks := s.read()
		for _, c := range chunks {
			if c.Type == want {
				return h, c
			}
		}
	}
	s.t.Fatalf("no %s came", want)
	return packet.Header{}, packet.Chunk{}
}

// silence checks that the endpoint has not answered: what it answers now comes first.
func (s *station) silence() {
	s.t.Helper()
	s.send(0xABCD, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil))
	h, chunks := s.read()
	if chunks[0].Type != packet.TypeShutdownComplete || h.VerificationTag != 0xABCD {
		s.t.Fatalf("endpoint answered %v", chunks[0].Type)
	}
}

func (s *station) init(params []byte) []byte {
	return packet.Init{
		InitiateTag: s.tag, Window: 64 << 10, OutboundStreams: 4, InboundStreams: 4, InitialTSN: s.tsn, Parameters: params,
	}.Append(nil, packet.TypeInit)
}

// cookie does the first half of a handshake.
func (s *station) cookie() []byte {
	s.t.Helper()
	s.send(0, s.init(nil))
	h, c := s.expect(packet.TypeInitAck)
	if h.VerificationTag != s.tag {
		s.t.Fatalf("INIT-ACK with tag %x", h.VerificationTag)
	}
	ack, err := packet.ParseInit(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.serverTag, s.serverTSN = ack.InitiateTag, ack.InitialTSN
	for p, err := range packet.Parameters(ack.Parameters) {
		if err == nil && p.Type == 7 {
			return packet.AppendChunk(nil, packet.TypeCookieEcho, 0, p.Value)
		}
	}
	s.t.Fatal("no cookie")
	return nil
}

// connect does a handshake.
func (s *station) connect() {
	s.t.Helper()
	s.send(0, nil) // header only: dropped
	echo := s.cookie()
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
}

// data numbers a whole message.
func (s *station) data(d packet.Data) []byte {
	if s.ssn == nil {
		s.ssn = map[uint16]uint16{}
	}
	d.TSN, d.SSN = s.tsn, s.ssn[d.Stream]
	s.tsn++
	s.ssn[d.Stream]++
	return d.Append(nil)
}

func whole(stream uint16, text string) packet.Data {
	return packet.Data{Stream: stream, PPID: 3, Beginning: true, Ending: true, Payload: []byte(text)}
}

func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

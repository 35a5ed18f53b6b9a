package transport_test

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// Whatever a parameter of INIT looks like, the answer is INIT-ACK or ABORT, and nothing is kept.
func TestInitParametersMalformed(t *testing.T) {
	cfg := steady()
	cfg.InitsPerSecond, cfg.InitsPerSourcePerSecond = 1<<20, 1<<20
	server := start(t, cfg)
	s := newStation(t, server)
	for _, kind := range []uint16{0, 1, 5, 6, 7, 8, 9, 11, 12, 13, 0x8000, 0x8001, 0x8002, 0x8003, 0x8004, 0x8005, 0x8008, 0xC000, 0xC001, 0xC006, 0xFFFF} {
		for _, params := range [][]byte{
			packet.AppendParameter(nil, kind, nil),
			packet.AppendParameter(nil, kind, []byte{1}),
			packet.AppendParameter(nil, kind, make([]byte, 5)),
			packet.AppendParameter(nil, kind, make([]byte, 17)),
			packet.AppendParameter(nil, kind, make([]byte, 1100)),
			{byte(kind >> 8), byte(kind), 0, 0},             // length 0
			{byte(kind >> 8), byte(kind), 0, 3},             // less than its header
			{byte(kind >> 8), byte(kind), 0xFF, 0xFF, 1, 2}, // past the end
			{byte(kind >> 8), byte(kind)},                   // cut short
		} {
			s.send(0, s.init(params))
			h, chunks := s.read()
			if c := chunks[0]; h.VerificationTag != s.tag || c.Type != packet.TypeInitAck && c.Type != packet.TypeAbort {
				t.Fatalf("parameter %#x %x: %v with tag %x", kind, params, c.Type, h.VerificationTag)
			}
		}
	}
	if n := server.Stats().Associations; n != 0 {
		t.Errorf("%d associations", n)
	}
}

// An address parameter of a length that is not its type's names nothing.
func TestAddressParametersOfWrongLength(t *testing.T) {
	server := start(t, idle())
	s := newStation(t, server)
	four, sixteen := []byte{127, 0, 0, 9}, netip.MustParseAddr("::ffff:127.0.0.9").AsSlice()
	echo := s.begin(append(packet.AppendParameter(nil, 6, four), packet.AppendParameter(nil, 5, sixteen)...))
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	if named := transport.Named(accept(t, server)); len(named) != 0 {
		t.Errorf("named %v", named)
	}
}

// A cookie's age is not of the machine's clock, which may step: a step back would let old cookies live on, when the tags of
// ended associations are forgotten already.
func TestCookieAgeIsNotOfTheMachinesClock(t *testing.T) {
	begun := time.Now()
	server := start(t, steady())
	echo := newStation(t, server).cookie()
	created := time.Duration(binary.BigEndian.Uint64(echo[packet.ChunkHeaderLen:]))
	if created < 0 || created > time.Since(begun) {
		t.Errorf("created %s after the endpoint", created)
	}
}

// A repeated COOKIE-ECHO, since COOKIE-ACK got lost, may come from another UDP port, as a NAT may give one: it is answered
// there, and the data behind it is taken. Nothing is started, refused or warned of.
func TestCookieRepeatedFromAnotherPort(t *testing.T) {
	s, server, a, messages := pair(t, idle())
	again := newStation(t, server)
	echo := again.cookie() // of an association of its own: the first station's port differs
	first := newStation(t, server)
	first.serverTag = again.serverTag
	first.send(first.serverTag, echo)
	first.expect(packet.TypeCookieAck)
	mine := accept(t, server)
	atMine := collect(t, mine)
	again.send(again.serverTag, echo, again.data(whole(1, "behind the repetition")))
	h, c := again.expect(packet.TypeCookieAck)
	if h.VerificationTag != again.tag || c.Flags != 0 {
		t.Errorf("tag %x", h.VerificationTag)
	}
	if m := next(t, atMine); string(m.Payload) != "behind the repetition" {
		t.Errorf("got %q", m.Payload)
	}
	s.stillServed(messages)
	stats := server.Stats()
	if stats.Associations != 2 || stats.Ended(transport.EndpointClosed) != 0 || stats.Count(transport.RefusedInits) != 0 || a.Err() != nil {
		t.Errorf("%d associations, %d refused", stats.Associations, stats.Count(transport.RefusedInits))
	}
	first.port++ // with other SCTP ports it is nobody's
	first.send(first.serverTag, echo)
	first.silence()
}

// A cookie is of one endpoint, and of the address that INIT came from.
func TestCookieOfAnother(t *testing.T) {
	server, other := start(t, steady()), start(t, steady())
	s := newStation(t, server)
	stranger := newStation(t, other)
	echo := stranger.cookie()
	s.send(stranger.serverTag, echo) // of another endpoint
	s.silence()
	echo = s.cookie()
	thief := newStationAt(t, server, netip.MustParseAddrPort("127.0.0.2:0"))
	thief.send(s.serverTag, echo) // from another address
	thief.silence()
	for _, cut := range []int{1, 4, 32, len(echo) - 8} {
		s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeCookieEcho, 0, echo[packet.ChunkHeaderLen:len(echo)-cut]))
		s.silence()
	}
	if n := server.Stats().Count(transport.BadCookies); n != 6 {
		t.Errorf("%d bad cookies", n)
	}
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	accept(t, server)
}

// A restart that names an address which the association had not is refused (RFC 9260 section 5.2.2): whoever could start one
// from a station's address would have the station's messages sent elsewhere.
func TestRestartWithNewAddresses(t *testing.T) {
	first, _, server, old := dualHomed(t, idle())
	messages := collect(t, old)
	tag, tsn := first.tag, first.tsn
	first.tag, first.tsn = 0x3333, 50
	first.send(0, first.init(addressParams("127.0.0.1", "127.0.0.2", "127.0.0.3")))
	h, c := first.expect(packet.TypeAbort)
	want := packet.AppendParameter(nil, 11, addressParams("127.0.0.3"))
	if h.VerificationTag != first.tag || string(c.Value) != string(want) {
		t.Errorf("tag %x, ABORT %x", h.VerificationTag, c.Raw)
	}
	first.tag, first.tsn = tag, tsn
	first.stillServed(messages)
	first.tag, first.tsn, first.ssn = 0x3333, 50, nil
	echo := first.begin(addressParams("127.0.0.2")) // fewer may be
	first.send(first.serverTag, echo)
	first.expect(packet.TypeCookieAck)
	wantReason(t, old, transport.PeerRestarted)
	accept(t, server)
	if n := server.Stats().Count(transport.RefusedInits); n != 1 {
		t.Errorf("%d refused", n)
	}
}

// INIT-ACK without a tag, or too short for one, ends the dial (RFC 9260 section 3.3.3); an ABORT that claims to carry the
// peer's tag but carries ours does not.
func TestDialAnsweredWrongly(t *testing.T) {
	cookie := packet.AppendParameter(nil, 7, []byte("cookie"))
	for _, c := range []struct {
		name   string
		answer func(f *fake) []byte
		want   string
	}{
		{"no tag", func(f *fake) []byte { f.tag = 0; return f.initAck(cookie) }, "tag 0"},
		{"cut short", func(f *fake) []byte { return packet.AppendChunk(nil, packet.TypeInitAck, 0, make([]byte, 15)) }, "fewer bytes left"},
		{"no streams", func(f *fake) []byte {
			return packet.Init{InitiateTag: 9, Window: 1 << 16, InboundStreams: 1, Parameters: cookie}.Append(nil, packet.TypeInitAck)
		}, "invalid mandatory parameter"},
		{"T bit", func(f *fake) []byte { return packet.AppendChunk(nil, packet.TypeAbort, 1, nil) }, "no answer to 4 INITs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			a, err := dialFake(t, f, func() {
				f.hear(packet.TypeInit)
				f.send(f.serverTag, c.answer(f))
			})
			if err == nil {
				a.Abort("unexpected")
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

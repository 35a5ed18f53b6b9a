package transport_test

import (
	"encoding/binary"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

func TestInitAnswers(t *testing.T) {
	cfg := steady()
	cfg.Port = 2905
	server := start(t, cfg)
	host := packet.AppendParameter(nil, 11, []byte("station.example\x00"))
	noTag := packet.Init{Window: 4096, OutboundStreams: 1, InboundStreams: 1}
	noStreams := packet.Init{InitiateTag: 0x1111, Window: 4096, InboundStreams: 1}
	narrow := packet.Init{InitiateTag: 0x1111, Window: 1499, OutboundStreams: 1, InboundStreams: 1}
	for _, c := range []struct {
		name  string
		tag   uint32
		port  uint16
		chunk func(s *station) []byte
		want  packet.ChunkType
		cause uint16
	}{
		{"plain", 0, 2905, func(s *station) []byte { return s.init(nil) }, packet.TypeInitAck, 0},
		{"other SCTP port", 0, 2906, func(s *station) []byte { return s.init(nil) }, packet.TypeAbort, 0},
		{"host name", 0, 2905, func(s *station) []byte { return s.init(host) }, packet.TypeAbort, 5},
		{"no streams", 0, 2905, func(*station) []byte { return noStreams.Append(nil, 1) }, packet.TypeAbort, 7},
		{"tiny window", 0, 2905, func(*station) []byte { return narrow.Append(nil, 1) }, packet.TypeAbort, 7},
		{"lying parameter", 0, 2905, func(s *station) []byte { return s.init([]byte{0x80, 0, 0, 9}) }, packet.TypeAbort, 13},
		{"with a tag", 5, 2905, func(s *station) []byte { return s.init(nil) }, 0, 0},
		{"no initiate tag", 0, 2905, func(*station) []byte { return noTag.Append(nil, 1) }, 0, 0},
		{"bundled", 0, 2905, func(s *station) []byte { return append(s.init(nil), 11, 0, 0, 4) }, 0, 0},
		{"cut short", 0, 2905, func(s *station) []byte { return []byte{1, 0, 0, 8, 0, 0, 0, 1} }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStation(t, server)
			s.serverPort = c.port
			s.send(c.tag, c.chunk(s))
			if c.want == 0 {
				s.silence()
				return
			}
			h, chunks := s.read()
			if chunks[0].Type != c.want || h.VerificationTag != s.tag || h.SourcePort != c.port {
				t.Fatalf("%v from port %d with tag %x", chunks[0].Type, h.SourcePort, h.VerificationTag)
			}
			if c.cause != 0 && binary.BigEndian.Uint16(chunks[0].Value) != c.cause {
				t.Errorf("cause %x", chunks[0].Value)
			}
		})
	}
	if n := server.Stats().Associations; n != 0 {
		t.Errorf("%d associations", n)
	}
}

// usrsctp and kernels send parameters that pion refuses INIT for.
func TestInitParameters(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	var params []byte
	for _, p := range []struct {
		t     uint16
		value string
	}{
		{5, "\x7f\x00\x00\x01"},
		{6, "0123456789abcdef"},
		{9, "\x00\x00\x10\x00"},
		{12, "\x00\x05\x00\x06"},
		{0x8000, ""},
		{0x8002, "0123456789abcdef0123456789abcdef"},
		{0x8003, "\xc1\x80"},
		{0x8004, "\x00\x03\x00\x01"},
		{0x8008, "\xc0\x82\x40\xc1"},
		{0xC000, ""},
		{0xC006, "\x00\x00\x00\x01"},
		{0xF123, "tell me"},
		{0xB123, "skip me"},
		{0x7123, "stop here"},
		{0xF124, "unseen"},
	} {
		params = packet.AppendParameter(params, p.t, []byte(p.value))
	}
	s.send(0, s.init(params))
	_, c := s.expect(packet.TypeInitAck)
	ack, err := packet.ParseInit(c)
	if err != nil {
		t.Fatal(err)
	}
	var reported []uint16
	for p, err := range packet.Parameters(ack.Parameters) {
		if err != nil || p.Type != 8 {
			continue
		}
		for q, err := range packet.Parameters(p.Value) {
			if err != nil {
				t.Fatal(err)
			}
			reported = append(reported, q.Type)
		}
	}
	if len(reported) != 2 || reported[0] != 0xF123 || reported[1] != 0x7123 {
		t.Errorf("reported %x", reported)
	}
	s.connect()
	accept(t, server)
}

func TestInitFloodKeepsNothing(t *testing.T) {
	cfg := steady()
	cfg.InitsPerSecond, cfg.InitsPerSourcePerSecond = 1<<20, 1<<20
	server := start(t, cfg)
	s := newStation(t, server)
	for i := range 5000 {
		s.port = uint16(1024 + i)
		s.tag = uint32(i + 1)
		s.send(0, s.init(nil))
		s.expect(packet.TypeInitAck)
	}
	if stats := server.Stats(); stats.Associations != 0 || stats.Count(transport.InitsReceived) != 5000 {
		t.Errorf("%d associations, %d INITs", stats.Associations, stats.Count(transport.InitsReceived))
	} // goroutines: goleak, and none was started that could end
}

func TestCookieEchoRefused(t *testing.T) {
	cfg := steady()
	cfg.CookieLife = 100 * time.Millisecond
	server := start(t, cfg)
	count := func(c transport.Counter) uint64 { return server.Stats().Count(c) }

	t.Run("forged", func(t *testing.T) {
		s := newStation(t, server)
		echo := s.cookie()
		echo[20] ^= 1
		s.send(s.serverTag, echo)
		s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeCookieEcho, 0, nil))
		s.silence()
		if count(transport.BadCookies) != 2 {
			t.Errorf("%d bad cookies", count(transport.BadCookies))
		}
	})
	t.Run("wrong tag", func(t *testing.T) {
		s := newStation(t, server)
		echo := s.cookie()
		s.send(s.serverTag+1, echo)
		s.silence()
	})
	t.Run("other ports", func(t *testing.T) {
		s := newStation(t, server)
		echo := s.cookie()
		s.port++
		s.send(s.serverTag, echo)
		s.silence()
	})
	t.Run("expired", func(t *testing.T) {
		s := newStation(t, server)
		echo := s.cookie()
		<-time.After(150 * time.Millisecond) // the cookie's life is what is tested
		s.send(s.serverTag, echo)
		h, c := s.expect(packet.TypeError)
		if h.VerificationTag != s.tag || binary.BigEndian.Uint16(c.Value) != 3 {
			t.Errorf("tag %x, cause %x", h.VerificationTag, c.Value)
		}
	})
	if n := server.Stats().Associations; n != 0 {
		t.Errorf("%d associations", n)
	}
}

func TestCookieReplayed(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	echo := s.cookie()
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	s.send(s.serverTag, echo) // its COOKIE-ACK may have got lost
	s.expect(packet.TypeCookieAck)
	a := accept(t, server)
	messages := collect(t, a)
	s.send(s.serverTag, s.data(whole(1, "one association only")))
	next(t, messages)
	if n := server.Stats().Associations; n != 1 {
		t.Errorf("%d associations", n)
	}
	a.Abort("over")
	s.expect(packet.TypeAbort)
	s.send(s.serverTag, echo)
	eventually(t, "the replay counts", func() bool { return server.Stats().Count(transport.ReplayedCookies) == 1 })
	if n := server.Stats().Associations; n != 0 {
		t.Errorf("%d associations", n)
	}
}

func TestDataWithCookieEcho(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	echo := s.cookie()
	s.send(s.serverTag, echo, s.data(whole(2, "early")))
	s.expect(packet.TypeCookieAck)
	if m := next(t, collect(t, accept(t, server))); string(m.Payload) != "early" || m.Stream != 2 {
		t.Errorf("got %+v", m)
	}
}

func TestMaxAssociations(t *testing.T) {
	cfg := steady()
	cfg.MaxAssociations = 2
	server := start(t, cfg)
	first := newStation(t, server)
	first.connect()
	late := newStation(t, server)
	late.port++
	echo := late.cookie()
	second := newStation(t, server)
	second.port += 2
	second.connect()
	for _, send := range []func(s *station){
		func(s *station) { s.send(0, s.init(nil)) },
		func(s *station) { s.send(s.serverTag, echo) }, // its INIT came while there was room
	} {
		send(late)
		h, c := late.expect(packet.TypeAbort)
		if h.VerificationTag != late.tag || binary.BigEndian.Uint16(c.Value) != 4 {
			t.Errorf("tag %x, cause %x", h.VerificationTag, c.Value)
		}
	}
	counts(t, server, transport.RefusedAssociations, 2)
}

func TestBacklogFull(t *testing.T) {
	cfg := steady()
	cfg.AcceptBacklog = 1
	server := start(t, cfg)
	newStation(t, server).connect()
	s := newStation(t, server)
	s.port++
	echo := s.cookie()
	s.send(s.serverTag, echo)
	if _, c := s.expect(packet.TypeAbort); binary.BigEndian.Uint16(c.Value) != 4 {
		t.Errorf("ABORT %x", c.Raw)
	}
	counts(t, server, transport.RefusedAssociations, 1)
	accept(t, server)
	s.connect()
}

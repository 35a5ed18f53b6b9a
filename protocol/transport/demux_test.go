package transport_test

import (
	"testing"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// pair is an association between a raw station and an endpoint, with what the endpoint received.
func pair(t *testing.T, cfg transport.Config) (*station, *transport.Endpoint, *transport.Association, <-chan transport.Message) {
	t.Helper()
	server := start(t, cfg)
	s := newStation(t, server)
	s.connect()
	a := accept(t, server)
	return s, server, a, collect(t, a)
}

func (s *station) stillServed(messages <-chan transport.Message) {
	s.t.Helper()
	s.send(s.serverTag, s.data(whole(0, "still here")))
	if m := next(s.t, messages); string(m.Payload) != "still here" {
		s.t.Fatalf("got %q", m.Payload)
	}
}

func TestSpoofing(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	abort := packet.AppendChunk(nil, packet.TypeAbort, 0, nil)
	reflected := packet.AppendChunk(nil, packet.TypeAbort, 1, nil)
	spoofed := packet.Data{TSN: s.tsn, Beginning: true, Ending: true, Payload: []byte("spoofed")}.Append(nil)
	for _, c := range [][]byte{
		abort, reflected, spoofed,
		packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(s.serverTSN-1)),
		packet.AppendChunk(nil, packet.TypeShutdownComplete, 0, nil),
		packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil),
		packet.AppendChunk(nil, packet.TypeCookieEcho, 0, make([]byte, transport.CookieLen)),
		packet.AppendChunk(nil, packet.TypeInitAck, 0, make([]byte, 20)),
		packet.AppendChunk(nil, packet.TypeSack, 0, make([]byte, 12)),
	} {
		s.send(s.serverTag+1, c) // a guessed tag
		s.send(0, c)
	}
	s.send(s.serverTag, reflected) // T wants the peer's tag
	s.port++
	s.send(s.serverTag, abort) // another SCTP port
	s.port--
	b := append(packet.Header{SourcePort: s.port, DestinationPort: 2905, VerificationTag: s.serverTag}.Append(nil), abort...)
	s.raw(b) // no checksum
	s.send(0, s.init(nil))
	other := newStation(t, server)
	other.send(0, s.init(nil)) // an INIT from elsewhere for the same SCTP ports
	s.stillServed(messages)
	if a.Err() != nil {
		t.Error(a.Err())
	}
	stats := server.Stats()
	for _, c := range []transport.Counter{
		transport.BadChecksums, transport.WrongPorts, transport.OutOfTheBlue, transport.BadCookies, transport.BadInits,
	} {
		if stats.Count(c) == 0 {
			t.Errorf("%s is 0", c)
		}
	}
}

func TestOutOfTheBlue(t *testing.T) {
	server := start(t, steady())
	stale := packet.AppendParameter(nil, 3, be32(5))
	for _, c := range []struct {
		name   string
		chunks []byte
		want   packet.ChunkType
	}{
		{"DATA", whole(0, "x").Append(nil), packet.TypeAbort},
		{"HEARTBEAT", packet.AppendChunk(nil, packet.TypeHeartbeat, 0, nil), packet.TypeAbort},
		{"unknown", packet.AppendChunk(nil, 0x3F, 0, nil), packet.TypeAbort},
		{"SHUTDOWN-ACK", packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil), packet.TypeShutdownComplete},
		{"ABORT", packet.AppendChunk(nil, packet.TypeAbort, 0, nil), 0},
		{"ABORT behind DATA", packet.AppendChunk(whole(0, "x").Append(nil), packet.TypeAbort, 0, nil), 0},
		{"SHUTDOWN-COMPLETE", packet.AppendChunk(nil, packet.TypeShutdownComplete, 0, nil), 0},
		{"COOKIE-ACK", packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil), 0},
		{"INIT-ACK", packet.AppendChunk(nil, packet.TypeInitAck, 0, make([]byte, 16)), 0},
		{"stale cookie", packet.AppendChunk(nil, packet.TypeError, 0, stale), 0},
		{"other ERROR", packet.AppendChunk(nil, packet.TypeError, 0, packet.AppendParameter(nil, 1, be32(0))), packet.TypeAbort},
		{"lying length", []byte{4, 0, 0, 4, 0, 0, 0, 99}, 0},
		{"no chunk", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStation(t, server)
			s.send(77, c.chunks)
			if c.want == 0 {
				s.silence()
				return
			}
			h, chunks := s.read()
			if len(chunks) != 1 || chunks[0].Type != c.want || chunks[0].Flags != 1 || h.VerificationTag != 77 {
				t.Errorf("%+v with tag %d", chunks, h.VerificationTag)
			}
		})
	}
}

func TestMalformedPackets(t *testing.T) {
	s, server, _, messages := pair(t, steady())
	s.raw(nil)
	s.raw([]byte("GET / HTTP/1.1"))
	s.send(0xABCD, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, make([]byte, 9000)))
	s.send(0, packet.AppendChunk(nil, packet.TypeInit, 0, make([]byte, 9000)))
	port := s.port
	s.port = 0
	s.send(s.serverTag, []byte{4, 0, 0, 4})
	s.port = port
	s.send(s.serverTag, []byte{4, 0, 0, 3})
	s.send(s.serverTag, []byte{4, 0, 0, 4, 0, 0})
	s.stillServed(messages)
	if n := server.Stats().Count(transport.MalformedPackets); n < 4 { // and the one of connect
		t.Errorf("%d malformed packets", n)
	}
	if server.Stats().Count(transport.OversizedPackets) != 2 {
		t.Error("the long packets do not count")
	}
}

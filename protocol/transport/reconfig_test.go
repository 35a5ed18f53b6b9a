package transport_test

import (
	"encoding/binary"
	"testing"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// resetRequest asks for a reset of the peer's outgoing streams, once the data up to a TSN has come.
func resetRequest(sequence, lastTSN uint32, streams ...uint16) []byte {
	value := append(append(be32(sequence), be32(0)...), be32(lastTSN)...)
	for _, s := range streams {
		value = binary.BigEndian.AppendUint16(value, s)
	}
	return packet.AppendParameter(nil, 13, value)
}

func reconfig(params []byte) []byte { return packet.AppendChunk(nil, packet.TypeReconfig, 0, params) }

// result reads the next response, and checks which request it is to.
func (s *station) result(sequence uint32) uint32 {
	s.t.Helper()
	_, c := s.expect(packet.TypeReconfig)
	for p, err := range packet.Parameters(c.Value) {
		if err != nil || p.Type != 16 || binary.BigEndian.Uint32(p.Value) != sequence {
			s.t.Fatalf("response %x, want one to %x", c.Value, sequence)
		}
		return binary.BigEndian.Uint32(p.Value[4:])
	}
	s.t.Fatal("an empty response")
	return 0
}

// What cannot be done is refused with the result that RFC 6525 section 4.4 has for it, and changes nothing.
func TestReconfigRefused(t *testing.T) {
	s, server, _, messages := pair(t, steady())
	s.send(s.serverTag, s.data(whole(1, "before")))
	next(t, messages)
	many := make([]uint16, 5) // one more than there are streams
	for _, c := range []struct {
		name   string
		params []byte
		want   uint32
	}{
		{"all streams", resetRequest(7, s.tsn-1), 2},
		{"a stream that is not", resetRequest(7, s.tsn-1, 1, 4), 3},
		{"a stream of pion's own", resetRequest(7, s.tsn-1, 0x8001), 3},
		{"more streams than there are", resetRequest(7, s.tsn-1, many...), 2},
		{"incoming streams", packet.AppendParameter(nil, 14, be32(7)), 2},
		{"more streams", packet.AppendParameter(nil, 17, append(be32(7), 0, 4, 0, 0)), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.send(s.serverTag, reconfig(c.params))
			if got := s.result(7); got != c.want {
				t.Errorf("result %d, want %d", got, c.want)
			}
		})
	}
	s.send(s.serverTag, reconfig(append(resetRequest(7, s.tsn-1, 1), packet.AppendParameter(nil, 14, be32(8))...)))
	if first, second := s.result(7), s.result(8); first != 2 || second != 2 {
		t.Errorf("results %d and %d of a chunk with one that is refused", first, second)
	}
	for _, nonsense := range [][]byte{
		nil,
		packet.AppendParameter(nil, 13, make([]byte, 3)),
		packet.AppendParameter(nil, 16, make([]byte, 3)),
		packet.AppendParameter(nil, 99, make([]byte, 20)),
		{0, 13, 0xFF, 0xFF},
	} {
		s.send(s.serverTag, reconfig(nonsense), s.data(whole(1, "still in order")))
		if m := next(t, messages); string(m.Payload) != "still in order" {
			t.Fatalf("got %q", m.Payload)
		}
	}
	if n := server.Stats().Count(transport.UnwantedChunks); n != 7+4 {
		t.Errorf("%d unwanted chunks", n)
	}
}

// pion keeps each request for which data is missing, without a bound where TSNs wrap: one is kept at a time.
func TestReconfigFlood(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	s.tsn = 0xFFFFFFF0
	s.connect()
	messages := collect(t, accept(t, server))
	const requests = 3000 // beyond what pion bounds where they do not wrap
	kept := 0
	for i := range uint32(requests) {
		s.send(s.serverTag, reconfig(resetRequest(i, 0x20, 1, 2)))
		if s.result(i) == 6 {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d requests are kept", kept)
	}
	s.send(s.serverTag, reconfig(resetRequest(0, 0x20, 1, 2))) // the one that is kept may be repeated
	if got := s.result(0); got != 6 {
		t.Errorf("result %d", got)
	}
	for s.tsn != 0x21 {
		s.send(s.serverTag, s.data(whole(0, "on")))
		next(t, messages)
	}
	got := s.result(0)
	for got == 6 { // pion says so at each chunk
		got = s.result(0)
	}
	if got != 1 {
		t.Errorf("result %d after the data has come", got)
	}
	s.send(s.serverTag, reconfig(resetRequest(requests, 0x40, 1)))
	if got := s.result(requests); got != 6 {
		t.Errorf("result %d for the next", got)
	}
}

package transport_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

func TestUnknownChunks(t *testing.T) {
	s, server, _, messages := pair(t, steady())
	for _, c := range []struct {
		name           string
		t              packet.ChunkType
		report, goesOn bool
	}{
		{"stop", 0x3F, false, false},
		{"stop and report", 0x7F, true, false},
		{"skip", 0xBF, false, true},
		{"skip and report", 0xFF, true, true},
		{"I-DATA, not negotiated", packet.TypeIData, true, false},
		{"ASCONF", packet.TypeAsconf, true, true},
		{"AUTH", packet.TypeAuth, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			odd := packet.AppendChunk(nil, c.t, 0, []byte("odd"))
			d := s.data(whole(1, c.name))
			s.send(s.serverTag, odd, d)
			if c.report {
				h, e := s.expect(packet.TypeError)
				cause := e.Value
				if h.VerificationTag != s.tag || binary.BigEndian.Uint16(cause) != 6 || !bytes.HasPrefix(cause[4:], odd[:7]) {
					t.Errorf("tag %x, ERROR %x", h.VerificationTag, cause)
				}
			}
			if !c.goesOn {
				s.send(s.serverTag, d)
			}
			if m := next(t, messages); string(m.Payload) != c.name {
				t.Errorf("got %q", m.Payload)
			}
		})
	}
	if n := server.Stats().Count(transport.UnknownChunks); n != 7 {
		t.Errorf("%d unknown chunks", n)
	}
}

func TestChunksThatPionCannotTake(t *testing.T) {
	s, _, a, messages := pair(t, steady())
	causes := packet.AppendParameter(nil, 12, []byte("just so"))
	for _, c := range [][]byte{
		packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, packet.AppendParameter(nil, 1, []byte("not ours"))),
		packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 77, []byte("odd"))),
		packet.AppendChunk(nil, packet.TypeError, 0, causes), // pion reads on into the next chunk
		packet.AppendChunk(nil, packet.TypeError, 0, []byte{0, 1, 0, 99}),
		packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil),
		packet.AppendChunk(nil, packet.TypeECNE, 0, be32(1)),
		packet.AppendChunk(nil, packet.TypeCWR, 0, be32(1)),
		packet.AppendChunk(nil, packet.TypePad, 0, make([]byte, 40)),
		packet.AppendChunk(nil, packet.TypeReconfig, 0, nil),
		packet.AppendChunk(nil, packet.TypeReconfig, 0, packet.AppendParameter(nil, 17, be32(9))),
		packet.AppendChunk(nil, packet.TypeReconfig, 0, []byte{0, 13, 0, 3}),
		packet.AppendChunk(nil, packet.TypeForwardTSN, 0, be32(s.tsn+1<<20)),
		packet.AppendChunk(nil, packet.TypeAbort, 1, nil),
		packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil),
	} {
		s.send(s.serverTag, c, s.data(whole(1, "behind it")))
		if m := next(t, messages); string(m.Payload) != "behind it" {
			t.Errorf("got %q", m.Payload)
		}
	}
	d := s.data(whole(3, "odd"))
	d[len(d)-1] = 0xEE // padding: the receiver must ignore it, pion does not
	s.send(s.serverTag, d)
	next(t, messages)
	d = s.data(whole(3, "odd"))
	s.send(s.serverTag, d[:len(d)-1]) // no padding at all
	next(t, messages)
	if a.Err() != nil {
		t.Error(a.Err())
	}
}

func TestReconfigDenied(t *testing.T) {
	s, _, _, messages := pair(t, steady())
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeReconfig, 0, packet.AppendParameter(nil, 17, be32(0x1234))))
	_, c := s.expect(packet.TypeReconfig)
	for p, err := range packet.Parameters(c.Value) {
		if err != nil || p.Type != 16 || binary.BigEndian.Uint32(p.Value) != 0x1234 || binary.BigEndian.Uint32(p.Value[4:]) != 2 {
			t.Errorf("response %x", p.Raw)
		}
	}
	s.stillServed(messages)
}

// A peer may reset its outgoing streams (RFC 6525): sequence numbers start at 0 again.
func TestStreamReset(t *testing.T) {
	s, _, a, messages := pair(t, steady())
	echo := func() {
		t.Helper()
		s.send(s.serverTag, s.data(whole(1, "counted")))
		next(t, messages)
		if err := a.Send(deadline(t), transport.Message{Stream: 1, Payload: []byte("answer")}); err != nil {
			t.Fatal(err)
		}
	}
	echo()
	echo()
	request := append(be32(s.tsn), be32(0)...)
	request = append(request, be32(s.tsn-1)...)
	request = append(request, 0, 1)
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeReconfig, 0, packet.AppendParameter(nil, 13, request)))
	s.ssn[1] = 0
	echo()
	seen := map[uint16]uint32{}                          // SSN to TSN
	for answered := false; len(seen) < 3 || !answered; { // ours go on
		_, chunks := s.read()
		for _, c := range chunks {
			answered = answered || c.Type == packet.TypeReconfig
			d, err := packet.ParseData(c)
			if c.Type != packet.TypeData || err != nil {
				continue
			}
			if tsn, ok := seen[d.SSN]; ok && tsn != d.TSN || d.Stream != 1 || d.Unordered || d.TSN != s.serverTSN+uint32(d.SSN) {
				t.Fatalf("%+v; seen %v", d, seen)
			}
			seen[d.SSN] = d.TSN
		}
	}
}

func TestStreamsPastTheCount(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	if in, out := a.Streams(); in != 4 || out != 4 {
		t.Fatalf("streams %d %d", in, out)
	}
	for _, stream := range []uint16{4, 5, 16384, 32767, 32768, 49152, 65535} {
		s.send(s.serverTag, s.data(whole(stream, "refused")), s.data(whole(3, "taken")))
		_, c := s.expect(packet.TypeError)
		if binary.BigEndian.Uint16(c.Value) != 1 || binary.BigEndian.Uint16(c.Value[4:]) != stream {
			t.Errorf("stream %d: ERROR %x", stream, c.Value)
		}
		if m := next(t, messages); string(m.Payload) != "taken" || m.Stream != 3 {
			t.Errorf("got %+v", m)
		}
	}
	for { // the TSNs of what was refused are acknowledged
		_, c := s.expect(packet.TypeSack)
		if binary.BigEndian.Uint32(c.Value) == s.tsn-1 {
			break
		}
	}
	if n := server.Stats().Count(transport.BadStreams); n != 7 {
		t.Errorf("%d bad streams", n)
	}
}

func TestEmptyDataAborts(t *testing.T) {
	s, server, a, _ := pair(t, steady())
	d := s.data(whole(0, ""))
	s.send(s.serverTag, d)
	h, c := s.expect(packet.TypeAbort)
	if h.VerificationTag != s.tag || c.Flags != 0 || binary.BigEndian.Uint16(c.Value) != 9 ||
		binary.BigEndian.Uint32(c.Value[4:]) != s.tsn-1 {
		t.Errorf("tag %x, ABORT %x", h.VerificationTag, c.Raw)
	}
	wantReason(t, a, transport.ProtocolViolation)
	if server.Stats().Count(transport.EmptyData) != 1 {
		t.Error("does not count")
	}
}

func TestHeartbeatAnswered(t *testing.T) {
	s, _, _, messages := pair(t, steady())
	info := packet.AppendParameter(nil, 1, []byte("whatever the peer likes"))
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, info), s.data(whole(0, "with it")))
	h, c := s.expect(packet.TypeHeartbeatAck)
	if h.VerificationTag != s.tag || !bytes.Equal(c.Value, info) {
		t.Errorf("tag %x, %q", h.VerificationTag, c.Value)
	}
	next(t, messages)
}

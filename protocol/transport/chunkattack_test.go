package transport_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// sackChunk acknowledges up to a TSN, with blocks as offsets of begin and end.
func sackChunk(cumulative uint32, blocks ...uint16) []byte {
	value := binary.BigEndian.AppendUint32(be32(cumulative), 64<<10)
	value = binary.BigEndian.AppendUint16(value, uint16(len(blocks)/2))
	value = binary.BigEndian.AppendUint16(value, 0)
	for _, b := range blocks {
		value = binary.BigEndian.AppendUint16(value, b)
	}
	return packet.AppendChunk(nil, packet.TypeSack, 0, value)
}

// What a peer with the right tag may send that means nothing: it counts, and the packet's other chunks are taken.
func TestNonsenseFromThePeer(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	if err := a.Send(deadline(t), transport.Message{Payload: []byte("unacknowledged")}); err != nil {
		t.Fatal(err)
	}
	s.expect(packet.TypeData)
	sent := s.serverTSN // the only one
	hundreds := make([]uint16, 0, 1000)
	for range 500 {
		hundreds = append(hundreds, 3, 2)
	}
	long := sackChunk(sent - 1)
	long = packet.AppendChunk(nil, packet.TypeSack, 0, append(long[4:], 1, 2, 3, 4))
	lying := sackChunk(sent-1, 1, 1)
	binary.BigEndian.PutUint16(lying[12:], 500)
	forward := func(value ...byte) []byte { return packet.AppendChunk(nil, packet.TypeForwardTSN, 0, value) }
	for _, c := range []struct {
		name  string
		chunk []byte
		want  transport.Counter
	}{
		{"SACK cut short", packet.AppendChunk(nil, packet.TypeSack, 0, make([]byte, 11)), transport.MalformedPackets},
		{"SACK with a rest", long, transport.MalformedPackets},
		{"SACK of more blocks than it holds", lying, transport.MalformedPackets},
		{"SACK with a block of what was never sent", sackChunk(sent-1, 2, 2), transport.BadAcknowledgements},
		{"SACK with a block to the end of time", sackChunk(sent-1, 1, 65535), transport.BadAcknowledgements},
		{"SACK with a block of offset 0", sackChunk(sent-1, 0, 1), transport.BadAcknowledgements},
		{"SACK with a block that ends before it begins", sackChunk(sent-1, 1, 0), transport.BadAcknowledgements},
		{"SACK with hundreds of them", sackChunk(sent-1, hundreds...), transport.BadAcknowledgements},
		{"SHUTDOWN of another length", packet.AppendChunk(nil, packet.TypeShutdown, 0, make([]byte, 8)), transport.MalformedPackets},
		{"FORWARD-TSN cut short", forward(1, 2), transport.UnwantedChunks},
		{"FORWARD-TSN, not negotiated", forward(be32(s.tsn + 5)...), transport.UnwantedChunks},
		{"HEARTBEAT of 60 kB", packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, make([]byte, 60_000))), transport.UnwantedChunks},
		{"HEARTBEAT-ACK of nobody's", packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, packet.AppendParameter(nil, 1, make([]byte, 8))), transport.BadHeartbeats},
		{"HEARTBEAT-ACK without a nonce", packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, nil), transport.BadHeartbeats},
		{"ECNE", packet.AppendChunk(nil, packet.TypeECNE, 0, be32(1)), transport.UnwantedChunks},
		{"CWR", packet.AppendChunk(nil, packet.TypeCWR, 0, be32(1)), transport.UnwantedChunks},
		{"PAD", packet.AppendChunk(nil, packet.TypePad, 0, make([]byte, 1000)), transport.UnwantedChunks},
		{"COOKIE-ACK", packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil), transport.UnwantedChunks},
		{"ABORT with the T bit and our tag", packet.AppendChunk(nil, packet.TypeAbort, 1, nil), transport.UnwantedChunks},
		{"SHUTDOWN-COMPLETE with the T bit and our tag", packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil), transport.UnwantedChunks},
		{"ASCONF", packet.AppendChunk(nil, packet.TypeAsconf, 0, make([]byte, 20)), transport.UnknownChunks},
		{"ASCONF-ACK", packet.AppendChunk(nil, packet.TypeAsconfAck, 0, make([]byte, 20)), transport.UnknownChunks},
		{"I-FORWARD-TSN", packet.AppendChunk(nil, packet.TypeIForwardTSN, 0, make([]byte, 12)), transport.UnknownChunks},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := server.Stats().Count(c.want)
			s.send(s.serverTag, c.chunk, s.data(whole(0, c.name)))
			if m := next(t, messages); string(m.Payload) != c.name {
				t.Errorf("got %q", m.Payload)
			}
			if n := server.Stats().Count(c.want); n != before+1 {
				t.Errorf("%s is %d, was %d", c.want, n, before)
			}
		})
	}
	if n := transport.Acknowledged(a); n != 0 {
		t.Errorf("%d chunks are taken for acknowledged", n)
	}
	if err := a.Send(deadline(t), transport.Message{Payload: []byte("goes on")}); err != nil {
		t.Error(err)
	}
}

// What ends an association: the peer hears the cause, and it counts.
func TestViolationsOfThePeer(t *testing.T) {
	for _, c := range []struct {
		name  string
		chunk func(s *station) []byte
		cause uint16
		text  string
		want  transport.Counter
	}{
		{"SACK for what was never sent", func(s *station) []byte { return sackChunk(s.serverTSN) }, 13, "never sent", transport.BadAcknowledgements},
		{"SACK for far more", func(s *station) []byte { return sackChunk(s.serverTSN + 1<<30) }, 13, "never sent", transport.BadAcknowledgements},
		{"SHUTDOWN for what was never sent", func(s *station) []byte {
			return packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(s.serverTSN+7))
		}, 13, "SHUTDOWN acknowledges what was never sent", transport.BadAcknowledgements},
		{"DATA without user data", func(s *station) []byte { return s.data(whole(0, "")) }, 9, "without user data", transport.EmptyData},
		{"DATA longer than can be read", func(s *station) []byte { return s.data(whole(0, strings.Repeat("x", 9000))) }, 4, "path MTU", transport.OversizedPackets},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, server, a, _ := pair(t, steady())
			s.send(s.serverTag, c.chunk(s))
			h, abort := s.expect(packet.TypeAbort)
			if h.VerificationTag != s.tag || abort.Flags != 0 || binary.BigEndian.Uint16(abort.Value) != c.cause {
				t.Errorf("tag %x, ABORT %x", h.VerificationTag, abort.Raw)
			}
			detail := wantReason(t, a, transport.ProtocolViolation)
			if !strings.Contains(detail, c.text) {
				t.Errorf("detail %q", detail)
			}
			if c.cause == 4 && !bytes.HasSuffix(abort.Value[:8+len(detail)], []byte(detail)) { // the peer reads it too
				t.Errorf("ABORT %q", abort.Value)
			}
			counts(t, server, c.want, 1)
			eventually(t, "the end counts", func() bool { return server.Stats().Ended(transport.ProtocolViolation) == 1 })
		})
	}
}

// DATA far ahead of what is due is not taken, and neither is what was delivered taken again.
func TestDataOutOfReach(t *testing.T) {
	s, _, a, messages := pair(t, steady())
	for _, tsn := range []uint32{s.tsn + 1<<20, s.tsn + 1<<30, s.tsn + 1<<31, s.tsn - 1, s.tsn - 1<<20} {
		far := whole(0, "out of reach")
		far.TSN = tsn
		s.send(s.serverTag, far.Append(nil))
		_, sack := s.expect(packet.TypeSack)
		if !bytes.HasPrefix(sack.Value, be32(s.tsn-1)) || len(sack.Value) != 12 {
			t.Errorf("TSN %d: SACK %x", tsn, sack.Value)
		}
	}
	s.stillServed(messages)
	if a.Err() != nil {
		t.Error(a.Err())
	}
}

// FORWARD-TSN moves on by a bound, however far it claims to go; what it skips is not waited for.
func TestForwardTSNFarAhead(t *testing.T) {
	server := start(t, steady())
	s := newStation(t, server)
	echo := s.begin(packet.AppendParameter(nil, 0xC000, nil))
	s.send(s.serverTag, echo)
	s.expect(packet.TypeCookieAck)
	a := accept(t, server)
	messages := collect(t, a)
	for _, far := range []uint32{1<<16 + 1, 1 << 30, 1<<31 - 2} {
		s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeForwardTSN, 0, be32(s.tsn+far)))
	}
	counts(t, server, transport.UnwantedChunks, 3)
	s.stillServed(messages)
	s.tsn += 1 << 15
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeForwardTSN, 0, be32(s.tsn-1)))
	s.stillServed(messages)
	if a.Err() != nil {
		t.Error(a.Err())
	}
}

// Pieces that no message begins with, or ends with, are held as long as the window has room, and then end the association.
func TestPiecesWithoutEnds(t *testing.T) {
	for _, c := range []struct {
		name                       string
		beginning, ending, unorder bool
	}{
		{"no beginning", false, true, false},
		{"no ending", true, false, false},
		{"neither", false, false, false},
		{"unordered, neither", false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := idle()
			cfg.ReceiveWindow, cfg.MaxMessage = 8<<10, 8<<10
			s, server, a, messages := pair(t, cfg)
			s.stillServed(messages) // so its messages are received
			for window := uint32(8 << 10); window >= 1500; {
				d := packet.Data{Stream: 1, Beginning: c.beginning, Ending: c.ending, Unordered: c.unorder, Payload: make([]byte, 512)}
				b := s.data(d)
				binary.BigEndian.PutUint16(b[10:], 5) // SSN: not due, all of one message
				b[1] |= packet.FlagImmediate
				s.send(s.serverTag, b)
				_, sack := s.expect(packet.TypeSack)
				window = binary.BigEndian.Uint32(sack.Value[4:])
			}
			transport.Beat(a, time.Now().Add(99*time.Hour))
			if a.Err() != nil {
				t.Fatalf("ended too soon: %v", a.Err())
			}
			transport.Beat(a, time.Now().Add(101*time.Hour))
			wantReason(t, a, transport.ProtocolViolation)
			_, abort := s.expect(packet.TypeAbort)
			if binary.BigEndian.Uint16(abort.Value) != 4 {
				t.Errorf("ABORT %x", abort.Raw)
			}
			counts(t, server, transport.OversizedMessages, 1)
			if n := server.Stats().Associations; n != 0 {
				t.Errorf("%d associations", n)
			}
		})
	}
}

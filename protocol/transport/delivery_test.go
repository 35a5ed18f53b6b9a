package transport_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"skyring/protocol/transport/packet"
)

// heap is how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	for range 2 { // pools let go at the second
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What an association holds is bounded by its window, whatever its data is bundled with: a byte that cannot be delivered yet
// does not keep the kilobytes of repetitions that came with it.
func TestHeldDataHoldsNoMore(t *testing.T) {
	for _, c := range []struct {
		name string
		// around are the chunks before and behind one of data, which cannot be delivered
		around func(s *station, old packet.Data) (before, behind []byte)
	}{
		{"a long repetition behind it", func(_ *station, old packet.Data) (before, behind []byte) { return nil, old.Append(nil) }},
		{"a long repetition before it", func(_ *station, old packet.Data) (before, behind []byte) { return old.Append(nil), nil }},
		{"many short ones", func(_ *station, old packet.Data) (before, behind []byte) {
			old.Payload = old.Payload[:1]
			return bytes.Repeat(old.Append(nil), 300), nil
		}},
		{"a SACK of many duplicates", func(s *station, _ packet.Data) (before, behind []byte) {
			sack := append(binary.BigEndian.AppendUint32(be32(s.serverTSN-1), 1<<16), 0, 0, 0x07, 0)
			return packet.AppendChunk(nil, packet.TypeSack, 0, append(sack, make([]byte, 4*0x700)...)), nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _, _, messages := pair(t, idle())
			old := whole(0, string(make([]byte, 8000)))
			old.TSN = s.tsn
			s.send(s.serverTag, s.data(old))
			next(t, messages)
			const packets = 2000
			before := heap()
			for i := range packets {
				first, last := c.around(s, old)
				held := s.data(whole(1, "x"))
				binary.BigEndian.PutUint16(held[10:], 9+uint16(i)) // SSN: never due
				held[1] |= packet.FlagImmediate
				s.send(s.serverTag, first, held, last)
				for acked := false; !acked; {
					_, sack := s.expect(packet.TypeSack)
					acked = bytes.HasPrefix(sack.Value, be32(s.tsn-1))
				}
			}
			if held := heap() - before; held > packets*1000 {
				t.Errorf("%d bytes of data hold %d", packets, held)
			}
		})
	}
}

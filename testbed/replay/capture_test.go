package replay_test

import (
	"fmt"
	"net/netip"
	"time"

	"skyring/testbed/replay"
	"skyring/testbed/trace"
)

// capture is a trace of n messages a direction on two associations, over three streams
// and with one in five unordered.
func capture(n int) *trace.Trace {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	t := &trace.Trace{File: "made.pcap", Start: start}

	for a := range 2 {
		t.Associations = append(t.Associations, trace.Association{
			ID:     a,
			Client: trace.Endpoint{Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Port: uint16(40000 + a)},
			Server: trace.Endpoint{Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.2")}, Port: 36412},
		})
	}

	for i := range n {
		for a := range 2 {
			for _, d := range []trace.Direction{trace.ToServer, trace.ToClient} {
				t.Messages = append(t.Messages, trace.Message{
					Time:        start.Add(time.Duration(i) * time.Millisecond),
					Association: a,
					Direction:   d,
					Stream:      uint16(i % 3),
					PPID:        uint32(100 + a),
					Unordered:   i%5 == 4,
					Payload:     fmt.Appendf(nil, "message %d of association %d %s", i, a, d),
				})
			}
		}
	}

	return t
}

// counts are the numbers of a verdict that tests look at.
type counts struct{ sent, acknowledged, lost, doubled, outOfOrder, differs, unexpected, unsent uint64 }

func countsOf(v *replay.Verdict) counts {
	return counts{v.Sent, v.Acknowledged, v.Lost, v.Doubled, v.OutOfOrder, v.LedgerDiffers, v.Unexpected, v.Unsent}
}

// isup is an M3UA DATA message with an ISUP message of a circuit (RFC 4666 section 3.3.1).
func isup(cic uint16, content byte) []byte {
	protocolData := []byte{
		0x02, 0x10, 0, 20, // parameter Protocol Data, length
		0, 0, 0, 1, 0, 0, 0, 2, // OPC, DPC
		5, 2, 0, 0, // SI = ISUP, NI, MP, SLS
		byte(cic), byte(cic >> 8), 0x10, content,
	}

	return append([]byte{1, 0, 1, 1, 0, 0, 0, byte(8 + len(protocolData))}, protocolData...)
}

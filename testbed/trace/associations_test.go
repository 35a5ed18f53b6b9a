package trace_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"skyring/protocol/transport/packet"
	"skyring/testbed/trace"
)

func initPacket(tb testing.TB, at time.Duration, tag, tsn uint32, addrs ...string) crafted {
	tb.Helper()
	return crafted{at: at, data: ip(tb, "10.0.0.1", "10.0.0.2", layers.IPProtocolSCTP,
		sctp(clientPort, serverPort, 0, initChunk(packet.TypeInit, tag, tsn, addrs...)))}
}

func between(tb testing.TB, at time.Duration, src string, srcPort uint16, dst string, dstPort uint16, tag uint32, chunks ...[]byte) crafted {
	tb.Helper()
	return crafted{at: at, data: ip(tb, src, dst, layers.IPProtocolSCTP, sctp(srcPort, dstPort, tag, chunks...))}
}

func TestHandshakeTellsRolesTagsAndAddresses(t *testing.T) {
	got := read(t, capture(t, layers.LinkTypeRaw,
		initPacket(t, 0, clientTag, 100, "10.1.0.1", "fd00::1"),
		initPacket(t, 1, clientTag, 100, "10.1.0.1", "fd00::1"), // again
		toClient(t, 2, initChunk(packet.TypeInitAck, serverTag, 500, "10.1.0.2")),
		toServer(t, 3, packet.AppendChunk(nil, packet.TypeCookieEcho, 0, []byte("cookie")), data(100, 0, 0, whole, "a")),
		toClient(t, 4, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil)),
		between(t, 5, "10.1.0.2", serverPort, "10.1.0.1", clientPort, clientTag, data(500, 0, 0, whole, "b")), // the other path
		between(t, 6, "10.2.0.1", clientPort, "10.2.0.2", serverPort, serverTag, data(101, 0, 1, whole, "c")), // an unknown path
		toClient(t, 7, packet.AppendChunk(nil, packet.TypeShutdownComplete, 0, nil)),
	))
	if len(got.Associations) != 1 {
		t.Fatalf("%d associations, want 1: %+v", len(got.Associations), got.Associations)
	}
	a := got.Associations[0]
	if a.Role != trace.RoleHandshake || !a.Handshake || a.Ending != trace.EndingShutdown {
		t.Errorf("roles by %s, handshake %v, ending %q", a.Role, a.Handshake, a.Ending)
	}
	if a.Client.Tag != clientTag || a.Server.Tag != serverTag || a.Client.Port != clientPort || a.Server.Port != serverPort {
		t.Errorf("client %+v, server %+v", a.Client, a.Server)
	}
	if len(a.Client.Addrs) != 4 || len(a.Server.Addrs) != 3 {
		t.Errorf("client at %v, server at %v", a.Client.Addrs, a.Server.Addrs)
	}
	if have := payloads(got.Messages); !slices.Equal(have, []string{"a", "b", "c"}) || a.ToServer.Messages != 2 {
		t.Errorf("messages %q, %d to the server", have, a.ToServer.Messages)
	}
}

func TestMiddleOfAnAssociationPairsItsDirections(t *testing.T) {
	got := read(t, capture(t, layers.LinkTypeRaw,
		toClient(t, 0, data(9, 0, 0, whole, "a")), toServer(t, 1, data(5, 0, 0, whole, "b")), toClient(t, 2, data(10, 0, 1, whole, "c")),
	))
	if len(got.Associations) != 1 {
		t.Fatalf("%d associations, want 1", len(got.Associations))
	}
	a := got.Associations[0]
	if a.Role != trace.RolePort || a.Server.Port != serverPort || a.ToClient.Messages != 2 || a.Handshake {
		t.Errorf("roles by %s: %+v", a.Role, a)
	}
}

// Two associations between the same ports, both from their middle: a SACK says whose direction it is.
func TestSACKPairsDirections(t *testing.T) {
	const otherTag = 0x33333333
	sack := packet.AppendChunk(nil, packet.TypeSack, 0, []byte{0, 0, 0, 5, 0, 0, 255, 255, 0, 0, 0, 0})
	got := read(t, capture(t, layers.LinkTypeRaw,
		toServer(t, 0, data(5, 0, 0, whole, "a")),
		between(t, 1, "10.0.0.1", clientPort, "10.0.0.2", serverPort, otherTag, data(0x70000000, 0, 0, whole, "x")),
		toClient(t, 2, sack, data(9, 0, 0, whole, "b")),
	))
	if len(got.Associations) != 2 || got.Associations[0].ToClient.Messages != 1 {
		t.Errorf("associations %+v", got.Associations)
	}
}

func TestNewTagsAreANewAssociation(t *testing.T) {
	t.Parallel()
	again := uint32(0x44444444)
	for name, records := range map[string][]crafted{
		"restart": {
			initPacket(t, 0, clientTag, 1), toClient(t, 1, initChunk(packet.TypeInitAck, serverTag, 1)), toServer(t, 2, data(1, 0, 0, whole, "a")),
			initPacket(t, 3, again, 1),
			between(t, 4, "10.0.0.2", serverPort, "10.0.0.1", clientPort, again, initChunk(packet.TypeInitAck, 0x55555555, 1)),
			between(t, 5, "10.0.0.1", clientPort, "10.0.0.2", serverPort, 0x55555555, data(1, 0, 0, whole, "b")),
		},
		"same tag after the end": {
			initPacket(t, 0, clientTag, 1), toClient(t, 1, initChunk(packet.TypeInitAck, serverTag, 1)), toServer(t, 2, data(1, 0, 0, whole, "a")),
			toServer(t, 3, packet.AppendChunk(nil, packet.TypeAbort, 0, nil)),
			initPacket(t, 4, clientTag, 1), toClient(t, 5, initChunk(packet.TypeInitAck, serverTag, 1)), toServer(t, 6, data(1, 0, 0, whole, "b")),
		},
		"without a handshake": {
			toServer(t, 0, data(1, 0, 0, whole, "a")), toClient(t, 1, data(1, 0, 0, whole, "c")),
			between(t, 2, "10.0.0.1", clientPort, "10.0.0.2", serverPort, again, data(1, 0, 0, whole, "b")),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, capture(t, layers.LinkTypeRaw, records...))
			if len(got.Associations) != 2 || got.Associations[1].ToServer.Messages != 1 {
				t.Errorf("associations %+v", got.Associations)
			}
		})
	}
}

func TestCollisionIsOneAssociation(t *testing.T) {
	back := initChunk(packet.TypeInit, serverTag, 9)
	got := read(t, capture(t, layers.LinkTypeRaw,
		initPacket(t, 0, clientTag, 5), between(t, 1, "10.0.0.2", serverPort, "10.0.0.1", clientPort, 0, back),
		toClient(t, 2, initChunk(packet.TypeInitAck, serverTag, 9)), toServer(t, 3, initChunk(packet.TypeInitAck, clientTag, 5)),
		toServer(t, 4, data(5, 0, 0, whole, "a")), toClient(t, 5, data(9, 0, 0, whole, "b")),
	))
	if len(got.Associations) != 1 || got.Associations[0].Client.Port != clientPort || len(got.Messages) != 2 {
		t.Errorf("associations %+v", got.Associations)
	}
}

// An ABORT with the T bit carries its sender's own tag back.
func TestReflectedTag(t *testing.T) {
	got := read(t, capture(t, layers.LinkTypeRaw,
		toServer(t, 0, data(5, 0, 0, whole, "a")),
		between(t, 1, "10.0.0.2", serverPort, "10.0.0.1", clientPort, serverTag, packet.AppendChunk(nil, packet.TypeAbort, 1, nil)),
	))
	if len(got.Associations) != 1 || got.Associations[0].Ending != trace.EndingAbort {
		t.Errorf("associations %+v", got.Associations)
	}
}

// Over UDP on one host, addresses and SCTP ports may be all alike: UDP ports and tags tell the ends apart.
func TestOverUDPOnLoopback(t *testing.T) {
	udp := func(at time.Duration, src, dst uint16, tag uint32, chunks ...[]byte) crafted {
		payload := sctp(9899, 9899, tag, chunks...)
		datagram := stack(t, payload, &layers.UDP{SrcPort: layers.UDPPort(src), DstPort: layers.UDPPort(dst)})
		return crafted{at: at, data: ip(t, "127.0.0.1", "127.0.0.1", layers.IPProtocolUDP, datagram)}
	}
	got := read(t, capture(t, layers.LinkTypeRaw,
		udp(0, 50001, 9899, 0, initChunk(packet.TypeInit, clientTag, 5)), udp(1, 9899, 50001, clientTag, initChunk(packet.TypeInitAck, serverTag, 9)),
		udp(2, 50001, 9899, serverTag, data(5, 0, 0, whole, "a")), udp(3, 9899, 50001, clientTag, data(9, 0, 0, whole, "b")),
		udp(4, 50002, 9899, serverTag, data(6, 0, 1, whole, "c")), // a new port: a rebinding NAT
	))
	if len(got.Associations) != 1 || got.OverUDP != 5 {
		t.Fatalf("%d over UDP, associations %+v", got.OverUDP, got.Associations)
	}
	a := got.Associations[0]
	if a.ToServer.Messages != 2 || a.ToClient.Messages != 1 || a.Server.UDPPort != 9899 || a.Client.UDPPort != 50001 {
		t.Errorf("association %+v", a)
	}
}

package trace_test

import (
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"skyring/testbed/trace"
)

func ethernet(t layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: t}
}

func outer(protocol layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 9, Protocol: protocol, SrcIP: net.IP{172, 16, 0, 1}, DstIP: net.IP{172, 16, 0, 2}}
}

// The same SCTP packet is found under everything that may lie below it.
func TestDecapsulation(t *testing.T) {
	t.Parallel()
	inner := toServer(t, 0, data(1, 0, 0, whole, "a")).data
	packet := sctp(clientPort, serverPort, serverTag, data(1, 0, 0, whole, "a"))
	framed := stack(t, inner, ethernet(layers.EthernetTypeIPv4))
	six := &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: layers.IPProtocolSCTP, SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2")}
	extended := func(next layers.IPProtocol, headers ...byte) []byte {
		with := *six
		with.NextHeader = next
		return stack(t, slices.Concat(headers, packet), &with)
	}
	udp := func(port layers.UDPPort, payload []byte) []byte {
		return stack(t, payload, outer(layers.IPProtocolUDP), &layers.UDP{SrcPort: 60000, DstPort: port})
	}
	sll := slices.Concat([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0x08, 0x00}, inner)
	sll2 := slices.Concat([]byte{0x08, 0x00, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0}, inner)
	tag := func(next layers.EthernetType) *layers.Dot1Q { return &layers.Dot1Q{VLANIdentifier: 7, Type: next} }
	for name, test := range map[string]struct {
		link layers.LinkType
		data []byte
	}{
		"raw BSD":        {12, inner},
		"raw":            {101, inner},
		"raw IPv6":       {101, stack(t, packet, six)},
		"IPv4":           {228, inner},
		"IPv6":           {229, stack(t, packet, six)},
		"null":           {0, slices.Concat([]byte{2, 0, 0, 0}, inner)},
		"loop":           {108, slices.Concat([]byte{0, 0, 0, 2}, inner)},
		"SLL":            {113, sll},
		"SLL2":           {276, sll2},
		"Ethernet":       {1, framed},
		"padded":         {1, slices.Concat(framed, make([]byte, 9))},
		"VLAN":           {1, stack(t, inner, ethernet(layers.EthernetTypeDot1Q), tag(layers.EthernetTypeIPv4))},
		"QinQ":           {1, stack(t, inner, ethernet(layers.EthernetTypeQinQ), tag(layers.EthernetTypeDot1Q), tag(layers.EthernetTypeIPv4))},
		"MPLS":           {1, stack(t, inner, ethernet(layers.EthernetTypeMPLSUnicast), &layers.MPLS{Label: 1}, &layers.MPLS{Label: 2, StackBottom: true})},
		"MPLS, Ethernet": {1, stack(t, slices.Concat(make([]byte, 4), framed), ethernet(layers.EthernetTypeMPLSUnicast), &layers.MPLS{Label: 2, StackBottom: true})},
		"GRE":            {101, stack(t, inner, outer(layers.IPProtocolGRE), &layers.GRE{Protocol: layers.EthernetTypeIPv4})},
		"GRE, Ethernet":  {101, stack(t, framed, outer(layers.IPProtocolGRE), &layers.GRE{Protocol: layers.EthernetTypeTransparentEthernetBridging})},
		"IP in IP":       {101, stack(t, inner, outer(layers.IPProtocolIPv4))},
		"VXLAN":          {101, udp(4789, slices.Concat([]byte{8, 0, 0, 0, 0, 0, 1, 0}, framed))},
		"GENEVE":         {101, udp(6081, slices.Concat([]byte{0, 0, 0x65, 0x58, 0, 0, 1, 0}, framed))},
		"GTP-U":          {101, udp(2152, slices.Concat(binary.BigEndian.AppendUint16([]byte{0x30, 255}, uint16(len(inner))), []byte{0, 0, 0, 1}, inner))},
		"UDP":            {101, udp(9899, packet)},
		"IPv6 options":   {101, extended(layers.IPProtocolIPv6HopByHop, 60, 0, 1, 4, 0, 0, 0, 0, 43, 0, 1, 4, 0, 0, 0, 0, 132, 0, 0, 0, 0, 0, 0, 0)},
		"IPv6 AH":        {101, extended(layers.IPProtocolAH, 132, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1)},
		"IPv6 one piece": {101, extended(layers.IPProtocolIPv6Fragment, 132, 0, 0, 0, 0, 0, 0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, capture(t, test.link, crafted{data: test.data}))
			if have := payloads(got.Messages); !slices.Equal(have, []string{"a"}) || got.BadCRC != 0 {
				t.Errorf("messages %q, %d bad checksums, warnings %v", have, got.BadCRC, got.Warnings)
			}
		})
	}
}

// Headers that hold each other without end are given up.
func TestNestingIsBounded(t *testing.T) {
	nested := toServer(t, 0, data(1, 0, 0, whole, "a")).data
	for range 40 {
		nested = stack(t, nested, outer(layers.IPProtocolIPv4))
	}
	good := toServer(t, 0, data(2, 0, 0, whole, "b"))
	got := read(t, capture(t, layers.LinkTypeRaw, crafted{data: nested}, good))
	if have := payloads(got.Messages); !slices.Equal(have, []string{"b"}) || got.Other != 1 {
		t.Errorf("messages %q, %d other packets", have, got.Other)
	}
}

// fragments splits an IPv4 packet's payload.
func fragments(tb testing.TB, id uint16, payload []byte, size int) []crafted {
	tb.Helper()
	var records []crafted
	for offset := 0; offset < len(payload); offset += size {
		part := payload[offset:min(offset+size, len(payload))]
		header := &layers.IPv4{
			Version: 4, TTL: 64, Protocol: layers.IPProtocolSCTP, Id: id, FragOffset: uint16(offset / 8),
			SrcIP: net.IP{10, 0, 0, 1}, DstIP: net.IP{10, 0, 0, 2},
		}
		if offset+size < len(payload) {
			header.Flags = layers.IPv4MoreFragments
		}
		records = append(records, crafted{data: stack(tb, part, header)})
	}
	return records
}

func TestFragmentsAreReassembled(t *testing.T) {
	t.Parallel()
	packet := sctp(clientPort, serverPort, serverTag, data(1, 0, 0, whole, "a long enough message to be split in three"))
	pieces := fragments(t, 7, packet, 32)
	if len(pieces) != 3 {
		t.Fatalf("%d pieces", len(pieces))
	}
	overlapping := fragments(t, 8, packet, 40)
	for name, test := range map[string]struct {
		records []crafted
		want    uint64
		lost    bool
	}{
		"in order":       {pieces, 1, false},
		"out of order":   {[]crafted{pieces[2], pieces[0], pieces[1]}, 1, false},
		"each twice":     {[]crafted{pieces[0], pieces[0], pieces[1], pieces[1], pieces[2], pieces[2]}, 1, true},
		"one is missing": {[]crafted{pieces[0], pieces[2]}, 0, true},
		"two packets":    {slices.Concat(pieces[:1], overlapping, pieces[1:]), 2, false},
		"an hour later":  {[]crafted{pieces[0], pieces[1], {data: pieces[2].data, at: time.Hour}}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := between(t, 0, "10.9.0.1", 1, "10.9.0.2", 2, 3, data(1, 0, 0, whole, "other"))
			got := read(t, capture(t, layers.LinkTypeRaw, append(slices.Clone(test.records), other)...))
			if got.SCTPPackets-1 != test.want || got.BadCRC != 0 {
				t.Errorf("%d packets, want %d; warnings %v", got.SCTPPackets-1, test.want, got.Warnings)
			}
			if lost := slices.ContainsFunc(got.Warnings, func(w trace.Warning) bool { return strings.Contains(w.Text, "IP packet") }); lost != test.lost {
				t.Errorf("warnings %v", got.Warnings)
			}
		})
	}
}

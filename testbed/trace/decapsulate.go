package trace

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

const (
	maxLayers   = 32 // of one packet; deeper ones are taken as hostile
	portVXLAN   = 4789
	portVXLANed = 8472 // VXLAN as Linux had it before IANA's port
	portGENEVE  = 6081
	portGTPU    = 2152

	linkRawBSD     layers.LinkType = 12
	linkRawOpenBSD layers.LinkType = 14
)

// errLayer says that a header of a packet is cut short or lies.
var errLayer = errors.New("header cut short or wrong")

// datagram is an SCTP packet as found in a record, with the transport addresses it went between: their port is the UDP
// port, or 0 for SCTP over IP.
type datagram struct {
	src, dst netip.AddrPort
	payload  []byte
}

// finding says what a record turned out to be.
type finding uint8

const (
	foundSCTP finding = iota
	foundOther
	foundFragment // of an IP packet that is not whole yet
	foundBroken   // a header below SCTP is cut short or wrong
	foundUnknownLink
)

// decapsulator strips what lies below SCTP from records. It reuses its layers, so it serves one goroutine.
type decapsulator struct {
	udpPorts  []uint16 // static after newDecapsulator
	fragments *reassembler

	// scratch of one record
	other    string // name of what was found instead of SCTP
	src, dst netip.Addr
	srcUDP   uint16 // 0 for SCTP over IP
	dstUDP   uint16
	ethernet layers.Ethernet
	cooked   layers.LinuxSLL
	cooked2  layers.LinuxSLL2
	loopback layers.Loopback
	vlan     layers.Dot1Q
	ip4      layers.IPv4
	ip6      layers.IPv6
	udp      layers.UDP
	gre      layers.GRE
	geneve   layers.Geneve
	vxlan    layers.VXLAN
	gtp      layers.GTPv1U
}

func newDecapsulator(udpPorts []uint16) *decapsulator {
	return &decapsulator{udpPorts: udpPorts, fragments: newReassembler()}
}

// linkLayer is the layer that a link type starts with; LayerTypeZero when it is not known.
func linkLayer(link layers.LinkType, data []byte) gopacket.LayerType {
	switch link { //nolint:exhaustive // the rest is not known
	case layers.LinkTypeEthernet:
		return layers.LayerTypeEthernet
	case layers.LinkTypeLinuxSLL:
		return layers.LayerTypeLinuxSLL
	case layers.LinkTypeLinuxSLL2:
		return layers.LayerTypeLinuxSLL2
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		return layers.LayerTypeLoopback
	case layers.LinkTypeRaw, layers.LinkTypeIPv4, layers.LinkTypeIPv6, linkRawBSD, linkRawOpenBSD:
		return versionLayer(data)
	}
	return gopacket.LayerTypeZero
}

// versionLayer tells IPv4 and IPv6 apart by the version in their first half byte.
func versionLayer(data []byte) gopacket.LayerType {
	if len(data) > 0 && data[0]>>4 == 6 {
		return layers.LayerTypeIPv6
	}
	return layers.LayerTypeIPv4
}

// linkName names a link type with its number, as tcpdump.org lists it.
func linkName(link layers.LinkType) string {
	names := map[layers.LinkType]string{
		layers.LinkTypeNull: "NULL", layers.LinkTypeEthernet: "EN10MB", linkRawBSD: "RAW", linkRawOpenBSD: "RAW",
		layers.LinkTypeRaw: "RAW", layers.LinkTypeLoop: "LOOP", layers.LinkTypeLinuxSLL: "LINUX_SLL",
		layers.LinkTypeIPv4: "IPV4", layers.LinkTypeIPv6: "IPV6", layers.LinkTypeLinuxSLL2: "LINUX_SLL2",
		layers.LinkTypeMTP2: "MTP2", layers.LinkTypeMTP2Phdr: "MTP2_WITH_PHDR", layers.LinkTypeMTP3: "MTP3", 248: "SCTP", 252: "WIRESHARK_UPPER_PDU",
	}
	if name, ok := names[link]; ok {
		return fmt.Sprintf("%s (%d)", name, uint16(link))
	}
	return fmt.Sprintf("link type %d", uint16(link))
}

// decode finds the SCTP packet in a record. The datagram's payload is valid until the next call and until the record
// is reused. other names the protocol when there is no SCTP.
func (d *decapsulator) decode(rec record) (datagram, finding) {
	data, layer := rec.data, linkLayer(rec.link, rec.data)
	if layer == gopacket.LayerTypeZero {
		return datagram{}, foundUnknownLink
	}
	d.other, d.srcUDP, d.dstUDP = "", 0, 0
	for range maxLayers {
		if layer == layers.LayerTypeSCTP {
			return datagram{
				src: netip.AddrPortFrom(d.src, d.srcUDP), dst: netip.AddrPortFrom(d.dst, d.dstUDP), payload: data,
			}, foundSCTP
		}
		next, payload, err := d.strip(layer, data, rec)
		switch {
		case err != nil:
			return datagram{}, foundBroken
		case next == gopacket.LayerTypeFragment:
			return datagram{}, foundFragment
		case next == gopacket.LayerTypeZero || next == gopacket.LayerTypePayload:
			return datagram{}, foundOther
		}
		layer, data = next, payload
	}
	return datagram{}, foundBroken
}

// strip takes one header off and tells what follows.
func (d *decapsulator) strip(layer gopacket.LayerType, data []byte, rec record) (gopacket.LayerType, []byte, error) {
	switch layer {
	case layers.LayerTypeIPv4:
		return d.stripIPv4(data, rec)
	case layers.LayerTypeIPv6:
		return d.stripIPv6(data, rec)
	case layers.LayerTypeUDP:
		return d.stripUDP(data)
	case layers.LayerTypeMPLS:
		return stripMPLS(data)
	case layers.LayerTypeLoopback:
		return next(&d.loopback, data, func() gopacket.LayerType { return versionLayer(d.loopback.Payload) })
	case layers.LayerTypeEthernet:
		return next(&d.ethernet, data, func() gopacket.LayerType { return d.etherType(d.ethernet.EthernetType) })
	case layers.LayerTypeLinuxSLL:
		return next(&d.cooked, data, func() gopacket.LayerType { return d.etherType(d.cooked.EthernetType) })
	case layers.LayerTypeLinuxSLL2:
		return next(&d.cooked2, data, func() gopacket.LayerType { return d.etherType(d.cooked2.ProtocolType) })
	case layers.LayerTypeDot1Q:
		return next(&d.vlan, data, func() gopacket.LayerType { return d.etherType(d.vlan.Type) })
	case layers.LayerTypeGRE:
		return next(&d.gre, data, func() gopacket.LayerType { return d.etherType(d.gre.Protocol) })
	case layers.LayerTypeGeneve:
		return next(&d.geneve, data, func() gopacket.LayerType { return d.etherType(d.geneve.Protocol) })
	case layers.LayerTypeVXLAN:
		return next(&d.vxlan, data, func() gopacket.LayerType { return layers.LayerTypeEthernet })
	case layers.LayerTypeGTPv1U:
		return next(&d.gtp, data, d.gtp.NextLayerType)
	}
	d.other = layer.String()
	return gopacket.LayerTypeZero, nil, nil
}

// next decodes one of gopacket's layers and tells what it carries.
func next(layer gopacket.DecodingLayer, data []byte, carries func() gopacket.LayerType) (gopacket.LayerType, []byte, error) {
	if err := layer.DecodeFromBytes(data, gopacket.NilDecodeFeedback); err != nil {
		return gopacket.LayerTypeZero, nil, fmt.Errorf("%w: %w", errLayer, err)
	}
	return carries(), layer.LayerPayload(), nil
}

// etherType is the layer behind an EtherType.
func (d *decapsulator) etherType(t layers.EthernetType) gopacket.LayerType {
	switch t { //nolint:exhaustive // the rest does not lead to SCTP
	case layers.EthernetTypeIPv4:
		return layers.LayerTypeIPv4
	case layers.EthernetTypeIPv6:
		return layers.LayerTypeIPv6
	case layers.EthernetTypeDot1Q, layers.EthernetTypeQinQ, 0x9100, 0x9200:
		return layers.LayerTypeDot1Q
	case layers.EthernetTypeMPLSUnicast, layers.EthernetTypeMPLSMulticast:
		return layers.LayerTypeMPLS
	case layers.EthernetTypeTransparentEthernetBridging:
		return layers.LayerTypeEthernet
	case layers.EthernetTypeARP:
		d.other = "ARP"
	default:
		d.other = fmt.Sprintf("EtherType 0x%04x", uint16(t))
	}
	return gopacket.LayerTypeZero
}

// stripMPLS takes the whole label stack off; what follows tells itself by its version (RFC 4928), or is Ethernet behind
// a control word of zeros (RFC 4448).
func stripMPLS(data []byte) (gopacket.LayerType, []byte, error) {
	for len(data) >= 4 {
		bottom := data[2]&1 != 0
		data = data[4:]
		if !bottom {
			continue
		}
		if len(data) >= 4 && data[0]>>4 == 0 {
			return layers.LayerTypeEthernet, data[4:], nil
		}
		return versionLayer(data), data, nil
	}
	return gopacket.LayerTypeZero, nil, errLayer
}

// stripUDP takes a UDP header off and tells by the ports what it carries.
func (d *decapsulator) stripUDP(data []byte) (gopacket.LayerType, []byte, error) {
	if err := d.udp.DecodeFromBytes(data, gopacket.NilDecodeFeedback); err != nil {
		return gopacket.LayerTypeZero, nil, fmt.Errorf("%w: %w", errLayer, err)
	}
	for _, port := range []uint16{uint16(d.udp.DstPort), uint16(d.udp.SrcPort)} {
		if slices.Contains(d.udpPorts, port) {
			d.srcUDP, d.dstUDP = uint16(d.udp.SrcPort), uint16(d.udp.DstPort)
			return layers.LayerTypeSCTP, d.udp.Payload, nil
		}
	}
	switch uint16(d.udp.DstPort) {
	case portVXLAN, portVXLANed:
		return layers.LayerTypeVXLAN, d.udp.Payload, nil
	case portGENEVE:
		return layers.LayerTypeGeneve, d.udp.Payload, nil
	case portGTPU:
		return layers.LayerTypeGTPv1U, d.udp.Payload, nil
	}
	d.other = "UDP"
	return gopacket.LayerTypePayload, nil, nil
}

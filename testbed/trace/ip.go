package trace

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// readIP reads an IP header of a version, which its first half byte must say.
func readIP(header gopacket.DecodingLayer, version byte, data []byte) error {
	if len(data) == 0 || data[0]>>4 != version {
		return errLayer
	}
	if err := header.DecodeFromBytes(data, gopacket.NilDecodeFeedback); err != nil {
		return fmt.Errorf("%w: %w", errLayer, err)
	}
	return nil
}

// between notes the addresses of an IP header; false when they are none.
func (d *decapsulator) between(src, dst []byte) (ok bool) {
	var okDst bool
	d.src, ok = netip.AddrFromSlice(src)
	d.dst, okDst = netip.AddrFromSlice(dst)
	return ok && okDst
}

func (d *decapsulator) stripIPv4(data []byte, rec record) (gopacket.LayerType, []byte, error) {
	ip := &d.ip4
	if err := readIP(ip, 4, data); err != nil {
		return gopacket.LayerTypeZero, nil, err
	}
	if !d.between(ip.SrcIP, ip.DstIP) {
		return gopacket.LayerTypeZero, nil, errLayer
	}
	payload, more := ip.Payload, ip.Flags&layers.IPv4MoreFragments != 0
	if more || ip.FragOffset != 0 {
		payload = d.fragments.add(fragmentKey{src: d.src, dst: d.dst, id: uint32(ip.Id), protocol: uint8(ip.Protocol)}, piece{
			offset: int(ip.FragOffset) * 8, last: !more, data: ip.Payload, time: rec.time,
		})
		if payload == nil {
			return gopacket.LayerTypeFragment, nil, nil
		}
	}
	return d.protocol(ip.Protocol), payload, nil
}

func (d *decapsulator) stripIPv6(data []byte, rec record) (gopacket.LayerType, []byte, error) {
	ip := &d.ip6
	if err := readIP(ip, 6, data); err != nil {
		return gopacket.LayerTypeZero, nil, err
	}
	if !d.between(ip.SrcIP, ip.DstIP) {
		return gopacket.LayerTypeZero, nil, errLayer
	}
	protocol := ip.NextHeader
	if ip.HopByHop != nil {
		protocol = ip.HopByHop.NextHeader
	}
	return d.stripExtensions(protocol, ip.Payload, rec)
}

// stripExtensions takes the extension headers of IPv6 off (RFC 8200 section 4).
func (d *decapsulator) stripExtensions(protocol layers.IPProtocol, data []byte, rec record) (gopacket.LayerType, []byte, error) {
	for range maxLayers {
		unit, base := 8, 8
		switch protocol { //nolint:exhaustive // the rest are no extension headers
		case layers.IPProtocolIPv6HopByHop, layers.IPProtocolIPv6Routing, layers.IPProtocolIPv6Destination, 135, 139, 140:
		case layers.IPProtocolAH:
			unit, base = 4, 8
		case layers.IPProtocolIPv6Fragment:
			if len(data) < 8 {
				return gopacket.LayerTypeZero, nil, errLayer
			}
			field := binary.BigEndian.Uint16(data[2:])
			whole := d.fragments.add(fragmentKey{src: d.src, dst: d.dst, id: binary.BigEndian.Uint32(data[4:]), protocol: data[0]}, piece{
				offset: int(field &^ 7), last: field&1 == 0, data: data[8:], time: rec.time,
			})
			if whole == nil {
				return gopacket.LayerTypeFragment, nil, nil
			}
			protocol, data = layers.IPProtocol(data[0]), whole
			continue
		default:
			return d.protocol(protocol), data, nil
		}
		if len(data) < 8 || len(data) < base+unit*int(data[1]) {
			return gopacket.LayerTypeZero, nil, errLayer
		}
		protocol, data = layers.IPProtocol(data[0]), data[base+unit*int(data[1]):]
	}
	return gopacket.LayerTypeZero, nil, errLayer
}

// protocol is the layer behind an IP protocol number.
func (d *decapsulator) protocol(p layers.IPProtocol) gopacket.LayerType {
	switch p { //nolint:exhaustive // the rest does not lead to SCTP
	case layers.IPProtocolSCTP:
		return layers.LayerTypeSCTP
	case layers.IPProtocolUDP:
		return layers.LayerTypeUDP
	case layers.IPProtocolGRE:
		return layers.LayerTypeGRE
	case layers.IPProtocolIPv4:
		return layers.LayerTypeIPv4
	case layers.IPProtocolIPv6:
		return layers.LayerTypeIPv6
	case layers.IPProtocolMPLSInIP:
		return layers.LayerTypeMPLS
	}
	d.other = p.String()
	return gopacket.LayerTypeZero
}

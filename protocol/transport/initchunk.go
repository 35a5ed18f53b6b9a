package transport

import (
	"errors"
	"net/netip"

	"skyring/protocol/transport/packet"
)

// Parameters of INIT and INIT-ACK (RFC 9260 section 3.3.2 and IANA's registry).
const (
	paramIPv4               = 5
	paramIPv6               = 6
	paramStateCookie        = 7
	paramUnrecognised       = 8
	paramCookiePreservative = 9
	paramHostName           = 11
	paramAddressTypes       = 12
	paramECN                = 0x8000
	paramZeroChecksum       = 0x8001 // RFC 9653
	paramRandom             = 0x8002 // RFC 4895, as the next two
	paramChunkList          = 0x8003
	paramHMACAlgorithms     = 0x8004
	paramPadding            = 0x8005
	paramExtensions         = 0x8008 // RFC 5061
	paramForwardTSN         = 0xC000 // RFC 3758
	paramAdaptation         = 0xC006

	paramSkipBit   = 0x8000
	paramReportBit = 0x4000

	minPeerWindow    = 1500
	maxAddressesRead = 32

	maxUnrecognised = 256 // bytes of unrecognised parameters that are reported
)

// errNoTag is for an INIT or INIT-ACK whose sender names no tag for the answer.
var errNoTag = errors.New("initiate tag 0")

// initError is for an INIT or INIT-ACK that must be answered with ABORT.
type initError struct {
	cause cause
	value []byte
}

func (r *initError) Error() string { return describeCause(r.cause, r.value) }

// peerInit is what an INIT or INIT-ACK says of its sender.
type peerInit struct {
	tag, window, tsn  uint32
	outbound, inbound uint16
	forwardTSN        bool
	cookie            []byte       // of an INIT-ACK; points into the packet
	addresses         []netip.Addr // that it names besides, as they are; at most maxAddressesRead
	unrecognised      []byte       // whole parameters, padded, that want a report
}

// readInit judges an INIT or INIT-ACK chunk. The error is an *initError where it is to be answered with ABORT, to the tag,
// which is set then; with any other there is nobody to answer.
func readInit(c packet.Chunk) (peerInit, error) {
	fixed, err := packet.ParseInit(c)
	if err != nil {
		return peerInit{}, err
	}
	if fixed.InitiateTag == 0 {
		return peerInit{}, errNoTag
	}
	in := peerInit{
		tag: fixed.InitiateTag, window: fixed.Window, tsn: fixed.InitialTSN,
		outbound: fixed.OutboundStreams, inbound: fixed.InboundStreams,
	}
	if in.outbound == 0 || in.inbound == 0 || in.window < minPeerWindow {
		return in, &initError{cause: causeInvalidParameter}
	}
	for p, err := range packet.Parameters(fixed.Parameters) {
		if err != nil {
			return in, &initError{cause: causeProtocolViolation, value: []byte("parameter length")}
		}
		if p.Type == paramHostName { // deprecated: RFC 9260 section 5.1.2
			return in, &initError{cause: causeUnresolvableAddress, value: p.Raw}
		}
		if !in.take(p) {
			break
		}
	}
	if c.Type == packet.TypeInitAck && len(in.cookie) == 0 {
		return in, &initError{cause: causeMissingParameter, value: []byte{0, 0, 0, 1, 0, paramStateCookie}}
	}
	return in, nil
}

// take reads one parameter; false ends the reading, as the highest bits of an unrecognised type may say.
func (in *peerInit) take(p packet.Parameter) bool {
	switch p.Type {
	case paramStateCookie:
		in.cookie = p.Value
	case paramForwardTSN:
		in.forwardTSN = true
	case paramExtensions:
		for _, t := range p.Value {
			in.forwardTSN = in.forwardTSN || packet.ChunkType(t) == packet.TypeForwardTSN
		}
	case paramIPv4, paramIPv6:
		if addr, ok := netip.AddrFromSlice(p.Value); ok && addressParam(addr) == p.Type && len(in.addresses) < maxAddressesRead {
			in.addresses = append(in.addresses, addr.Unmap())
		}
	case paramUnrecognised, paramCookiePreservative, paramAddressTypes, paramECN,
		paramZeroChecksum, paramRandom, paramChunkList, paramHMACAlgorithms, paramPadding, paramAdaptation:
		// Recognised, and of no use without these extensions.
	default:
		if p.Type&paramReportBit != 0 && len(in.unrecognised)+len(p.Raw) <= maxUnrecognised {
			in.unrecognised = packet.AppendParameter(in.unrecognised, p.Type, p.Value)
		}
		return p.Type&paramSkipBit != 0
	}
	return true
}

// addressParam is the type of the parameter that names an address.
func addressParam(addr netip.Addr) uint16 {
	if addr.Is4() {
		return paramIPv4
	}
	return paramIPv6
}

// offer is what this endpoint says in its own INIT or INIT-ACK.
type offer struct {
	tag, window, tsn  uint32
	outbound, inbound uint16
	cookie            []byte // INIT-ACK only
	unrecognised      []byte // INIT-ACK only: the peer's parameters to report
}

// append writes the chunk: only RE-CONFIG and FORWARD-TSN are advertised, since pion does no more.
func (o offer) append(dst []byte, t packet.ChunkType) []byte {
	var params []byte
	if o.cookie != nil {
		params = packet.AppendParameter(params, paramStateCookie, o.cookie)
	}
	if len(o.unrecognised) > 0 {
		params = packet.AppendParameter(params, paramUnrecognised, o.unrecognised)
	}
	params = packet.AppendParameter(params, paramExtensions,
		[]byte{byte(packet.TypeReconfig), byte(packet.TypeForwardTSN)})
	params = packet.AppendParameter(params, paramForwardTSN, nil)
	chunk := packet.Init{
		InitiateTag: o.tag, Window: o.window, OutboundStreams: o.outbound, InboundStreams: o.inbound,
		InitialTSN: o.tsn, Parameters: params,
	}
	return chunk.Append(dst, t)
}

package trace

import (
	"encoding/binary"

	"skyring/protocol/transport/packet"
)

const idataLen = 16 // TSN, stream, reserved, MID, PPID or FSN

// interleaved reads an I-DATA chunk (RFC 8260 section 2.1). A first fragment has a PPID and FSN 0, a later one an FSN.
func interleaved(flags uint8, value []byte) (f fragment, tsn uint32, ok bool) {
	if len(value) < idataLen {
		return fragment{}, 0, false
	}
	f = fragment{
		payload: value[idataLen:], stream: binary.BigEndian.Uint16(value[4:]), sequence: binary.BigEndian.Uint32(value[8:]),
		interleaf: true, unordered: flags&packet.FlagUnordered != 0,
		beginning: flags&packet.FlagBeginning != 0, ending: flags&packet.FlagEnding != 0,
	}
	if field := binary.BigEndian.Uint32(value[12:]); f.beginning {
		f.ppid = field
	} else {
		f.fsn = field
	}
	return f, binary.BigEndian.Uint32(value), true
}

// userData reads a DATA or I-DATA chunk.
func userData(c packet.Chunk) (f fragment, tsn uint32, ok bool) {
	if c.Type == packet.TypeIData {
		return interleaved(c.Flags, c.Value)
	}
	if c.Type != packet.TypeData {
		return fragment{}, 0, false
	}
	data, err := packet.ParseData(c)
	if err != nil {
		return fragment{}, 0, false
	}
	return dataFragment(data), data.TSN, true
}

// dataFragment reads a DATA chunk; fragment's payload points into it.
func dataFragment(d packet.Data) fragment {
	return fragment{
		payload: d.Payload, ppid: d.PPID, sequence: uint32(d.SSN), stream: d.Stream,
		unordered: d.Unordered, beginning: d.Beginning, ending: d.Ending,
	}
}

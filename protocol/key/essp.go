package key

import "encoding/binary"

// ESSP's header as far as keys need it (docs/essp.md section 3). It is read here again,
// and not by skyring/protocol, so that this package stays without imports of ours; a test
// holds the two together.
const (
	esspHeader  = 20
	esspVersion = 1
	esspStation = 8 // where the station's id is
)

const (
	stationSize = 1 + 8
	callSize    = 1 + 8 + 8 + 2 + 4
	poolSize    = 1 + 2
)

// appendESSP appends the key of an ESSP message: its station, the same on all
// associations and in both directions.
//
//	+---------------+---------------+---------------+---------------+
//	|  version = 1  |     type      |   priority    |     flags     |
//	+---------------+---------------+---------------+---------------+
//	|            length             |        call reference         |
//	+-------------------------------+-------------------------------+
//	|                            station                            |
//	|                                                               |   sequence follows
//	+---------------------------------------------------------------+
func appendESSP(dst, payload []byte) ([]byte, Fault) {
	if len(payload) < esspHeader {
		return nil, errESSPHeader
	}

	if payload[0] != esspVersion {
		return nil, errESSPVersion
	}

	station := binary.BigEndian.Uint64(payload[esspStation:])
	if station == 0 {
		return nil, errESSPStation
	}

	return Station(dst, station), errNone
}

// Station appends the key of an earth station.
func Station(dst []byte, station uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byte(KindStation)), station)
}

// StationOf returns the station that a key of KindStation names, false for any other key.
func StationOf(k []byte) (station uint64, is bool) {
	if KindOf(k) != KindStation || len(k) != stationSize {
		return 0, false
	}

	return binary.BigEndian.Uint64(k[1:]), true
}

// CallID names a call for all time: by the transaction that set it up.
type CallID struct {
	Station   uint64 // the calling station
	Boot      uint64 // its boot nonce
	Reference uint16 // the call reference that it chose
	Sequence  uint32 // the sequence of its CALL-SETUP
}

// Call appends the key of a call.
func Call(dst []byte, c CallID) []byte {
	dst = binary.BigEndian.AppendUint64(append(dst, byte(KindCall)), c.Station)
	dst = binary.BigEndian.AppendUint64(dst, c.Boot)
	dst = binary.BigEndian.AppendUint16(dst, c.Reference)

	return binary.BigEndian.AppendUint32(dst, c.Sequence)
}

// CallOf returns the call that a key of KindCall names, false for any other key.
func CallOf(k []byte) (c CallID, is bool) {
	if KindOf(k) != KindCall || len(k) != callSize {
		return CallID{}, false
	}

	return CallID{
		Station:   binary.BigEndian.Uint64(k[1:]),
		Boot:      binary.BigEndian.Uint64(k[9:]),
		Reference: binary.BigEndian.Uint16(k[17:]),
		Sequence:  binary.BigEndian.Uint32(k[19:]),
	}, true
}

// Pool appends the key of the channels of a beam.
func Pool(dst []byte, beam uint16) []byte {
	return binary.BigEndian.AppendUint16(append(dst, byte(KindPool)), beam)
}

// PoolOf returns the beam that a key of KindPool names, false for any other key.
func PoolOf(k []byte) (beam uint16, is bool) {
	if KindOf(k) != KindPool || len(k) != poolSize {
		return 0, false
	}

	return binary.BigEndian.Uint16(k[1:]), true
}

package transport

import "encoding/binary"

// Content types of DTLS records (RFC 6347 section 4.1, RFC 9146 section 4).
const (
	recordChangeCipherSpec = 20
	recordAlert            = 21
	recordHandshake        = 22
	recordData             = 23
	recordCID              = 25
)

// Sizes on the wire, in bytes.
const (
	recordHeaderLen    = 13 // type, version, epoch, sequence number, length; the connection ID stands before the length
	handshakeHeaderLen = 12 // type, length, message sequence, fragment offset, fragment length
	cidLen             = 8
	maxDatagram        = 8192 // pion reads no more at once
	dtlsOverhead       = 48   // of a record with connection ID, explicit nonce and tag, rounded up
)

// record is one DTLS record, its ciphertext untouched.
type record struct {
	kind  byte
	epoch uint16
	body  []byte
	raw   []byte // header and body
}

// firstRecord takes the first record off a datagram; false when there is none whole. cid is the length of connection IDs
// in records that come this way.
func firstRecord(b []byte, cid int) (r record, rest []byte, ok bool) {
	if len(b) < recordHeaderLen {
		return r, nil, false
	}
	header := recordHeaderLen
	if b[0] == recordCID {
		header += cid
	}
	if len(b) < header || b[1] != 0xFE || b[2] != 0xFD && b[2] != 0xFF {
		return r, nil, false
	}
	end := header + int(binary.BigEndian.Uint16(b[header-2:]))
	if len(b) < end {
		return r, nil, false
	}
	return record{kind: b[0], epoch: binary.BigEndian.Uint16(b[3:]), body: b[header:end], raw: b[:end]}, b[end:], true
}

// stage is how far a session is, which decides on the records that may come.
type stage uint8

const (
	stageHandshake   stage = iota
	stageSettling          // established; the peer may not know yet, and repeat its last flight
	stageEstablished       // nothing in the clear has a meaning any more
)

// acceptable reports whether pion may see a datagram. What it may not: on an established session a forged record in the
// clear makes pion send the peer a fatal alert, which ends the session; before, it ends the handshake. Handshake messages
// in the clear fill its buffers. (The canary tests hold what pion does.)
func acceptable(b []byte, at stage, cid int) bool {
	for len(b) > 0 {
		r, rest, ok := firstRecord(b, cid)
		if !ok || !r.acceptable(at, cid) {
			return false
		}
		b = rest
	}
	return true
}

func (r record) acceptable(at stage, cid int) bool {
	if r.epoch > 1 {
		return false
	}
	switch r.kind {
	case recordHandshake:
		return r.epoch == 1 || at != stageEstablished && len(r.body) >= handshakeHeaderLen
	case recordChangeCipherSpec:
		return r.epoch == 0 && at != stageEstablished && len(r.body) == 1 && r.body[0] == 1
	case recordAlert:
		return r.epoch == 1 || at == stageHandshake && len(r.body) == 2
	case recordData:
		return r.epoch == 1
	case recordCID:
		return r.epoch == 1 && cid > 0
	}
	return false
}

// clearAlert undoes what a pion client does to the alert by which it refuses a server: it is not encrypted, as it cannot
// be yet, but wrapped like a record with connection ID, as which pion's server would not read it. Any other datagram is
// returned as it is.
func clearAlert(b []byte, cid int) []byte {
	r, rest, ok := firstRecord(b, cid)
	if !ok || len(rest) > 0 || r.kind != recordCID || r.epoch != 0 || len(r.body) != 3 || r.body[2] != recordAlert {
		return b
	}
	plain := append([]byte{recordAlert}, b[1:11]...)
	return append(plain, 0, 2, r.body[0], r.body[1])
}

const recordSequence = 5 // offset of the 48-bit sequence number in a record

// shiftRecords adds to the sequence numbers of the records in the clear; datagrams without any are returned as they are,
// others copied.
func shiftRecords(b []byte, by uint64) []byte {
	if r, _, ok := firstRecord(b, 0); !ok || r.epoch != 0 || by == 0 {
		return b
	}
	out := append([]byte(nil), b...)
	for rest := out; ; {
		r, next, ok := firstRecord(rest, 0)
		if !ok || r.epoch != 0 {
			return out
		}
		putSequence(r.raw, sequence(r.raw)+by)
		rest = next
	}
}

func sequence(record []byte) uint64 {
	return binary.BigEndian.Uint64(record[recordSequence-2:]) & (1<<48 - 1) // the epoch stands before it
}

func putSequence(record []byte, n uint64) {
	epoch := binary.BigEndian.Uint16(record[recordSequence-2:])
	binary.BigEndian.PutUint64(record[recordSequence-2:], uint64(epoch)<<48|n&(1<<48-1))
}

package key

// octets is the contents of an open type in aligned PER, read octet by octet across the
// fragments it may consist of (X.691 11.9.3.8). The zero value is empty.
type octets struct {
	rest []byte // of the message, from the next unread octet on
	left int    // octets until the present fragment ends
	more bool   // another fragment follows
}

// problem says why octets ended.
type problem uint8

const (
	fine       problem = iota
	pastTheEnd         // a length exceeds what there is
	impossible         // a length determinant that X.691 does not have
)

// openType begins to read the open type at the start of b.
func openType(b []byte) (octets, problem) {
	o := octets{rest: b, more: true}
	p := o.fragment()

	return o, p
}

// fragment reads the length determinant of the next fragment, of the only one as a rule.
func (o *octets) fragment() problem {
	n, size, p := determinant(o.rest)
	if p != fine {
		return p
	}

	if n > len(o.rest)-size {
		return pastTheEnd
	}

	o.rest = o.rest[size:]
	o.left = n
	o.more = n >= fragmentUnit

	return fine
}

// fragmentUnit is the unit in which fragments are counted. A determinant without it is
// below, so that a length tells whether more follows.
const fragmentUnit = 16384

// determinant reads a length determinant: the length and its own size in octets.
func determinant(b []byte) (n, size int, p problem) {
	switch {
	case len(b) == 0:
		return 0, 0, pastTheEnd
	case b[0] < 0x80: // X.691 11.9.3.6: one octet
		return int(b[0]), 1, fine
	case b[0] >= 0xC0: // 11.9.3.8: one to four units of 16K, and more to follow
		units := int(b[0] & 0x3F)
		if units < 1 || units > 4 {
			return 0, 0, impossible
		}

		return units * fragmentUnit, 1, fine
	case len(b) < 2:
		return 0, 0, pastTheEnd
	default: // 11.9.3.7: two octets
		return int(b[0]&0x3F)<<8 | int(b[1]), 2, fine
	}
}

// octet reads the next octet.
func (o *octets) octet() (byte, problem) {
	for o.left == 0 {
		if !o.more {
			return 0, pastTheEnd
		}

		if p := o.fragment(); p != fine {
			return 0, p
		}
	}

	b := o.rest[0]
	o.rest = o.rest[1:]
	o.left--

	return b, fine
}

// number reads n octets as an unsigned big-endian integer, n at most 8.
func (o *octets) number(n int) (uint64, problem) {
	var v uint64

	if n <= o.left { // all but always
		for _, b := range o.rest[:n] {
			v = v<<8 | uint64(b)
		}

		o.rest = o.rest[n:]
		o.left -= n

		return v, fine
	}

	for range n {
		b, p := o.octet()
		if p != fine {
			return 0, p
		}

		v = v<<8 | uint64(b)
	}

	return v, fine
}

// skip passes over n octets.
func (o *octets) skip(n int) problem {
	for n > o.left { // the rest is in later fragments
		n -= o.left
		o.rest = o.rest[o.left:]
		o.left = 0

		if !o.more {
			return pastTheEnd
		}

		if p := o.fragment(); p != fine {
			return p
		}
	}

	o.rest = o.rest[n:]
	o.left -= n

	return fine
}

// length reads the length determinant of an open type within this one.
func (o *octets) length() (int, problem) {
	first, p := o.octet()
	if p != fine || first < 0x80 {
		return int(first), p
	}

	head := [2]byte{first}
	if first < 0xC0 {
		if head[1], p = o.octet(); p != fine {
			return 0, p
		}
	}

	n, _, p := determinant(head[:])

	return n, p
}

// skipOpenType passes over the rest of an open type within this one, whose first length
// is n.
func (o *octets) skipOpenType(n int) problem {
	for {
		if p := o.skip(n); p != fine {
			return p
		}

		if n < fragmentUnit {
			return fine
		}

		var p problem
		if n, p = o.length(); p != fine {
			return p
		}
	}
}

package protocol

import "time"

// decoder reads the elements of a message; messages call it in ascending order of element
// types, then finish. The first problem stays, after it everything reads as 0.
type decoder struct {
	b    []byte  // the whole message
	at   int     // where the next element begins
	last Element // type of the element before it, 0: none
	err  *DecodeError
}

func (d *decoder) fail(t Element, offset int, p Problem) {
	if d.err == nil {
		d.err = &DecodeError{Element: t, Offset: offset, Problem: p}
	}
}

// take reads the next element, which there is.
func (d *decoder) take() (t Element, value []byte, ok bool) {
	t = Element(d.b[d.at])

	switch {
	case d.at+2 > len(d.b) || d.at+2+int(d.b[d.at+1]) > len(d.b):
		d.fail(t, d.at, ErrTruncated)
	case t == d.last && t != 0:
		d.fail(t, d.at, ErrDuplicate)
	case t <= d.last:
		d.fail(t, d.at, ErrOrder)
	}

	if d.err != nil {
		return 0, nil, false
	}

	end := d.at + 2 + int(d.b[d.at+1])
	value = d.b[d.at+2 : end]
	d.at, d.last = end, t

	return t, value, true
}

// pass goes over an element that is not of this message.
func (d *decoder) pass() {
	at := d.at

	t, _, ok := d.take()
	if ok && t&MustUnderstand != 0 {
		d.fail(t, at, ErrUnknown)
	}
}

// value returns the value of an element and where it is, nil when it is not there.
func (d *decoder) value(want Element, p presence) (value []byte, offset int) {
	for d.err == nil && d.at < len(d.b) && Element(d.b[d.at]) < want {
		d.pass()
	}

	if d.err != nil {
		return nil, 0
	}

	offset = d.at

	if d.at == len(d.b) || Element(d.b[d.at]) != want {
		if p != optional {
			d.fail(want, offset, ErrMissing)
		}

		return nil, 0
	}

	_, value, ok := d.take()
	if ok && len(value) != want.layout().size {
		d.fail(want, offset, ErrSize)
	}

	if d.err != nil {
		return nil, 0
	}

	return value, offset
}

// number reads an element that is a number, 0 when it is not there.
func (d *decoder) number(t Element, p presence) uint64 {
	value, offset := d.value(t, p)
	if value == nil {
		return 0
	}

	var v uint64
	for _, c := range value {
		v = v<<8 | uint64(c)
	}

	switch {
	case v == 0 && p != mandatory:
		d.fail(t, offset, ErrZero)
	case v > t.layout().max:
		d.fail(t, offset, ErrRange)
	}

	return v
}

// bytes reads a mandatory element that is bytes of fixed length into out.
func (d *decoder) bytes(t Element, out []byte) {
	value, _ := d.value(t, mandatory)
	copy(out, value)
}

// duration reads an element that is a duration in milliseconds.
func (d *decoder) duration(t Element, p presence) time.Duration {
	return time.Duration(d.number(t, p)) * time.Millisecond //nolint:gosec // at most 32 bits
}

// channel reads a channel.
func (d *decoder) channel(t Element, p presence) Channel {
	v := d.number(t, p)
	c := Channel{Beam: Beam(v >> 16), Number: uint16(v)} //nolint:gosec // 32 bits in two halves

	if v != 0 && c.Number == 0 {
		d.fail(t, d.at-6, ErrZero)
	}

	return c
}

// finish goes over what is left, none of which is of this message.
func (d *decoder) finish() {
	for d.err == nil && d.at < len(d.b) {
		d.pass()
	}
}

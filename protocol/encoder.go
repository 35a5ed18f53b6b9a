package protocol

import "time"

// presence says whether an element has to be there and whether it may be 0.
type presence uint8

const (
	optional  presence = iota // left out when 0, and never 0 on the wire: one encoding
	mandatory                 // always there
	nonzero                   // always there, and not 0
)

// encoder appends elements; messages call it in ascending order of element types. The
// first problem stays.
type encoder struct {
	b       []byte
	element Element
	problem Problem
}

func (e *encoder) fail(t Element, p Problem) {
	if e.problem == ErrNone {
		e.element, e.problem = t, p
	}
}

// number appends an element that is a number.
func (e *encoder) number(t Element, p presence, v uint64) {
	l := t.layout()

	switch {
	case v == 0 && p == optional:
		return
	case v == 0 && p == nonzero:
		e.fail(t, ErrZero)
	case v > l.max:
		e.fail(t, ErrRange)
	}

	e.b = append(e.b, byte(t), byte(l.size))
	for shift := 8 * (l.size - 1); shift >= 0; shift -= 8 {
		e.b = append(e.b, byte(v>>shift))
	}
}

// bytes appends an element that is bytes of its fixed length.
func (e *encoder) bytes(t Element, v []byte) {
	e.b = append(append(e.b, byte(t), byte(len(v))), v...)
}

// duration appends an element that is a duration in milliseconds, rounded up.
func (e *encoder) duration(t Element, p presence, v time.Duration) {
	if v < 0 {
		e.fail(t, ErrRange)
		v = 0
	}

	ms := uint64(v / time.Millisecond)
	if v%time.Millisecond != 0 {
		ms++
	}

	e.number(t, p, ms)
}

// channel appends a channel.
func (e *encoder) channel(t Element, p presence, c Channel) {
	if c.Number == 0 && (p == nonzero || c.Beam != 0) {
		e.fail(t, ErrZero)
	}

	e.number(t, p, uint64(c.Beam)<<16|uint64(c.Number))
}

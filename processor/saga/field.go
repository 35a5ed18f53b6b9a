package saga

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"skyring/protocol"
)

// bare is the header under which ESSP messages travel between records. It says nothing but the type, and whether it is a response.
func bare(m protocol.Message, response bool) protocol.Header {
	h := protocol.Header{Type: m.Type(), Station: 1, Call: 1, Sequence: 1}
	if m.Type() == protocol.TypeCallAnnounce {
		h.Call |= protocol.CallGateway
	}
	if response {
		h.Flags = protocol.Response
	}
	return h
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func appendSide(dst []byte, s Side) ([]byte, error) {
	if s != Calling && s != Called {
		return nil, fmt.Errorf("%w: %v", ErrMalformed, s)
	}
	return append(dst, byte(s)), nil
}

func appendMessage(dst []byte, m protocol.Message, response bool) ([]byte, error) {
	if m == nil {
		return nil, fmt.Errorf("%w: no message", ErrMalformed)
	}
	return protocol.Append(dst, bare(m, response), m)
}

// reader takes fields off a notification. After the first fault everything is zero.
type reader struct {
	b     []byte
	fault string
}

func (r *reader) take(n int) []byte {
	if r.fault == "" && len(r.b) < n {
		r.fault = "cut off"
	}
	if r.fault != "" {
		return make([]byte, n)
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) byte() byte     { return r.take(1)[0] }
func (r *reader) uint16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

func (r *reader) flag() bool {
	v := r.byte()
	if v > 1 {
		r.fault = "flag that is neither 0 nor 1"
	}
	return v == 1
}

func (r *reader) side() Side {
	s := Side(r.byte())
	if r.fault == "" && s != Calling && s != Called {
		r.fault = "unknown side"
	}
	return s
}

// message takes all that is left. Only the encoding that Append would give is taken, without elements that this version does not know.
func (r *reader) message(response bool) protocol.Message { //nolint:ireturn // which of them it is, is the question
	if r.fault != "" {
		return nil
	}
	_, m, err := protocol.Decode(r.b)
	if err != nil {
		r.fault = err.Error()
		return nil
	}
	again, err := protocol.Append(nil, bare(m, response), m)
	if err != nil || !bytes.Equal(again, r.b) {
		r.fault = "message in another encoding than ours"
		return nil
	}
	r.b = nil
	return m
}

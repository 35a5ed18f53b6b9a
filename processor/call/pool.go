package call

import (
	"bytes"
	"fmt"
	"slices"

	"skyring/processor/body"
	"skyring/processor/saga"
	"skyring/protocol"
)

// Pool is the channels of one beam and who holds them. A beam has one pool, and a channel at most one holder: one side of one call. Only the holder
// frees it; no lease and no timer does (R7).
type Pool struct {
	Beam        protocol.Beam
	First, Last uint16    // numbers of the channels that are given out, both included
	Held        []Holding // in order of channels; some may lie outside of First to Last after a change, until they are freed

	// Counters since the pool was made.
	Granted uint64 // allocations that took a channel; those repeated by its holder do not count
	Refused uint64 // allocations for which there was none
	Freed   uint64 // channels given back
	Ignored uint64 // frees of a side that held nothing

	unknown []byte // fields of a newer version, kept as they came
}

// Holding is one channel that is in use.
type Holding struct {
	Channel uint16
	Call    []byte // session key of the call that holds it
	Side    saga.Side
	Since   int64 // us since the Unix epoch, Redis time

	unknown string
}

// A pool is kept as this protobuf message; fields that a newer version added are kept and written back.
//
//	message Pool {
//	  uint32 beam = 1;  uint32 first = 2;  uint32 last = 3;  repeated Holding held = 4;
//	  uint64 granted = 5;  uint64 refused = 6;  uint64 freed = 7;  uint64 ignored = 8;
//	}
//	message Holding { uint32 channel = 1;  bytes call = 2;  uint32 side = 3;  int64 since = 4; }

// NewPool is the body of a new pool's record, with all channels from first (at least 1) to last free. The error tells what is wrong with these.
func NewPool(beam protocol.Beam, first, last uint16) ([]byte, error) {
	p := Pool{Beam: beam}
	if err := p.resize(first, last); err != nil {
		return nil, err
	}
	return p.Append(nil), nil
}

// Resize is the body of a pool with other channels to give out. Channels outside of them stay with their holders until those free them, and are not given out
// again. Errors: body.ErrMalformed, or those of NewPool.
func Resize(pool []byte, first, last uint16) ([]byte, error) {
	p, err := DecodePool(pool)
	if err != nil {
		return nil, err
	}
	if err := p.resize(first, last); err != nil {
		return nil, err
	}
	return p.Append(nil), nil
}

func (p *Pool) resize(first, last uint16) error {
	if first == 0 || last < first {
		return fmt.Errorf("channels from %d to %d: the first must be at least 1 and the last not before it", first, last)
	}
	p.First, p.Last = first, last
	return nil
}

// Size is how many channels are given out or could be.
func (p *Pool) Size() int { return int(p.Last) - int(p.First) + 1 }

// Free is how many channels are free.
func (p *Pool) Free() int {
	free := p.Size()
	for i := range p.Held {
		if p.within(p.Held[i].Channel) {
			free--
		}
	}
	return free
}

func (p *Pool) within(channel uint16) bool { return p.First <= channel && channel <= p.Last }

// holding finds what a side of a call holds, -1 for nothing.
func (p *Pool) holding(call []byte, side saga.Side) int {
	return slices.IndexFunc(p.Held, func(h Holding) bool { return h.Side == side && bytes.Equal(h.Call, call) })
}

// allocate gives the lowest free channel to a side of a call, and the same one when it asks again.
func (p *Pool) allocate(call []byte, side saga.Side, now int64) (channel uint16, ok bool) {
	if at := p.holding(call, side); at >= 0 {
		return p.Held[at].Channel, true
	}
	free, at := uint32(p.First), 0
	for ; at < len(p.Held) && uint32(p.Held[at].Channel) <= free; at++ {
		if uint32(p.Held[at].Channel) == free {
			free++
		}
	}
	if free > uint32(p.Last) {
		p.Refused++
		return 0, false
	}
	p.Granted++
	channel = uint16(free)
	p.Held = slices.Insert(p.Held, at, Holding{Channel: channel, Call: call, Side: side, Since: now})
	return channel, true
}

// free takes back what a side of a call holds.
func (p *Pool) free(call []byte, side saga.Side) {
	at := p.holding(call, side)
	if at < 0 {
		p.Ignored++
		return
	}
	p.Freed++
	p.Held = slices.Delete(p.Held, at, at+1)
}

// Append encodes the pool behind dst.
func (p *Pool) Append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(p.Beam))
	dst = body.AppendVarint(dst, 2, uint64(p.First))
	dst = body.AppendVarint(dst, 3, uint64(p.Last))
	var scratch [96]byte
	for i := range p.Held {
		dst = body.AppendMessage(dst, 4, p.Held[i].append(scratch[:0]))
	}
	dst = body.AppendVarint(dst, 5, p.Granted)
	dst = body.AppendVarint(dst, 6, p.Refused)
	dst = body.AppendVarint(dst, 7, p.Freed)
	dst = body.AppendVarint(dst, 8, p.Ignored)
	return append(dst, p.unknown...)
}

func (h *Holding) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(h.Channel))
	dst = body.AppendString(dst, 2, h.Call)
	dst = body.AppendVarint(dst, 3, uint64(h.Side))
	dst = body.AppendVarint(dst, 4, uint64(h.Since))
	return append(dst, h.unknown...)
}

// DecodePool reads the body of a pool's record, which must not be changed afterwards; an empty body is no pool. Errors wrap body.ErrMalformed.
func DecodePool(b []byte) (*Pool, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("channel pool: %w: it is empty", body.ErrMalformed)
	}
	p := &Pool{}
	unknown, err := body.Fields(b, p.field)
	if err != nil {
		return nil, fmt.Errorf("channel pool: %w", err)
	}
	p.unknown = unknown
	if p.First == 0 || p.Last < p.First {
		return nil, fmt.Errorf("channel pool: %w: channels from %d to %d", body.ErrMalformed, p.First, p.Last)
	}
	for i := 1; i < len(p.Held); i++ {
		if p.Held[i-1].Channel >= p.Held[i].Channel {
			return nil, fmt.Errorf("channel pool: %w: channel %d is held twice or out of order", body.ErrMalformed, p.Held[i].Channel)
		}
	}
	return p, nil
}

func (p *Pool) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = into(&p.Beam, f.Uint16)
	case 2:
		p.First, err = f.Uint16()
	case 3:
		p.Last, err = f.Uint16()
	case 4:
		h := Holding{}
		h.unknown, err = f.Message(h.field)
		p.Held = append(p.Held, h)
	case 5:
		p.Granted, err = f.Varint()
	case 6:
		p.Refused, err = f.Varint()
	case 7:
		p.Freed, err = f.Varint()
	case 8:
		p.Ignored, err = f.Varint()
	default:
		return false, nil
	}
	return true, err
}

func (h *Holding) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		h.Channel, err = f.Uint16()
	case 2:
		h.Call, err = f.Bytes()
	case 3:
		err = into(&h.Side, f.Uint8)
	case 4:
		h.Since, err = f.Int64()
	default:
		return false, nil
	}
	return true, err
}

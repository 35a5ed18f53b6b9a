package access

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"skyring/processor/body"
	"skyring/processor/saga"
	"skyring/protocol"
)

// A station is kept as this protobuf message; fields that a newer version added are kept and written back.
//
//	message Station {
//	  Profile profile = 1;  uint32 state = 2;  uint64 epoch = 3;  uint64 boot = 4;  uint32 beam = 5;  int64 proven = 6;  bytes confirm = 7;
//	  uint32 sends = 8;  int64 heard = 9;  uint32 sequence = 10;  uint32 reference = 11;  repeated Call calls = 12;  repeated Request requests = 13;
//	  repeated Transaction ring = 14;  repeated Mark marks = 15;  uint32 floor = 16;
//	}
//	message Call        { uint32 reference = 1;  bytes key = 2;  uint32 side = 3;  uint64 peer = 4;  uint32 priority = 5;  uint32 state = 6;
//	                      bool yielded = 7; }
//	message Request     { uint32 call = 1;  uint32 type = 2;  uint32 sequence = 3;  uint32 sends = 4;  int64 due = 5;  bytes payload = 6; }
//	message Transaction { uint32 call = 1;  uint32 sequence = 2;  int64 at = 3;  bytes response = 4; }
//	message Mark        { uint32 call = 1;  uint32 sequence = 2; }

// Append encodes the station behind dst.
func (s *Station) Append(dst []byte) []byte {
	scratch := make([]byte, 0, 256)
	dst = body.AppendMessage(dst, 1, s.Profile.append(scratch))
	dst = body.AppendVarint(dst, 2, uint64(s.State))
	dst = body.AppendVarint(dst, 3, s.Epoch)
	dst = body.AppendVarint(dst, 4, s.Boot)
	dst = body.AppendVarint(dst, 5, uint64(s.Beam))
	dst = body.AppendVarint(dst, 6, uint64(s.Proven))
	dst = body.AppendString(dst, 7, s.Confirm)
	dst = body.AppendVarint(dst, 8, uint64(s.Sends))
	dst = body.AppendVarint(dst, 9, uint64(s.Heard))
	dst = body.AppendVarint(dst, 10, uint64(s.Sequence))
	dst = body.AppendVarint(dst, 11, uint64(s.Reference))
	for i := range s.Calls {
		dst = body.AppendMessage(dst, 12, s.Calls[i].append(scratch))
	}
	for i := range s.Requests {
		dst = body.AppendMessage(dst, 13, s.Requests[i].append(scratch))
	}
	for i := range s.Memory.Ring {
		dst = body.AppendMessage(dst, 14, s.Memory.Ring[i].append(scratch))
	}
	for i := range s.Memory.Marks {
		dst = body.AppendMessage(dst, 15, s.Memory.Marks[i].append(scratch))
	}
	dst = body.AppendVarint(dst, 16, uint64(s.Memory.Floor))
	return append(dst, s.unknown...)
}

// appendElement writes one of a repeated number, also 0.
func appendElement(dst []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

func (c *Call) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(c.Reference))
	dst = body.AppendString(dst, 2, c.Key)
	dst = body.AppendVarint(dst, 3, uint64(c.Side))
	dst = body.AppendVarint(dst, 4, uint64(c.Peer))
	dst = body.AppendVarint(dst, 5, uint64(c.Priority))
	dst = body.AppendVarint(dst, 6, uint64(c.State))
	dst = body.AppendBool(dst, 7, c.Yielded)
	return append(dst, c.unknown...)
}

func (r *Request) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(r.Call))
	dst = body.AppendVarint(dst, 2, uint64(r.Type))
	dst = body.AppendVarint(dst, 3, uint64(r.Sequence))
	dst = body.AppendVarint(dst, 4, uint64(r.Sends))
	dst = body.AppendVarint(dst, 5, uint64(r.Due))
	dst = body.AppendString(dst, 6, r.Payload)
	return append(dst, r.unknown...)
}

func (t *Transaction) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(t.Call))
	dst = body.AppendVarint(dst, 2, uint64(t.Sequence))
	dst = body.AppendVarint(dst, 3, uint64(t.At))
	dst = body.AppendString(dst, 4, t.Response)
	return append(dst, t.unknown...)
}

func (m *Mark) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(m.Call))
	dst = body.AppendVarint(dst, 2, uint64(m.Sequence))
	return append(dst, m.unknown...)
}

// Decode reads the body of a station's record, which the station then shares memory with. The error wraps body.ErrMalformed. An empty body is no
// station: the record is not an entry of the station table.
func Decode(b []byte) (*Station, error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty, not in the station table", body.ErrMalformed)
	}
	s := &Station{}
	unknown, err := body.Fields(b, s.field)
	if err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	s.unknown = string(unknown)
	return s, nil
}

func (s *Station) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		s.Profile.unknown, err = f.Message(s.Profile.field)
	case 2:
		err = read(f.Uint8, &s.State)
	case 3:
		s.Epoch, err = f.Varint()
	case 4:
		s.Boot, err = f.Varint()
	case 5:
		err = read(f.Uint16, &s.Beam)
	case 6:
		s.Proven, err = f.Int64()
	case 7:
		s.Confirm, err = f.Bytes()
	case 8:
		s.Sends, err = f.Uint8()
	case 9:
		s.Heard, err = f.Int64()
	case 10:
		s.Sequence, err = f.Uint32()
	case 11:
		s.Reference, err = f.Uint16()
	default:
		return s.list(f)
	}
	return true, err
}

// list reads the fields that may be there many times, and what belongs to them.
func (s *Station) list(f body.Field) (known bool, err error) {
	switch f.Number {
	case 12:
		var c Call
		c.unknown, err = f.Message(c.field)
		s.Calls = append(s.Calls, c)
	case 13:
		var r Request
		r.unknown, err = f.Message(r.field)
		s.Requests = append(s.Requests, r)
	case 14:
		var t Transaction
		t.unknown, err = f.Message(t.field)
		s.Memory.Ring = append(s.Memory.Ring, t)
	case 15:
		var m Mark
		m.unknown, err = f.Message(m.field)
		s.Memory.Marks = append(s.Memory.Marks, m)
	case 16:
		s.Memory.Floor, err = f.Uint32()
	default:
		return false, nil
	}
	return true, err
}

// read takes a number into a field of its own type.
func read[V uint8 | uint16, T ~uint8 | ~uint16](value func() (V, error), into *T) error {
	v, err := value()
	*into = T(v)
	return err
}

func (c *Call) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = read(f.Uint16, &c.Reference)
	case 2:
		c.Key, err = f.Bytes()
	case 3:
		err = read(f.Uint8, &c.Side)
		if err == nil && c.Side != saga.Calling && c.Side != saga.Called {
			err = fmt.Errorf("%w: %v of a call", body.ErrMalformed, c.Side)
		}
	case 4:
		var v uint64
		v, err = f.Varint()
		c.Peer = protocol.StationID(v)
	case 5:
		err = read(f.Uint8, &c.Priority)
	case 6:
		err = read(f.Uint8, &c.State)
	case 7:
		c.Yielded, err = f.Bool()
	default:
		return false, nil
	}
	return true, err
}

func (r *Request) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = read(f.Uint16, &r.Call)
	case 2:
		err = read(f.Uint8, &r.Type)
	case 3:
		r.Sequence, err = f.Uint32()
	case 4:
		r.Sends, err = f.Uint8()
	case 5:
		r.Due, err = f.Int64()
	case 6:
		r.Payload, err = f.Bytes()
	default:
		return false, nil
	}
	return true, err
}

func (t *Transaction) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = read(f.Uint16, &t.Call)
	case 2:
		t.Sequence, err = f.Uint32()
	case 3:
		t.At, err = f.Int64()
	case 4:
		t.Response, err = f.Bytes()
	default:
		return false, nil
	}
	return true, err
}

func (m *Mark) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		err = read(f.Uint16, &m.Call)
	case 2:
		m.Sequence, err = f.Uint32()
	default:
		return false, nil
	}
	return true, err
}

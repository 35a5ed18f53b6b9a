package ledger

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"skyring/processor/body"
)

// ErrBody says that a session's body is no ledger.
var ErrBody = errors.New("no ledger")

// A ledger is kept as this protobuf message; fields that a newer version added are kept and written back.
//
//	message Ledger {
//	  uint32 ppid = 1;  uint64 count = 2;  uint64 bytes = 3;  int64 first = 4;  int64 last = 5;  string last_type = 6;
//	  repeated Node nodes = 7;  uint64 other_nodes = 8;  repeated Chain chains = 9;  Retired retired = 10;
//	}
//	message Node    { string id = 1;  uint64 count = 2; }
//	message Chain   { uint64 epoch = 1;  uint32 stream = 2;  bool unordered = 3;  uint64 count = 4;  uint64 bytes = 5;  bytes value = 6; }
//	message Retired { uint64 chains = 1;  uint64 count = 2;  uint64 bytes = 3; }

// Append encodes the ledger behind dst.
func (l *Ledger) Append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, uint64(l.PPID))
	dst = body.AppendVarint(dst, 2, l.Count)
	dst = body.AppendVarint(dst, 3, l.Bytes)
	dst = body.AppendVarint(dst, 4, uint64(l.First))
	dst = body.AppendVarint(dst, 5, uint64(l.Last))
	if l.LastType != "" {
		dst = protowire.AppendTag(dst, 6, protowire.BytesType)
		dst = protowire.AppendString(dst, l.LastType)
	}
	var scratch [192]byte
	for i := range l.Nodes {
		dst = body.AppendMessage(dst, 7, l.Nodes[i].append(scratch[:0]))
	}
	dst = body.AppendVarint(dst, 8, l.OtherNodes)
	for i := range l.Chains {
		dst = body.AppendMessage(dst, 9, l.Chains[i].append(scratch[:0]))
	}
	if l.Retired != (Retired{}) {
		dst = body.AppendMessage(dst, 10, l.Retired.append(scratch[:0]))
	}
	return append(dst, l.unknown...)
}

func (n *Node) append(dst []byte) []byte {
	if n.ID != "" {
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendString(dst, n.ID)
	}
	dst = body.AppendVarint(dst, 2, n.Count)
	return append(dst, n.unknown...)
}

func (c *Chain) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, c.Epoch)
	dst = body.AppendVarint(dst, 2, uint64(c.Stream))
	if c.Unordered {
		dst = body.AppendVarint(dst, 3, 1)
	}
	dst = body.AppendVarint(dst, 4, c.Count)
	dst = body.AppendVarint(dst, 5, c.Bytes)
	dst = body.AppendMessage(dst, 6, c.Value[:])
	return append(dst, c.unknown...)
}

func (r *Retired) append(dst []byte) []byte {
	dst = body.AppendVarint(dst, 1, r.Chains)
	dst = body.AppendVarint(dst, 2, r.Count)
	dst = body.AppendVarint(dst, 3, r.Bytes)
	return append(dst, r.unknown...)
}

// Decode reads a ledger; an empty body is an empty ledger. The error is ErrBody with what is wrong.
func Decode(b []byte) (*Ledger, error) {
	l := &Ledger{}
	unknown, err := body.Fields(b, l.field)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	l.unknown = unknown
	return l, nil
}

func (l *Ledger) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		l.PPID, err = f.Uint32()
	case 2:
		l.Count, err = f.Varint()
	case 3:
		l.Bytes, err = f.Varint()
	case 4:
		l.First, err = f.Int64()
	case 5:
		l.Last, err = f.Int64()
	case 6:
		var b []byte
		b, err = f.Bytes()
		l.LastType = string(b)
	case 7:
		var n Node
		n.unknown, err = f.Message(n.field)
		l.Nodes = append(l.Nodes, n)
	case 8:
		l.OtherNodes, err = f.Varint()
	case 9:
		var c Chain
		c.unknown, err = f.Message(c.field)
		l.Chains = append(l.Chains, c)
	case 10:
		l.Retired.unknown, err = f.Message(l.Retired.field)
	default:
		return false, nil
	}
	return true, err
}

func (n *Node) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		var b []byte
		b, err = f.Bytes()
		n.ID = string(b)
	case 2:
		n.Count, err = f.Varint()
	default:
		return false, nil
	}
	return true, err
}

func (c *Chain) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		c.Epoch, err = f.Varint()
	case 2:
		c.Stream, err = f.Uint16()
	case 3:
		var v uint64
		v, err = f.Varint()
		c.Unordered = v != 0
	case 4:
		c.Count, err = f.Varint()
	case 5:
		c.Bytes, err = f.Varint()
	case 6:
		var b []byte
		b, err = f.Bytes()
		if err == nil && len(b) != len(c.Value) {
			err = fmt.Errorf("%w: chain value of %d bytes", body.ErrMalformed, len(b))
		}
		copy(c.Value[:], b)
	default:
		return false, nil
	}
	return true, err
}

func (r *Retired) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		r.Chains, err = f.Varint()
	case 2:
		r.Count, err = f.Varint()
	case 3:
		r.Bytes, err = f.Varint()
	default:
		return false, nil
	}
	return true, err
}

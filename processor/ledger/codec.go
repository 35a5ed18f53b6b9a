package ledger

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
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
	dst = appendVarint(dst, 1, uint64(l.PPID))
	dst = appendVarint(dst, 2, l.Count)
	dst = appendVarint(dst, 3, l.Bytes)
	dst = appendVarint(dst, 4, uint64(l.First))
	dst = appendVarint(dst, 5, uint64(l.Last))
	if l.LastType != "" {
		dst = protowire.AppendTag(dst, 6, protowire.BytesType)
		dst = protowire.AppendString(dst, l.LastType)
	}
	var scratch [192]byte
	for i := range l.Nodes {
		dst = appendMessage(dst, 7, l.Nodes[i].append(scratch[:0]))
	}
	dst = appendVarint(dst, 8, l.OtherNodes)
	for i := range l.Chains {
		dst = appendMessage(dst, 9, l.Chains[i].append(scratch[:0]))
	}
	if l.Retired != (Retired{}) {
		dst = appendMessage(dst, 10, l.Retired.append(scratch[:0]))
	}
	return append(dst, l.unknown...)
}

func (n *Node) append(dst []byte) []byte {
	if n.ID != "" {
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendString(dst, n.ID)
	}
	dst = appendVarint(dst, 2, n.Count)
	return append(dst, n.unknown...)
}

func (c *Chain) append(dst []byte) []byte {
	dst = appendVarint(dst, 1, c.Epoch)
	dst = appendVarint(dst, 2, uint64(c.Stream))
	if c.Unordered {
		dst = appendVarint(dst, 3, 1)
	}
	dst = appendVarint(dst, 4, c.Count)
	dst = appendVarint(dst, 5, c.Bytes)
	dst = appendMessage(dst, 6, c.Value[:])
	return append(dst, c.unknown...)
}

func (r *Retired) append(dst []byte) []byte {
	dst = appendVarint(dst, 1, r.Chains)
	dst = appendVarint(dst, 2, r.Count)
	dst = appendVarint(dst, 3, r.Bytes)
	return append(dst, r.unknown...)
}

func appendVarint(dst []byte, field protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, field, protowire.VarintType), v)
}

func appendMessage(dst []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), m)
}

// Decode reads a ledger; an empty body is an empty ledger. The error is ErrBody with what is wrong.
func Decode(body []byte) (*Ledger, error) {
	l := &Ledger{}
	unknown, err := fields(body, l.field)
	if err != nil {
		return nil, err
	}
	l.unknown = unknown
	return l, nil
}

func (l *Ledger) field(f field) (known bool, err error) {
	switch f.number {
	case 1:
		l.PPID, err = f.uint32()
	case 2:
		l.Count, err = f.varint()
	case 3:
		l.Bytes, err = f.varint()
	case 4:
		l.First, err = f.int64()
	case 5:
		l.Last, err = f.int64()
	case 6:
		var b []byte
		b, err = f.bytes()
		l.LastType = string(b)
	case 7:
		var n Node
		n.unknown, err = f.message(n.field)
		l.Nodes = append(l.Nodes, n)
	case 8:
		l.OtherNodes, err = f.varint()
	case 9:
		var c Chain
		c.unknown, err = f.message(c.field)
		l.Chains = append(l.Chains, c)
	case 10:
		l.Retired.unknown, err = f.message(l.Retired.field)
	default:
		return false, nil
	}
	return true, err
}

func (n *Node) field(f field) (known bool, err error) {
	switch f.number {
	case 1:
		var b []byte
		b, err = f.bytes()
		n.ID = string(b)
	case 2:
		n.Count, err = f.varint()
	default:
		return false, nil
	}
	return true, err
}

func (c *Chain) field(f field) (known bool, err error) {
	switch f.number {
	case 1:
		c.Epoch, err = f.varint()
	case 2:
		c.Stream, err = f.uint16()
	case 3:
		var v uint64
		v, err = f.varint()
		c.Unordered = v != 0
	case 4:
		c.Count, err = f.varint()
	case 5:
		c.Bytes, err = f.varint()
	case 6:
		var b []byte
		b, err = f.bytes()
		if err == nil && len(b) != len(c.Value) {
			err = fmt.Errorf("%w: chain value of %d bytes", ErrBody, len(b))
		}
		copy(c.Value[:], b)
	default:
		return false, nil
	}
	return true, err
}

func (r *Retired) field(f field) (known bool, err error) {
	switch f.number {
	case 1:
		r.Chains, err = f.varint()
	case 2:
		r.Count, err = f.varint()
	case 3:
		r.Bytes, err = f.varint()
	default:
		return false, nil
	}
	return true, err
}

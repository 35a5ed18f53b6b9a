package bus

import (
	"encoding/binary"
	"fmt"
)

// NodeRequest is what an operator asks of one processor, on its Ask subject. It
// answers with a NodeReply.
//
// Layout, big-endian; a later version may append fields, which are ignored:
//
//	version u8 | kind u8 (32) | administration u8 | capacity u32 (of Weigh and WeighNow alone)
type NodeRequest struct {
	Administration Administration
	Capacity       uint32 // of Weigh and WeighNow, at least 1; else 0
}

// Administration is what an operator wants of a node. It outlives the node's process.
type Administration uint8

const (
	// Inquire changes nothing.
	Inquire Administration = iota
	// Drain makes the node take no new keys until Undrain, restarts included.
	Drain
	// Undrain makes it take new keys again.
	Undrain
	// Weigh gives it another capacity, which it approaches in steps.
	Weigh
	// WeighNow gives it another capacity at once.
	WeighNow
)

// Weighs tells that the act is about the node's capacity.
func (a Administration) Weighs() bool { return a == Weigh || a == WeighNow }

// String is the act in lower case, "administration(9)" for an unknown one.
func (a Administration) String() string {
	switch a {
	case Inquire:
		return "inquire"
	case Drain:
		return "drain"
	case Undrain:
		return "undrain"
	case Weigh:
		return "weight"
	case WeighNow:
		return "weight --now"
	default:
		return fmt.Sprintf("administration(%d)", uint8(a))
	}
}

// NodeReply answers a NodeRequest, as JSON.
type NodeReply struct {
	Error  string     `json:"error,omitempty"` // why it was not done; empty: it was
	Status NodeStatus `json:"status"`          // after it
}

const nodeRequest = "node request"

// Append appends the encoded request.
func (r NodeRequest) Append(dst []byte) []byte {
	dst = append(appendPrefix(dst, kindNodeRequest), byte(r.Administration))
	if r.Administration.Weighs() {
		dst = binary.BigEndian.AppendUint32(dst, r.Capacity)
	}

	return dst
}

// IsNodeRequest tells a NodeRequest from what else arrives on an Ask subject.
func IsNodeRequest(b []byte) bool { return len(b) >= 2 && b[1] == byte(kindNodeRequest) }

// DecodeNodeRequest reads a request; the error is a *FrameError.
func DecodeNodeRequest(b []byte) (NodeRequest, error) {
	if err := checkPrefix(nodeRequest, b, kindNodeRequest); err != nil {
		return NodeRequest{}, err
	}

	if len(b) < 3 {
		return NodeRequest{}, cut(nodeRequest, b, 2, field{"administration", 1})
	}

	r := NodeRequest{Administration: Administration(b[2])}
	if r.Administration > WeighNow {
		return NodeRequest{}, &FrameError{What: nodeRequest, Field: "administration", Offset: 2, Fault: r.Administration.String() + " is unknown"}
	}

	if !r.Administration.Weighs() {
		return r, nil
	}

	if len(b) < 7 {
		return NodeRequest{}, cut(nodeRequest, b, 3, field{"capacity", 4})
	}

	if r.Capacity = binary.BigEndian.Uint32(b[3:]); r.Capacity == 0 {
		return NodeRequest{}, &FrameError{What: nodeRequest, Field: "capacity", Offset: 3, Fault: "0, at least 1 is right"}
	}

	return r, nil
}

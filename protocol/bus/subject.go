package bus

import (
	"fmt"
	"strings"
)

// MaxIDLen is the longest id of a node, dispatcher or namespace, in bytes.
const MaxIDLen = 64

// Namespace separates several systems on one NATS server: every subject begins
// with "skyring.<namespace>.". It must be a valid id, see ValidateID.
type Namespace string

// Validate reports why the namespace cannot be part of a subject.
func (n Namespace) Validate() error {
	if err := ValidateID(string(n)); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}

	return nil
}

// Node is the subject on which a processor takes envelope frames.
func (n Namespace) Node(id string) string { return n.subject("node.") + id }

// Dispatcher is the subject on which a dispatcher takes answers frames; its
// frames carry it as reply subject, so that NATS sends a 503 there when nobody
// listens on the node's subject.
func (n Namespace) Dispatcher(id string) string { return n.subject("disp.") + id }

// Heartbeats is the subject on which every processor publishes its Heartbeat.
func (n Namespace) Heartbeats() string { return n.subject("hb") }

// Hello is the subject on which a dispatcher that starts asks for heartbeats.
func (n Namespace) Hello() string { return n.subject("hello") }

// DispatcherStatuses is the subject on which every dispatcher answers a query with
// its DispatcherStatus.
func (n Namespace) DispatcherStatuses() string { return n.subject("status.disp") }

// Whys is the subject on which every dispatcher answers a Why with an Explanation.
func (n Namespace) Whys() string { return n.subject("why.disp") }

// NodeStatuses is the subject on which every processor answers a query with its
// NodeStatus.
func (n Namespace) NodeStatuses() string { return n.subject("status.node") }

// Ask is the subject on which a processor answers an EpochRequest or a NodeRequest.
func (n Namespace) Ask(id string) string { return n.subject("ask.") + id }

// Delivered is the subject on which a processor takes the answers to its deliver
// frames; they carry it as reply subject.
func (n Namespace) Delivered(id string) string { return n.subject("dlv.") + id }

// DispatcherID is the id in a subject that Dispatcher made; false for any other.
func (n Namespace) DispatcherID(subject string) (string, bool) {
	return strings.CutPrefix(subject, n.Dispatcher(""))
}

func (n Namespace) subject(rest string) string { return "skyring." + string(n) + "." + rest }

// ValidateID reports why id cannot name a node, a dispatcher or a namespace: ids
// have 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-', since they become tokens
// of NATS subjects.
func ValidateID(id string) error {
	if id == "" || len(id) > MaxIDLen {
		return fmt.Errorf("id %q has %d characters: 1 to %d of A-Z a-z 0-9 _ - are right", id, len(id), MaxIDLen)
	}

	for i := range len(id) {
		if !idByte(id[i]) {
			return fmt.Errorf("id %q has %q at character %d: only A-Z a-z 0-9 _ - are right", id, id[i], i+1)
		}
	}

	return nil
}

func idByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		return true
	default:
		return false
	}
}

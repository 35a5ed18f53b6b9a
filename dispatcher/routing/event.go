package routing

import "fmt"

// EventKind is what befell a node.
type EventKind uint8

const (
	// NodeUp is a node's first heartbeat, or its first after it was dead.
	NodeUp EventKind = iota
	// NodeAnnounced is a change of what the node says about itself.
	NodeAnnounced
	// NodeSuspect is a node whose heartbeats are missing.
	NodeSuspect
	// NodeStalled is a node that let a deadline pass without any answer.
	NodeStalled
	// NodeBack is a suspect or stalled node that gave a sign of life.
	NodeBack
	// NodeDead is a node that was declared dead.
	NodeDead
	// NodeTwin is a second live process under the id of a node: a person must act.
	NodeTwin
	// NodeRefused is a node beyond the number that is listened to.
	NodeRefused
	// NodeForgotten is a node that was dead for long, or had to make room.
	NodeForgotten
)

// String is the event as logs name it.
func (k EventKind) String() string {
	switch k {
	case NodeUp:
		return "up"
	case NodeAnnounced:
		return "announced"
	case NodeSuspect:
		return "suspect"
	case NodeStalled:
		return "stalled"
	case NodeBack:
		return "back"
	case NodeDead:
		return "dead"
	case NodeTwin:
		return "twin"
	case NodeRefused:
		return "refused"
	case NodeForgotten:
		return "forgotten"
	default:
		return fmt.Sprintf("event(%d)", uint8(k))
	}
}

// Event is something that befell a node, for the log.
type Event struct {
	Kind  EventKind
	Node  string
	State string // NodeUp, NodeAnnounced, NodeDead: what the node says or last said about itself
	Cause Cause  // NodeDead: why
	Moved int    // NodeStalled, NodeDead: messages that moved to other nodes or wait for one
}

// Events returns what befell nodes since the last call.
func (c *Core) Events() []Event {
	e := c.events
	c.events = nil

	return e
}

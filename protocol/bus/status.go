package bus

import (
	"encoding/json"
	"errors"
	"fmt"
)

// DispatcherStatus is what a dispatcher answers to a query on DispatcherStatuses,
// and NodeStatus what a processor answers to one on NodeStatuses. The query has no
// content; the answers are JSON, to the query's reply subject. A reader ignores
// fields that it does not know, so that two versions can run side by side.
type DispatcherStatus struct {
	ID          string   `json:"id"`
	Incarnation Hex      `json:"incarnation"`   // random at each start of the process
	Uptime      float64  `json:"uptimeSeconds"` // since New
	Address     string   `json:"address"`       // at which SCTP arrives, the first of Listeners
	Draining    bool     `json:"draining"`      // takes nothing new, and ends once all is answered
	Alarms      []string `json:"alarms,omitempty"`

	Listeners []ListenerStatus `json:"listeners"` // all addresses at which SCTP arrives; of an older dispatcher: none

	Associations      int     `json:"associations"`      // served now
	Messages          uint64  `json:"messages"`          // taken
	MessagesPerSecond float64 `json:"messagesPerSecond"` // taken in the last second or so
	Unanswered        int     `json:"unanswered"`        // messages taken and not done
	Sessions          int     `json:"sessions"`          // keys with such messages
	Parked            int     `json:"parked"`            // of them, those that no node has room for
	GivenUp           uint64  `json:"givenUp"`           // messages not answered in time, which their senders repeat

	Policy      string     `json:"policy"`   // that picks nodes, see skyring/ring/policy
	RingBits    uint8      `json:"bits"`     // the ring has 2^bits slots
	RingEpsilon float64    `json:"epsilon"`  // how far a node's slots may exceed its share, negative: not bounded
	Checksum    Hex        `json:"checksum"` // of the ring: equal wherever the ring is; 0: no ring yet, or a policy without one
	Nodes       []NodeView `json:"nodes"`    // in order of their first heartbeat
}

// ListenerStatus is one address at which SCTP arrives.
type ListenerStatus struct {
	Mode    string `json:"mode"`    // udp, dtls or ip
	Address string `json:"address"` // numeric, with the UDP port; port 0 with ip
}

// NodeView is what a dispatcher knows of one node.
type NodeView struct {
	ID       string  `json:"id"`
	Status   string  `json:"status"`   // open, at-limit, starting, draining, suspect, stalled, dead or left
	Reason   string  `json:"reason"`   // why it is not open, in words, such as "CPU 82 % over 75 %"; empty: it is
	Capacity uint32  `json:"capacity"` // messages a second, as the node says
	Share    float64 `json:"share"`    // of the ring's slots, 0 to 1; 0 with a policy that has none
	Weight   float64 `json:"weight"`   // 1 minus the largest used part of what it may use: 1 idle, 0 at a limit, below beyond it
	InFlight int     `json:"inFlight"` // messages of this dispatcher
	Limit    int     `json:"limit"`    // of messages in flight, from which the node is at its limit; follows its response
	HardCap  int     `json:"hardCap"`  // of messages in flight, from which it takes none; 0: there is none
	Keys     int     `json:"keys"`     // keys that have the node as their first choice, while there are few of them
	Sessions int     `json:"sessions"` // keys of this dispatcher that are bound to it
	Answered uint64  `json:"answered"` // messages of this dispatcher that it was the first to answer

	// As the node's last heartbeat tells it.

	CPU               float64 `json:"cpu"`    // used part of what the node may use, 0 to 1; 0: not told
	Memory            float64 `json:"memory"` // as cpu
	MessagesPerSecond uint32  `json:"messagesPerSecond"`
	ResponseMicros    uint32  `json:"responseMicros"` // moving average from receipt to answer
}

// NodeStatus is what a processor says of itself.
type NodeStatus struct {
	ID          string   `json:"id"`
	Incarnation Hex      `json:"incarnation"`   // random at each start of the process
	Uptime      float64  `json:"uptimeSeconds"` // since New
	State       string   `json:"state"`         // starting, ready, draining or leaving
	Drained     bool     `json:"drained"`       // by an operator: it stays so over restarts
	Alarms      []string `json:"alarms,omitempty"`

	Capacity          uint32 `json:"capacity"`          // messages a second
	InFlight          int64  `json:"inFlight"`          // messages received and not answered
	MessagesPerSecond uint32 `json:"messagesPerSecond"` // answered, as of the last heartbeat
	ResponseMicros    uint32 `json:"responseMicros"`    // moving average from receipt to answer
	ClockOffsetMicros int64  `json:"clockOffsetMicros"` // Redis' time minus the node's
	Commits           uint64 `json:"commits"`           // records written

	CPU            float64 `json:"cpu"`            // used part of the processor time it may use, 0 to 1, as of the last heartbeat
	Memory         float64 `json:"memory"`         // used part of the memory it may use, as cpu
	BytesPerSecond uint32  `json:"bytesPerSecond"` // payload received, as of the last heartbeat
	InFlightLimit  uint32  `json:"inFlightLimit"`  // of each dispatcher, as the node is configured; 0: the dispatcher's own

	CapacityTarget  uint32  `json:"capacityTarget"`  // what capacity is on its way to, or equal to it
	CapacitySteps   int     `json:"capacitySteps"`   // that are left to the target
	CapacitySeconds float64 `json:"capacitySeconds"` // until the last of them
}

// AppendJSON appends a status or reply as JSON.
func AppendJSON[T DispatcherStatus | NodeStatus | NodeReply | Explanation](dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("status as JSON: %w", err)
	}

	return append(dst, b...), nil
}

// DecodeJSON reads what AppendJSON writes. An answer without an id is none.
func DecodeJSON[T DispatcherStatus | NodeStatus | NodeReply | Explanation](b []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("status from JSON: %w", err)
	}

	id := ""

	switch v := any(v).(type) {
	case *DispatcherStatus:
		id = v.ID
	case *NodeStatus:
		id = v.ID
	case *NodeReply:
		id = v.Status.ID
	case *Explanation:
		id = v.ID
	}

	if err := ValidateID(id); err != nil {
		return nil, errors.Join(errors.New("status from JSON"), err)
	}

	return v, nil
}

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
	Address     string   `json:"address"`       // UDP address at which SCTP arrives
	Draining    bool     `json:"draining"`      // takes nothing new, and ends once all is answered
	Alarms      []string `json:"alarms,omitempty"`

	Associations      int     `json:"associations"`      // served now
	Messages          uint64  `json:"messages"`          // taken
	MessagesPerSecond float64 `json:"messagesPerSecond"` // taken in the last second or so
	Unanswered        int     `json:"unanswered"`        // messages taken and not done
	Sessions          int     `json:"sessions"`          // keys with such messages
	Parked            int     `json:"parked"`            // of them, those that no node has room for
	GivenUp           uint64  `json:"givenUp"`           // messages not answered in time, which their senders repeat

	Checksum Hex        `json:"checksum"` // of the ring: equal wherever the ring is; 0: no ring yet
	Nodes    []NodeView `json:"nodes"`    // in order of their first heartbeat
}

// NodeView is what a dispatcher knows of one node.
type NodeView struct {
	ID       string  `json:"id"`
	Status   string  `json:"status"`   // open, at-limit, starting, draining, suspect, stalled, dead or left
	Capacity uint32  `json:"capacity"` // messages a second, as the node says
	Share    float64 `json:"share"`    // of the ring's slots, 0 to 1
	InFlight int     `json:"inFlight"` // messages of this dispatcher
	Sessions int     `json:"sessions"` // keys of this dispatcher that are bound to it
	Answered uint64  `json:"answered"` // messages of this dispatcher that it was the first to answer
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
}

// AppendJSON appends a status or reply as JSON.
func AppendJSON[T DispatcherStatus | NodeStatus | NodeReply](dst []byte, v *T) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return dst, fmt.Errorf("status as JSON: %w", err)
	}

	return append(dst, b...), nil
}

// DecodeJSON reads what AppendJSON writes. An answer without an id is none.
func DecodeJSON[T DispatcherStatus | NodeStatus | NodeReply](b []byte) (*T, error) {
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
	}

	if err := ValidateID(id); err != nil {
		return nil, errors.Join(errors.New("status from JSON"), err)
	}

	return v, nil
}

package essp

import (
	"errors"
	"fmt"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/protocol"
	"skyring/protocol/bus"
)

// unreadable answers messages that tell no station: too short, of another version, or of
// station 0 (docs/essp.md section 4.3). Nothing else comes of them.
type unreadable struct{}

// Apply implements processor.Handler.
func (unreadable) Apply(_ processor.Session, m processor.Message) (processor.Result, error) {
	r := processor.Result{Discard: true}
	h, _, err := protocol.Decode(m.Payload)

	fault, faulty := errors.AsType[*protocol.DecodeError](err)
	if !faulty || h.Response() || access.IsNotice(h.Type) { // lest two sides answer each other for ever
		return r, nil
	}

	payload, err := protocol.Append(nil, protocol.Header{}, fault.Message())
	if err != nil {
		return r, fmt.Errorf("ESSP: answer to %w: %w", fault, err)
	}

	r.HasReply = true
	r.Reply = bus.Reply{Stream: m.Stream, PPID: protocol.PPID, Payload: payload}

	return r, nil
}

package processor_test

import (
	"encoding/binary"
	"fmt"

	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
)

// weatherPPID is the payload protocol of the example, one that a maker of stations chose.
const weatherPPID = 0x57454154

// weather answers each report of a station with the number of reports so far.
type weather struct{}

// Apply is pure: the session's body is all it knows, and the result all it does.
func (weather) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	if len(m.Payload) != 4 {
		return processor.Result{}, fmt.Errorf("report of %d bytes, 4 are right", len(m.Payload))
	}

	var reports uint64
	if len(s.Body) > 0 {
		reports = binary.BigEndian.Uint64(s.Body)
	}

	body := binary.BigEndian.AppendUint64(nil, reports+1)

	return processor.Result{
		Body:     body,
		HasReply: true,
		Reply:    bus.Reply{Stream: m.Stream, PPID: m.PPID, Payload: body},
	}, nil
}

// A handler gives the messages of one payload protocol their effect; all others keep
// the ledger. A processor is made with the handlers, see New.
func ExampleHandler() {
	handlers := processor.NewHandlers(ledger.Handler{}).With(weatherPPID, weather{})
	_ = handlers

	// What a processor does with two messages of a session:
	var body []byte

	for _, report := range []string{"sunn", "rain"} {
		result, err := weather{}.Apply(processor.Session{Body: body}, processor.Message{PPID: weatherPPID, Payload: []byte(report)})
		if err != nil {
			fmt.Println(err)

			return
		}

		body = result.Body
		fmt.Println("reply:", binary.BigEndian.Uint64(result.Reply.Payload))
	}
	// Output:
	// reply: 1
	// reply: 2
}

package realrun

import (
	"time"

	"skyring/processor"
	"skyring/protocol/transport"
	"skyring/testbed/compare"
	"skyring/testbed/simulate"
)

// PPID is what messages and answers have.
const PPID = ppid

// Load is what is run of a policy.
func (c Config) Load(policy string, seed uint64) (simulate.Config, error) {
	return c.load(policy, seed)
}

// Answered is a message's answer, to be put together by hand.
type Answered struct {
	At      time.Duration // from the beginning
	Node    int
	Ordinal uint64
}

// Played are messages that had these answers.
func Played(messages []simulate.Message, answers []Answered) *played {
	began := time.Now()
	p := &played{messages: messages, began: began}

	for i, a := range answers {
		p.sent = append(p.sent, messages[i].At)
		p.outcomes = append(p.outcomes, outcome{answered: began.Add(a.At), answers: 1, answer: answer{node: a.Node, ordinal: a.Ordinal}})
	}

	return p
}

// Tally is the figures.
func (p *played) Tally(c simulate.Config) compare.Figures { return p.tally(c) }

// Alone is of messages that have their station to themselves.
func (p *played) Alone(c simulate.Config) (overlapping, sameNode float64) { return p.alone(c) }

// Conserved checks effects.
func (p *played) Conserved(nodes int) error { return p.conserved(nodes) }

// FiguresOf are those of a simulation.
func FiguresOf(r simulate.Result) compare.Figures { return figuresOf(r) }

// NewNode makes a node's handler.
func NewNode(index int, stop <-chan struct{}) processor.Handler { //nolint:ireturn // the handler of a processor is what it is
	return newNode(index, stop)
}

// Again is how many messages a node handled twice.
func Again(h processor.Handler) int { return h.(*node).done().again }

// Order is a message.
func Order(station uint64, sequence uint32, work time.Duration) ([]byte, error) {
	return order{station, sequence, work}.append(nil)
}

// Answer is a node's.
func Answer(sequence uint32, ordinal uint64, node int) []byte {
	return answer{sequence, ordinal, node}.append(nil)
}

// Board puts answers to so many messages down, and says what is wrong with them.
func Board(messages int, answers ...transport.Message) (complete bool, err error) {
	var b board

	before, done := b.expect(messages)
	for _, m := range answers {
		b.deliver(m)
	}

	select {
	case <-done:
		complete = true
	default:
	}

	_, err = b.after(before)

	return complete, err
}

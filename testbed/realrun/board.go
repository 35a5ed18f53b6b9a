package realrun

import (
	"context"
	"fmt"
	"sync"
	"time"

	"skyring/protocol/transport"
)

// outcome is what became of a message.
type outcome struct {
	answered time.Time
	answer   answer
	answers  int // how many there were: 1 is right
}

// board is where answers are put down. It is safe for use by the goroutines of all associations.
type board struct {
	// static
	places chan struct{} // one token for each message without an answer; full: the generator waits. nil: there may be any number

	mu       sync.Mutex
	outcomes []outcome     // by sequence-1; guarded by mu
	waiting  int           // messages without an answer; guarded by mu
	complete chan struct{} // closed when waiting is 0; guarded by mu
	strange  int           // answers to nothing, or that cannot be read; guarded by mu
}

// expect makes room for messages and returns the sequence before the first one's, and what is closed when all have their answers. The ones before have to be
// answered.
func (b *board) expect(messages int) (before uint32, complete <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()

	before = uint32(len(b.outcomes)) //nolint:gosec // bounded by Config
	b.outcomes = append(b.outcomes, make([]outcome, messages)...)
	b.waiting = messages
	b.complete = make(chan struct{})

	return before, b.complete
}

// deliver puts an answer down.
func (b *board) deliver(m transport.Message) {
	now := time.Now()
	a, err := decodeAnswer(m.Payload)

	b.mu.Lock()
	defer b.mu.Unlock()

	if err != nil || m.PPID != ppid || a.sequence == 0 || int(a.sequence) > len(b.outcomes) {
		b.strange++

		return
	}

	o := &b.outcomes[a.sequence-1]
	if o.answers++; o.answers > 1 {
		return
	}

	if b.places != nil {
		<-b.places // the message's own: it is there
	}

	o.answered, o.answer = now, a
	if b.waiting--; b.waiting == 0 {
		close(b.complete)
	}
}

// reserve waits until there may be one more message without an answer.
func (b *board) reserve(ctx context.Context) error {
	if b.places == nil {
		return nil
	}

	late := time.NewTimer(patience)
	defer late.Stop()

	select {
	case b.places <- struct{}{}:
		return nil
	case <-late.C:
		return fmt.Errorf("no answer came in %v", patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits until all messages have their answers, or none came for long: after tells what is missing.
func (b *board) await(ctx context.Context, complete <-chan struct{}) error {
	late := time.NewTicker(patience)
	defer late.Stop()

	for left := b.left(); ; {
		select {
		case <-complete:
			return nil
		case <-late.C:
			now := b.left()
			if now == left {
				return nil
			}

			left = now
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// left is how many messages have no answer.
func (b *board) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.waiting
}

// after returns the outcomes of messages after a sequence, and an error if not each has one answer.
func (b *board) after(before uint32) ([]outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	var none, several int

	for _, o := range b.outcomes[before:] {
		switch o.answers {
		case 0:
			none++
		case 1:
		default:
			several++
		}
	}

	if none+several+b.strange > 0 {
		return nil, fmt.Errorf("of %d messages %d have no answer and %d several, and %d answers are to nothing", len(b.outcomes)-int(before), none, several, b.strange)
	}

	return append([]outcome(nil), b.outcomes[before:]...), nil
}

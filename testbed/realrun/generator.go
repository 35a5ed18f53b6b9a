package realrun

import (
	"context"
	"fmt"
	"time"

	"skyring/protocol/transport"
	"skyring/testbed/simulate"
)

const (
	lead     = 20 * time.Millisecond // from the decision to begin to the begin
	patience = 30 * time.Second      // for one more answer
	streams  = 16                    // that the stations of an association share
)

// generator sends messages when they are due.
type generator struct {
	// static
	links   []*transport.Association
	spacing uint64 // between the ids of two stations
	board   board
}

// listen starts the readers of all associations.
func (g *generator) listen(ctx context.Context, in *installation) {
	for _, link := range g.links {
		in.launch(ctx, "association", func(ctx context.Context) error {
			if err := link.Receive(ctx, g.board.deliver); ctx.Err() == nil {
				return err
			}

			return nil
		})
	}
}

// played are messages that were sent, and what became of each.
type played struct {
	messages []simulate.Message
	outcomes []outcome
	sent     []time.Duration // from the beginning
	began    time.Time
	late     time.Duration // by which messages were sent too late, on average
	stall    time.Duration // and at most
}

// response is from when a message was due to its answer.
func (p *played) response(i int) time.Duration { return p.answered(i) - p.messages[i].At }

// answered is from the beginning to a message's answer.
func (p *played) answered(i int) time.Duration { return p.outcomes[i].answered.Sub(p.began) }

// play sends messages, of which there is one at least, at their times, whether answers come or not. Errors: not each was answered once; ctx has ended.
func (g *generator) play(ctx context.Context, messages []simulate.Message) (played, error) {
	before, complete := g.board.expect(len(messages))
	p := played{messages: messages, sent: make([]time.Duration, len(messages)), began: time.Now().Add(lead)}

	due := time.NewTimer(lead)
	defer due.Stop()

	for i, m := range messages {
		due.Reset(time.Until(p.began.Add(m.At)))

		select {
		case <-due.C:
		case <-ctx.Done():
			return p, context.Cause(ctx)
		}

		if err := g.board.reserve(ctx); err != nil {
			return p, err
		}

		p.sent[i] = time.Since(p.began)
		late := p.sent[i] - m.At
		p.late += late / time.Duration(len(messages))
		p.stall = max(p.stall, late)

		if err := g.send(ctx, m, before+uint32(i)+1); err != nil { //nolint:gosec // bounded by Config
			return p, fmt.Errorf("send message %d: %w", i+1, err)
		}
	}

	if err := g.board.await(ctx, complete); err != nil {
		return p, err
	}

	var err error

	p.outcomes, err = g.board.after(before)

	return p, err
}

// send sends a message on the association and stream of its station, so that the messages of a station stay in order.
func (g *generator) send(ctx context.Context, m simulate.Message, sequence uint32) error {
	payload, err := order{station: m.Station, sequence: sequence, work: m.Work}.append(make([]byte, 0, orderSize))
	if err != nil {
		return err
	}

	number := m.Station / g.spacing
	link := g.links[number%uint64(len(g.links))]
	stream := uint16(number / uint64(len(g.links)) % streams) //nolint:gosec // under streams

	return link.Send(ctx, transport.Message{Stream: stream, PPID: ppid, Payload: payload})
}

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
	patience = 30 * time.Second      // for answers, after the last message
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

// play sends messages, of which there is one at least, at their times, whether answers come or not, and returns when it began and what became of each. Errors: not each was
// answered once; ctx has ended.
func (g *generator) play(ctx context.Context, messages []simulate.Message) (time.Time, []outcome, error) {
	before, complete := g.board.expect(len(messages))
	began := time.Now().Add(lead)

	due := time.NewTimer(lead)
	defer due.Stop()

	for i, m := range messages {
		due.Reset(time.Until(began.Add(m.At)))

		select {
		case <-due.C:
		case <-ctx.Done():
			return began, nil, context.Cause(ctx)
		}

		if err := g.send(ctx, m, before+uint32(i)+1); err != nil { //nolint:gosec // bounded by Config
			return began, nil, fmt.Errorf("send message %d: %w", i+1, err)
		}
	}

	due.Reset(patience)

	select {
	case <-complete:
	case <-due.C: // the board tells what is missing
	case <-ctx.Done():
		return began, nil, context.Cause(ctx)
	}

	outcomes, err := g.board.after(before)

	return began, outcomes, err
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

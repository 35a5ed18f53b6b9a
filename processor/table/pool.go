package table

import (
	"context"
	"fmt"
	"iter"

	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
)

// SetPool gives a beam the channels from first to last, and makes its pool when there is
// none. Channels outside of them that calls hold stay with them until they end.
func (t *Table) SetPool(ctx context.Context, beam protocol.Beam, first, last uint16) (created bool, err error) {
	edits := []edit{{key: key.Pool(nil, uint16(beam)), change: func(old []byte, _ bool) ([]byte, error) {
		if len(old) == 0 {
			return call.NewPool(beam, first, last)
		}

		return call.Resize(old, first, last)
	}}}

	if err := t.run(ctx, edits); err != nil {
		return false, fmt.Errorf("channel pool of beam %s: %w", beam, err)
	}

	return edits[0].created, nil
}

// Pool is a beam's pool; ErrAbsent when there is none.
func (t *Table) Pool(ctx context.Context, beam protocol.Beam) (*call.Pool, error) {
	body, err := t.body(ctx, key.Pool(nil, uint16(beam)))
	if err != nil {
		return nil, fmt.Errorf("channel pool of beam %s: %w", beam, err)
	}

	return call.DecodePool(body)
}

// Pools goes through all pools, in no order. The first error ends it.
func (t *Table) Pools(ctx context.Context) iter.Seq2[*call.Pool, error] {
	return func(yield func(*call.Pool, error) bool) {
		for _, body := range t.bodies(ctx, key.KindPool) {
			if body.err != nil {
				yield(nil, body.err)

				return
			}

			pool, err := call.DecodePool(body.bytes)
			if !yield(pool, err) || err != nil {
				return
			}
		}
	}
}

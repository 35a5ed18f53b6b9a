package sctpbench

import (
	"context"
	"errors"
	"time"
)

// Lane is a lane whose reader is the test.
type Lane struct{ one *lane }

// NewLane makes one that sends by write.
func NewLane(write func([]byte) error) Lane { return Lane{newLane(write)} }

// Take tells it that an echo came.
func (l Lane) Take(b []byte) { l.one.take(b) }

// Ended tells it that no more will come.
func (l Lane) Ended() { l.one.ended() }

// Sustain keeps window messages under way for a time, of which the second half counts.
func (l Lane) Sustain(ctx context.Context, window int, d time.Duration) (sent, counted int, err error) {
	o, err := lanes{l.one}.sustain(ctx, window, timing{warm: d / 2, counted: d / 2})
	return o.sent, o.counted, err
}

// Check says what came that was not sent; the lane has to have ended.
func (l Lane) Check() error { return lanes{l.one}.check() }

// MeasureStuck measures what takes no message, and says so only when it is closed.
func MeasureStuck(ctx context.Context) error {
	closed := make(chan struct{})
	l := newLane(func([]byte) error { <-closed; return errors.New("closed") })
	stuck := &site{sustain: lanes{l}.sustain, close: func() error { close(closed); l.ended(); return nil }}
	c := contestant{open: func(context.Context, int) (*site, error) { return stuck, nil }}
	_, err := c.round(ctx, Load{Associations: 1, Window: 1}, time.Millisecond)
	return err
}

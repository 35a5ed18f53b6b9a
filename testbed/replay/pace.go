package replay

import (
	"context"
	"time"
)

// forever is later than any message of a capture, and far from overflow.
const forever = 100 * 365 * 24 * time.Hour

// pace says when messages are due.
type pace struct {
	start time.Time // of the round
	speed float64   // +Inf: everything is due at once
}

// due is when something that is offset after the start of its capture is due.
func (p pace) due(offset time.Duration) time.Time {
	return p.start.Add(time.Duration(min(float64(offset)/p.speed, float64(forever))))
}

// wait returns when offset is due; early with the context's error.
func (p pace) wait(ctx context.Context, offset time.Duration) error {
	left := time.Until(p.due(offset))
	if left <= 0 {
		return ctx.Err()
	}

	timer := time.NewTimer(left)
	defer timer.Stop()

	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

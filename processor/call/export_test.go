package call

import (
	"slices"

	"skyring/processor"
)

// LeasingPools are pools as they must not be: their timer takes channels back whose holders have had them for longer than a lease (R7 switched off).
type LeasingPools struct {
	Pools

	Lease int64 // us
}

// ApplyInput takes a timer as the end of leases.
func (l LeasingPools) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	if in.Kind != processor.TimerFired {
		return l.Pools.ApplyInput(s, in)
	}
	p, err := DecodePool(s.Body)
	if err != nil {
		return processor.Result{}, err
	}
	p.Held = slices.DeleteFunc(p.Held, func(h Holding) bool { return h.Since+l.Lease <= in.Now })
	return processor.Result{Body: p.Append(nil), Keep: true}, nil
}

// ForgetfulCalls are calls as they must not be: once the release has begun they take no notice of channels that are still granted, as if the timer
// that ended the waiting for them had freed them (R7 switched off).
type ForgetfulCalls struct{ *Calls }

// ApplyInput lets a call that is being released forget that it asked for channels.
func (f ForgetfulCalls) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	c, err := Decode(s.Body)
	if err != nil {
		return processor.Result{}, err
	}
	if c.clearing() {
		for _, side := range sides() {
			if e := c.end(side); e.Hold == HoldAsked {
				e.Hold = HoldNone
			}
		}
		s.Body = c.Append(nil)
	}
	return f.Calls.ApplyInput(s, in)
}

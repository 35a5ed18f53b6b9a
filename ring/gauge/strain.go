package gauge

import "time"

// Reopening is the part of a threshold under which a node that was past it is open again.
const Reopening = 0.9

// Strain is whether a node is at its limit by what it reports of itself. The zero value says that it is not.
type Strain struct {
	held    bool
	changed bool          // at is set
	at      time.Duration // of the last change
}

// Observe takes in a report. used is the largest part used of a threshold: from 1 on the node is at its limit, and
// under Reopening it is open again; between these it stays what it is. It changes at most once in the hysteresis.
func (s *Strain) Observe(now time.Duration, used float64, hysteresis time.Duration) {
	held := used >= 1 || s.held && used >= Reopening
	if held == s.held || s.Left(now, hysteresis) > 0 {
		return
	}

	*s = Strain{held: held, changed: true, at: now}
}

// Held tells that the node is at its limit.
func (s *Strain) Held() bool { return s.held }

// Left is for how long the node cannot change yet, 0 or less: it can.
func (s *Strain) Left(now, hysteresis time.Duration) time.Duration {
	if !s.changed {
		return 0
	}

	return s.at + hysteresis - now
}

// Used is how much of a threshold is used; nothing of one that is 0, which is none.
func Used(value, threshold float64) float64 {
	if threshold <= 0 {
		return 0
	}

	return value / threshold
}

package main

import (
	"fmt"
	"io"
	"math"
	"time"

	"skyring/processor/calibrate"
)

// calibrationProgress shows rounds as they end, a line each.
type calibrationProgress struct {
	out   io.Writer
	began time.Time
	limit time.Duration
}

// say writes a line; a standard error that is gone stops nothing.
func (p *calibrationProgress) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, "%4.1f of %.0f s: "+format+"\n", append([]any{time.Since(p.began).Seconds(), p.limit.Seconds()}, args...)...)
}

func (p *calibrationProgress) round(r calibrate.Round) {
	verdict := "held"

	switch {
	case r.Held && r.Long:
		verdict = "held for long"
	case r.Held:
	case r.Failed > 0:
		verdict = fmt.Sprintf("%d messages failed", r.Failed)
	case r.Stopped:
		verdict = "far too much"
	default:
		verdict = "too much"
	}

	p.say("%.0f messages/s, p99 %s, CPU %.0f %%, Redis %.0f %%: %s", r.Offered, milliseconds(r.P99), 100*r.CPU, 100*r.Redis, verdict)
}

// milliseconds is a duration as people read it here.
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3g ms", math.Round(10*float64(d)/float64(time.Millisecond))/10)
}

// calibrationReport is the result as --json promises it to other programs.
type calibrationReport struct {
	Capacity      uint32             `json:"capacity"` // messages a second
	P99Seconds    float64            `json:"p99Seconds"`
	TargetSeconds float64            `json:"responseTargetSeconds"`
	Confirmed     bool               `json:"confirmed"` // by a longer round
	LimitedBy     string             `json:"limitedBy"`
	Rounds        []calibrationRound `json:"rounds"`
}

type calibrationRound struct {
	Offered    float64 `json:"offered"`  // messages a second
	Answered   float64 `json:"answered"` // messages a second
	P50Seconds float64 `json:"p50Seconds"`
	P99Seconds float64 `json:"p99Seconds"`
	Failed     int     `json:"failed"`
	CPU        float64 `json:"cpu"`   // 0 to 1
	Redis      float64 `json:"redis"` // 0 to 1
	Held       bool    `json:"held"`
}

func newCalibrationReport(cfg calibrate.Config, result calibrate.Result) *calibrationReport {
	r := &calibrationReport{
		Capacity: result.Capacity, P99Seconds: result.P99.Seconds(), TargetSeconds: cfg.Target.Seconds(), Confirmed: result.Confirmed,
		LimitedBy: result.Limit.String(), Rounds: []calibrationRound{},
	}
	for _, one := range result.Rounds {
		r.Rounds = append(r.Rounds, calibrationRound{
			Offered: one.Offered, Answered: one.Answered, P50Seconds: one.P50.Seconds(), P99Seconds: one.P99.Seconds(), Failed: one.Failed,
			CPU: one.CPU, Redis: one.Redis, Held: one.Held,
		})
	}

	return r
}

func printCalibration(w io.Writer, cfg calibrate.Config, r calibrate.Result) error {
	if r.Capacity == 0 {
		return nil
	}

	sure := "confirmed by a longer round"
	if !r.Confirmed {
		sure = "not confirmed by a longer round: give --calibrate-seconds more"
	}

	_, err := fmt.Fprintf(w, `sustained: %d messages/s, 99 of 100 answered within %s (target %s), %s
in the way of more: %s
The load generator and a NATS server took their part of this machine meanwhile, so that this is on the safe side.

Write into the configuration:

processor:
  capacity: %d
`, r.Capacity, milliseconds(r.P99), cfg.Target, sure, r.Limit, r.Capacity)

	return err
}

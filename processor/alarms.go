package processor

import (
	"fmt"

	"github.com/rs/zerolog"

	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
)

// format makes a key printable.
func format(k []byte) string { return key.Format(k) }

// condemned tells that one more failure of a message sets it aside.
func (w *worker) condemned(env *bus.Envelope) bool {
	n, _ := w.strikes.Get(messageID{env.Epoch, env.Sequence})
	return n+1 >= w.cfg.Strikes
}

// decide makes a group's answers final, and counts the failures of its handler.
func (w *worker) decide(g *group) {
	g.decided = true
	for _, f := range g.out.faults {
		id := messageID{f.envelope.Epoch, f.envelope.Sequence}
		n, _ := w.strikes.Get(id)
		w.strikes.Add(id, n+1)
		w.handlerFaults.Add(1)
		level := zerolog.WarnLevel
		if n+1 >= w.cfg.Strikes {
			level = zerolog.ErrorLevel
		}
		w.log.WithLevel(level).Err(f.err).Str("session", format(g.input.key)).Uint32("ppid", f.envelope.PPID).Str("epoch", fmt.Sprintf("%016x", id.epoch)).
			Uint64("sequence", id.sequence).Int("failures", n+1).Int("of", w.cfg.Strikes).Msg("handler failed on a message")
	}
}

// rolledBack tells that the store lost writes which it had acknowledged. The session goes on from what there is.
func (w *worker) rolledBack(g *group, current *statestore.Record) {
	w.rollbacks.Add(1)
	w.alarms.Do(func() {
		w.log.Error().Str("session", format(g.input.key)).Uint64("seen", g.hint.record.Version).Uint64("found", current.Stamp().Version).
			Uint64("rollbacks", w.rollbacks.Load()).Msg("the state store lost writes that it had acknowledged")
	})
}

// reachable logs when the store goes away and when it is back.
func (p *Processor) reachable(err error) {
	if away := err != nil; p.away.Swap(away) != away {
		if away {
			p.log.Warn().Err(err).Msg("the state store does not answer; messages are answered unavailable until it does")
		} else {
			p.log.Info().Msg("the state store answers again")
		}
	}
}

package processor

import (
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/key"
	"skyring/statestore"
)

// format makes a key printable.
func format(k []byte) string { return key.Format(k) }

// condemned tells that one more failure of something sets it aside.
func (w *worker) condemned(id failureID) bool {
	n, _ := w.strikes.Get(id)
	return n+1 >= w.cfg.Strikes
}

// decide makes a group's answers final, and counts the failures of its handler.
func (w *worker) decide(g *group) {
	g.decided = true
	for _, f := range g.out.faults {
		n, _ := w.strikes.Get(f.id)
		w.strikes.Add(f.id, n+1)
		w.handlerFaults.Add(1)
		if errors.Is(f.err, errNoHandler) { // it comes again until a processor has the handler
			w.sometimes.Do(func() {
				w.log.Warn().Err(f.err).Str("session", format(g.input.key)).Msg("left to another version of the program")
			})
			continue
		}
		level, text := zerolog.WarnLevel, "handler failed on a "
		if f.final {
			level, text = zerolog.ErrorLevel, "handler failed for good, set aside a "
			if f.input != FromAssociation { // those are counted as they are answered
				w.setAside.Add(1)
			}
		}
		w.log.WithLevel(level).Err(f.err).Str("session", format(g.input.key)).Uint32("ppid", f.ppid).Str("epoch", fmt.Sprintf("%016x", f.id.epoch)).
			Uint64("sequence", f.id.sequence).Int("failures", n+1).Int("of", w.cfg.Strikes).Msg(text + f.input.String())
	}
	for _, what := range g.out.lost {
		if w.engine.without == rollbackRule {
			break
		}
		w.rollbacks.Add(1)
		w.log.Error().Str("session", format(g.input.key)).Uint64("rollbacks", w.rollbacks.Load()).
			Msg("the state store lost writes that it had acknowledged: " + what)
	}
	if n := g.out.dropped; n > 0 {
		w.legDropped.Add(uint64(n))
		w.log.Warn().Str("session", format(g.input.key)).Int("dropped", n).Msg("too many messages wait for a station without association")
	}
}

// rolledBack tells that the store lost writes which it had acknowledged. The session goes on from what there is.
func (w *worker) rolledBack(g *group, current *statestore.Record) {
	if w.engine.without == rollbackRule {
		return
	}
	w.rollbacks.Add(1)
	w.alarms.Do(func() {
		w.log.Error().Str("session", format(g.input.key)).Uint64("seen", g.hint.record.Version).Uint64("found", current.Stamp().Version).
			Uint64("rollbacks", w.rollbacks.Load()).Msg("the state store lost writes that it had acknowledged")
	})
}

// recovery is how long nothing may have failed before the store is said to be back: what was under way when it went, or came, fails late.
const recovery = time.Second

// reachable logs when the store goes away and when it is back, once each.
func (p *Processor) reachable(err error) {
	now := time.Now()
	switch {
	case err != nil:
		p.failed.Store(now.UnixNano())
		if !p.away.Swap(true) {
			p.log.Warn().Err(err).Msg("the state store does not answer; messages are answered unavailable until it does")
		}
	case p.away.Load() && now.UnixNano()-p.failed.Load() >= recovery.Nanoseconds() && p.away.Swap(false):
		p.log.Warn().Msg("the state store answers again")
		p.distrust() // it may be another one, or have come back older
	}
}

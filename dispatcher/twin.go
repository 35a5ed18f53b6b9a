package dispatcher

import (
	"sync"

	"skyring/protocol/bus"
)

// maxTwins bounds the incarnations that are remembered; further ones are taken for known.
const maxTwins = 256

// twins are the other live processes that have shown themselves under the dispatcher's id:
// a person must act, since what is for the one reaches the other too.
type twins struct {
	mu   sync.Mutex
	seen map[uint64]struct{} // by incarnation; guarded by mu
}

// add notes an incarnation and tells whether it is new.
func (t *twins) add(incarnation uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()

	if _, known := t.seen[incarnation]; known || len(t.seen) >= maxTwins {
		return false
	}

	if t.seen == nil {
		t.seen = make(map[uint64]struct{})
	}

	t.seen[incarnation] = struct{}{}

	return true
}

func (t *twins) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()

	return len(t.seen)
}

// onHello takes the hellos of dispatchers. One with our id and another incarnation is of
// a twin: whoever had the id before us is not alive to say hello.
func (d *Dispatcher) onHello(m bus.Message) {
	h, err := bus.DecodeHello(m.Data)
	if err != nil {
		d.count.drop(DropHello, 1)
		d.log.Warn().Err(err).Msg("hello refused")

		return
	}

	if h.ID == d.cfg.ID && h.Incarnation != d.incarnation {
		d.onTwin(h.Incarnation)
	}
}

// onForeignAnswers takes note of answers for another incarnation. Soon after our start
// they are for who had the id before; later than any attempt of that one lives, for a twin.
func (d *Dispatcher) onForeignAnswers(incarnation uint64) {
	if d.now() > 2*d.cfg.Expiry {
		d.onTwin(incarnation)
	}
}

// onTwin raises the alarm, once for each incarnation, and lets that one know.
func (d *Dispatcher) onTwin(incarnation uint64) {
	if !d.twins.add(incarnation) {
		return
	}

	d.log.Error().Str("id", d.cfg.ID).Str("incarnation", bus.Hex(d.incarnation).String()).
		Str("other", bus.Hex(incarnation).String()).
		Msg("two live dispatchers have this id: give one of them another")
	d.hello()
}

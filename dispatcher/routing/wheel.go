package routing

import "time"

const (
	wheelTick  = 5 * time.Millisecond // resolution: a timer fires up to this much late, never early
	wheelSlots = 1024                 // 5.12 s a turn; later timers stay for another
)

// timer fires for exactly one of entry and session.
type timer struct {
	place   hook[timer]
	tick    int64
	entry   *entry
	session *session
}

// wheel is a hashed timer wheel (G. Varghese, A. Lauck, "Hashed and Hierarchical
// Timing Wheels", SOSP 1987): arming and stopping cost the same whatever the number
// of timers. Timers of one tick fire in the order in which they were armed.
type wheel struct {
	slots [wheelSlots]list[timer]
	tick  int64 // the tick whose slot is looked at next
	left  int   // how many timers of that slot are still to be looked at; -1: not begun
}

// arm sets a timer, armed or not, to fire at a time of the core's clock.
func (w *wheel) arm(t *timer, at time.Duration) {
	t.place.remove()

	first := w.tick
	if w.left >= 0 {
		first++ // those of w.tick are being looked at
	}

	t.tick = max(int64((at+wheelTick-1)/wheelTick), first)
	w.slots[t.tick%wheelSlots].pushBack(&t.place)
}

// due removes and returns a timer whose time has come, nil when there is none.
func (w *wheel) due(now time.Duration) *timer {
	for last := int64(now / wheelTick); w.tick <= last; {
		slot := &w.slots[w.tick%wheelSlots]
		if w.left < 0 {
			w.left = slot.len()
		}

		for ; w.left > 0; w.left-- {
			t := slot.front()
			if t == nil {
				break
			}

			t.place.remove()

			if t.tick <= w.tick {
				w.left--

				return t
			}

			slot.pushBack(&t.place)
		}

		w.tick++
		w.left = -1
	}

	return nil
}

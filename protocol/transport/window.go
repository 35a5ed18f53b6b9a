package transport

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"skyring/protocol/transport/packet"
)

// window makes up for what pion leaves out when a slow receiver closes the window: pion sends no SACK when the receiver
// has read on, so the peer would learn it by its own probes only, seconds later. When enough has been read, window
// has pion take a packet again that it refused, or one that it has seen, with the I bit: either makes it send a SACK.
type window struct {
	narrow atomic.Bool // less than half was advertised

	mu         sync.Mutex
	size       uint32 // static but for tests
	cumulative uint32 // TSN of the last SACK sent
	advertised uint32
	read       uint32    // bytes read since that SACK
	held       []byte    // a packet with DATA that came while the window was shut
	heldTSN    uint32    // of its first DATA
	shutAt     time.Time // since when it is shut and nothing was read
}

// shutBelow is a window that a peer takes for shut.
const shutBelow = 1500

// advertise notes a SACK that pion sends. It reports whether that shuts the window, which was open before.
func (w *window) advertise(cumulative, advertised uint32) (shuts bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	narrow := advertised < w.size/2
	w.cumulative, w.advertised, w.read = cumulative, advertised, 0
	if narrow && advertised < shutBelow {
		shuts = w.shutAt.IsZero()
		if shuts {
			w.shutAt = time.Now()
		}
	} else {
		w.shutAt, w.held = time.Time{}, nil
	}
	if int32(w.heldTSN-cumulative) <= 0 { // pion had room for it
		w.held = nil
	}
	w.narrow.Store(narrow)
	return shuts
}

// hold keeps a packet that pion may be about to refuse, if it is the first.
func (w *window) hold(b []byte) {
	if !w.narrow.Load() {
		return
	}
	tsn, ok := firstTSN(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if ok && w.advertised < shutBelow && w.held == nil && int32(tsn-w.cumulative) > 0 {
		w.held, w.heldTSN = append([]byte(nil), b...), tsn
	}
}

// forget lets go of the packet that is kept.
func (w *window) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = nil
}

func firstTSN(b []byte) (uint32, bool) {
	for c, err := range packet.Chunks(b) {
		if err == nil && c.Type == packet.TypeData {
			return binary.BigEndian.Uint32(c.Value), true
		}
	}
	return 0, false
}

// consumed notes that the receiver has read a message. It returns a packet for pion when the peer should hear of it.
func (w *window) consumed(n int) []byte {
	if !w.narrow.Load() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shutAt = time.Time{}
	w.read += uint32(n)
	if w.read < w.size/4 {
		return nil
	}
	w.read = 0
	if b := w.held; b != nil {
		w.held = nil
		return b
	}
	return w.nudge()
}

// nudge is a packet with a DATA chunk that pion has acknowledged before and wants acknowledged at once.
func (w *window) nudge() []byte {
	b := packet.Header{SourcePort: 1, DestinationPort: 1}.Append(make([]byte, 0, 32))
	b = packet.Data{TSN: w.cumulative, Beginning: true, Ending: true, Payload: []byte{0}}.Append(b)
	b[packet.HeaderLen+dataFlags] |= packet.FlagImmediate
	return b
}

func (w *window) lastCumulative() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cumulative
}

// shutFor tells how long the window has been shut with nothing read, 0 for not.
func (w *window) shutFor(now time.Time) time.Duration {
	if !w.narrow.Load() {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shutAt.IsZero() {
		return 0
	}
	return now.Sub(w.shutAt)
}

// cumulativeTSN reads the cumulative TSN of a SACK or SHUTDOWN.
func cumulativeTSN(c packet.Chunk) (uint32, bool) {
	if len(c.Value) < 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(c.Value), true
}

package echo

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"skyring/protocol/transport"
)

const (
	port     = 9899 // SCTP's
	setup    = 30 * time.Second
	patience = time.Minute // for the last echoes
	longest  = 10 * time.Minute
)

// measurement is one under way.
type measurement struct {
	// static
	cfg   Config
	begun time.Time
	all   int           // messages that are to be sent
	done  chan struct{} // closed when all are back

	mu           sync.Mutex
	sent, echoed int
	times        *hdrhistogram.Histogram
}

// measure sends on all associations and waits for the echoes.
func (s *site) measure(ctx context.Context) (*Result, error) {
	associations, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.emulator.Impair(s.cfg.Link, s.cfg.Link); err != nil {
		return nil, err
	}
	m := &measurement{
		cfg: s.cfg, begun: time.Now(), all: s.cfg.Associations * s.cfg.messages(), done: make(chan struct{}),
		times: hdrhistogram.New(1, longest.Microseconds(), 3),
	}
	// The last message is due after Duration; then patience begins.
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Duration+patience)
	defer cancel()
	var failed firstError
	var sending sync.WaitGroup
	for i, a := range associations {
		s.tasks.Go(func() { failed.note(a.Receive(context.WithoutCancel(ctx), m.take), cancel) })
		sending.Go(func() { failed.note(m.send(ctx, a, i), cancel) })
	}
	select {
	case <-m.done:
	case <-ctx.Done():
		failed.note(fmt.Errorf("wait for the echoes: %w", ctx.Err()), cancel)
	}
	sending.Wait()
	err = failed.get() // before the associations are ended
	for _, a := range associations {
		a.Abort("measured")
	}
	result := m.result()
	result.Link = s.emulator.Stats()
	return result, err
}

// send sends an association's messages when they are due; associations take turns in each period.
func (m *measurement) send(ctx context.Context, a *transport.Association, number int) error {
	period := time.Duration(float64(time.Second) / m.cfg.Rate)
	due := period * time.Duration(number) / time.Duration(m.cfg.Associations)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range m.cfg.messages() {
		timer.Reset(due - time.Since(m.begun))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the next message: %w", ctx.Err())
		}
		payload := make([]byte, m.cfg.Size)
		binary.BigEndian.PutUint64(payload, uint64(due))
		if err := a.Send(ctx, transport.Message{Stream: uint16(i % int(m.cfg.Streams)), PPID: 60, Payload: payload}); err != nil {
			return err
		}
		m.count()
		due += period
	}
	return nil
}

func (m *measurement) count() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent++
}

// take notes an echo.
func (m *measurement) take(echo transport.Message) {
	now := time.Since(m.begun)
	due := time.Duration(binary.BigEndian.Uint64(echo.Payload))
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.times.RecordValue(min(max(now-due, time.Microsecond), longest).Microseconds()) // fails out of bounds only
	if m.echoed++; m.echoed == m.all {
		close(m.done)
	}
}

func (m *measurement) result() *Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Result{Sent: m.sent, Echoed: m.echoed, Times: hdrhistogram.Import(m.times.Export())}
}

// firstError keeps what went wrong first.
type firstError struct {
	mu  sync.Mutex
	err error
}

// note keeps an error, if it is the first, and stops the rest.
func (f *firstError) note(err error, stop func()) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
		stop()
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

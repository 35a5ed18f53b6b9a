package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

const (
	statusHeader  = "Status"
	statusNobody  = "503"
	subjectHeader = "Nats-Subject" // nats-server 2.12 and later
)

// Subscription is one interest in a subject.
type Subscription struct{ sub *nats.Subscription }

// Subscribe calls handle for each message on a subject, one after another on a
// goroutine of its own. Messages beyond cfg.PendingMessages or cfg.PendingBytes
// that wait for it are dropped and counted (ConnStats.SlowConsumer).
func (c *Conn) Subscribe(subject string, handle func(Message)) (*Subscription, error) {
	sub, err := c.nats.Subscribe(subject, func(m *nats.Msg) { handle(message(m)) })
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}

	if err := sub.SetPendingLimits(c.cfg.PendingMessages, c.cfg.PendingBytes); err != nil {
		return nil, errors.Join(fmt.Errorf("pending limits of %s: %w", subject, err), sub.Unsubscribe())
	}

	return &Subscription{sub: sub}, nil
}

func message(m *nats.Msg) Message {
	out := Message{Subject: m.Subject, Reply: m.Reply, Data: m.Data}
	if len(m.Data) == 0 && m.Header.Get(statusHeader) == statusNobody {
		out.NoResponders = true
		out.For = m.Header.Get(subjectHeader)
	}

	return out
}

// Unsubscribe ends the interest; messages that wait are not handled any more.
func (s *Subscription) Unsubscribe() error {
	if err := s.sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("unsubscribe from %s: %w", s.sub.Subject, err)
	}

	return nil
}

// Drain ends the interest and lets messages that have arrived be handled.
func (s *Subscription) Drain() error {
	if err := s.sub.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("drain subscription to %s: %w", s.sub.Subject, err)
	}

	return nil
}

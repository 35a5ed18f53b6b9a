package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// ErrNoResponders is the end of a Request or Collect for which nobody listens.
var ErrNoResponders = errors.New("nobody listens")

// maxCollected is how many answers may wait to be taken; further ones are dropped.
const maxCollected = 8192

// Collect publishes a query and hands each answer to take, one after another, until
// take returns false or ctx ends, which is no error: it is how a query ends whose
// answers nobody has counted. It is ErrNoResponders when nobody listens.
func (c *Conn) Collect(ctx context.Context, subject string, query []byte, take func(data []byte) bool) (err error) {
	answers := make(chan *nats.Msg, maxCollected)

	sub, err := c.nats.ChanSubscribe(c.nats.NewInbox(), answers)
	if err != nil {
		return fmt.Errorf("subscribe to answers from %s: %w", subject, err)
	}

	defer func() { err = errors.Join(err, (&Subscription{sub}).Unsubscribe()) }()

	if err := c.Publish(subject, sub.Subject, query); err != nil {
		return err
	}

	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-answers:
			if message(m).NoResponders {
				return fmt.Errorf("query to %s: %w", subject, ErrNoResponders)
			}

			if !take(m.Data) {
				return nil
			}
		}
	}
}

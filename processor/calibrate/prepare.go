package calibrate

import (
	"context"
	"fmt"
	"time"

	"skyring/processor/access"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/statestore"
)

const (
	readyLook = 10 * time.Millisecond
	patience  = 30 * time.Second // for what comes before the rounds, and for the last answers of one
	window    = 256              // messages in flight before the rounds
)

// prepare waits for the processor, logs all stations on and lets every session speak once, so that no round makes new ones.
func (g *generator) prepare(ctx context.Context, store *statestore.Store, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := await(ctx, ready); err != nil {
		return fmt.Errorf("the processor is not ready: %w", err)
	}
	asked := time.Now()
	redis, err := store.Time(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what was done
	}
	g.ahead = time.UnixMicro(redis).Sub(asked)
	entries := make([]table.Entry, len(g.mix.stations))
	for i, s := range g.mix.stations {
		entries[i] = table.Entry{ID: s.station, Profile: access.Profile{Key: s.secret(), Beams: []protocol.Beam{beam}, MaxCalls: 1, MaxPriority: protocol.MaxPriority}}
	}
	if _, err := table.New(store).Put(ctx, entries, table.Add); err != nil {
		return err //nolint:wrapcheck // it says what was done
	}
	if err := g.logOn(ctx); err != nil {
		return fmt.Errorf("log on %d stations: %w", len(entries), err)
	}
	_, err = g.exchange(ctx, len(g.mix.foreign), func(i int) (bus.Envelope, error) {
		return g.mix.foreign[i].envelope(foreignPPID, g.mix.payload), nil
	})
	return err
}

// await asks until there is no error.
func await(ctx context.Context, ready func() error) error {
	tick := time.NewTicker(readyLook)
	defer tick.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// logOn takes every station through challenge and proof.
func (g *generator) logOn(ctx context.Context) error {
	stations := g.mix.stations
	challenges, err := g.exchange(ctx, len(stations), func(i int) (bus.Envelope, error) {
		return stations[i].says(protocol.Header{}, protocol.LogonRequest{BootNonce: boot, Class: 0, Beam: beam})
	})
	if err != nil {
		return err
	}
	confirmations, err := g.exchange(ctx, len(stations), func(i int) (bus.Envelope, error) {
		_, m, err := protocol.Decode(challenges[i])
		if err != nil {
			return bus.Envelope{}, err //nolint:wrapcheck // it says what was decoded
		}
		challenge, ok := m.(protocol.LogonChallenge)
		if !ok {
			return bus.Envelope{}, fmt.Errorf("a log-on was answered by %v", m.Type())
		}
		s := stations[i]
		secret := s.secret()
		return s.says(protocol.Header{}, protocol.LogonAuth{
			BootNonce: boot, Beam: beam, Nonce: challenge.Nonce, Proof: protocol.LogonProof(secret[:], s.station, challenge.Nonce, boot, beam),
		})
	})
	if err != nil {
		return err
	}
	_, err = g.exchange(ctx, len(stations), func(i int) (bus.Envelope, error) {
		h, m, err := protocol.Decode(confirmations[i])
		if err != nil {
			return bus.Envelope{}, err //nolint:wrapcheck // it says what was decoded
		}
		if m.Type() != protocol.TypeLogonConfirm {
			return bus.Envelope{}, fmt.Errorf("a proof was answered by %v", m.Type())
		}
		return stations[i].says(h.Answer(), protocol.LogonAck{})
	})
	return err
}

// exchange sends n messages, some at a time, and gives their replies.
func (g *generator) exchange(ctx context.Context, n int, message func(int) (bus.Envelope, error)) ([][]byte, error) {
	replies := make([][]byte, n)
	for from := 0; from < n; from += window {
		to := min(n, from+window)
		var frame []bus.Envelope
		for i := from; i < to; i++ {
			e, err := message(i)
			if err != nil {
				return nil, err
			}
			frame = append(frame, e)
		}
		first := g.entry + 1
		if err := g.send(frame, make([]bool, len(frame)), time.Now()); err != nil {
			return nil, err
		}
		for range frame {
			select {
			case a := <-g.replies:
				if !succeeded(a.Status) {
					return nil, fmt.Errorf("a message is %v", a.Status)
				}
				replies[from+int(a.Entry-first)] = a.Reply.Payload
			case <-ctx.Done():
				return nil, fmt.Errorf("not all messages are answered: %w", ctx.Err())
			}
		}
	}
	return replies, nil
}

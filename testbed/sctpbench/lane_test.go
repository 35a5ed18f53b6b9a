package sctpbench_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skyring/testbed/sctpbench"
)

// echoer is how message number n of a lane comes back.
type echoer func(l sctpbench.Lane, n int, b []byte) error

func good(l sctpbench.Lane, _ int, b []byte) error {
	l.Take(b)
	return nil
}

// sustain has a lane of that keep up its window for 20 ms, of which sending a message takes one. Time is that of synctest.
func sustain(t *testing.T, echo echoer) (l sctpbench.Lane, sent, counted int, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("gave up"))
	defer cancel()
	n := 0
	l = sctpbench.NewLane(func(b []byte) error {
		n++
		<-time.After(time.Millisecond)
		return echo(l, n-1, slices.Clone(b))
	})
	sent, counted, err = l.Sustain(ctx, 2, 20*time.Millisecond)
	return l, sent, counted, err
}

// TestGoodLane counts a part of what was sent: not the warm-up.
func TestGoodLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, sent, counted, err := sustain(t, good)
		if err != nil || sent != 20 || counted != 10 {
			t.Errorf("%d sent, %d counted, %v; want 20, 10", sent, counted, err)
		}
		l.Ended()
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	})
}

// TestBadLanes finds what is wrong with echoes.
func TestBadLanes(t *testing.T) {
	t.Parallel()
	var held []byte
	for name, bad := range map[string]struct {
		echo echoer
		want string
	}{
		"doubled": {func(l sctpbench.Lane, n int, b []byte) error {
			l.Take(b)
			if n == 5 {
				l.Take(b)
			}
			return nil
		}, "echo 5 came instead of 6"},
		"out of order": {func(l sctpbench.Lane, n int, b []byte) error {
			if n == 4 {
				held = b
				return nil
			}
			l.Take(b)
			if n == 5 {
				l.Take(held)
			}
			return nil
		}, "echo 5 came instead of 4"},
		"cut": {func(l sctpbench.Lane, n int, b []byte) error {
			l.Take(b[:len(b)-min(n, 1)])
			return nil
		}, "echo 1 is not of 128 bytes"},
		"lost": {func(l sctpbench.Lane, n int, b []byte) error {
			if n != 3 {
				l.Take(b)
			}
			return nil
		}, "echo 4 came instead of 3"},
		"lost at the end": {func(l sctpbench.Lane, n int, b []byte) error {
			if n < 3 {
				l.Take(b)
			}
			return nil
		}, "gave up"},
		"ended": {func(l sctpbench.Lane, n int, b []byte) error {
			switch {
			case n < 3:
				l.Take(b)
			case n == 3:
				l.Ended()
			}
			return nil
		}, "the association ended"},
		"not sent": {func(sctpbench.Lane, int, []byte) error { return errors.New("no room") }, "send: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if _, _, _, err := sustain(t, bad.echo); err == nil || !strings.Contains(err.Error(), bad.want) {
					t.Errorf("%v, want %q", err, bad.want)
				}
			})
		})
	}
}

// TestSurplus finds what comes when nobody waits for anything more, however much that is.
func TestSurplus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _, _, err := sustain(t, good)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			l.Take(make([]byte, 128))
		}
		l.Ended()
		if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), "1000 messages came back that nobody had sent") {
			t.Errorf("%v", err)
		}
	})
}

// TestStuckSender gives up when a message cannot even be sent.
func TestStuckSender(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if err := sctpbench.MeasureStuck(t.Context()); err == nil || !strings.Contains(err.Error(), "a message did not come back within 30s") {
			t.Errorf("%v", err)
		}
	})
}

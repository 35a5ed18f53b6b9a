package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"skyring/protocol/transport"
)

func TestBothDirections(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	if in, out := dialled.Streams(); in != 16 || out != 16 {
		t.Errorf("streams %d %d", in, out)
	}
	if dialled.PeerPort() != 2905 || accepted.LocalPort() != 2905 || accepted.PeerPort() != dialled.LocalPort() {
		t.Error("ports do not fit")
	}
	if accepted.PeerAddr() != client.LocalAddr() {
		t.Errorf("peer is %s, want %s", accepted.PeerAddr(), client.LocalAddr())
	}
	for _, way := range []struct{ from, to *transport.Association }{{dialled, accepted}, {accepted, dialled}} {
		messages := collect(t, way.to)
		for _, m := range sample() {
			if err := way.from.Send(deadline(t), m); err != nil {
				t.Fatal(err)
			}
		}
		check(t, sample(), messages)
	}
}

func TestIPv6(t *testing.T) {
	link := func() transport.Link {
		l, err := transport.ListenUDP(netip.MustParseAddrPort("[::1]:0"))
		if err != nil {
			t.Skipf("this machine has no IPv6: %v", err)
		}
		return l
	}
	server, _ := startOn(t, link(), steady())
	client, _ := startOn(t, link(), steady())
	dialled, accepted := connect(t, client, server)
	if addr := accepted.PeerAddr(); !addr.Addr().Is6() || addr != client.LocalAddr() {
		t.Errorf("peer is %s, want %s", addr, client.LocalAddr())
	}
	messages := collect(t, accepted)
	for _, m := range sample() {
		if err := dialled.Send(deadline(t), m); err != nil {
			t.Fatal(err)
		}
	}
	check(t, sample(), messages)
	if err := dialled.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantReason(t, accepted, transport.PeerShutdown)
}

// A link-local address names its interface too, which a cookie does not hold.
func TestLinkLocalPeer(t *testing.T) {
	link := &hole{ended: make(chan struct{})}
	e, _ := startOn(t, link, steady())
	from := netip.MustParseAddrPort("[fe80::1%eth0]:9899")
	if a := handMade(t, e, link, from); a.PeerAddr() != from {
		t.Errorf("peer is %s", a.PeerAddr())
	}
}

// sample is messages of all kinds and sizes.
func sample() (messages []transport.Message) {
	random := rand.New(rand.NewPCG(1, 2))
	for i, size := range []int{1, 3, 100, 1159, 1160, 1163, 1164, 20_000, 60_000, 64 << 10, 5} {
		for _, unordered := range []bool{false, true} {
			for _, ppid := range []uint32{0, 3, 46, 50, 60, 0xFFFFFFFF} {
				payload := make([]byte, size)
				for j := range payload {
					payload[j] = byte(random.Uint32())
				}
				messages = append(messages, transport.Message{
					Stream: uint16(i % 16), PPID: ppid, Unordered: unordered, Payload: payload,
				})
			}
		}
	}
	return messages
}

// check compares what came with what was sent: all of it, and what is ordered in order.
func check(t *testing.T, sent []transport.Message, received <-chan transport.Message) {
	t.Helper()
	type way struct {
		stream    uint16
		unordered bool
	}
	want := map[way][]transport.Message{}
	for _, m := range sent {
		k := way{m.Stream, m.Unordered}
		want[k] = append(want[k], m)
	}
	for range sent {
		m := next(t, received)
		k := way{m.Stream, m.Unordered}
		at := slices.IndexFunc(want[k], func(w transport.Message) bool {
			return w.PPID == m.PPID && bytes.Equal(w.Payload, m.Payload)
		})
		if at < 0 || at > 0 && !m.Unordered {
			t.Fatalf("%+v: PPID %d with %d bytes was not sent, or comes at the wrong place", k, m.PPID, len(m.Payload))
		}
		want[k] = slices.Delete(want[k], at, at+1)
	}
}

func TestManyAssociationsOnOnePort(t *testing.T) {
	const associations, each = 40, 30
	server, client := start(t, steady()), start(t, steady())
	var group sync.WaitGroup
	for i := range associations {
		dialled, accepted := connect(t, client, server)
		group.Go(func() {
			_ = accepted.Receive(context.Background(), func(m transport.Message) {
				if err := accepted.Send(context.Background(), m); err != nil {
					t.Error(err)
				}
			})
		})
		answers := collect(t, dialled)
		group.Go(func() {
			for j := range each {
				text := fmt.Sprintf("%d/%d", i, j)
				if err := dialled.Send(context.Background(), transport.Message{PPID: 60, Payload: []byte(text)}); err != nil {
					t.Error(err)
					return
				}
				if m := <-answers; string(m.Payload) != text {
					t.Errorf("got %q, want %q", m.Payload, text)
					return
				}
			}
			if err := dialled.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := server.Stats().Associations; n != 0 {
		t.Errorf("%d associations left", n)
	}
}

func TestSendRefusals(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, _ := connect(t, client, server)
	long := make([]byte, 64<<10+1)
	for _, c := range []struct {
		m    transport.Message
		want error
	}{
		{transport.Message{}, transport.ErrEmpty},
		{transport.Message{Stream: 16, Payload: []byte("x")}, transport.ErrStream},
		{transport.Message{Payload: long}, transport.ErrTooLong},
	} {
		if err := dialled.Send(deadline(t), c.m); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
	dialled.Abort("enough")
	if err := dialled.Send(deadline(t), transport.Message{Payload: []byte("x")}); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestManyStreams(t *testing.T) {
	cfg := steady()
	cfg.Streams = 2048
	server, client := start(t, cfg), start(t, cfg)
	dialled, accepted := connect(t, client, server)
	messages := collect(t, accepted)
	var sent []transport.Message
	for i := range uint16(2048) {
		m := transport.Message{Stream: i, PPID: 60, Unordered: i%2 == 0, Payload: fmt.Appendf(nil, "stream %d", i)}
		sent = append(sent, m)
		if err := dialled.Send(deadline(t), m); err != nil {
			t.Fatal(err)
		}
	}
	check(t, sent, messages)
}

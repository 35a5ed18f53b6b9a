package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// sick is a link whose socket fails: what is written goes nowhere, and what is read is an error.
type sick struct {
	transport.Link

	writes  atomic.Bool // they fail
	written atomic.Uint32
	reads   atomic.Int32 // so many fail, the next ones
}

var errReadFailed = errors.New("read failed")

func (l *sick) WritePacket(b []byte, to transport.Peer) error {
	if !l.writes.Load() {
		return l.Link.WritePacket(b, to)
	}
	list := [...]syscall.Errno{
		syscall.EPERM, syscall.ENETUNREACH, syscall.EMSGSIZE, syscall.ENOBUFS, syscall.ECONNREFUSED, syscall.ENETDOWN, syscall.EAGAIN,
	}
	return &net.OpError{Op: "write", Net: "udp", Err: os.NewSyscallError("sendto", list[int(l.written.Add(1))%len(list)])}
}

func (l *sick) ReadPacket(b []byte) (int, transport.Peer, error) {
	n, from, err := l.Link.ReadPacket(b)
	if l.reads.Load() > 0 && err == nil {
		l.reads.Add(-1)
		return 0, transport.Peer{}, errReadFailed
	}
	return n, from, err
}

// shortly is a context that ends soon, for what is to fail.
func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// While the socket refuses everything, associations wait; when it is well again, they go on, and nothing is lost.
func TestSocketRefusesToSend(t *testing.T) {
	link := &sick{Link: listenUDP(t)}
	client, _ := startOn(t, link, steady())
	server := start(t, steady())
	dialled, accepted := connect(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	link.writes.Store(true)
	const messages = 20
	for n := range messages {
		if err := dialled.Send(deadline(t), transport.Message{Payload: fmt.Append(nil, n)}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 8 { // a heartbeat each
		transport.Beat(dialled, time.Now().Add(time.Duration(n+1)*6*time.Second))
	}
	eventually(t, "each kind of error has come", func() bool { return client.Stats().Count(transport.SendErrors) >= 7 })
	if _, err := client.Dial(shortly(t), server.LocalAddr(), transport.Dial{RemotePort: 2905}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial over it: %v", err)
	}
	link.writes.Store(false)
	for n := range messages {
		if m := next(t, received); string(m.Payload) != strconv.Itoa(n) {
			t.Fatalf("message %d is %q", n, m.Payload)
		}
	}
	echoes(t, dialled, sent, received, accepted)
	if n := client.Stats().Count(transport.SendErrors); n != uint64(link.written.Load()) {
		t.Errorf("%d errors counted of %d", n, link.written.Load())
	}
}

// An address to which the kernel refuses to send is no one's affair but that dial's.
func TestUnreachableAddress(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	dialled, accepted := connect(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	other := netip.MustParseAddrPort("[::1]:9899") // none of an IPv4 socket's
	if _, err := client.Dial(shortly(t), other, transport.Dial{RemotePort: 1}); err == nil {
		t.Error("somebody answered")
	}
	eventually(t, "it counts", func() bool { return client.Stats().Count(transport.SendErrors) > 0 })
	echoes(t, dialled, sent, received, accepted)
}

// Errors of reading that pass are forgotten; where nothing else comes any more, Run ends and says so.
func TestLinkThatCannotBeRead(t *testing.T) {
	link := &sick{Link: listenUDP(t)}
	e, err := transport.New(link, steady(), logger(t))
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- e.Run(context.Background()) }()
	s := newStation(t, e)
	s.connect()
	a := accept(t, e)
	messages := collect(t, a)
	link.reads.Store(99)
	for range 99 {
		s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil))
	}
	s.stillServed(messages)
	link.reads.Store(100)
	for range 100 {
		s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil))
	}
	if err := <-ran; !errors.Is(err, errReadFailed) {
		t.Errorf("Run: %v", err)
	}
	wantReason(t, a, transport.EndpointClosed)
}

// A socket that is closed under the endpoint ends it with an error, and every association with a reason.
func TestLinkClosedUnderTheEndpoint(t *testing.T) {
	link := listenUDP(t)
	e, err := transport.New(link, steady(), logger(t))
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- e.Run(context.Background()) }()
	client := start(t, steady())
	dialled, accepted := connect(t, client, e)
	collect(t, accepted)
	_, done := flood(t, accepted)
	_ = collect(t, dialled)
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ran; err == nil {
		t.Error("Run ended as if it had been told to")
	}
	wantReason(t, accepted, transport.EndpointClosed)
	<-done
	if _, err := e.Accept(deadline(t)); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if _, err := e.Dial(deadline(t), client.LocalAddr(), transport.Dial{RemotePort: 1}); err == nil {
		t.Error("Dial over a closed link")
	}
}

// Run ends in the middle of a flood: a link that finds more and more to read looks up now and then.
func TestRunEndsDuringFlood(t *testing.T) {
	link := listenUDP(t)
	echo, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(link.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	const waiting = 200 // for each that is read another is sent: a batch is always full
	for range waiting {
		if _, err := echo.Write([]byte("flood")); err != nil {
			t.Fatal(err)
		}
	}
	var (
		read    atomic.Uint32
		closing = make(chan error, 1)
	)
	ended := make(chan error, 1)
	go func() {
		for {
			err := transport.ReadPackets(link, func([]byte) {
				if read.Add(1) == 10*waiting {
					go func() { closing <- link.Close() }()
				}
				_, _ = echo.Write([]byte("flood"))
			})
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	case <-deadline(t).Done():
		_ = echo.Close() // the flood ends, and with it the reader
		err := <-ended
		t.Errorf("%d packets were read after the link was to be closed: %v", read.Load()-10*waiting, err)
	}
	if err := <-closing; err != nil {
		t.Error(err)
	}
}

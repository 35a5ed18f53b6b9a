package sctpbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"skyring/testbed/interop"
)

// prepareUSRSCTP compiles the peer.
func prepareUSRSCTP(ctx context.Context, dir string) (opener, error) {
	program, err := interop.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, associations int) (*site, error) {
		const attempts = 3 // somebody may take a port that was free
		var s *site
		var err error
		for range attempts {
			if s, err = openPeers(ctx, program, associations); err == nil || ctx.Err() != nil {
				break
			}
		}
		return s, err
	}, nil
}

// peers are two processes of usrsctp.
type peers struct {
	client, server *peer
}

// peer is one of them.
type peer struct {
	*interop.Peer
	pid int
}

func openPeers(ctx context.Context, program string, associations int) (*site, error) {
	there, err1 := freePort()
	here, err2 := freePort()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	local := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	p := &peers{}
	var err error
	serving := interop.Options{UDP: there, Bind: []netip.Addr{local}, Port: sctpPort, Echo: true, Quiet: true}
	if p.server, err = startPeer(ctx, program, serving); err != nil {
		return nil, err
	}
	if _, err := p.server.await(ctx, "ready"); err != nil {
		p.server.Kill()
		return nil, err
	}
	dialling := interop.Options{
		UDP: here, RemoteUDP: there, Bind: []netip.Addr{local}, Connect: local, To: sctpPort, Quiet: true, Associations: associations,
	}
	if p.client, err = startPeer(ctx, program, dialling); err != nil {
		p.server.Kill()
		return nil, err
	}
	for range associations {
		if _, err := p.client.await(ctx, "up"); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return &site{sustain: p.sustain, close: p.close}, nil
}

// startPeer starts a process that tells its id first.
func startPeer(ctx context.Context, program string, o interop.Options) (*peer, error) {
	o.Prefix = []string{"sh", "-c", `echo "pid $$"; exec "$@"`, "sh"}
	started, err := interop.Start(context.WithoutCancel(ctx), program, o) // it is killed when the site is closed
	if err != nil {
		return nil, err
	}
	p := &peer{Peer: started}
	told, err := p.await(ctx, "pid")
	if err == nil {
		p.pid, err = strconv.Atoi(told.Word(0))
	}
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// await skips events until one of a kind comes.
func (p *peer) await(ctx context.Context, kind string) (interop.Event, error) {
	for {
		select {
		case e, open := <-p.Events():
			switch {
			case !open:
				return e, fmt.Errorf("the peer ended before it said %q: %s", kind, p.Complaints())
			case e.Kind == kind:
				return e, nil
			case e.Kind == "fault", e.Kind == "closed", e.Kind == "refused":
				return e, fmt.Errorf("the peer says %q instead of %q", e, kind)
			}
		case <-ctx.Done():
			return interop.Event{}, fmt.Errorf("wait for %q: %w", kind, context.Cause(ctx))
		}
	}
}

// sustain has the client do what lanes.sustain does.
func (p *peers) sustain(ctx context.Context, window int, t timing) (outcome, error) {
	t.warm, t.counted = max(t.warm.Round(time.Millisecond), time.Millisecond), max(t.counted.Round(time.Millisecond), time.Millisecond)
	if err := p.client.Command("sustain %d %d %d %d", t.warm.Milliseconds(), t.counted.Milliseconds(), window, messageSize); err != nil {
		return outcome{}, err
	}
	cpu, others, err := t.meter(ctx, p.cpu)
	if err != nil {
		return outcome{}, err
	}
	e, err := p.client.await(ctx, "sustained")
	if err != nil {
		return outcome{}, err
	}
	var numbers [5]int
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(e.Word(i)); err != nil {
			return outcome{}, fmt.Errorf("the peer says %q: %w", e, err)
		}
	}
	if numbers[0] != numbers[1] {
		return outcome{}, fmt.Errorf("%d of %d messages came back", numbers[1], numbers[0])
	}
	return outcome{
		sent: numbers[0], counted: numbers[2], took: t.counted, cpu: cpu, others: others,
		p50: time.Duration(numbers[3]), p99: time.Duration(numbers[4]),
	}, nil
}

// cpu is the processor time of both, until now.
func (p *peers) cpu() (time.Duration, error) {
	here, err1 := timeOf(p.client.pid)
	there, err2 := timeOf(p.server.pid)
	return here + there, errors.Join(err1, err2)
}

// close kills both, and waits for their end.
func (p *peers) close() error {
	p.client.Kill()
	p.server.Kill()
	return nil
}

// freePort is a UDP port that nobody has just now.
func freePort() (uint16, error) {
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback()))
	if err != nil {
		return 0, err
	}
	addr, _ := socket.LocalAddr().(*net.UDPAddr)
	return uint16(addr.Port), socket.Close()
}

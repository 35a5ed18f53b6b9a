package sctpbench

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

const (
	sctpPort  = 2905
	linksEach = 8 // most that a client has
)

func loopback() netip.AddrPort { return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0) }

// linkOpener binds a socket.
type linkOpener func() (transport.Link, error)

func openUDPLink() (transport.Link, error) { //nolint:ireturn // what an endpoint takes
	link, err := transport.ListenUDP(loopback())
	if err != nil {
		return nil, err
	}
	return link, nil
}

// openSkyring sets associations up between two sockets.
func openSkyring(ctx context.Context, associations int) (*site, error) {
	return openEnds(ctx, associations, openUDPLink, []linkOpener{openUDPLink})
}

// openStations sets associations up from a socket each.
func openStations(ctx context.Context, associations int) (*site, error) {
	return openEnds(ctx, associations, openUDPLink, slices.Repeat([]linkOpener{openUDPLink}, associations))
}

// prepareDTLS writes the file with the pre-shared key.
func prepareDTLS(_ context.Context, dir string) (opener, error) {
	const identity = "bench"
	key := hex.EncodeToString([]byte("a key of 256 bits for benchmarks"))
	server := transport.DefaultSecureConfig()
	server.PSK, server.MaxHalfOpenPerSource = filepath.Join(dir, "psk"), server.MaxHalfOpen
	if err := os.WriteFile(server.PSK, []byte(identity+" "+key+"\n"), 0o600); err != nil {
		return nil, err
	}
	client := server
	client.Identity = identity
	dialling := func() (transport.Link, error) { return transport.OpenDTLS(loopback(), client, zerolog.Nop()) }
	serving := func() (transport.Link, error) { return transport.ListenDTLS(loopback(), server, zerolog.Nop()) }
	return func(ctx context.Context, associations int) (*site, error) {
		return openEnds(ctx, associations, serving, slices.Repeat([]linkOpener{dialling}, associations))
	}, nil
}

// openEnds runs a server, and as many clients as the links want; associations take the links in turn.
func openEnds(ctx context.Context, associations int, serving linkOpener, dialling []linkOpener) (*site, error) {
	e, living := &ends{wiring: &wiring{}}, context.WithoutCancel(ctx) // what ends with the site, not with its set-up
	server, err := e.start(living, serving)
	if err != nil {
		return e.fail(err)
	}
	e.tasks.Go(func() { e.serve(living, server) })
	var clients []client
	for links := range slices.Chunk(dialling, linksEach) {
		c, err := e.start(living, links...)
		if err != nil {
			return e.fail(err)
		}
		for link := range links {
			clients = append(clients, client{c, link})
		}
	}
	dialled, err := dial(ctx, clients, associations, server.LocalAddr())
	if err != nil {
		return e.fail(err)
	}
	for _, a := range dialled {
		write := func(b []byte) error {
			return a.Send(living, transport.Message{PPID: ppid, Payload: b})
		}
		e.add(write, func(take func([]byte)) {
			_ = a.Receive(living, func(m transport.Message) { take(m.Payload) }) // the lane tells that it ended
		})
	}
	return e.site(), nil
}

// ends are the endpoints of a site.
type ends struct{ *wiring }

// start runs an endpoint over links until the site is closed.
func (e *ends) start(ctx context.Context, openers ...linkOpener) (*transport.Endpoint, error) {
	var links []transport.Link
	undo := func(err error) (*transport.Endpoint, error) {
		for _, link := range links {
			err = errors.Join(err, link.Close())
		}
		return nil, err
	}
	for _, open := range openers {
		link, err := open()
		if err != nil {
			return undo(err)
		}
		links = append(links, link)
	}
	cfg := transport.DefaultConfig()
	endpoint, err := transport.NewOver(links, cfg, zerolog.Nop())
	if err != nil {
		return undo(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	e.tasks.Go(func() { ran <- endpoint.Run(ctx) })
	e.onClose(func() error { cancel(); return <-ran })
	return endpoint, nil
}

// serve sends back what comes, until the server ends.
func (e *ends) serve(ctx context.Context, server *transport.Endpoint) {
	for {
		a, err := server.Accept(ctx)
		if err != nil {
			return
		}
		e.tasks.Go(func() {
			_ = a.Receive(ctx, func(m transport.Message) { // the client tells when it ends
				_ = a.Send(ctx, m)
			})
		})
	}
}

// client is a link to dial over.
type client struct {
	endpoint *transport.Endpoint
	link     int
}

// dial sets all associations up, some at a time.
func dial(ctx context.Context, clients []client, associations int, to netip.AddrPort) ([]*transport.Association, error) {
	const atOnce = 16
	dialled, errs := make([]*transport.Association, associations), make([]error, associations)
	var dialling sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i := range associations {
		free <- struct{}{}
		dialling.Go(func() {
			defer func() { <-free }()
			c := clients[i%len(clients)]
			dialled[i], errs[i] = c.endpoint.Dial(ctx, to, transport.Dial{RemotePort: sctpPort, Link: c.link})
		})
	}
	dialling.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return dialled, nil
}

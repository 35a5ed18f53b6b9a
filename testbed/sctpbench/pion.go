package sctpbench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const ppid = 60

// openPion sets pion's own associations up: server and client, as its documentation has it. Messages are not interleaved, as
// over protocol/transport, so that the chunks are the same.
func openPion(ctx context.Context, associations int) (*site, error) {
	w := &wiring{}
	for range associations {
		client, server, err := pionPair(ctx, w)
		if err != nil {
			return w.fail(err)
		}
		w.tasks.Go(func() {
			stream, err := server.AcceptStream()
			if err != nil {
				return
			}
			readPion(stream, func(b []byte) error { _, err := stream.WriteSCTP(b, ppid); return err })
		})
		stream, err := client.OpenStream(0, ppid)
		if err != nil {
			return w.fail(err)
		}
		write := func(b []byte) error { _, err := stream.WriteSCTP(b, ppid); return err }
		w.add(write, func(take func([]byte)) {
			readPion(stream, func(b []byte) error { take(b); return nil })
		})
	}
	return w.site(), nil
}

// pionPair is an association, which the wiring closes.
func pionPair(ctx context.Context, w *wiring) (client, server *sctp.Association, err error) {
	here, there, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	giveUp := context.AfterFunc(ctx, func() { _, _ = here.Close(), there.Close() }) // its handshake has no other end
	defer giveUp()
	logs := sctp.WithLoggerFactory(&logging.DefaultLoggerFactory{Writer: io.Discard, DefaultLogLevel: logging.LogLevelDisabled})
	accepted := make(chan error, 1)
	go func() {
		var err error
		server, err = sctp.ServerWithOptions(sctp.WithNetConn(there), logs, sctp.WithEnableInterleaving(false))
		if err != nil {
			_ = here.Close() // the client would wait for ever
		}
		accepted <- err
	}()
	client, err = sctp.ClientWithOptions(sctp.WithNetConn(here), logs, sctp.WithEnableInterleaving(false))
	if err != nil {
		_, _ = here.Close(), there.Close()
	} else {
		w.onClose(closing(client))
	}
	failed := <-accepted
	if failed == nil {
		w.onClose(closing(server))
	}
	if err := errors.Join(err, failed, context.Cause(ctx)); err != nil {
		return nil, nil, fmt.Errorf("handshake: %w", err)
	}
	return client, server, nil
}

// closing ends an association and its socket; that the other end is gone already is no error.
func closing(a *sctp.Association) func() error {
	return func() error {
		_ = a.Close()
		return nil
	}
}

func readPion(stream *sctp.Stream, take func([]byte) error) {
	buffer := make([]byte, room)
	for {
		n, _, err := stream.ReadSCTP(buffer)
		if err != nil || take(buffer[:n]) != nil {
			return
		}
	}
}

package statestore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// errHandshake marks a connection that came about, but not its encryption.
var errHandshake = errors.New("TLS handshake")

// redial is the pause between two tries to reach a server that is away.
const redial = 5 * time.Millisecond

// dialer connects, trying again until its context ends. The client's own way, to fail at once, makes its pool refuse for a second after a few
// failures: an outage would last longer than the server's absence.
type dialer struct {
	tls *tls.Config // nil: plain
}

func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var plain net.Dialer
	for {
		conn, err := plain.DialContext(ctx, network, address)
		if err == nil {
			return d.secure(ctx, conn, address)
		}
		pause := time.NewTimer(redial)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, err
		case <-pause.C:
		}
	}
}

func (d dialer) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if d.tls == nil {
		return conn, nil
	}
	cfg := d.tls.Clone()
	if cfg.ServerName == "" {
		if host, _, err := net.SplitHostPort(address); err == nil {
			cfg.ServerName = host
		}
	}
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error says why
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	return secured, nil
}

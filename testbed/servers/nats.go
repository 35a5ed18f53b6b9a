package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsReadyTimeout bounds the wait for the client listener; it opens within
// milliseconds or not at all.
const natsReadyTimeout = 10 * time.Second

// errNoClients is a start that failed without a reason told.
var errNoClients = errors.New("it does not accept clients")

// NATSConfig says where the embedded NATS server listens. The zero value is a
// free port on 127.0.0.1.
type NATSConfig struct {
	Host       string // address to listen on; empty: 127.0.0.1
	Port       int    // TCP port 1..65535; 0: a free one
	MaxPayload int32  // largest message in bytes; 0: the server's default of 1 MiB
}

// NATS is a NATS server inside this process. Its methods may be called by any
// goroutine.
type NATS struct {
	server *server.Server // static after StartNATS
}

// StartNATS starts a NATS server in this process and returns when it accepts
// clients. The server takes no signals and logs nothing; what stops it from
// starting, such as a port in use, is in the error.
func StartNATS(ctx context.Context, cfg NATSConfig) (*NATS, error) {
	options := natsOptions(cfg)

	srv, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("set up the embedded NATS server: %w", err)
	}

	faults := &natsFaults{}
	srv.SetLoggerV2(faults, false, false, false)
	srv.Start() // returns when it listens or has given up

	if err = faults.first(); err == nil && ctx.Err() == nil && srv.ReadyForConnections(natsReadyTimeout) {
		return &NATS{server: srv}, nil
	}

	srv.Shutdown()
	srv.WaitForShutdown()

	if err == nil {
		err = cmp.Or(ctx.Err(), errNoClients)
	}

	if cfg.Port != 0 && strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) { // the server tells it as text only
		err = syscall.EADDRINUSE
	}

	where := net.JoinHostPort(options.Host, strconv.Itoa(cfg.Port))

	return nil, fmt.Errorf("start the embedded NATS server on %s: %w", where, err)
}

func natsOptions(cfg NATSConfig) *server.Options {
	options := &server.Options{
		ServerName: "skyring-embedded",
		Host:       cfg.Host,
		Port:       cfg.Port,
		MaxPayload: cfg.MaxPayload,
		NoSigs:     true,
		NoLog:      true,
	}
	if options.Host == "" {
		options.Host = "127.0.0.1"
	}

	if options.Port == 0 {
		options.Port = server.RANDOM_PORT
	}

	return options
}

// URL is what a NATS client connects to.
func (n *NATS) URL() string { return n.server.ClientURL() }

// Shutdown disconnects every client and returns when the server has ended.
// A second call does nothing.
func (n *NATS) Shutdown() {
	n.server.Shutdown()
	n.server.WaitForShutdown()
}

// natsFaults is the server's logger: it keeps the first fatal line, which is the
// only way the server tells why it does not start, and drops the rest.
type natsFaults struct {
	mu    sync.Mutex
	fatal error // guarded by mu
}

// Fatalf keeps the first fatal line.
func (f *natsFaults) Fatalf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.fatal == nil {
		f.fatal = fmt.Errorf(format, args...)
	}
}

// Noticef drops the line.
func (*natsFaults) Noticef(string, ...any) {}

// Warnf drops the line.
func (*natsFaults) Warnf(string, ...any) {}

// Errorf drops the line: these are faults of clients.
func (*natsFaults) Errorf(string, ...any) {}

// Debugf drops the line.
func (*natsFaults) Debugf(string, ...any) {}

// Tracef drops the line.
func (*natsFaults) Tracef(string, ...any) {}

func (f *natsFaults) first() error {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.fatal
}

package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

func TestListenersRefusedInSentences(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"sctp.listen=127.0.0.1"}, "the port is missing: want 127.0.0.1:9899"},
		{[]string{"sctp.listen=tls://127.0.0.1:1"}, "want udp, dtls or ip"},
		{[]string{"sctp.listen=0.0.0.0:9899"}, "list the networks of yours"},
		{[]string{"sctp.listen=127.0.0.1:1,dtls://127.0.0.1:2"}, "DTLS wants certificate, key and ca, or psk"},
		{[]string{"sctp.listen=127.0.0.1:1,127.0.0.1:2,127.0.0.1:1"}, "this address is there twice"},
		{[]string{"sctp.allow=10.0.0.1"}, "is no network"},
		{[]string{"sctp.allow=10.0.0.1/8"}, "want 10.0.0.0/8"},
		{[]string{"sctp.listen=dtls://127.0.0.1:2", "sctp.dtls.psk=/nowhere", "sctp.dtls.identity=x"}, "only for clients"},
	} {
		args := []string{"dispatcher", "--print-config"}
		for _, one := range c.set {
			args = append(args, "--set", one)
		}

		text, err := output(t, args...)
		if err == nil || !strings.Contains(text, c.want) {
			t.Errorf("%v: %v\n%s\nwithout %q", c.set, err, text, c.want)
		}
	}
}

// One dispatcher listens for stations with certificates and, on another port, on plain loopback; SIGHUP has it read its files again.
func TestDispatcherListensInSeveralWays(t *testing.T) {
	nats, redis := backbone(t)
	p := startProcess(t, "processor", "--id", "p1", "--nats", nats, "--redis", redis)
	p.await(t, "processor is ready")

	dir := filepath.Join(t.TempDir(), "pki")
	if text, err := output(t, "cert", "--dir", dir, "--server", "127.0.0.1", "--client", "17"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	secure, plain := freeUDP(t), freeUDP(t)
	d := startProcess(t, "dispatcher", "--nats", nats, "--listen", "dtls://"+secure+","+plain, "--log-format", "json",
		"--set", "sctp.dtls.certificate="+filepath.Join(dir, "server.pem"), "--set", "sctp.dtls.key="+filepath.Join(dir, "server-key.pem"),
		"--set", "sctp.dtls.ca="+filepath.Join(dir, "ca.pem"))
	d.await(t, `"message":"dispatcher serves"`)

	link, err := transport.OpenDTLS(netip.MustParseAddrPort("127.0.0.1:0"), certified(dir, "client-stations-17"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	reaches(t, link, secure)

	udp, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}

	reaches(t, udp, plain)

	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}

	d.await(t, "certificates and keys read again")

	if err := d.signal(t, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// reaches sets an association up and closes it.
func reaches(t *testing.T, link transport.Link, target string) {
	t.Helper()

	var log bytes.Buffer

	endpoint, err := transport.New(link, transport.DefaultConfig(), zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	ended := make(chan error, 1)

	go func() { ended <- endpoint.Run(ctx) }()

	a, err := endpoint.Dial(ctx, netip.MustParseAddrPort(target), transport.Dial{LocalPort: 1000, RemotePort: 2905, Streams: 2})
	if err == nil {
		err = a.Close(ctx)
	}

	cancel()
	err = errors.Join(err, <-ended)
	if err != nil {
		t.Fatalf("%s: %v\n%s", target, err, log.String())
	}
}

package main

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

// cert runs the command and gives what it prints.
func cert(t *testing.T, args ...string) string {
	t.Helper()

	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), append([]string{"cert"}, args...), &stdout, &stderr); err != nil {
		t.Fatalf("cert %v: %v\n%s", args, err, &stderr)
	}

	return stdout.String()
}

// certFails wants an error with some words.
func certFails(t *testing.T, want string, args ...string) {
	t.Helper()

	var stdout, stderr bytes.Buffer

	err := run(t.Context(), append([]string{"cert"}, args...), &stdout, &stderr)
	if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) || stdout.Len() > 0 {
		t.Errorf("cert %v: %v, exit %d; want %q and 2", args, err, exitCode(err), want)
	}
}

// endpoint runs an endpoint over a link until the test ends.
func endpoint(t *testing.T, link transport.Link, err error) *transport.Endpoint {
	t.Helper()

	if err != nil {
		t.Fatal(err)
	}

	e, err := transport.New(link, transport.DefaultConfig(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)

	go func() { ran <- e.Run(ctx) }()

	t.Cleanup(func() {
		cancel()

		if err := <-ran; err != nil {
			t.Error(err)
		}
	})

	return e
}

// shake sets an association up and gives the identity that the server sees.
func shake(t *testing.T, server, client transport.SecureConfig) string {
	t.Helper()

	local := netip.MustParseAddrPort("127.0.0.1:0")
	link, err := transport.ListenDTLS(local, server, zerolog.Nop())
	serving := endpoint(t, link, err)
	out, err := transport.OpenDTLS(local, client, zerolog.Nop())
	dialling := endpoint(t, out, err)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	if _, err := dialling.Dial(ctx, serving.LocalAddr(), transport.Dial{RemotePort: 2905}); err != nil {
		t.Fatal(err)
	}

	a, err := serving.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}

	return a.Identity().String()
}

// made is what umask leaves of the permissions of a new file.
func made(t *testing.T, mode os.FileMode) os.FileMode {
	t.Helper()

	path := filepath.Join(t.TempDir(), "made")
	if err := os.WriteFile(path, nil, mode); err != nil {
		t.Fatal(err)
	}

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	return info.Mode().Perm()
}

func certified(dir, name string) transport.SecureConfig {
	cfg := transport.DefaultSecureConfig()
	cfg.Certificate, cfg.Key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")
	cfg.CA = filepath.Join(dir, "ca.pem")

	return cfg
}

// TestCertShakesHands holds what cert makes to a DTLS handshake: made in one command, and later with the same authority.
func TestCertShakesHands(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "tls")
	out := cert(t, "--dir", dir, "--server", "dispatcher.example,127.0.0.1", "--client", "17-42", "--client", "hub=*")
	readable := made(t, 0o644)

	for _, name := range []string{
		"ca.pem", "ca-key.pem", "server.pem", "server-key.pem", "client-stations-17-42.pem", "client-stations-17-42-key.pem",
		"client-hub.pem", "client-hub-key.pem",
	} {
		want := readable
		if strings.HasSuffix(name, "-key.pem") {
			want = 0o600
		}

		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want || !strings.Contains(out, filepath.Join(dir, name)) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}

	if out := cert(t, "--dir", dir, "--client", "gw-7=17,20-42"); !strings.Contains(out, "authority that was there") {
		t.Error(out)
	}

	byName := certified(dir, "client-hub")
	byName.ServerName = "dispatcher.example"

	for want, client := range map[string]transport.SecureConfig{
		"certificate stations-17-42 (stations 17-42)": certified(dir, "client-stations-17-42"),
		"certificate hub (stations *)":                byName,
		"certificate gw-7 (stations 17,20-42)":        certified(dir, "client-gw-7"),
	} {
		if got := shake(t, certified(dir, "server"), client); got != want {
			t.Errorf("the server sees %s, want %s", got, want)
		}
	}
}

func TestCertPrintsPreSharedKeys(t *testing.T) {
	t.Parallel()

	lines := cert(t, "--psk", "gw-7=17,20-42", "--psk", "mme-1")
	if again := cert(t, "--psk", "gw-7=17,20-42", "--psk", "mme-1"); again == lines {
		t.Error("the keys are the same twice")
	}

	file := filepath.Join(t.TempDir(), "psk")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]string{
		"gw-7": "pre-shared key gw-7 (stations 17,20-42)", "mme-1": "pre-shared key mme-1 (stations none)",
	} {
		server := transport.DefaultSecureConfig()
		server.PSK = file
		client := server
		client.Identity = name

		if got := shake(t, server, client); got != want {
			t.Errorf("the server sees %s, want %s", got, want)
		}
	}
}

// TestCertOverwritesNothing: neither the certificate that is there, nor half of what was asked for.
func TestCertOverwritesNothing(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	cert(t, "--dir", dir, "--server", "one")

	before, err := os.ReadFile(filepath.Join(dir, "server.pem"))
	if err != nil {
		t.Fatal(err)
	}

	certFails(t, "server.pem is there already", "--dir", dir, "--server", "two", "--client", "17")

	after, err := os.ReadFile(filepath.Join(dir, "server.pem"))
	if err != nil || !bytes.Equal(before, after) {
		t.Error("server.pem has changed", err)
	}

	if _, err := os.Stat(filepath.Join(dir, "client-stations-17.pem")); err == nil {
		t.Error("a certificate was made all the same")
	}

	certFails(t, "would be made twice", "--dir", dir, "--client", "17", "--client", "17")

	if err := os.Remove(filepath.Join(dir, "ca-key.pem")); err != nil {
		t.Fatal(err)
	}

	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), []string{"cert", "--dir", dir, "--client", "18"}, &stdout, &stderr); err == nil ||
		!strings.Contains(err.Error(), "its key is wanted") {
		t.Error(err)
	}
}

func TestCertRefuses(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	for want, args := range map[string][]string{
		"--dir is missing":                 {"--server", "x"},
		"--server and --client are":        {"--dir", dir},
		"goes with none of --dir":          {"--dir", dir, "--psk", "x"},
		"--days is 0":                      {"--dir", dir, "--server", "x", "--days", "0"},
		`station "x"`:                      {"--dir", dir, "--client", "x"},
		"station 0":                        {"--dir", dir, "--client", "gw=0-4"},
		`the name "a/b" is right with`:     {"--dir", dir, "--client", "a/b=17"},
		`"host:99" is neither a host name`: {"--dir", dir, "--server", "host:99"},
		`station ""`:                       {"--psk", "gw="},
		`the name "g w" is right with`:     {"--psk", "g w"},
		"one argument too many":            {"--dir", dir, "--server", "x", "y"},
	} {
		certFails(t, want, args...)
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left behind", left, err)
	}

	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "ca-key.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}

	certFails(t, "is not in PEM form", "--dir", dir, "--server", "x")
}

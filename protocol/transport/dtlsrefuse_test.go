package transport_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
	"github.com/pion/logging"

	"skyring/protocol/transport"
)

// refused wants a dial to fail with some words, and the server to count it under one reason.
func refused(t *testing.T, server transport.SecureConfig, client transport.SecureConfig, why transport.Counter, words ...string) {
	t.Helper()
	serving, link := serveDTLS(t, server)
	dialFails(t, clientDTLS(t, client), serving.LocalAddr(), words...)
	counts(t, serving, why, 1)
	eventually(t, "no session is left", func() bool { return link.Sessions() == 0 })
	if n := serving.Stats().Count(transport.SessionsOpened); n != 0 {
		t.Errorf("%d sessions were opened", n)
	}
}

func TestDTLSRefusesCertificates(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	server := ca.secure(ca.issue("dispatcher"))
	stranger := other.secure(other.issue("gw-7", speaksFor("17")))
	stranger.CA = ca.file
	for name, c := range map[string]struct {
		client transport.SecureConfig
		word   string
	}{
		"of another authority":  {stranger, "BadCertificate"},
		"without a name":        {ca.secure(ca.issue("")), "BadCertificate"},
		"with stations unclear": {ca.secure(ca.issue("gw-7", speaksFor("17-x"))), "BadCertificate"},
	} {
		t.Run(name, func(t *testing.T) {
			serving, link := serveDTLS(t, server)
			client := clientDTLS(t, c.client)
			dialFails(t, client, serving.LocalAddr(), c.word)
			counts(t, serving, transport.RefusedCertificates, 1)
			eventually(t, "no session is left", func() bool { return link.Sessions() == 0 })
		})
	}
}

// Our own client would not even load them.
func TestDTLSRefusesUnfitCertificates(t *testing.T) {
	for name, change := range map[string]func(*x509.Certificate){
		"expired":          func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) },
		"for servers only": func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			ca := newAuthority(t)
			server, link := serveDTLS(t, ca.secure(ca.issue("dispatcher")))
			unfit := ca.issue("gw-7", change)
			pair, err := tls.LoadX509KeyPair(unfit.certificate, unfit.key)
			if err != nil {
				t.Fatal(err)
			}
			authorities := x509.NewCertPool()
			authorities.AddCert(ca.certificate)
			if err := pionHandshake(t, server.LocalAddr(), dtls.WithCertificates(pair), dtls.WithRootCAs(authorities),
				dtls.WithServerName("dispatcher")); err == nil || !strings.Contains(err.Error(), "BadCertificate") {
				t.Errorf("it is taken: %v", err)
			}
			counts(t, server, transport.RefusedCertificates, 1)
			eventually(t, "no session is left", func() bool { return link.Sessions() == 0 })
		})
	}
}

// pionHandshake is a handshake of a stock client, which keeps to nothing that ours keeps to.
func pionHandshake(t *testing.T, server netip.AddrPort, options ...dtls.ClientOption) error {
	t.Helper()
	conn, err := dtls.DialWithOptions("udp", net.UDPAddrFromAddrPort(server), append(options, dtls.WithLoggerFactory(quiet()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.HandshakeContext(deadline(t))
}

func quiet() logging.LoggerFactory { //nolint:ireturn // pion's interface
	f := logging.NewDefaultLoggerFactory()
	f.DefaultLogLevel = logging.LogLevelDisabled
	return f
}

// The client refuses a server of another authority or name; the server learns it by an alert.
func TestDTLSClientRefusesServer(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	trustsOther := ca.secure(ca.issue("gw-7"))
	trustsOther.CA = other.file
	wrongName := ca.secure(ca.issue("gw-7"))
	wrongName.ServerName = "elsewhere"
	noAddress := ca.secure(ca.issue("dispatcher", func(c *x509.Certificate) { c.IPAddresses = nil }))
	t.Run("authority", func(t *testing.T) {
		refused(t, ca.secure(ca.issue("dispatcher")), trustsOther, transport.HandshakeFailures, "the peer's certificate", "unknown authority")
	})
	t.Run("name", func(t *testing.T) {
		refused(t, ca.secure(ca.issue("dispatcher")), wrongName, transport.HandshakeFailures, "the peer's certificate", "elsewhere")
	})
	t.Run("address dialled", func(t *testing.T) {
		refused(t, noAddress, ca.secure(ca.issue("gw-7")), transport.HandshakeFailures, "the peer's certificate", "127.0.0.1")
	})
}

func TestDTLSRefusesUnknownIdentity(t *testing.T) {
	server := pskServer(pskFile(t, "gw-7 17"))
	refused(t, server, pskClient(pskFile(t, "gw-8"), "gw-8"), transport.UnknownIdentities, "InternalError")
}

// A wrong key cannot be told from silence; both ends name it as what it may be.
func TestDTLSRefusesWrongKey(t *testing.T) {
	server, client := pskServer(pskFile(t, "gw-7 17")), pskClient(write(t, "psk", []byte("gw-7 "+key("other")+"\n")), "gw-7")
	server.HandshakeTimeout, client.HandshakeTimeout = 500*time.Millisecond, 500*time.Millisecond
	refused(t, server, client, transport.UnprovenIdentities, `identity "gw-7"`, "another key")
}

// A client with a certificate finds no suite in common with a server of keys, and the other way round.
func TestDTLSRefusesOtherProof(t *testing.T) {
	ca := newAuthority(t)
	file := pskFile(t, "gw-7 17")
	refused(t, pskServer(file), ca.secure(ca.issue("gw-7")), transport.HandshakeFailures, "InsufficientSecurity")
	refused(t, ca.secure(ca.issue("dispatcher")), pskClient(file, "gw-7"), transport.HandshakeFailures, "InsufficientSecurity")
}

func TestDTLSHandshakeTimeout(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	cfg := pskServer(file)
	cfg.HandshakeTimeout = 300 * time.Millisecond
	server, link := serveDTLS(t, cfg)
	s := newHelloSender(t, server.LocalAddr())
	s.handshake(1)
	counts(t, server, transport.HandshakeTimeouts, 1)
	eventually(t, "no session is left", func() bool { return link.Sessions() == 0 })

	silent, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	client := pskClient(file, "gw-7")
	client.HandshakeTimeout = 300 * time.Millisecond
	dialFails(t, clientDTLS(t, client), silent.LocalAddr().(*net.UDPAddr).AddrPort(), "set up DTLS: no answer in 300ms")
}

func TestDTLSHalfOpenCaps(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	cfg := pskServer(file)
	cfg.MaxHalfOpen, cfg.MaxHalfOpenPerSource, cfg.HandshakeTimeout = 5, 3, time.Minute
	server, link := serveDTLS(t, cfg)
	near := newHelloSenderAt(t, server.LocalAddr(), loopback())
	for n := range 6 {
		newHelloSenderAt(t, server.LocalAddr(), loopback()).handshake(n)
	}
	counts(t, server, transport.SourceHalfOpenRefused, 3)
	if link.Sessions() != 3 {
		t.Fatalf("%d sessions", link.Sessions())
	}
	for n := range 3 {
		newHelloSenderAt(t, server.LocalAddr(), netip.MustParseAddrPort("127.0.0.2:0")).handshake(n)
	}
	counts(t, server, transport.HalfOpenRefused, 1)
	if link.Sessions() != 5 {
		t.Fatalf("%d sessions", link.Sessions())
	}
	near.handshake(9)
	counts(t, server, transport.HalfOpenRefused, 2)
}

func TestDTLSMaxSessions(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	cfg := pskServer(file)
	cfg.MaxSessions = 1
	server, _ := serveDTLS(t, cfg)
	connect(t, clientDTLS(t, pskClient(file, "gw-7")), server)
	client := pskClient(file, "gw-7")
	client.HandshakeTimeout = 300 * time.Millisecond
	dialFails(t, clientDTLS(t, client), server.LocalAddr(), "no answer")
	if server.Stats().Count(transport.SessionsRefused) == 0 {
		t.Error("no session was refused")
	}
}

// Over a server's link nothing is dialled, and a client's serves nobody.
func TestDTLSRoles(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, _ := serveDTLS(t, pskServer(file))
	dialFails(t, server, server.LocalAddr(), "dial over one of OpenDTLS")
	client := clientDTLS(t, pskClient(file, "gw-7"))
	cfg := pskClient(file, "gw-7")
	cfg.HandshakeTimeout = 300 * time.Millisecond
	dialFails(t, clientDTLS(t, cfg), client.LocalAddr(), "no answer")
	if n := client.Stats().Count(transport.UnknownRecords); n == 0 {
		t.Error("the client answered")
	}
}

// Every wrong file and setting is refused by a sentence that says which and why.
func TestDTLSConfiguration(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	own := ca.issue("dispatcher")
	late := ca.issue("dispatcher", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := ca.issue("dispatcher", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })
	clients := ca.issue("dispatcher", func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[1:] })
	servers := ca.issue("gw-7", func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] })
	sealed := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("?")})
	jumbled := write(t, "jumbled.pem", slices.Concat(contents(t, own.certificate), contents(t, other.file)))
	good := ca.secure(own)
	keys := pskServer(pskFile(t, "gw-7 17"))
	with := func(cfg transport.SecureConfig, change func(*transport.SecureConfig)) transport.SecureConfig {
		change(&cfg)
		return cfg
	}
	psk := func(text string) transport.SecureConfig { return pskServer(write(t, "psk", []byte(text))) }
	for want, cfg := range map[string]transport.SecureConfig{
		"certificate and psk: both missing":      transport.DefaultSecureConfig(),
		"key: missing":                           with(good, func(c *transport.SecureConfig) { c.Key = "" }),
		"ca: missing":                            with(good, func(c *transport.SecureConfig) { c.CA = "" }),
		"certificate: missing":                   with(good, func(c *transport.SecureConfig) { c.Certificate = "" }),
		"serverName: only for clients":           with(good, func(c *transport.SecureConfig) { c.ServerName = "x" }),
		`identity: "x" is looked up in psk`:      with(good, func(c *transport.SecureConfig) { c.Identity = "x" }),
		"handshakeTimeout: 0s":                   with(good, func(c *transport.SecureConfig) { c.HandshakeTimeout = 0 }),
		"maxHalfOpen: 0":                         with(good, func(c *transport.SecureConfig) { c.MaxHalfOpen = 0 }),
		"maxHalfOpenPerSource: 0":                with(good, func(c *transport.SecureConfig) { c.MaxHalfOpenPerSource = 0 }),
		"maxSessions: 0":                         with(good, func(c *transport.SecureConfig) { c.MaxSessions = 0 }),
		"idleTimeout: 1ms":                       with(good, func(c *transport.SecureConfig) { c.IdleTimeout = time.Millisecond }),
		"do not go together":                     with(good, func(c *transport.SecureConfig) { c.Key = other.issue("x").key }),
		"expired on":                             ca.secure(late),
		"is the clock right?":                    ca.secure(early),
		"certificate: the file cannot be read":   with(good, func(c *transport.SecureConfig) { c.Certificate = "/nowhere.pem" }),
		"key: the file cannot be read":           with(good, func(c *transport.SecureConfig) { c.Key = "/nowhere.pem" }),
		"ca: the file cannot be read":            with(good, func(c *transport.SecureConfig) { c.CA = "/nowhere.pem" }),
		"than the 4194304 bytes":                 with(good, func(c *transport.SecureConfig) { c.Key = "/dev/zero" }),
		"than the 16777216 bytes":                with(keys, func(c *transport.SecureConfig) { c.PSK = "/dev/zero" }),
		"holds a private key and no certificate": with(good, func(c *transport.SecureConfig) { c.Certificate = own.key }),
		"holds a certificate and no private key": with(good, func(c *transport.SecureConfig) { c.Key = own.certificate }),
		"holds no certificate in PEM form":       with(good, func(c *transport.SecureConfig) { c.CA = "/dev/null" }),
		"holds no private key in PEM form":       with(good, func(c *transport.SecureConfig) { c.Key = "/dev/null" }),
		"is encrypted, and nobody is there":      with(good, func(c *transport.SecureConfig) { c.Key = write(t, "sealed", sealed) }),
		"is for clientAuth alone":                ca.secure(clients),
		"which did not sign it":                  with(good, func(c *transport.SecureConfig) { c.Certificate = jumbled }),
		"is none of an authority":                with(good, func(c *transport.SecureConfig) { c.CA = own.certificate }),
		"psk: the file cannot be read":           with(keys, func(c *transport.SecureConfig) { c.PSK = "/nowhere" }),
		"holds no key: want lines":               psk("# none\n\n"),
		"line 2: 1 columns":                      psk("# the first\ngw-7\n"),
		"line 1: 4 columns":                      psk("gw-7 00 17 18\n"),
		`line 1: the key of "gw-7" is not`:       psk("gw-7 xyz\n"),
		`the key of "gw-7" has 2 bytes`:          psk("gw-7 0102\n"),
		`line 3: identity "a" is on line 1`:      psk("a " + key("a") + "\n\na " + key("b") + " # again\n"),
		`stations of "a": station "x"`:           psk("a " + key("a") + " 17,x"),
		"identity of 129 bytes":                  psk(strings.Repeat("i", 129) + " " + key("a")),
		"line 2: the key of \"b\" is not hexa":   psk("a 01\nb z\n"),
	} {
		link, err := transport.ListenDTLS(loopback(), cfg, logger(t))
		if err == nil {
			_ = link.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
		if err != nil && cfg.PSK != "" && strings.Contains(err.Error(), key("a")) {
			t.Errorf("the error shows a key: %v", err)
		}
	}
	for want, cfg := range map[string]transport.SecureConfig{
		"is for serverAuth alone": ca.secure(servers),
		"by one of both":          with(good, func(c *transport.SecureConfig) { c.PSK, c.Identity = keys.PSK, "gw-7" }),
		"identity: missing":       keys,
		`"gw-9" is on no line of`: pskClient(keys.PSK, "gw-9"),
	} {
		if _, err := transport.OpenDTLS(loopback(), cfg, logger(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
}

func contents(tb testing.TB, file string) []byte {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// A listener whose files are all wrong hears of all of them at once, each by its key.
func TestDTLSCheck(t *testing.T) {
	cfg := transport.DefaultSecureConfig()
	cfg.Certificate, cfg.Key, cfg.CA, cfg.PSK, cfg.Identity, cfg.IdleTimeout = "/nowhere/a", "/nowhere/b", "/nowhere/c", "/nowhere/d", "x", 0
	err := cfg.CheckServer(time.Now())
	for _, want := range []string{"certificate: ", "key: ", "ca: ", "psk: ", "identity: ", "idleTimeout: "} {
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+want) {
			t.Errorf("%v\nwithout %q", err, want)
		}
	}
	keys := pskFile(t, "gw-7 17")
	if err := pskServer(keys).CheckServer(time.Now()); err != nil {
		t.Error(err)
	}
	if err := pskClient(keys, "gw-7").CheckClient(time.Now()); err != nil {
		t.Error(err)
	}
}

func TestDTLSReload(t *testing.T) {
	file := pskFile(t, "stays 17", "goes 18", "rekeyed 19", "moved 20")
	server, link := serveDTLS(t, pskServer(file))
	accepted := map[string]*transport.Association{}
	for _, name := range []string{"stays", "goes", "rekeyed", "moved"} {
		_, accepted[name] = connect(t, clientDTLS(t, pskClient(file, name)), server)
	}

	if err := os.WriteFile(file, []byte("stays nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Reload(); err == nil || !strings.Contains(err.Error(), "what was read before stays") ||
		!strings.Contains(err.Error(), "line 1") {
		t.Fatalf("Reload of a wrong file: %v", err)
	}
	if link.Sessions() != 4 {
		t.Fatalf("%d sessions after a reload that failed", link.Sessions())
	}

	text := append(pskText("stays 17", "moved 21", "comes 22"), []byte("rekeyed "+key("new")+" 19\n")...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Reload(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"goes": `of "goes" is not listed any more`, "rekeyed": `the line of "rekeyed" in the pre-shared keys has changed`,
		"moved": `the line of "moved"`,
	} {
		if detail := wantReason(t, accepted[name], transport.SessionEnded); !strings.Contains(detail, want) {
			t.Errorf("%s ended with %q", name, detail)
		}
	}
	if err := accepted["stays"].Err(); err != nil {
		t.Errorf("who stays has ended: %v", err)
	}
	if n := server.Stats().Count(transport.RevokedSessions); n != 3 {
		t.Errorf("%d sessions revoked", n)
	}
	_, came := connect(t, clientDTLS(t, pskClient(file, "comes")), server)
	if came.Identity().Name != "comes" {
		t.Errorf("%s came", came.Identity())
	}
	dialFails(t, clientDTLS(t, pskClient(pskFile(t, "goes 18"), "goes")), server.LocalAddr(), "InternalError")
}

// A handshake that began before a reload, and comes through after it, is judged by what holds now.
func TestDTLSReloadDuringHandshake(t *testing.T) {
	file := pskFile(t, "gw-7 17", "gw-8 18")
	client := clientDTLS(t, pskClient(file, "gw-7"))
	server, link := serveDTLS(t, pskServer(file))
	r := newRelay(t, server.LocalAddr())
	var reloaded atomic.Bool
	r.losing(func(b []byte) bool { return b[0] == 22 && b[13] == 16 && !reloaded.Load() }) // ClientKeyExchange
	failed := make(chan error, 1)
	go func() {
		_, err := client.Dial(deadline(t), r.addr(), transport.Dial{RemotePort: 2905})
		failed <- err
	}()
	counts(t, server, transport.HandshakesStarted, 1)
	if err := os.WriteFile(file, pskText("gw-8 18"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Reload(); err != nil {
		t.Fatal(err)
	}
	reloaded.Store(true)
	counts(t, server, transport.RevokedSessions, 1)
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "the DTLS session ended: the peer closed") {
		t.Errorf("Dial: %v", err)
	}
	if n := server.Stats().Count(transport.SessionsOpened); n != 0 || link.Sessions() != 0 {
		t.Errorf("%d sessions were opened, %d are left", n, link.Sessions())
	}
}

// A new authority takes the place of the one before: those that the old one signed end.
func TestDTLSReloadOfAuthorities(t *testing.T) {
	old, fresh := newAuthority(t), newAuthority(t)
	cfg := old.secure(old.issue("dispatcher"))
	server, _ := serveDTLS(t, cfg)
	_, accepted := connect(t, clientDTLS(t, old.secure(old.issue("gw-7", speaksFor("17")))), server)
	text, err := os.ReadFile(fresh.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.CA, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Reload(); err != nil {
		t.Fatal(err)
	}
	if detail := wantReason(t, accepted, transport.SessionEnded); !strings.Contains(detail, "not valid any more") {
		t.Errorf("ended with %q", detail)
	}
	_, again := connect(t, clientDTLS(t, func() transport.SecureConfig {
		c := fresh.secure(fresh.issue("gw-7", speaksFor("17")))
		c.CA = write(t, "ca.pem", text) // the server's own certificate is still of the old
		c.CA = appended(t, c.CA, old)
		return c
	}()), server)
	if !errors.Is(accepted.Err(), transport.ErrClosed) || again.Identity().Name != "gw-7" {
		t.Errorf("%v, %s", accepted.Err(), again.Identity())
	}
}

// appended writes the authorities of a file and one more.
func appended(t *testing.T, file string, a *authority) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "ca.pem", append(text, pemOf(a.certificate)...))
}

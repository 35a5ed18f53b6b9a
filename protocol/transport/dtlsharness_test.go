package transport_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
)

// authority signs certificates for a test.
type authority struct {
	tb          testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file        string // PEM
	serial      int64
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{tb: tb, key: newKey(tb), serial: time.Now().UnixNano()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	a.file = write(tb, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// write makes a file in a directory of its own.
func write(tb testing.TB, name string, text []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// credential is a certificate and its key, in files.
type credential struct{ certificate, key string }

// issue signs a certificate; change may alter it before.
func (a *authority) issue(name string, change ...func(*x509.Certificate)) credential {
	a.tb.Helper()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, f := range change {
		f(template)
	}
	key := newKey(a.tb)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	return credential{
		certificate: write(a.tb, "certificate.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:         write(a.tb, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
}

func speaksFor(stations string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.URIs = append(c.URIs, &url.URL{Scheme: "essp", Opaque: "station:" + stations})
	}
}

// secure are the settings of an end with a certificate.
func (a *authority) secure(p credential) transport.SecureConfig {
	cfg := transport.DefaultSecureConfig()
	cfg.Certificate, cfg.Key, cfg.CA = p.certificate, p.key, a.file
	return cfg
}

// key is a pre-shared key made of a name.
func key(name string) string { return hex.EncodeToString([]byte(fmt.Sprintf("%-32.32s", name))) }

// pskFile writes a file of pre-shared keys; each line is an identity, with the key made of it, and stations.
func pskFile(tb testing.TB, lines ...string) string {
	tb.Helper()
	return write(tb, "psk", pskText(lines...))
}

func pskText(lines ...string) []byte {
	var text strings.Builder
	for _, line := range lines {
		name, stations, _ := strings.Cut(line, " ")
		fmt.Fprintf(&text, "%s %s %s\n", name, key(name), stations)
	}
	return []byte(text.String())
}

func pskServer(file string) transport.SecureConfig {
	cfg := transport.DefaultSecureConfig()
	cfg.PSK = file
	return cfg
}

func pskClient(file, identity string) transport.SecureConfig {
	cfg := pskServer(file)
	cfg.Identity = identity
	return cfg
}

// serveDTLS runs an endpoint over a DTLS server link on loopback until the test ends.
func serveDTLS(tb testing.TB, cfg transport.SecureConfig) (*transport.Endpoint, *transport.DTLSLink) {
	tb.Helper()
	link := listenDTLS(tb, cfg)
	e, _ := startOn(tb, link, steady())
	return e, link
}

func listenDTLS(tb testing.TB, cfg transport.SecureConfig) *transport.DTLSLink {
	tb.Helper()
	link, err := transport.ListenDTLS(loopback(), cfg, logger(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return link
}

// clientDTLS runs an endpoint over a DTLS client link on loopback until the test ends.
func clientDTLS(tb testing.TB, cfg transport.SecureConfig) *transport.Endpoint {
	tb.Helper()
	e, _ := startOn(tb, openDTLS(tb, cfg, loopback()), steady())
	return e
}

func openDTLS(tb testing.TB, cfg transport.SecureConfig, at netip.AddrPort) *transport.DTLSLink {
	tb.Helper()
	link, err := transport.OpenDTLS(at, cfg, logger(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return link
}

// dialFails wants an error with some words.
func dialFails(tb testing.TB, client *transport.Endpoint, to netip.AddrPort, words ...string) {
	tb.Helper()
	a, err := client.Dial(deadline(tb), to, transport.Dial{RemotePort: 2905})
	if err == nil {
		a.Abort("must not be")
		tb.Fatal("the handshake came through")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			tb.Errorf("%v; want %q in it", err, w)
		}
	}
}

// counts waits until a counter has a value.
func counts(tb testing.TB, e *transport.Endpoint, c transport.Counter, want uint64) {
	tb.Helper()
	eventually(tb, fmt.Sprintf("%s is %d", c, want), func() bool { return e.Stats().Count(c) == want })
}

package transport

import (
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// SecureConfig is what an operator may set for a DTLS link. A server proves itself by a certificate or by knowing the
// client's pre-shared key, and may take clients of both kinds on one port; a client does one of both.
type SecureConfig struct {
	// Certificate is a PEM file: our certificate, followed by those between it and the authority's.
	Certificate string `yaml:"certificate" env:"CERTIFICATE"`
	// Key is a PEM file with the private key of Certificate: ECDSA, Ed25519, or RSA of 2,048 bits or more.
	Key string `yaml:"key" env:"KEY"`
	// CA is a PEM file with the certificates of the authorities that sign our peers' certificates.
	CA string `yaml:"ca" env:"CA"`
	// PSK is a file of pre-shared keys: "identity hex-key [stations]" a line.
	PSK string `yaml:"psk" env:"PSK"`
	// Identity is the identity in PSK by which a client proves itself; not for servers.
	Identity string `yaml:"identity" env:"IDENTITY"`
	// ServerName is the name that the server's certificate has to bear; by default the address that is dialled. Not for
	// servers.
	ServerName string `yaml:"serverName" env:"SERVER_NAME"`
	// HandshakeTimeout is how long a handshake may take.
	HandshakeTimeout time.Duration `yaml:"handshakeTimeout" env:"HANDSHAKE_TIMEOUT"`
	// MaxHalfOpen is how many handshakes may be under way; more are not answered, and the clients ask again.
	MaxHalfOpen int `yaml:"maxHalfOpen" env:"MAX_HALF_OPEN"`
	// MaxHalfOpenPerSource is how many may be under way from one IPv4 address or IPv6 /64 network.
	MaxHalfOpenPerSource int `yaml:"maxHalfOpenPerSource" env:"MAX_HALF_OPEN_PER_SOURCE"`
	// MaxSessions is how many sessions may exist, handshakes included.
	MaxSessions int `yaml:"maxSessions" env:"MAX_SESSIONS"`
	// IdleTimeout is how long a session without an association is kept.
	IdleTimeout time.Duration `yaml:"idleTimeout" env:"IDLE_TIMEOUT"`
}

// DefaultSecureConfig names no files.
func DefaultSecureConfig() SecureConfig {
	return SecureConfig{
		HandshakeTimeout:     15 * time.Second,
		MaxHalfOpen:          512,
		MaxHalfOpenPerSource: 64,
		MaxSessions:          20_000,
		IdleTimeout:          time.Minute,
	}
}

// Validate names all faults at once, each by its key; it opens no file.
func (c SecureConfig) Validate() error {
	return errors.Join(c.validateFiles(), c.ValidateLimits())
}

// ValidateLimits is the part of Validate that is about times and numbers.
func (c SecureConfig) ValidateLimits() error {
	return errors.Join(
		lasting("handshakeTimeout", c.HandshakeTimeout, 100*time.Millisecond, 5*time.Minute),
		within("maxHalfOpen", int64(c.MaxHalfOpen), 1, 1<<16),
		within("maxHalfOpenPerSource", int64(c.MaxHalfOpenPerSource), 1, 1<<16),
		within("maxSessions", int64(c.MaxSessions), 1, 1<<20),
		lasting("idleTimeout", c.IdleTimeout, 100*time.Millisecond, 24*time.Hour),
	)
}

func (c SecureConfig) validateFiles() error {
	var faults []error
	missing := func(key, file string) {
		faults = append(faults, fmt.Errorf("%s: missing; a certificate wants certificate, key and ca, and this is the %s", key, file))
	}
	switch {
	case c.Certificate == "" && c.Key == "" && c.CA == "" && c.PSK == "":
		return errors.New("certificate and psk: both missing; DTLS wants certificate, key and ca, or psk, or all four " +
			"(\"skyring cert\" makes them)")
	case c.Certificate != "" || c.Key != "" || c.CA != "":
		if c.Certificate == "" {
			missing("certificate", "PEM file of our certificate")
		}
		if c.Key == "" {
			missing("key", "PEM file of its private key")
		}
		if c.CA == "" {
			missing("ca", "PEM file of the authorities that sign our peers' certificates")
		}
	}
	if c.Identity != "" && c.PSK == "" {
		faults = append(faults, fmt.Errorf("identity: %q is looked up in psk, which is missing", c.Identity))
	}
	return errors.Join(faults...)
}

// CheckServer is Validate for a listener, which also looks into the files: it names all that keeps it from opening, each
// fault by its key.
func (c SecureConfig) CheckServer(now time.Time) error { return c.check(serving, now) }

// CheckClient is CheckServer for an end that dials.
func (c SecureConfig) CheckClient(now time.Time) error { return c.check(dialling, now) }

func (c SecureConfig) check(r role, now time.Time) error {
	err := c.validate(r)
	if fault := c.validateFiles(); fault != nil { // what is missing cannot be read
		return err
	}
	_, files := loadCredentials(c, r, now)
	return errors.Join(err, files)
}

// validate is Validate with what depends on the role.
func (c SecureConfig) validate(r role) error {
	if r == serving {
		return errors.Join(c.Validate(), c.validateServer())
	}
	return errors.Join(c.Validate(), c.validateClient())
}

// validateClient names what only a client may set, and must.
func (c SecureConfig) validateClient() error {
	switch {
	case c.PSK != "" && c.Certificate != "":
		return errors.New("certificate and psk: a client proves itself by one of both; leave the other empty")
	case c.PSK != "" && c.Identity == "":
		return errors.New("identity: missing; it says which line of psk the client is")
	}
	return nil
}

// validateServer names what only a client may set.
func (c SecureConfig) validateServer() error {
	var faults []error
	if c.Identity != "" {
		faults = append(faults, errors.New("identity: only for clients, which prove themselves by one line of psk; a listener takes all of them"))
	}
	if c.ServerName != "" {
		faults = append(faults, errors.New("serverName: only for clients; a listener's names are in its certificate"))
	}
	return errors.Join(faults...)
}

// sourceOf is what counts as one source: an IPv4 address or an IPv6 /64 network, which one host has to itself.
func sourceOf(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits) // never fails for these
	return prefix
}

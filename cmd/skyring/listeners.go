package main

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

// SCTPConfig is where stations are listened for, how they prove themselves, and the limits of the transport.
type SCTPConfig struct {
	// Listen is where stations arrive: numeric HOST:PORT for SCTP in UDP (RFC 6951), dtls://HOST:PORT for SCTP in DTLS (RFC 8261), ip://HOST for SCTP as IP protocol 132, which takes CAP_NET_RAW; several are separated by commas.
	Listen string `env:"LISTEN" yaml:"listen"`
	// Allow lists the networks from which stations may come without DTLS, such as 10.1.0.0/16, separated by commas; empty: this machine alone.
	Allow string `env:"ALLOW" yaml:"allow"`
	// DTLS are the files of those listeners that speak it.
	DTLS transport.SecureConfig `envPrefix:"DTLS_" yaml:"dtls"`

	transport.Config `yaml:",inline"`
}

// listeners are those that the configuration asks for. The error names every one that is wrong.
func (c *SCTPConfig) listeners() ([]transport.Listener, error) {
	allow, err := parsePrefixes("sctp.allow", c.Allow)
	faults := []error{err}

	var all []transport.Listener

	for text := range strings.SplitSeq(c.Listen, ",") {
		text = strings.TrimSpace(text)

		l, err := c.listener(text, allow)
		if err == nil {
			err = l.ValidateAddress()
		}

		if err == nil && l.Address.Port() != 0 && slices.ContainsFunc(all, func(other transport.Listener) bool { return other.Address == l.Address }) {
			err = errors.New("this address is there twice")
		}

		if err != nil {
			faults = append(faults, eachLine(fmt.Sprintf("sctp.listen %q: ", text), err))
		}

		all = append(all, l)
	}

	return all, errors.Join(faults...)
}

// listener is the one of a part of Listen.
func (c *SCTPConfig) listener(text string, allow []netip.Prefix) (transport.Listener, error) {
	mode, address, err := transport.ParseAddress(text)
	if err != nil {
		return transport.Listener{}, err
	}

	l := transport.Listener{Mode: mode, Address: address, Allow: allow}
	if mode == transport.ModeDTLS {
		l.Allow, l.SecureConfig = nil, c.DTLS
	}

	return l, nil
}

// check is what a process that listens has to know besides whether the addresses are right: that the files of DTLS can be used, and that
// nothing was set which would not protect anybody.
func (c *SCTPConfig) check(listeners []transport.Listener, now time.Time) error {
	if secures(listeners) {
		plain := slices.ContainsFunc(listeners, func(l transport.Listener) bool { return l.Mode != transport.ModeDTLS })

		err := within("sctp.dtls", c.DTLS.CheckServer(now))
		if !plain && c.Allow != "" {
			err = errors.Join(err, errors.New("sctp.allow: every address of sctp.listen begins with dtls://, where stations prove who they are and no network "+
				"is looked at: leave it empty"))
		}

		return err
	}

	err := within("sctp.dtls", c.DTLS.ValidateLimits())
	if named := c.files(); len(named) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: no address of sctp.listen begins with dtls://, so stations would prove nothing: listen at dtls://HOST:PORT, "+
			"or leave it empty", strings.Join(named, ", ")))
	}

	return err
}

// secures tells whether one of them speaks DTLS.
func secures(listeners []transport.Listener) bool {
	return slices.ContainsFunc(listeners, func(l transport.Listener) bool { return l.Mode == transport.ModeDTLS })
}

// files are the settings of DTLS that name something.
func (c *SCTPConfig) files() []string {
	var named []string

	for _, one := range []struct{ key, value string }{
		{"certificate", c.DTLS.Certificate}, {"key", c.DTLS.Key}, {"ca", c.DTLS.CA}, {"psk", c.DTLS.PSK},
		{"identity", c.DTLS.Identity}, {"serverName", c.DTLS.ServerName},
	} {
		if one.value != "" {
			named = append(named, "sctp.dtls."+one.key)
		}
	}

	return named
}

// parsePrefixes reads networks, separated by commas.
func parsePrefixes(name, text string) ([]netip.Prefix, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}

	var all []netip.Prefix

	for one := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(one))
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no network: an address and the length of its prefix is right, such as 10.1.0.0/16 or 0.0.0.0/0 for all", name, one)
		}

		all = append(all, prefix)
	}

	return all, nil
}

// openEndpoint listens at all of them.
func openEndpoint(listeners []transport.Listener, cfg transport.Config, log zerolog.Logger) (*transport.Endpoint, error) {
	links, err := transport.OpenListeners(listeners, log)
	if err != nil {
		return nil, portTaken(err, moveStations)
	}

	endpoint, err := transport.NewOver(links, cfg, log)
	if err != nil {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
	}

	return endpoint, err
}

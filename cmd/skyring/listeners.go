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

		if text == "" && c.Listen != "" {
			faults = append(faults, fmt.Errorf("sctp.listen %q: a part of it is empty, so there is a comma too many", c.Listen))

			continue
		}

		l, err := c.listener(text, allow)
		if err == nil {
			err = errors.Join(l.ValidateAddress(), collision(l, all))
		}

		if err != nil {
			faults = append(faults, eachLine(fmt.Sprintf("sctp.listen %q: ", text), err))
		}

		all = append(all, l)
	}

	return all, errors.Join(faults...)
}

// collision tells of a listener before that has this one's port, at its address or at all addresses of the machine.
func collision(l transport.Listener, before []transport.Listener) error {
	for _, other := range before {
		a, b := l.Address.Addr(), other.Address.Addr()

		switch {
		case l.Address == other.Address && (l.Mode == transport.ModeIP || l.Address.Port() != 0) && (l.Mode == transport.ModeIP) == (other.Mode == transport.ModeIP):
			return errors.New("this address is there twice")
		case l.Address.Port() != 0 && l.Address.Port() == other.Address.Port() && a.Is4() == b.Is4() && (a.IsUnspecified() || b.IsUnspecified()):
			return fmt.Errorf("%s and %s have the same port, and one of them means all addresses of this machine: give it another port", other.Address, l.Address)
		}
	}

	return nil
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
	var serves error
	if c.AcceptBacklog == 0 {
		serves = errors.New("sctp.acceptBacklog: 0 serves no station at all: 1 or more is right")
	}

	if secures(listeners) {
		plain := slices.ContainsFunc(listeners, func(l transport.Listener) bool { return l.Mode != transport.ModeDTLS })

		err := within("sctp.dtls", c.DTLS.CheckServer(now))
		if !plain && c.Allow != "" {
			err = errors.Join(err, errors.New("sctp.allow: every address of sctp.listen begins with dtls://, where stations prove who they are and no network "+
				"is looked at: leave it empty"))
		}

		return errors.Join(err, serves)
	}

	err := within("sctp.dtls", c.DTLS.ValidateLimits())
	if named := c.files(); len(named) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: no address of sctp.listen begins with dtls://, so stations would prove nothing: listen at dtls://HOST:PORT, "+
			"or leave it empty", strings.Join(named, ", ")))
	}

	return errors.Join(err, serves)
}

// secures tells whether one of them speaks DTLS.
func secures(listeners []transport.Listener) bool {
	return slices.ContainsFunc(listeners, func(l transport.Listener) bool { return l.Mode == transport.ModeDTLS })
}

// files are the settings of DTLS that name something.
func (c *SCTPConfig) files() []string {
	var named []string

	for _, one := range []struct{ key, value string }{
		{"certificate", c.DTLS.Certificate},
		{"key", c.DTLS.Key},
		{"ca", c.DTLS.CA},
		{"psk", c.DTLS.PSK},
		{"identity", c.DTLS.Identity},
		{"serverName", c.DTLS.ServerName},
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

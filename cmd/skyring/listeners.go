package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

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
		l, err := c.listener(strings.TrimSpace(text), allow)
		if err == nil {
			err = l.Validate()
		}

		if err == nil && l.Address.Port() != 0 && slices.ContainsFunc(all, func(other transport.Listener) bool { return other.Address == l.Address }) {
			err = errors.New("this address is there twice")
		}

		if err != nil {
			faults = append(faults, fmt.Errorf("sctp.listen %q: %w", text, err))
		}

		all = append(all, l)
	}

	return all, errors.Join(faults...)
}

// listener is the one of a part of Listen.
func (c *SCTPConfig) listener(text string, allow []netip.Prefix) (transport.Listener, error) {
	l := transport.Listener{Mode: transport.ModeUDP, Allow: allow}

	scheme, address, given := strings.Cut(text, "://")
	if !given {
		scheme, address = transport.ModeUDP.String(), text
	}

	if err := l.Mode.UnmarshalText([]byte(scheme)); err != nil {
		return l, err //nolint:wrapcheck // it says what is right
	}

	if l.Mode == transport.ModeDTLS {
		l.Allow, l.SecureConfig = nil, c.DTLS
	}

	at, err := netip.ParseAddrPort(address)

	if l.Mode == transport.ModeIP && err != nil { // it has no ports
		var bare netip.Addr

		bare, err = netip.ParseAddr(strings.Trim(address, "[]"))
		at = netip.AddrPortFrom(bare, 0)
	}

	if err != nil {
		return l, errors.New("must be a numeric address and a port, such as 127.0.0.1:9899, [::1]:9899, dtls://192.0.2.1:9899 or ip://192.0.2.1")
	}

	l.Address = at

	return l, nil
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

// reloadOnHangup reads certificates and keys again at each SIGHUP, until ctx ends. What is wrong is logged, and the old ones stay.
func reloadOnHangup(ctx context.Context, reload func() error, log zerolog.Logger) {
	hangups := make(chan os.Signal, 1) // one that waits is enough

	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}

		if err := reload(); err != nil {
			log.Error().Err(err).Msg("certificates and keys were not read again, the old ones stay")
		} else {
			log.Info().Msg("certificates and keys read again")
		}
	}
}

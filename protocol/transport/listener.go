package transport

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/rs/zerolog"
)

// Listener is what an operator may set for one address at which stations arrive. An endpoint may have several, such as
// DTLS for the open network, and plain UDP for a network of one's own.
type Listener struct {
	// Mode is udp, dtls or ip.
	Mode Mode `yaml:"mode" env:"MODE"`
	// Address is the UDP address, numeric: 192.0.2.1:9899, [2001:db8::1]:9899, or [::]:9899 for all of both families. With
	// ip it is one address of this machine, with port 0.
	Address netip.AddrPort `yaml:"address" env:"ADDRESS"`
	// Allow lists the networks from which plain UDP is taken; by default only the machine's own loopback. Only for udp
	// and ip.
	Allow []netip.Prefix `yaml:"allow" env:"ALLOW"`

	// SecureConfig is for dtls.
	SecureConfig `yaml:",inline"`
}

// DefaultListener is DTLS at IANA's port for SCTP over UDP, on this machine only; it lacks the files.
func DefaultListener() Listener {
	return Listener{Mode: ModeDTLS, Address: netip.MustParseAddrPort("127.0.0.1:9899"), SecureConfig: DefaultSecureConfig()}
}

// Validate names all faults at once, each by its key; it opens no file.
func (l Listener) Validate() error {
	secure := error(nil)
	if l.Mode == ModeDTLS {
		secure = l.validate(serving)
	} else if c := l.SecureConfig; c.Certificate != "" || c.Key != "" || c.CA != "" || c.PSK != "" {
		secure = errors.New("certificate, key, ca and psk: only for mode dtls; without it they would not be used")
	}
	return errors.Join(l.ValidateAddress(), secure)
}

// ValidateAddress is the part of Validate that is about mode, address and networks.
func (l Listener) ValidateAddress() error {
	var address error
	switch addr := l.Address.Addr(); {
	case !addr.IsValid():
		address = errors.New("address: missing; want a numeric address with a port, such as 192.0.2.1:9899")
	case addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		address = fmt.Errorf("address: %s is no address of one machine", addr)
	}
	switch l.Mode {
	case ModeUDP:
		return errors.Join(address, l.validatePlain())
	case ModeIP:
		return errors.Join(address, l.validateIP(), l.validatePlain())
	case ModeDTLS:
		if len(l.Allow) > 0 {
			return errors.Join(address, errors.New("allow: only for mode udp or ip; with dtls the peers prove who they are"))
		}
		return address
	}
	return errors.Join(errors.New("mode: missing; want udp, dtls or ip"), address)
}

func (l Listener) validateIP() error {
	if addr := l.Address.Addr(); l.Address.IsValid() && (l.Address.Port() != 0 || addr.IsUnspecified()) {
		return fmt.Errorf("address: %s; SCTP over IP has no UDP port and binds one address: want one of this machine's with port 0, "+
			"such as 192.0.2.1:0", l.Address)
	}
	return nil
}

func (l Listener) validatePlain() error {
	var faults []error
	for _, prefix := range l.Allow {
		if prefix.IsValid() && prefix != prefix.Masked() {
			faults = append(faults, fmt.Errorf("allow: %s has bits after its length; want %s", prefix, prefix.Masked()))
		}
	}
	if len(l.Allow) == 0 && l.Address.IsValid() && !l.Address.Addr().Unmap().IsLoopback() {
		faults = append(faults, fmt.Errorf("allow: missing, and %s is open to the network; mode %s proves nothing of a station: list "+
			"the networks of yours (0.0.0.0/0 and ::/0 for all), or use mode dtls", l.Address, l.Mode))
	}
	if len(l.Allow) > 0 && l.Address.IsValid() && !slices.ContainsFunc(l.Allow, l.hears) {
		faults = append(faults, fmt.Errorf("allow: none of its networks can reach %s, so nobody would be heard; add one that can%s",
			l.Address, l.reaching()))
	}
	return errors.Join(faults...)
}

// hears tells whether packets from a network can come to the address: from this machine alone to a loopback address, and
// of the same family to any but [::].
func (l Listener) hears(network netip.Prefix) bool {
	addr, from := l.Address.Addr().Unmap(), network.Addr().Unmap()
	switch {
	case addr == netip.IPv6Unspecified():
		return true
	case addr.Is4() != from.Is4():
		return false
	case addr.IsLoopback():
		return network.Overlaps(loopbackOf(addr))
	}
	return true
}

// reaching names a network that could be meant.
func (l Listener) reaching() string {
	if addr := l.Address.Addr().Unmap(); addr.IsLoopback() {
		return ", such as " + loopbackOf(addr).String()
	}
	return ""
}

func loopbackOf(addr netip.Addr) netip.Prefix {
	if addr.Is4() {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8)
	}
	return netip.PrefixFrom(netip.IPv6Loopback(), 128)
}

// Open binds the address, and reads the files of DTLS. The error says of each what is wrong with it.
func (l Listener) Open(log zerolog.Logger) (Link, error) { //nolint:ireturn // which kind it is depends on the mode
	if err := l.Validate(); err != nil {
		return nil, fmt.Errorf("listener %s %s:\n%w", l.Mode, l.Address, err)
	}
	switch l.Mode {
	case ModeDTLS:
		return opened(ListenDTLS(l.Address, l.SecureConfig, log))
	case ModeIP:
		return opened(ListenIP(l.Address.Addr(), l.Allow...))
	case ModeUDP:
	}
	return opened(ListenUDP(l.Address, l.Allow...))
}

// Listeners are mode and address of each of the endpoint's links, in the order given to NewOver.
func (e *Endpoint) Listeners() []Arrival {
	list := make([]Arrival, 0, len(e.links))
	for _, link := range e.links {
		list = append(list, Arrival{Mode: link.Mode(), Address: link.LocalAddr()})
	}
	return list
}

// opened keeps a link that is nil from becoming an interface that is not.
func opened[L Link](link L, err error) (Link, error) { //nolint:ireturn // as Open
	if err != nil {
		return nil, err
	}
	return link, nil
}

// OpenListeners opens several; on an error none stays open. The error names every listener that is wrong.
func OpenListeners(listeners []Listener, log zerolog.Logger) ([]Link, error) {
	if len(listeners) == 0 || len(listeners) > MaxLinks {
		return nil, fmt.Errorf("%d listeners, 1 to %d may be", len(listeners), MaxLinks)
	}
	var (
		links  []Link
		faults []error
	)
	for i, l := range listeners {
		link, err := l.Open(log)
		if err != nil {
			faults = append(faults, fmt.Errorf("listeners[%d]: %w", i, err))
			continue
		}
		links = append(links, link)
	}
	if len(faults) == 0 {
		return links, nil
	}
	for _, link := range links {
		faults = append(faults, link.Close())
	}
	return nil, errors.Join(faults...)
}

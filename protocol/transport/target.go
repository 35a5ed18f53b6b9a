package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"

	"github.com/rs/zerolog"
)

// Target is where a client dials: the address of a Listener, and how packets travel there.
type Target struct {
	Mode    Mode
	Address netip.AddrPort // as a Listener's
}

// ParseTarget reads a target as ParseAddress does, and validates it.
func ParseTarget(text string) (Target, error) {
	mode, address, err := ParseAddress(text)
	if err != nil {
		return Target{}, err
	}
	t := Target{Mode: mode, Address: address}
	return t, t.Validate()
}

// String is the target as ParseTarget reads it.
func (t Target) String() string {
	switch t.Mode {
	case ModeUDP:
		return t.Address.String()
	case ModeIP:
		return "ip://" + bracketed(t.Address.Addr())
	case ModeDTLS:
	}
	return t.Mode.String() + "://" + t.Address.String()
}

// Validate says what is wrong with a target that nothing can be sent to.
func (t Target) Validate() error {
	addr := t.Address.Addr()
	switch {
	case !addr.IsValid():
		return errors.New("the address is missing")
	case addr.IsUnspecified() || addr.IsMulticast():
		return fmt.Errorf("%s is no address of one machine", addr)
	case t.Mode == ModeIP && t.Address.Port() != 0:
		return fmt.Errorf("%s: SCTP over IP has no UDP port", t.Address)
	case t.Mode != ModeIP && t.Address.Port() == 0:
		return fmt.Errorf("%s: port 0 is none that something listens on", t.Address)
	}
	return nil
}

// Dialer is an endpoint from which targets of several modes can be dialled. Run it as any endpoint.
type Dialer struct {
	*Endpoint

	links map[netip.AddrPort]int // static: which of the endpoint's links leads to a target
}

// NewDialer binds free ports from which the targets can be reached, and reads the files of secure when one of them wants
// DTLS: all associations with it then share a session, and what this end proves. The error says what of the targets,
// settings or files is wrong. A port that is bound stays so until Run has ended, or Discard.
func NewDialer(targets []Target, secure SecureConfig, cfg Config, log zerolog.Logger) (*Dialer, error) {
	d := &Dialer{links: map[netip.AddrPort]int{}}
	var (
		links []Link
		roads []road
	)
	fail := func(err error) (*Dialer, error) {
		for _, l := range links {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	for _, t := range targets {
		way, err := t.road()
		if err != nil {
			return fail(fmt.Errorf("target %s: %w", t, err))
		}
		at := slices.Index(roads, way)
		if at < 0 {
			link, err := way.open(secure, log)
			if err != nil {
				return fail(fmt.Errorf("target %s: %w", t, err))
			}
			at, links, roads = len(links), append(links, link), append(roads, way)
		}
		if other, twice := d.links[t.Address]; twice && other != at {
			return fail(fmt.Errorf("target %s: the address is there twice, in two modes", t))
		}
		d.links[t.Address] = at
	}
	var err error
	if d.Endpoint, err = NewOver(links, cfg, log); err != nil {
		return fail(err)
	}
	return d, nil
}

// Dial is Endpoint.Dial over the link that leads to the target at this address; dial.Link is not looked at.
func (d *Dialer) Dial(ctx context.Context, to netip.AddrPort, dial Dial) (*Association, error) {
	link, known := d.links[to]
	if !known {
		return nil, fmt.Errorf("dial %s: it is none of the targets", to)
	}
	dial.Link = link
	return d.Endpoint.Dial(ctx, to, dial)
}

// road is what leads to targets: a mode, and where this end is.
type road struct {
	mode  Mode
	local netip.Addr
}

// road is the one that leads to the target.
func (t Target) road() (road, error) {
	if err := t.Validate(); err != nil {
		return road{}, err
	}
	addr := t.Address.Addr().Unmap()
	if t.Mode == ModeIP {
		local, err := sourceTo(addr)
		return road{t.Mode, local}, err
	}
	local := netip.IPv6Unspecified()
	switch {
	case addr.Is4() && addr.IsLoopback():
		local = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case addr.Is4():
		local = netip.IPv4Unspecified()
	case addr.IsLoopback():
		local = netip.IPv6Loopback()
	}
	return road{t.Mode, local}, nil
}

func (r road) open(secure SecureConfig, log zerolog.Logger) (Link, error) { //nolint:ireturn // which kind it is depends on the mode
	at := netip.AddrPortFrom(r.local, 0)
	switch r.mode {
	case ModeDTLS:
		return opened(OpenDTLS(at, secure, log))
	case ModeIP:
		return opened(ListenIP(r.local))
	case ModeUDP:
	}
	return opened(ListenUDP(at))
}

// sourceTo is the address of this machine from which packets to another leave. Over IP all endpoints at an address hear
// the packets of all, and both ends need one of their own; on loopback each dialer therefore takes one of the many at random.
func sourceTo(addr netip.Addr) (netip.Addr, error) {
	if addr.Is4() && addr.IsLoopback() {
		source := addr
		for source == addr {
			n := rand.Uint32() //nolint:gosec // no secret
			source = netip.AddrFrom4([4]byte{127, byte(n), byte(n >> 8), 1 + byte(n>>16)%254})
		}
		return source, nil
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, ianaPort))) // asks the routes, sends nothing
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way there: %w", err)
	}
	local, _ := conn.LocalAddr().(*net.UDPAddr)
	return unmapped(local.AddrPort()).Addr(), conn.Close()
}

package transport

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// ParseAddress reads where to listen or to dial as an operator writes it: HOST:PORT or udp://HOST:PORT for SCTP in UDP,
// dtls://HOST:PORT for SCTP in DTLS, ip://HOST for SCTP over IP, whose port is 0. HOST is numeric, [..] around IPv6. The
// error says what of it is wrong, and what would be right.
func ParseAddress(text string) (Mode, netip.AddrPort, error) {
	mode := ModeUDP
	scheme, host, given := strings.Cut(text, "://")
	if !given {
		host = text
	} else if err := mode.UnmarshalText([]byte(scheme)); err != nil {
		return 0, netip.AddrPort{}, fmt.Errorf("%w before ://, such as dtls://192.0.2.1:9899", err)
	}
	if mode == ModeIP {
		address, err := parseHost(host)
		return mode, address, err
	}
	address, err := netip.ParseAddrPort(host)
	if err != nil {
		return mode, netip.AddrPort{}, explainAddress(mode, host)
	}
	return mode, address, nil
}

// parseHost reads an address without a port.
func parseHost(host string) (netip.AddrPort, error) {
	if at, err := netip.ParseAddrPort(host); err == nil {
		return netip.AddrPort{}, fmt.Errorf("SCTP over IP has no UDP port: want ip://%s (sctp.port is the SCTP port)", bracketed(at.Addr()))
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is no numeric address: want one such as ip://192.0.2.1 or ip://[2001:db8::1]", host)
	}
	return netip.AddrPortFrom(addr, 0), nil
}

func bracketed(addr netip.Addr) string {
	if addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

// explainAddress says what is wrong with what is no numeric address with a port.
func explainAddress(mode Mode, text string) error {
	prefix := ""
	if mode != ModeUDP {
		prefix = mode.String() + "://"
	}
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return fmt.Errorf("the port is missing: want %s%s", prefix, netip.AddrPortFrom(addr, ianaPort))
	}
	host, port, err := net.SplitHostPort(text)
	scheme, rest, _ := strings.Cut(text, ":")
	switch {
	case new(Mode).UnmarshalText([]byte(scheme)) == nil:
		return fmt.Errorf("%q lacks // after the mode: want %s://%s", text, scheme, rest)
	case text == "":
		return errors.New("is empty: want a numeric address and a port, such as 127.0.0.1:9899 or dtls://192.0.2.1:9899")
	case err == nil && host == "":
		return fmt.Errorf("the address is missing: want one such as %s127.0.0.1:%s, or %s[::]:%s for all of this machine", prefix, port, prefix, port)
	case err == nil && !isPort(port):
		return fmt.Errorf("%q is no port: want a number up to 65535, such as %s%s", port, prefix, net.JoinHostPort(host, strconv.Itoa(ianaPort)))
	case err == nil:
		return fmt.Errorf("%q is no numeric address, and names are not looked up: want one such as %s192.0.2.1:%s or %s[2001:db8::1]:%s",
			host, prefix, port, prefix, port)
	}
	return fmt.Errorf("%q must be a numeric address and a port, such as %s192.0.2.1:%d or %s[2001:db8::1]:%d", text, prefix, ianaPort, prefix, ianaPort)
}

// ianaPort is IANA's UDP port for SCTP over UDP.
const ianaPort = 9899

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

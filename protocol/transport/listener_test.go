package transport_test

import (
	"net/netip"
	"strings"
	"testing"

	"skyring/protocol/transport"
)

func prefixes(list ...string) (parsed []netip.Prefix) {
	for _, p := range list {
		parsed = append(parsed, netip.MustParsePrefix(p))
	}
	return parsed
}

// Plain UDP is heard from listed networks only; without a list from loopback.
func TestUDPAllowList(t *testing.T) {
	for name, c := range map[string]struct {
		allow []netip.Prefix
		from  string
		heard bool
	}{
		"loopback by default": {nil, "127.0.0.1:0", true},
		"listed":              {prefixes("192.0.2.0/24", "127.0.0.2/32"), "127.0.0.2:0", true},
		"not listed":          {prefixes("192.0.2.0/24", "127.0.0.2/32"), "127.0.0.3:0", false},
		"all":                 {prefixes("0.0.0.0/0"), "127.0.0.3:0", true},
		"IPv6 only":           {prefixes("::/0"), "127.0.0.1:0", false},
	} {
		t.Run(name, func(t *testing.T) {
			link, err := transport.ListenUDP(loopback(), c.allow...)
			if err != nil {
				t.Fatal(err)
			}
			server, _ := startOn(t, link, steady())
			s := newStationAt(t, server, netip.MustParseAddrPort(c.from))
			s.send(0, s.init(nil))
			if c.heard {
				s.expect(2)
				return
			}
			counts(t, server, transport.ForeignSources, 1)
			if n := server.Stats().Count(transport.PacketsReceived); n != 0 {
				t.Errorf("%d packets were looked at", n)
			}
		})
	}
}

// Who dials from a link hears the answers, wherever it dials to, and nobody else.
func TestUDPAllowsWhomItDials(t *testing.T) {
	open, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.5:0"), prefixes("127.0.0.0/8")...)
	if err != nil {
		t.Fatal(err)
	}
	server, _ := startOn(t, open, steady())
	link, err := transport.ListenUDP(loopback(), prefixes("192.0.2.0/24")...)
	if err != nil {
		t.Fatal(err)
	}
	client, _ := startOn(t, link, quick())
	dialled, accepted := connect(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	echoes(t, dialled, sent, received, accepted)
	if at := dialled.Arrival(); at.Mode != transport.ModeUDP || dialled.Identity().Proven() || accepted.Identity().Proven() {
		t.Errorf("%v, %s, %s", at, dialled.Identity(), accepted.Identity())
	}
	stranger := newStationAt(t, client, netip.MustParseAddrPort("127.0.0.6:0"))
	stranger.send(0, stranger.init(nil))
	counts(t, client, transport.ForeignSources, 1)
}

// One endpoint listens at several addresses, of both families and modes; each association knows by which it came.
func TestListeners(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	secure := transport.DefaultListener()
	secure.Address, secure.PSK = loopback(), file
	listeners := []transport.Listener{
		{Mode: transport.ModeUDP, Address: loopback()},
		{Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("0.0.0.0:0"), Allow: prefixes("127.0.0.0/8")},
		secure,
	}
	if v6, err := transport.ListenUDP(netip.MustParseAddrPort("[::1]:0")); err == nil {
		_ = v6.Close()
		listeners = append(listeners, transport.Listener{Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("[::1]:0")})
	}
	links, err := transport.OpenListeners(listeners, logger(t))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := startOver(t, links, steady())
	addrs := server.LocalAddrs()
	for i, at := range server.Listeners() {
		if at != (transport.Arrival{Mode: listeners[i].Mode, Address: addrs[i]}) {
			t.Errorf("listener %d is at %v", i, at)
		}
	}
	addrs[1] = netip.AddrPortFrom(loopback().Addr(), addrs[1].Port())
	for i, addr := range addrs {
		client := start(t, steady())
		switch {
		case listeners[i].Mode == transport.ModeDTLS:
			client = clientDTLS(t, pskClient(file, "gw-7"))
		case addr.Addr().Is6():
			link, err := transport.ListenUDP(netip.MustParseAddrPort("[::1]:0"))
			if err != nil {
				t.Fatal(err)
			}
			client, _ = startOn(t, link, steady())
		}
		dialled, err := client.Dial(deadline(t), addr, transport.Dial{RemotePort: 2905})
		if err != nil {
			t.Fatalf("%s: %v", addr, err)
		}
		accepted := accept(t, server)
		exchange(t, dialled, accepted)
		if at := accepted.Arrival(); at != (transport.Arrival{Mode: listeners[i].Mode, Address: links[i].LocalAddr()}) {
			t.Errorf("arrived by %v, want listener %d", at, i)
		}
		if accepted.Identity().Proven() != (at(accepted) == transport.ModeDTLS) {
			t.Errorf("listener %d: %s", i, accepted.Identity())
		}
	}
}

func at(a *transport.Association) transport.Mode { return a.Arrival().Mode }

// A packet under an association's tag that comes by another of the server's links is not its peer's, though address and
// ports be the same.
func TestListenersDoNotMix(t *testing.T) {
	server, _ := startOver(t, []transport.Link{listenUDP(t), listenUDP(t)}, steady())
	s := newStation(t, server)
	s.connect()
	a := accept(t, server)
	s.server = server.LocalAddrs()[1]
	s.send(s.serverTag, []byte{6, 0, 0, 4}) // ABORT
	counts(t, server, transport.WrongAddresses, 1)
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
}

func TestListenerConfiguration(t *testing.T) {
	all := netip.MustParseAddrPort("0.0.0.0:9899")
	file := pskFile(t, "gw-7 17")
	secure := func(change func(*transport.Listener)) transport.Listener {
		l := transport.DefaultListener()
		l.PSK = file
		change(&l)
		return l
	}
	for want, l := range map[string]transport.Listener{
		"mode: missing":                         {Address: all},
		"address: missing":                      {Mode: transport.ModeUDP},
		"0.0.0.0:9899 is open to the network":   {Mode: transport.ModeUDP, Address: all},
		"(0.0.0.0/0 and ::/0 for all)":          {Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("192.0.2.1:9899")},
		"want 192.0.2.0/24":                     {Mode: transport.ModeUDP, Address: all, Allow: prefixes("192.0.2.1/24")},
		"want one of this machine's with port":  {Mode: transport.ModeIP, Address: netip.MustParseAddrPort("127.0.0.1:9899")},
		"mode ip proves nothing":                {Mode: transport.ModeIP, Address: netip.MustParseAddrPort("192.0.2.1:0")},
		"only for mode dtls":                    secure(func(l *transport.Listener) { l.Mode, l.Allow = transport.ModeUDP, prefixes("::/0") }),
		"allow: only for mode udp":              secure(func(l *transport.Listener) { l.Allow = prefixes("::/0") }),
		"none of its networks can reach 127.0.": {Mode: transport.ModeUDP, Address: loopback(), Allow: prefixes("10.0.0.0/8")},
		"nobody would be heard":                 {Mode: transport.ModeUDP, Address: all, Allow: prefixes("::/0")},
		"such as ::1/128":                       {Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("[::1]:1"), Allow: prefixes("fd00::/8")},
		"224.0.0.1 is no address of one":        {Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("224.0.0.1:1"), Allow: prefixes("0.0.0.0/0")},
		"certificate and psk: both missing":     secure(func(l *transport.Listener) { l.PSK = "" }),
		"maxHalfOpen: 0":                        secure(func(l *transport.Listener) { l.MaxHalfOpen = 0 }),
		"identity: only for clients":            secure(func(l *transport.Listener) { l.Identity = "gw-7" }),
	} {
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
	for _, l := range []transport.Listener{
		{Mode: transport.ModeUDP, Address: all, Allow: prefixes("0.0.0.0/0", "::/0")},
		{Mode: transport.ModeUDP, Address: loopback()},
		{Mode: transport.ModeUDP, Address: loopback(), Allow: prefixes("10.0.0.0/8", "127.0.0.2/32")},
		{Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("[::]:9899"), Allow: prefixes("10.0.0.0/8")},
		{Mode: transport.ModeIP, Address: loopback()},
		{Mode: transport.ModeIP, Address: netip.MustParseAddrPort("192.0.2.1:0"), Allow: prefixes("192.0.2.0/24")},
		secure(func(l *transport.Listener) { l.Address = all }),
	} {
		if err := l.Validate(); err != nil {
			t.Error(err)
		}
	}
	if err := (transport.Listener{Mode: transport.ModeUDP, Address: all, Allow: prefixes("0.0.0.0/0")}).Validate(); err != nil {
		t.Errorf("all networks, said in so many words: %v", err)
	}
}

// Every listener that is wrong is named, and none stays open.
func TestOpenListenersRefuses(t *testing.T) {
	free := listenUDP(t)
	address := free.LocalAddr()
	taken := listenUDP(t)
	t.Cleanup(func() { _ = taken.Close() })
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := transport.OpenListeners([]transport.Listener{
		{Mode: transport.ModeUDP, Address: address}, {Mode: transport.ModeUDP, Address: taken.LocalAddr()}, {},
	}, logger(t))
	if err == nil || !strings.Contains(err.Error(), "listeners[1]: ") || !strings.Contains(err.Error(), "listeners[2]: ") ||
		strings.Contains(err.Error(), "listeners[0]") {
		t.Errorf("%v", err)
	}
	again, err := transport.ListenUDP(address)
	if err != nil {
		t.Fatalf("the first stayed open: %v", err)
	}
	_ = again.Close()
	if _, err := transport.OpenListeners(nil, logger(t)); err == nil {
		t.Error("no listener at all is taken")
	}
}

func TestModeText(t *testing.T) {
	for _, m := range []transport.Mode{transport.ModeUDP, transport.ModeDTLS, transport.ModeIP} {
		text, err := m.MarshalText()
		var back transport.Mode
		if err != nil || back.UnmarshalText(text) != nil || back != m {
			t.Errorf("%s reads back as %s", m, back)
		}
	}
	var m transport.Mode
	if err := m.UnmarshalText([]byte("tls")); err == nil || !strings.Contains(err.Error(), "udp, dtls or ip") {
		t.Error(err)
	}
}

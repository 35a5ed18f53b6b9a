package transport_test

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"skyring/protocol/transport"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]transport.Target{
		"127.0.0.1:9899":             {Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("127.0.0.1:9899")},
		"udp://127.0.0.1:9899":       {Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("127.0.0.1:9899")},
		"[2001:db8::1]:1":            {Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("[2001:db8::1]:1")},
		"dtls://[fe80::1%eth0]:9899": {Mode: transport.ModeDTLS, Address: netip.MustParseAddrPort("[fe80::1%eth0]:9899")},
		"ip://192.0.2.1":             {Mode: transport.ModeIP, Address: netip.MustParseAddrPort("192.0.2.1:0")},
		"ip://[2001:db8::1]":         {Mode: transport.ModeIP, Address: netip.MustParseAddrPort("[2001:db8::1]:0")},
		"ip://2001:db8::1":           {Mode: transport.ModeIP, Address: netip.MustParseAddrPort("[2001:db8::1]:0")},
	} {
		got, err := transport.ParseTarget(text)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if again, err := transport.ParseTarget(got.String()); err != nil || again != got {
			t.Errorf("%s is printed as %s, which reads as %v: %v", text, got, again, err)
		}
	}
}

func TestParseAddressFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "is empty: want a numeric address and a port",
		"192.0.2.1":             "the port is missing: want 192.0.2.1:9899",
		"dtls://192.0.2.1":      "the port is missing: want dtls://192.0.2.1:9899",
		"2001:db8::1":           "the port is missing: want [2001:db8::1]:9899",
		"[2001:db8::1]":         "the port is missing: want [2001:db8::1]:9899",
		"gw.example:9899":       `"gw.example" is no numeric address, and names are not looked up`,
		"dtls://gw.example:1":   "want one such as dtls://192.0.2.1:1 or dtls://[2001:db8::1]:1",
		"192.0.2.1:99999":       `"99999" is no port: want a number up to 65535, such as 192.0.2.1:9899`,
		"192.0.2.1:":            `"" is no port`,
		"dtls:192.0.2.1:1":      "lacks // after the mode: want dtls://192.0.2.1:1",
		":9899":                 "the address is missing: want one such as 127.0.0.1:9899, or [::]:9899",
		"192.0.2.1:9899/x":      `"9899/x" is no port`,
		"gw.example":            `"gw.example" must be a numeric address and a port`,
		"sctp://192.0.2.1:9899": `mode "sctp": want udp, dtls or ip before ://`,
		"DTLS://192.0.2.1:9899": `mode "DTLS": want udp, dtls or ip before ://`,
		"ip://192.0.2.1:9899":   "SCTP over IP has no UDP port: want ip://192.0.2.1",
		"ip://[2001:db8::1]:1":  "want ip://[2001:db8::1]",
		"ip://gw.example":       `"gw.example" is no numeric address: want one such as ip://192.0.2.1`,
		"ip://":                 `"" is no numeric address`,
		"0.0.0.0:1":             "0.0.0.0 is no address of one machine",
		"dtls://[::]:1":         ":: is no address of one machine",
		"224.0.0.1:1":           "224.0.0.1 is no address of one machine",
		"127.0.0.1:0":           "port 0 is none that something listens on",
	} {
		if got, err := transport.ParseTarget(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v\nwant %q", text, got, err, want)
		}
	}
}

// startDialer lets a dialer run for the test.
func startDialer(t *testing.T, targets []transport.Target, secure transport.SecureConfig) *transport.Dialer {
	t.Helper()
	dialer, err := transport.NewDialer(targets, secure, quick(), logger(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := dialer.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return dialer
}

// One dialer reaches plain and secure targets, those with the same needs over one link.
func TestDialer(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	secured, secureLink := serveDTLS(t, pskServer(file))
	plain, also := start(t, quick()), start(t, quick())
	targets := []transport.Target{
		{Mode: transport.ModeUDP, Address: plain.LocalAddr()},
		{Mode: transport.ModeDTLS, Address: secured.LocalAddr()},
		{Mode: transport.ModeUDP, Address: also.LocalAddr()},
	}
	dialer := startDialer(t, targets, pskClient(file, "gw-7"))
	if n := len(dialer.LocalAddrs()); n != 2 {
		t.Errorf("%d links", n)
	}
	for i, server := range []*transport.Endpoint{plain, secured, also} {
		dialled, err := dialer.Dial(deadline(t), targets[i].Address, transport.Dial{RemotePort: 2905})
		if err != nil {
			t.Fatal(err)
		}
		accepted := accept(t, server)
		if accepted.Arrival().Mode != targets[i].Mode || accepted.Identity().Proven() != (targets[i].Mode == transport.ModeDTLS) {
			t.Errorf("target %s: arrived by %s as %s", targets[i], accepted.Arrival().Mode, accepted.Identity())
		}
		exchange(t, dialled, accepted)
	}
	if _, err := dialer.Dial(deadline(t), loopback(), transport.Dial{RemotePort: 1}); err == nil || !strings.Contains(err.Error(), "none of the targets") {
		t.Error(err)
	}
	if n := secureLink.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// Over IP both ends have addresses of their own, on this machine too.
func TestDialerOverIP(t *testing.T) {
	needsRoot(t)
	for _, at := range []string{host(21), host(22)} {
		server, _ := startOn(t, listenIP(t, at), steady())
		target := transport.Target{Mode: transport.ModeIP, Address: server.LocalAddr()}
		dialer := startDialer(t, []transport.Target{target}, transport.SecureConfig{})
		dialled, err := dialer.Dial(deadline(t), target.Address, transport.Dial{RemotePort: 2905})
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, dialled, accept(t, server))
	}
}

func TestDialerRefuses(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:9")
	for want, targets := range map[string][]transport.Target{
		"target 127.0.0.1:0: 127.0.0.1:0: port 0": {{Mode: transport.ModeUDP, Address: loopback()}},
		"certificate and psk: both missing":       {{Mode: transport.ModeUDP, Address: at}, {Mode: transport.ModeDTLS, Address: netip.MustParseAddrPort("127.0.0.1:8")}},
		"0 links":                                 {},
	} {
		if d, err := transport.NewDialer(targets, transport.DefaultSecureConfig(), quick(), logger(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v\nwant %q", d, err, want)
		}
	}
	file := pskFile(t, "gw-7 17")
	both := []transport.Target{{Mode: transport.ModeUDP, Address: at}, {Mode: transport.ModeDTLS, Address: at}}
	if _, err := transport.NewDialer(both, pskClient(file, "gw-7"), quick(), logger(t)); err == nil || !strings.Contains(err.Error(), "in two modes") {
		t.Error(err)
	}
}

// A plain dial to a DTLS listener, and the reverse, end in words that make an operator look at the mode.
func TestDialInTheWrongMode(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	secured, _ := serveDTLS(t, pskServer(file))
	dialFails(t, start(t, quick()), secured.LocalAddr(), "or one that wants DTLS")
	client := pskClient(file, "gw-7")
	client.HandshakeTimeout = 300_000_000
	dialFails(t, clientDTLS(t, client), start(t, quick()).LocalAddr(), "or one without DTLS")
}

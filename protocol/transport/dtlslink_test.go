package transport_test

import (
	"bytes"
	"net/netip"
	"testing"

	"skyring/protocol/identity"
	"skyring/protocol/transport"
)

func TestDTLSWithCertificates(t *testing.T) {
	ca := newAuthority(t)
	server, _ := serveDTLS(t, ca.secure(ca.issue("dispatcher")))
	client := clientDTLS(t, ca.secure(ca.issue("gw-7", speaksFor("17"), speaksFor("20-42"))))
	dialled, accepted := connect(t, client, server)
	exchange(t, dialled, accepted)
	id := accepted.Identity()
	if id.Method != identity.Certificate || id.Name != "gw-7" || id.Stations.String() != "17,20-42" || len(id.URIs) != 2 {
		t.Errorf("client is %s with %v", id, id.URIs)
	}
	if id.Allows(0x16) || !id.Allows(0x17) || id.Allows(0x18) || !id.Allows(0x42) {
		t.Errorf("stations of %s", id)
	}
	if id := dialled.Identity(); id.Name != "dispatcher" || !id.Stations.Empty() {
		t.Errorf("server is %s", id)
	}
	if at := accepted.Arrival(); at.Mode != transport.ModeDTLS || at.Address != server.LocalAddr() {
		t.Errorf("arrived by %v", at)
	}
	if accepted.PeerAddr() != client.LocalAddr() {
		t.Errorf("peer at %s", accepted.PeerAddr())
	}
}

func TestDTLSWithPreSharedKeys(t *testing.T) {
	file := pskFile(t, "gw-7 17,20-42", "hub *", "mme-1")
	server, _ := serveDTLS(t, pskServer(file))
	for _, c := range []struct {
		name, stations string
	}{{"gw-7", "17,20-42"}, {"hub", "*"}, {"mme-1", "none"}} {
		client := clientDTLS(t, pskClient(file, c.name))
		dialled, accepted := connect(t, client, server)
		exchange(t, dialled, accepted)
		if id := accepted.Identity(); id.Method != identity.PreSharedKey || id.Name != c.name || id.Stations.String() != c.stations {
			t.Errorf("client %s is %s", c.name, id)
		}
	}
}

// One port takes both kinds of clients.
func TestDTLSWithBoth(t *testing.T) {
	ca, file := newAuthority(t), pskFile(t, "gw-7 17")
	cfg := ca.secure(ca.issue("dispatcher"))
	cfg.PSK = file
	server, _ := serveDTLS(t, cfg)
	for name, client := range map[string]*transport.Endpoint{
		"gw-7": clientDTLS(t, pskClient(file, "gw-7")), "gw-8": clientDTLS(t, ca.secure(ca.issue("gw-8", speaksFor("18")))),
	} {
		dialled, accepted := connect(t, client, server)
		exchange(t, dialled, accepted)
		if id := accepted.Identity(); id.Name != name {
			t.Errorf("client %s is %s", name, id)
		}
	}
}

func TestDTLSOverIPv6(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	link, err := transport.ListenDTLS(netip.MustParseAddrPort("[::1]:0"), pskServer(file), logger(t))
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	server, _ := startOn(t, link, steady())
	client, _ := startOn(t, openDTLS(t, pskClient(file, "gw-7"), netip.MustParseAddrPort("[::]:0")), steady())
	dialled, accepted := connect(t, client, server)
	exchange(t, dialled, accepted)
	if !accepted.PeerAddr().Addr().Is6() {
		t.Errorf("peer at %s", accepted.PeerAddr())
	}
}

// exchange sends messages of ESSP's sizes, and one far longer than a record, both ways.
func exchange(tb testing.TB, a, b *transport.Association) {
	tb.Helper()
	toA, toB := collect(tb, a), collect(tb, b)
	for _, size := range []int{36, 128, 512, 1140, 1191, 4000, 60_000} {
		payload := bytes.Repeat([]byte{byte(size)}, size)
		for _, way := range []struct {
			from *transport.Association
			into <-chan transport.Message
		}{{a, toB}, {b, toA}} {
			if err := way.from.Send(deadline(tb), transport.Message{Stream: 1, PPID: 3, Payload: payload}); err != nil {
				tb.Fatal(err)
			}
			if m := next(tb, way.into); !bytes.Equal(m.Payload, payload) {
				tb.Fatalf("%d bytes came as %d", size, len(m.Payload))
			}
		}
	}
}

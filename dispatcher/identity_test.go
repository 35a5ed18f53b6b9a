package dispatcher_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
)

// A peer that has proven over DTLS to be station 11 (hexadecimal) speaks for it, and for no other: there its association ends, and nobody else's does (I9).
func TestStationsSpeakForThemselvesOnly(t *testing.T) {
	psk := filepath.Join(t.TempDir(), "psk")
	if err := os.WriteFile(psk, []byte("own 000102030405060708090a0b0c0d0e0f 11\nother 101112131415161718191a1b1c1d1e1f 18-20\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	secure := transport.DefaultSecureConfig()
	secure.PSK = psk

	server, err := transport.ListenDTLS(loopback(), secure, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())

	var got seen

	n.judge = func(e *bus.Envelope) bus.Answer {
		got.note(e)

		return bus.Answer{Status: bus.Committed, HasReply: true, Reply: bus.Reply{PPID: protocol.PPID, Payload: []byte("yes")}}
	}

	f := startDispatcherOn(t, url, testConfig("d1"), startEndpointOn(t, server, transport.DefaultConfig()))

	as := func(identity string) *station {
		client := secure
		client.Identity = identity

		link, err := transport.OpenDTLS(loopback(), client, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}

		s := stationsFrom(t, startEndpointOn(t, link, transport.DefaultConfig()), f, 1)[0]
		s.listen()

		return s
	}
	own, other := as("own"), as("other")

	own.send(0, protocol.PPID, esspMessage(t, 1)) // of station 0x11
	eventually(t, "an answer", func() bool { return len(own.answers(protocol.PPID)) == 1 })

	other.send(0, protocol.PPID, esspMessage(t, 2))

	if why := closedBy(t, other.link); why.Reason != transport.PeerAbort || !strings.Contains(why.Detail, "station 0000000000000011 is none that this peer has proven to be") {
		t.Errorf("%+v", why)
	}

	own.send(0, protocol.PPID, esspMessage(t, 3))
	eventually(t, "an answer", func() bool { return len(own.answers(protocol.PPID)) == 2 })

	if st := f.Stats(); st.Dropped[dispatcher.DropForeignStation.String()] != 1 || len(got.all()) != 2 {
		t.Errorf("%d envelopes reached the node, %+v", len(got.all()), st.Dropped)
	}
}

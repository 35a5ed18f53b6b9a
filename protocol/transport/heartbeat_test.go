package transport_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

func everything([]byte) bool { return true }

// A peer that vanishes is found by its silence, idle or with data on the way.
func TestDeadPeer(t *testing.T) {
	for _, busy := range []bool{false, true} {
		server, client := start(t, restless()), start(t, restless())
		r, dialled, accepted := connectByRelay(t, client, server)
		r.losing(everything)
		for busy {
			m := transport.Message{PPID: 60, Payload: make([]byte, 10_000)}
			if err := dialled.Send(context.Background(), m); err != nil {
				if !errors.Is(err, transport.ErrClosed) {
					t.Errorf("Send: %v", err)
				}
				break
			}
		}
		wantReason(t, dialled, transport.PathFailed)
		wantReason(t, accepted, transport.PathFailed)
		if client.Stats().Count(transport.PathFailures) != 1 || client.Stats().Associations != 0 {
			t.Error("does not count, or is still there")
		}
	}
}

// A path that works one way only is dead too: what comes in by itself proves nothing.
func TestOneWayPath(t *testing.T) {
	s, _, a, messages := pair(t, restless())
	talking := make(chan struct{})
	go func() {
		defer close(talking)
		for a.Err() == nil {
			s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, packet.AppendParameter(nil, 1, []byte("guessed!"))))
			s.send(s.serverTag, s.data(whole(0, "I hear nothing")))
			select {
			case <-messages:
			case <-a.Done():
			}
		}
	}()
	wantReason(t, a, transport.PathFailed)
	<-talking
}

func TestHeartbeatsKeepIdleAssociations(t *testing.T) {
	server, client := start(t, restless()), start(t, restless())
	dialled, accepted := connect(t, client, server)
	eventually(t, "heartbeats are answered", func() bool { return dialled.RoundTrip() > 0 && accepted.RoundTrip() > 0 })
	if dialled.Err() != nil || accepted.Err() != nil {
		t.Error(dialled.Err(), accepted.Err())
	}
}

// Data that the peer acknowledges in between does not make its answer to a heartbeat a wrong one.
func TestHeartbeatWhileBusy(t *testing.T) {
	cfg := steady()
	cfg.HeartbeatInterval = time.Hour
	s, server, a, messages := pair(t, cfg)
	transport.Beat(a, time.Now().Add(2*time.Hour))
	_, heartbeat := s.expect(packet.TypeHeartbeat)
	if err := a.Send(deadline(t), transport.Message{Payload: []byte("busy")}); err != nil {
		t.Fatal(err)
	}
	s.expect(packet.TypeData)
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeSack, 0, slices.Concat(be32(s.serverTSN), be32(64<<10), be32(0))))
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, heartbeat.Value))
	s.stillServed(messages)
	if n := server.Stats().Count(transport.BadHeartbeats); n != 0 {
		t.Errorf("%d bad heartbeats", n)
	}
}

// A station that has another IP address goes on from there in vain: the packets count, and nothing is sent there.
func TestAddressChange(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	before := a.PeerAddr()
	other := newStationAt(t, server, netip.MustParseAddrPort("127.0.0.2:0"))
	other.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, []byte("me"))))
	other.silence()
	s.stillServed(messages)
	if n := server.Stats().Count(transport.WrongAddresses); n != 1 || a.PeerAddr() != before {
		t.Errorf("%d packets from a wrong address, peer at %s", n, a.PeerAddr())
	}
}

// A port that we are dialling at the same time stays the dial's.
func TestPortChangeToADialledPort(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	before := a.PeerAddr()
	there := newStation(t, server)
	ctx, giveUp := context.WithCancel(context.Background())
	dialled := make(chan error, 1)
	go func() {
		_, err := server.Dial(ctx, there.socket.LocalAddr().(*net.UDPAddr).AddrPort(), transport.Dial{LocalPort: s.serverPort, RemotePort: s.port})
		dialled <- err
	}()
	there.expect(packet.TypeInit)
	there.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, []byte("me"))))
	_, probe := there.expect(packet.TypeHeartbeat)
	there.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, probe.Value))
	s.stillServed(messages)
	if a.PeerAddr() != before {
		t.Error("moved to where a handshake is under way")
	}
	giveUp()
	if err := <-dialled; !errors.Is(err, context.Canceled) {
		t.Errorf("Dial: %v", err)
	}
}

// A NAT gives the client another port: packets from there are taken, and ours go there once it has proved itself.
func TestPortChange(t *testing.T) {
	server, client := start(t, steady()), start(t, steady())
	r, dialled, accepted := connectByRelay(t, client, server)
	atClient, atServer := collect(t, dialled), collect(t, accepted)
	echoes(t, dialled, atClient, atServer, accepted)
	before := accepted.PeerAddr()
	r.rebind(t)
	echoes(t, dialled, atClient, atServer, accepted)
	eventually(t, "the new port is the peer's", func() bool { return accepted.PeerAddr() != before })
	if server.Stats().Count(transport.Rebinds) != 1 {
		t.Errorf("%d rebinds", server.Stats().Count(transport.Rebinds))
	}
	if err := dialled.Close(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantReason(t, accepted, transport.PeerShutdown)
}

// Knowing the tag is not enough to have packets sent elsewhere.
func TestPortChangeNeedsTheNonce(t *testing.T) {
	s, server, a, messages := pair(t, steady())
	before := a.PeerAddr()
	thief := newStation(t, server)
	thief.serverTag = s.serverTag
	thief.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, []byte("me"))))
	_, probe := thief.expect(packet.TypeHeartbeat)
	wrong := append([]byte(nil), probe.Value...)
	wrong[len(wrong)-1] ^= 2
	thief.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, wrong))
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, probe.Value)) // the nonce from another port
	s.stillServed(messages)
	if a.PeerAddr() != before || server.Stats().Count(transport.Rebinds) != 0 {
		t.Error("moved")
	}
	thief.send(s.serverTag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, probe.Value))
	eventually(t, "moves for the right answer", func() bool { return a.PeerAddr() != before })
}

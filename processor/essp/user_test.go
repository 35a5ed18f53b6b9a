package essp_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/key"
)

// What all stations of these tests have in common.
const (
	beam  protocol.Beam = 7
	boot  uint64        = 5
	beats               = 200 * time.Millisecond // between two heartbeats of a station
)

// manner is how a dispatcher treats what is for its stations.
type manner uint8

const (
	serving manner = iota // it takes it
	deaf                  // it says nothing: it sleeps
	lost                  // it has no such association: it is another incarnation
	away                  // it is not there
)

// user is a station that does what it is asked, and the dispatcher that it is alone with.
type user struct {
	// static
	t    *testing.T
	id   protocol.StationID
	key  []byte
	conn *bus.Conn
	name string // of the dispatcher
	node string

	heard chan []byte // what the gateway says

	mu          sync.Mutex
	manner      manner                 // guarded by mu
	taking      *bus.Subscription      // guarded by mu
	incarnation uint64                 // guarded by mu
	epoch       uint64                 // guarded by mu
	sequence    uint64                 // guarded by mu; in the association
	request     uint32                 // guarded by mu; of the station
	types       map[protocol.Type]int  // guarded by mu; heard
	call        protocol.CallReference // guarded by mu; the last one heard of
	over        bool                   // guarded by mu; it has ended
}

// live lets a station live until the test ends.
func live(t *testing.T, conn *bus.Conn, node string, id protocol.StationID) *user {
	t.Helper()

	profile := profileOf(id)
	u := &user{
		t: t, id: id, key: profile.Key[:], conn: conn, name: fmt.Sprintf("d%d", id), node: node, heard: make(chan []byte, 1024),
		types: map[protocol.Type]int{},
	}
	u.arrive(uint64(id) << 8)

	ctx, cancel := context.WithCancel(t.Context())

	var living sync.WaitGroup

	living.Go(func() {
		tick := time.NewTicker(beats)
		defer tick.Stop()

		for {
			select {
			case payload := <-u.heard:
				u.hear(payload)
			case <-tick.C:
				u.say(protocol.Header{}, protocol.Heartbeat{})
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		living.Wait()
	})

	return u
}

// arrive begins a new run of the dispatcher, in which the station has a new association.
func (u *user) arrive(epoch uint64) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()

	if u.taking == nil {
		u.taking = must[*bus.Subscription](u.t)(u.conn.Subscribe(bus.Namespace("default").Dispatcher(u.name), u.frame))
	}

	u.manner, u.epoch, u.sequence = serving, epoch, 0
	u.incarnation++
}

// become changes how the dispatcher treats the station.
func (u *user) become(m manner) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()

	u.manner = m
	if m == away {
		if err := u.taking.Unsubscribe(); err != nil {
			u.t.Error(err)
		}

		u.taking = nil
	}
}

// frame takes what processors send to the dispatcher.
func (u *user) frame(m bus.Message) {
	if bus.IsDeliver(m.Data) {
		u.deliver(m)

		return
	}

	r, err := bus.DecodeAnswers(m.Data)
	if m.NoResponders || err != nil {
		return
	}

	var a bus.Answer
	for r.Next(&a) {
		if a.HasReply {
			u.take(a.Reply.Payload)
		}
	}
}

func (u *user) take(payload []byte) {
	select {
	case u.heard <- append([]byte(nil), payload...):
	default:
		u.t.Error("the gateway says too much")
	}
}

func (u *user) deliver(m bus.Message) {
	u.mu.Lock()
	defer u.mu.Unlock()

	r, err := bus.DecodeDeliver(m.Data)
	if err != nil || u.manner == deaf {
		return
	}

	var w bus.DeliveredWriter
	w.Reset(nil, u.incarnation, r.Node())

	var one bus.Delivery
	for r.Next(&one) {
		status := bus.Taken
		if u.manner == lost || one.Epoch != u.epoch || r.Dispatcher() != u.incarnation {
			status = bus.NoAssociation
		} else {
			u.take(one.Payload)
		}

		if err := w.Append(bus.Delivered{Number: one.Number, Status: status}); err != nil {
			u.t.Error(err)
		}
	}

	if err := u.conn.Publish(m.Reply, "", w.Bytes()); err != nil && !errors.Is(err, context.Canceled) {
		u.t.Error(err)
	}
}

// say sends a message of the station, unless its association is not there.
func (u *user) say(h protocol.Header, m protocol.Message) {
	u.mu.Lock()
	defer u.mu.Unlock()

	if u.manner != serving {
		return
	}

	if h.Station = u.id; !h.Response() {
		u.request++
		h.Sequence = u.request
	}

	payload, err := protocol.Append(nil, h, m)
	if err != nil {
		u.t.Error(err)

		return
	}

	u.sequence++

	var w bus.EnvelopeWriter
	w.Reset(nil, u.incarnation)

	err = w.Append(&bus.Envelope{
		Entry: u.sequence, Attempt: 1, Epoch: u.epoch, Sequence: u.sequence, Ordinal: u.sequence, Expiry: time.Now().Add(patience).UnixMicro(),
		PPID: protocol.PPID, Key: key.Station(nil, uint64(u.id)), Payload: payload,
	})
	if err == nil {
		ns := bus.Namespace("default")
		err = u.conn.Publish(ns.Node(u.node), ns.Dispatcher(u.name), w.Bytes())
	}

	if err != nil {
		u.t.Error(err)
	}
}

func (u *user) logOn() {
	u.say(protocol.Header{}, protocol.LogonRequest{BootNonce: boot, Class: 2, Beam: beam})
}

// hear does what the gateway asks for.
func (u *user) hear(payload []byte) {
	h, m, err := protocol.Decode(payload)
	if err != nil {
		u.t.Error(err)

		return
	}

	u.mu.Lock()

	u.types[h.Type]++
	if h.Call != protocol.NoCall {
		u.call = h.Call
	}

	switch h.Type { //nolint:exhaustive // the others do not end a call
	case protocol.TypeCallProceeding, protocol.TypeCallAnnounce:
		u.over = false
	case protocol.TypeDisconnect, protocol.TypeRelease, protocol.TypeReset:
		u.over = true
	}

	state := protocol.StateActive
	if u.over {
		state = protocol.StateIdle
	}
	u.mu.Unlock()

	switch m := m.(type) {
	case protocol.LogonChallenge:
		u.prove(m.Nonce)
	case protocol.LogonInterrogate:
		u.prove(m.Nonce)
	case protocol.LogonConfirm:
		u.say(h.Answer(), protocol.LogonAck{})
	case protocol.CallAnnounce:
		u.say(h.Answer(), protocol.Status{State: protocol.StateRequested})
	case protocol.ChannelAssign:
		u.say(h.Answer(), protocol.ChannelStatus{Locked: true})

		if h.Call.FromGateway() {
			u.say(protocol.Header{Call: h.Call}, protocol.CallConnect{})
		}
	case protocol.StatusEnquiry:
		u.say(h.Answer(), protocol.Status{State: state, Cause: protocol.CauseResponseToEnquiry})
	case protocol.Reset:
		u.say(h.Answer(), protocol.ResetAck{})
	case protocol.CallConnect:
		u.say(h.Answer(), protocol.CallConnectAck{})
	case protocol.Disconnect:
		u.say(h.Answer(), protocol.Release{})
	case protocol.Release:
		if h.Response() {
			u.say(protocol.Header{Call: h.Call}, protocol.ReleaseComplete{})
		} else {
			u.say(h.Answer(), protocol.ReleaseComplete{})
		}
	}
}

func (u *user) prove(nonce [protocol.NonceSize]byte) {
	u.say(protocol.Header{}, protocol.LogonAuth{BootNonce: boot, Beam: beam, Nonce: nonce, Proof: protocol.LogonProof(u.key, u.id, nonce, boot, beam)})
}

// count is how often the gateway sent a message.
func (u *user) count(what protocol.Type) int {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.types[what]
}

// lastCall is the reference of the call that the gateway spoke of last.
func (u *user) lastCall() protocol.CallReference {
	u.mu.Lock()
	defer u.mu.Unlock()

	return u.call
}

package call_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
)

// gateway is records of stations, calls and pools with their real handlers, and stations that speak ESSP.
type gateway struct {
	t         *testing.T
	now       int64
	stations  access.Handler
	calls     *call.Calls
	bodies    map[string][]byte
	queue     []processor.Input // notifications on their way, in order; of no link twice out of it
	queueTo   [][]byte
	log       []string         // what the stations are told in calls
	reply     protocol.Message // the last that a station was told
	cdrs      []call.CDR
	sequences map[protocol.StationID]uint32
	last      map[string]protocol.Header // of the last message to a station, by station and type
}

func stationProfile(id protocol.StationID) access.Profile {
	return access.Profile{
		Key: [access.KeySize]byte{byte(id)}, Beams: []protocol.Beam{beamA, beamB}, MaxCalls: 2, MaxPriority: protocol.PriorityFlash,
	}
}

// newGateway has stations A and B logged on, each in a beam with one channel.
func newGateway(t *testing.T) *gateway {
	t.Helper()
	cfg := access.DefaultConfig()
	cfg.Secret = [access.SecretSize]byte{1}
	g := &gateway{
		t: t, now: 1e15, stations: access.New(cfg), calls: call.New(call.DefaultConfig()), bodies: map[string][]byte{},
		sequences: map[protocol.StationID]uint32{}, last: map[string]protocol.Header{},
	}
	for id, beam := range map[protocol.StationID]protocol.Beam{stationA: beamA, stationB: beamB} {
		b, err := access.NewStation(stationProfile(id))
		if err != nil {
			t.Fatal(err)
		}
		g.bodies[string(key.Station(nil, uint64(id)))] = b
		g.logOn(id, beam)
		if g.bodies[string(key.Pool(nil, uint16(beam)))], err = call.NewPool(beam, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	g.log = nil
	return g
}

func (g *gateway) logOn(id protocol.StationID, beam protocol.Beam) {
	g.t.Helper()
	g.request(id, 0, protocol.LogonRequest{BootNonce: 7, Beam: beam})
	challenge := g.reply.(protocol.LogonChallenge)
	secret := stationProfile(id).Key
	g.request(id, 0, protocol.LogonAuth{
		Nonce: challenge.Nonce, BootNonce: 7, Beam: beam, Proof: protocol.LogonProof(secret[:], id, challenge.Nonce, 7, beam),
	})
	g.message(id, protocol.Header{Flags: protocol.Response, Sequence: g.sequences[id]}, protocol.LogonAck{})
}

// request is a request, or a notice, of a station.
func (g *gateway) request(id protocol.StationID, reference protocol.CallReference, m protocol.Message) {
	g.t.Helper()
	g.sequences[id]++
	g.message(id, protocol.Header{Call: reference, Sequence: g.sequences[id]}, m)
}

// respond answers the last message of a type which a station got.
func (g *gateway) respond(id protocol.StationID, to protocol.Type, m protocol.Message) {
	g.t.Helper()
	h, got := g.last[fmt.Sprint(id, to)]
	if !got {
		g.t.Fatalf("%v got no %v", id, to)
	}
	g.message(id, h.Answer(), m)
}

// message brings a message of a station, and lets everything happen that comes of it.
func (g *gateway) message(id protocol.StationID, h protocol.Header, m protocol.Message) {
	g.t.Helper()
	h.Station = id
	b, err := protocol.Append(nil, h, m)
	if err != nil {
		g.t.Fatal(err)
	}
	epoch := uint64(id)
	g.apply(key.Station(nil, uint64(id)), processor.Input{
		Kind: processor.FromAssociation, Source: processor.Source{Dispatcher: "d", Incarnation: 1, Epoch: epoch},
		Message: processor.Message{Epoch: epoch, PPID: protocol.PPID, Payload: b},
	})
	g.run()
}

// run hands on notifications until there are none.
func (g *gateway) run() {
	g.t.Helper()
	for len(g.queue) > 0 {
		in, to := g.queue[0], g.queueTo[0]
		g.queue, g.queueTo = g.queue[1:], g.queueTo[1:]
		g.apply(to, in)
	}
}

func (g *gateway) apply(to []byte, in processor.Input) {
	g.t.Helper()
	g.now += 1000
	in.Now, in.Node, in.Message.Now = g.now, "node-1", g.now
	var h handler = g.stations
	switch key.KindOf(to) { //nolint:exhaustive // no others
	case key.KindCall:
		h = g.calls
	case key.KindPool:
		h = call.Pools{}
	}
	r, err := h.ApplyInput(processor.Session{Key: to, Body: g.bodies[string(to)]}, in)
	if err != nil {
		g.t.Fatalf("%s: %v", key.Format(to), err)
	}
	if r.HasReply {
		g.told(to, r.Reply.Payload)
	}
	if r.Discard {
		return
	}
	g.bodies[string(to)] = r.Body
	for _, b := range r.ToLeg {
		g.told(to, b)
	}
	for _, n := range r.Notify {
		g.queue = append(g.queue, processor.Input{Kind: processor.FromSession, From: slices.Clone(to), Payload: n.Payload})
		g.queueTo = append(g.queueTo, n.Key)
	}
	for _, b := range r.CDRs {
		cdr, err := call.DecodeCDR(b)
		if err != nil {
			g.t.Fatal(err)
		}
		g.cdrs = append(g.cdrs, cdr)
	}
}

// told notes what a station is told.
func (g *gateway) told(to, payload []byte) {
	g.t.Helper()
	h, m, err := protocol.Decode(payload)
	if err != nil {
		g.t.Fatal(err)
	}
	g.last[fmt.Sprint(h.Station, h.Type)] = h
	g.reply = m
	name := map[string]string{string(keyA): "A", string(keyB): "B"}[string(to)]
	line := fmt.Sprintf("%s %s %v", name, essp(m), h.Call)
	if h.Response() {
		line += " [R]"
	}
	g.log = append(g.log, line)
}

// expect compares what the stations were told since the last time.
func (g *gateway) expect(want ...string) {
	g.t.Helper()
	if !slices.Equal(g.log, want) {
		g.t.Errorf("the stations were told\n  %s\nnot\n  %s", strings.Join(g.log, "\n  "), strings.Join(want, "\n  "))
	}
	g.log = nil
}

// over checks that nothing is left of any call.
func (g *gateway) over(cdrs ...string) {
	g.t.Helper()
	for k, b := range g.bodies {
		switch key.KindOf([]byte(k)) { //nolint:exhaustive // no others
		case key.KindStation:
			s, err := access.Decode(b)
			if err != nil || len(s.Calls)+len(s.Requests) > 0 {
				g.t.Errorf("%s: calls %v, requests %v, %v", key.Format([]byte(k)), s.Calls, s.Requests, err)
			}
		case key.KindCall:
			if c := decodeCall(g.t, b); c.State != call.Ended {
				g.t.Errorf("%s: %s", key.Format([]byte(k)), described(c))
			}
		case key.KindPool:
			if p := decodePool(g.t, b); len(p.Held) > 0 {
				g.t.Errorf("%s: %v", key.Format([]byte(k)), p.Held)
			}
		}
	}
	var got []string
	for _, r := range g.cdrs {
		got = append(got, fmt.Sprintf("%s to %s: %d by %s", r.Calling[15:], r.Called[15:], r.Cause, r.ReleasedBy))
	}
	if !slices.Equal(got, cdrs) {
		g.t.Errorf("CDRs %v, want %v", got, cdrs)
	}
}

// answered brings a call of A to B so far that both speak.
func (g *gateway) answered() (atA, atB protocol.CallReference) {
	g.t.Helper()
	g.request(stationA, 1, protocol.CallSetup{Called: stationB, Service: protocol.ServiceVoice})
	g.expect("A CALL-PROCEEDING station-1 [R]", "B CALL-ANNOUNCE gateway-1",
		"A CHANNEL-ASSIGN 1/1 within 10s station-1", "B CHANNEL-ASSIGN 2/1 within 10s gateway-1")
	atB = g.last[fmt.Sprint(stationB, protocol.TypeCallAnnounce)].Call
	g.respond(stationB, protocol.TypeCallAnnounce, protocol.Status{State: protocol.StateRequested})
	g.respond(stationB, protocol.TypeChannelAssign, protocol.ChannelStatus{Locked: true})
	g.respond(stationA, protocol.TypeChannelAssign, protocol.ChannelStatus{Locked: true})
	g.expect()
	g.request(stationB, atB, protocol.CallAlert{})
	g.expect("A CALL-ALERT station-1", "B STATUS alerting 0 gateway-1 [R]")
	g.respond(stationA, protocol.TypeCallAlert, protocol.Status{State: protocol.StateAlerting})
	g.request(stationB, atB, protocol.CallConnect{})
	g.expect("A CALL-CONNECT station-1", "B CALL-CONNECT-ACK gateway-1 [R]")
	g.respond(stationA, protocol.TypeCallConnect, protocol.CallConnectAck{})
	g.expect()
	return 1, atB
}

// TestWithStations plays calls through the records of stations: the three handlers understand each other, and the stations.
func TestWithStations(t *testing.T) {
	t.Run("caller hangs up", func(t *testing.T) {
		g := newGateway(t)
		a, _ := g.answered()
		g.request(stationA, a, protocol.Disconnect{Cause: protocol.CauseNormalClearing})
		g.expect("A RELEASE 0 station-1 [R]", "B DISCONNECT 16 gateway-1")
		g.request(stationA, a, protocol.ReleaseComplete{})
		g.respond(stationB, protocol.TypeDisconnect, protocol.Release{})
		g.expect("B RELEASE-COMPLETE 0 gateway-1")
		g.over("a to b: 16 by calling")
	})
	t.Run("called hangs up at the same time", func(t *testing.T) {
		g := newGateway(t)
		a, b := g.answered()
		g.request(stationA, a, protocol.Disconnect{Cause: protocol.CauseNormalClearing})
		g.request(stationB, b, protocol.Disconnect{Cause: protocol.CauseNormalUnspecified})
		g.expect("A RELEASE 0 station-1 [R]", "B DISCONNECT 16 gateway-1", "B RELEASE 0 gateway-1 [R]")
		g.respond(stationB, protocol.TypeDisconnect, protocol.Release{})
		g.request(stationB, b, protocol.ReleaseComplete{})
		g.request(stationA, a, protocol.ReleaseComplete{})
		g.expect("B RELEASE-COMPLETE 0 gateway-1")
		g.over("a to b: 16 by calling")
	})
	t.Run("called releases in one step", func(t *testing.T) {
		g := newGateway(t)
		_, b := g.answered()
		g.request(stationB, b, protocol.Release{Cause: protocol.CauseFade})
		g.respond(stationA, protocol.TypeDisconnect, protocol.Release{})
		g.expect("B RELEASE-COMPLETE 0 gateway-1 [R]", "A DISCONNECT 201 station-1", "A RELEASE-COMPLETE 0 station-1")
		g.over("a to b: 201 by called")
	})
	t.Run("caller logs off", func(t *testing.T) {
		g := newGateway(t)
		g.answered()
		g.request(stationA, 0, protocol.LogoffRequest{Cause: protocol.CauseNormalUnspecified})
		g.respond(stationB, protocol.TypeDisconnect, protocol.Release{})
		g.expect("A LOGOFF-ACK none [R]", "B DISCONNECT 31 gateway-1", "B RELEASE-COMPLETE 0 gateway-1")
		g.over("a to b: 31 by calling")
	})
	t.Run("no channel", func(t *testing.T) {
		g := newGateway(t)
		a, b := g.answered()
		g.request(stationA, 2, protocol.CallSetup{Called: stationB, Service: protocol.ServiceVoice})
		g.respond(stationA, protocol.TypeDisconnect, protocol.Release{})
		g.respond(stationB, protocol.TypeDisconnect, protocol.Release{})
		g.expect("A CALL-PROCEEDING station-2 [R]", "B CALL-ANNOUNCE gateway-2", "A DISCONNECT 34 station-2", "B DISCONNECT 34 gateway-2",
			"A RELEASE-COMPLETE 0 station-2", "B RELEASE-COMPLETE 0 gateway-2")
		g.request(stationA, a, protocol.Release{Cause: protocol.CauseNormalClearing})
		g.request(stationB, b, protocol.ReleaseComplete{Cause: protocol.CauseNormalClearing})
		g.over("a to b: 34 by gateway", "a to b: 16 by calling")
	})
	t.Run("called is busy", func(t *testing.T) {
		g := newGateway(t)
		g.request(stationA, 1, protocol.CallSetup{Called: stationB, Service: protocol.ServiceVoice})
		g.respond(stationB, protocol.TypeCallAnnounce, protocol.ReleaseComplete{Cause: protocol.CauseUserBusy})
		g.respond(stationA, protocol.TypeDisconnect, protocol.Release{})
		g.over("a to b: 17 by called")
	})
	t.Run("called is absent", func(t *testing.T) {
		g := newGateway(t)
		g.request(stationB, 0, protocol.LogoffRequest{Cause: protocol.CauseNormalUnspecified})
		g.request(stationA, 1, protocol.CallSetup{Called: stationB, Service: protocol.ServiceVoice})
		g.respond(stationA, protocol.TypeDisconnect, protocol.Release{})
		g.over("a to b: 20 by called")
	})
	t.Run("glare", func(t *testing.T) { glare(t) })
}

// glare lets both stations call each other before either hears of it.
func glare(t *testing.T) {
	t.Helper()
	g := newGateway(t)
	for _, id := range []protocol.StationID{stationA, stationB} {
		g.sequences[id]++
		b, err := protocol.Append(nil, protocol.Header{Station: id, Call: 1, Sequence: g.sequences[id]}, protocol.CallSetup{
			Called: stationA + stationB - id, Service: protocol.ServiceVoice,
		})
		if err != nil {
			t.Fatal(err)
		}
		g.apply(key.Station(nil, uint64(id)), processor.Input{
			Kind: processor.FromAssociation, Source: processor.Source{Dispatcher: "d", Incarnation: 1, Epoch: uint64(id)},
			Message: processor.Message{Epoch: uint64(id), PPID: protocol.PPID, Payload: b},
		})
	}
	g.run()
	g.respond(stationB, protocol.TypeDisconnect, protocol.Release{})
	g.expect("A CALL-PROCEEDING station-1 [R]", "B CALL-PROCEEDING station-1 [R]", "B CALL-ANNOUNCE gateway-1",
		"B DISCONNECT 209 station-1", "A CHANNEL-ASSIGN 1/1 within 10s station-1", "B CHANNEL-ASSIGN 2/1 within 10s gateway-1",
		"B RELEASE-COMPLETE 0 station-1")
	g.request(stationA, 1, protocol.Release{Cause: protocol.CauseNormalClearing})
	g.respond(stationB, protocol.TypeDisconnect, protocol.Release{})
	g.request(stationB, g.last[fmt.Sprint(stationB, protocol.TypeCallAnnounce)].Call, protocol.ReleaseComplete{})
	g.over("b to a: 209 by gateway", "a to b: 16 by calling")
}

package access_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
)

// pair is two stations, the records of everything that their calls need, and an engine that loses and doubles nothing.
type pair struct {
	t        *rapid.T
	now      int64
	epoch    uint64
	handlers map[key.Kind]processor.SessionHandler
	bodies   map[string][]byte
	timers   map[string]map[uint8]int64
	queues   map[[2]string][][]byte // notifications from one session to another, in order
	stations map[string]*user
	setups   int
	cdrs     map[string]int
}

// user is a station's own side, as far as it answers what it is asked.
type user struct {
	id    protocol.StationID
	boot  uint64
	epoch uint64
	next  uint32
	deaf  bool
	calls map[protocol.CallReference]bool // that it has: true when it is called
}

func newPair(t *rapid.T) *pair {
	cfg := config()
	p := &pair{
		t: t, now: 1e15, handlers: map[key.Kind]processor.SessionHandler{
			key.KindStation: access.New(cfg), key.KindCall: call.New(call.DefaultConfig()), key.KindPool: call.Pools{},
		},
		bodies: map[string][]byte{}, timers: map[string]map[uint8]int64{}, queues: map[[2]string][][]byte{}, stations: map[string]*user{},
		cdrs: map[string]int{},
	}
	pool, err := call.NewPool(beam, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	p.bodies[string(key.Pool(nil, uint16(beam)))] = pool
	for _, id := range []protocol.StationID{self, peer} {
		body, err := access.NewStation(profile(id))
		if err != nil {
			t.Fatal(err)
		}
		k := string(key.Station(nil, uint64(id)))
		p.bodies[k] = body
		p.stations[k] = &user{id: id, boot: boot, calls: map[protocol.CallReference]bool{}}
		p.logon(k)
	}
	return p
}

func (p *pair) input(session string, in processor.Input) {
	in.Now = p.now
	r, err := p.handlers[key.KindOf([]byte(session))].ApplyInput(processor.Session{Key: []byte(session), Body: p.bodies[session]}, in)
	if err != nil {
		p.t.Fatalf("%s: %v", key.Format([]byte(session)), err)
	}
	if !r.Discard {
		p.commit(session, r)
	}
	if u := p.stations[session]; u != nil && r.HasReply {
		p.hear(session, u, r.Reply.Payload)
	}
	for _, b := range r.ToLeg {
		if u := p.stations[session]; u != nil {
			p.hear(session, u, b)
		}
	}
}

func (p *pair) commit(session string, r processor.Result) {
	p.bodies[session] = r.Body
	timers := p.timers[session]
	if timers == nil || r.Ended {
		timers = map[uint8]int64{}
	}
	for _, name := range r.Cancel {
		delete(timers, name)
	}
	for _, a := range r.Arm {
		timers[a.Name] = a.Due
	}
	p.timers[session] = timers
	for _, n := range r.Notify {
		way := [2]string{session, string(n.Key)}
		p.queues[way] = append(p.queues[way], n.Payload)
	}
	for range r.CDRs {
		p.cdrs[session]++
	}
}

// send is a message of a station, which is at hand at once.
func (p *pair) send(session string, u *user, h protocol.Header, m protocol.Message) {
	h.Station = u.id
	if h.Sequence == 0 {
		u.next++
		h.Sequence = u.next
	}
	b, err := protocol.Append(nil, h, m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.input(session, processor.Input{
		Kind: processor.FromAssociation, Source: processor.Source{Dispatcher: "d", Epoch: u.epoch}, Message: processor.Message{Payload: b},
	})
}

func (p *pair) logon(session string) {
	p.now += 1000
	u := p.stations[session]
	p.epoch++
	u.epoch = p.epoch
	p.send(session, u, protocol.Header{}, protocol.LogonRequest{BootNonce: u.boot, Class: 2, Beam: beam})
}

// hear answers what the gateway sends.
func (p *pair) hear(session string, u *user, payload []byte) {
	if u.deaf {
		return
	}
	h, m, err := protocol.Decode(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	switch m := m.(type) {
	case protocol.LogonChallenge:
		own := profile(u.id).Key
		p.send(session, u, protocol.Header{}, protocol.LogonAuth{
			BootNonce: u.boot, Beam: beam, Nonce: m.Nonce, Proof: protocol.LogonProof(own[:], u.id, m.Nonce, u.boot, beam),
		})
	case protocol.LogonConfirm:
		p.send(session, u, h.Answer(), protocol.LogonAck{})
	case protocol.CallAnnounce:
		u.calls[h.Call] = true
		p.send(session, u, h.Answer(), protocol.Status{State: protocol.StateRequested})
	case protocol.ChannelAssign:
		p.send(session, u, h.Answer(), protocol.ChannelStatus{Locked: true})
		if h.Call.FromGateway() {
			p.send(session, u, protocol.Header{Call: h.Call}, protocol.CallConnect{})
		}
	case protocol.CallConnect:
		p.send(session, u, h.Answer(), protocol.CallConnectAck{})
	case protocol.Disconnect:
		p.send(session, u, h.Answer(), protocol.Release{})
	case protocol.Release:
		delete(u.calls, h.Call)
		if h.Response() {
			p.send(session, u, protocol.Header{Call: h.Call}, protocol.ReleaseComplete{})
		} else {
			p.send(session, u, h.Answer(), protocol.ReleaseComplete{})
		}
	case protocol.ReleaseComplete:
		delete(u.calls, h.Call)
	case protocol.CallProceeding:
		p.setups++
	case protocol.Error:
		if m.Cause == protocol.CauseNotLoggedOn {
			p.logon(session)
		}
	}
}

// deliver takes one notification to where it is for.
func (p *pair) deliver(way [2]string) {
	payload := p.queues[way][0]
	if p.queues[way] = p.queues[way][1:]; len(p.queues[way]) == 0 {
		delete(p.queues, way)
	}
	p.input(way[1], processor.Input{Kind: processor.FromSession, From: []byte(way[0]), Payload: payload})
}

func (p *pair) ways() [][2]string {
	return slices.SortedFunc(maps.Keys(p.queues), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// fire runs the timer that is due next, if it is due before a time.
func (p *pair) fire(before int64) bool {
	session, name, due := "", uint8(0), before
	for _, k := range slices.Sorted(maps.Keys(p.timers)) {
		for _, n := range slices.Sorted(maps.Keys(p.timers[k])) {
			if p.timers[k][n] < due {
				session, name, due = k, n, p.timers[k][n]
			}
		}
	}
	if session == "" {
		return false
	}
	p.now = max(p.now, due)
	delete(p.timers[session], name)
	p.input(session, processor.Input{Kind: processor.TimerFired, Timer: name})
	return true
}

// settle lets everything come to its end: the stations hear again, and hang up.
func (p *pair) settle() {
	for _, k := range slices.Sorted(maps.Keys(p.stations)) {
		p.stations[k].deaf = false
		p.logon(k)
	}
	for range 3 {
		until := p.now + time.Minute.Microseconds()
		for len(p.queues) > 0 || p.fire(until) {
			for len(p.queues) > 0 {
				p.deliver(p.ways()[0])
			}
		}
		for _, k := range slices.Sorted(maps.Keys(p.stations)) {
			p.hangUp(k)
		}
	}
}

func (p *pair) hangUp(session string) {
	s, err := access.Decode(p.bodies[session])
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range s.Calls {
		p.send(session, p.stations[session], protocol.Header{Call: c.Reference}, protocol.Disconnect{Cause: protocol.CauseNormalClearing})
	}
}

func (p *pair) actions() map[string]func(*rapid.T) {
	either := func(t *rapid.T) string {
		return rapid.SampledFrom(slices.Sorted(maps.Keys(p.stations))).Draw(t, "station")
	}
	return map[string]func(*rapid.T){
		"call": func(t *rapid.T) {
			k := either(t)
			u := p.stations[k]
			other := self + peer - u.id
			p.send(k, u, protocol.Header{Call: protocol.CallReference(u.next%0x7FFF + 1)}, protocol.CallSetup{Called: other, Service: 1})
		},
		"hang up":          func(t *rapid.T) { p.hangUp(either(t)) },
		"log on elsewhere": func(t *rapid.T) { p.logon(either(t)) },
		"restart": func(t *rapid.T) {
			k := either(t)
			u := p.stations[k]
			u.boot, u.next = u.boot+1, 0
			clear(u.calls)
			p.logon(k)
		},
		"be deaf": func(t *rapid.T) {
			u := p.stations[either(t)]
			u.deaf = !u.deaf
		},
		"deliver": func(t *rapid.T) {
			if len(p.queues) == 0 {
				t.Skip("there is nothing")
			}
			p.deliver(rapid.SampledFrom(p.ways()).Draw(t, "way"))
		},
		"wait": func(t *rapid.T) {
			until := p.now + rapid.Int64Range(1, 60).Draw(t, "seconds")*time.Second.Microseconds()
			for p.fire(until) {
			}
			p.now = max(p.now, until)
		},
	}
}

// However calls between two stations go, whatever the stations do and in whatever order their records hear of each other: in the end no record has a
// call, no channel is held, and there is one CDR for each call.
func TestCallsOfTwoStationsEndEverywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(rt)
		rt.Repeat(p.actions())
		p.settle()
		for k := range p.stations {
			s, err := access.Decode(p.bodies[k])
			if err != nil {
				rt.Fatal(err)
			}
			if len(s.Calls) > 0 || len(s.Requests) > 0 {
				rt.Errorf("station %x still has calls %+v and requests %+v", uint64(p.stations[k].id), s.Calls, s.Requests)
			}
		}
		pool, err := call.DecodePool(p.bodies[string(key.Pool(nil, uint16(beam)))])
		if err != nil {
			rt.Fatal(err)
		}
		if len(pool.Held) > 0 || pool.Granted != pool.Freed {
			rt.Errorf("the pool is left as %+v", pool)
		}
		calls := 0
		for k := range p.bodies {
			if key.KindOf([]byte(k)) == key.KindCall && p.bodies[k] != nil {
				calls++
				if p.cdrs[k] != 1 {
					rt.Errorf("%s has %d CDRs", key.Format([]byte(k)), p.cdrs[k])
				}
			}
		}
		if len(p.cdrs) != calls {
			rt.Errorf("%d CDRs of %d calls", len(p.cdrs), calls)
		}
	})
}

// An undisturbed call comes about and ends.
func TestOneCall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(rt)
		from := string(key.Station(nil, uint64(self)))
		p.send(from, p.stations[from], protocol.Header{Call: 1}, protocol.CallSetup{Called: peer, Service: 1})
		for len(p.queues) > 0 {
			p.deliver(rapid.SampledFrom(p.ways()).Draw(rt, "way"))
		}
		for k := range p.stations {
			s, err := access.Decode(p.bodies[k])
			if err != nil {
				rt.Fatal(err)
			}
			if len(s.Calls) != 1 || s.Calls[0].State != protocol.StateActive || len(s.Requests) > 0 {
				rt.Fatalf("%s", fmt.Sprintf("calls %+v, requests %+v", s.Calls, s.Requests))
			}
		}
		p.settle()
		if len(p.cdrs) != 1 || p.setups != 1 {
			rt.Errorf("%d CDRs, %d calls", len(p.cdrs), p.setups)
		}
	})
}

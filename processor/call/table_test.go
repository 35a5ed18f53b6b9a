package call_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"skyring/processor"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

const (
	tableFile = "testdata/table.txt"
	requestNo = 99 // sequence of stations' requests in the table
)

// situation is a call at a point of its life.
type situation struct {
	name string
	body []byte
}

// step is an input of the table, without its time. A nil input can not exist: no notification carries it.
type step struct {
	name string
	in   *processor.Input
}

// situations are all states of a call, each with what its sides may be like in it. Each is reached by real inputs, from the one it names.
func situations(t *testing.T) []situation {
	t.Helper()
	const up = "setup | accept beam=2"
	const assigned = up + " | pools"
	const locking = assigned + " | calling CHANNEL-STATUS response"
	const locked = locking + " | called CHANNEL-STATUS response"
	const active = locked + " | called CALL-CONNECT"
	const clearing = active + " | calling CALL-CONNECT-ACK response | calling DISCONNECT cause=16"
	all := []situation{{name: "idle"}}
	for _, s := range []struct{ name, script string }{
		{"requested, offered", "setup"},
		{"requested, both channels asked", up},
		{"requested, one channel granted", up + " | pool-of calling"},
		{"requested, alert held", up + " | called CALL-ALERT"},
		{"requested, connect held", up + " | called CALL-CONNECT"},
		{"assigned", assigned},
		{"locking, calling locked", locking},
		{"locking, called locked", assigned + " | called CHANNEL-STATUS response"},
		{"locking, called locked, alert held", assigned + " | called CHANNEL-STATUS response | called CALL-ALERT"},
		{"locking, called locked, connect held", assigned + " | called CHANNEL-STATUS response | called CALL-CONNECT"},
		{"locking, both locked", locked},
		{"alerting", locked + " | called CALL-ALERT"},
		{"active, unconfirmed", active},
		{"active, confirmed", active + " | calling CALL-CONNECT-ACK response"},
		{"disconnecting, offer open", "setup | calling DISCONNECT cause=16"},
		{"disconnecting, channels asked", up + " | calling DISCONNECT cause=16"},
		{"disconnecting, both", locked + " | called CALL-ALERT | fire T301"},
		{"disconnecting, one", clearing},
		{"releasing, both", clearing + " | called DISCONNECT cause=16"},
		{"releasing, RELEASE repeated", clearing + " | called RELEASE response | fire T308-calling"},
		{"releasing, one done", clearing + " | calling RELEASE-COMPLETE | called DISCONNECT cause=16"},
		{"releasing, channels asked", up + " | calling DISCONNECT cause=16 | calling RELEASE-COMPLETE | called RELEASE response"},
		{"releasing, freeing", clearing + " | calling RELEASE-COMPLETE | called RELEASE response"},
		{"ended", clearing + " | calling RELEASE-COMPLETE | called RELEASE response | pools"},
		{"ended, never set up", "setup | refuse cause=17 | calling RELEASE response"},
	} {
		all = append(all, situation{name: s.name, body: reach(t, s.script)})
	}
	// No input of this version leads to queued; a newer version may have written it.
	queued := decodeCall(t, all[2].body)
	queued.State = call.Queued
	return slices.Insert(all, 6, situation{name: "queued", body: queued.Append(nil)})
}

// reach plays commands to a new call.
func reach(t *testing.T, script string) []byte {
	t.Helper()
	s := newScene(t)
	s.makePool(beamA, 4)
	s.makePool(beamB, 4)
	for command := range strings.SplitSeq(script, " | ") {
		if command == "pool-of calling" {
			s.outbox = s.outbox[:1]
			command = "pools"
		}
		s.run(command)
	}
	return s.body
}

// steps are all that can be put to a call: each notification, each ESSP message from each side, as a request and as a response, each timer.
func steps(t *testing.T) []step {
	t.Helper()
	var all []step
	add := func(name string, from []byte, n saga.Notification) {
		payload, err := saga.Append(nil, n)
		if err != nil && !errors.As(err, new(*protocol.EncodeError)) {
			t.Fatalf("%s: %v", name, err)
		}
		if err != nil {
			all = append(all, step{name: name})
			return
		}
		all = append(all, step{name, &processor.Input{Kind: processor.FromSession, From: from, Payload: payload}})
	}
	add("Setup", keyA, &saga.Setup{Calling: stationA, Called: stationB, Reference: 1, Service: 1, Beam: beamA})
	add("OfferResult accepted", keyB, &saga.OfferResult{Accepted: true, Beam: beamB})
	add("OfferResult refused", keyB, &saga.OfferResult{Cause: protocol.CauseUserBusy})
	add("Yield", keyA, &saga.Yield{Cause: protocol.CauseGlare})
	for _, s := range sides() {
		beam := map[saga.Side]protocol.Beam{saga.Calling: beamA, saga.Called: beamB}[s]
		pool := key.Pool(nil, uint16(beam))
		add(fmt.Sprintf("Allocated %v", s), pool, &saga.Allocated{Side: s, OK: true, Channel: protocol.Channel{Beam: beam, Number: 3}})
		add(fmt.Sprintf("Allocated %v none", s), pool, &saga.Allocated{Side: s, Cause: protocol.CauseNoChannel})
		add(fmt.Sprintf("Freed %v", s), pool, &saga.Freed{Side: s})
		add(fmt.Sprintf("StationGone %v", s), station(s), &saga.StationGone{Side: s, Cause: protocol.CauseInactivity})
		for _, typ := range types() {
			add(fmt.Sprintf("Unanswered %v %v", s, typ), station(s), &saga.Unanswered{Side: s, Type: typ})
			for _, m := range variants(typ) {
				add(fmt.Sprintf("%v %s", s, m.name), station(s), &saga.Forward{Side: s, Sequence: requestNo, Message: m.message})
				add(fmt.Sprintf("%v %s as a response", s, m.name), station(s), &saga.Forward{Side: s, Response: true, Sequence: 5, Message: m.message})
			}
		}
	}
	// What only others get.
	add("Offer", keyA, &saga.Offer{Calling: stationA})
	add("ToStation", keyA, &saga.ToStation{Message: protocol.CallAlert{}})
	add("EndCall", keyA, &saga.EndCall{})
	add("Allocate", keyA, &saga.Allocate{Side: saga.Calling})
	add("Free", keyA, &saga.Free{Side: saga.Calling})
	for n := range uint8(12) {
		all = append(all, step{call.Timer(n).String(), &processor.Input{Kind: processor.TimerFired, Timer: n}})
	}
	all = append(all, step{"resync", &processor.Input{Kind: processor.Resynced}})
	return append(all, step{"a message of an association", &processor.Input{Kind: processor.FromAssociation}})
}

type variant struct {
	name    string
	message protocol.Message
}

// variants are messages of a type that differ in what they do.
func variants(typ protocol.Type) []variant {
	all := []variant{{typ.String(), sample(typ)}}
	switch typ { //nolint:exhaustive // the others have none
	case protocol.TypeChannelStatus:
		all = append(all, variant{"CHANNEL-STATUS unlocked", protocol.ChannelStatus{Cause: protocol.CauseFade}})
	case protocol.TypeStatus:
		all = append(all, variant{"STATUS idle", protocol.Status{}})
		for s := protocol.StateIdle; s <= protocol.StateReleasing; s++ {
			all = append(all, variant{fmt.Sprintf("STATUS %v, enquired", s), protocol.Status{State: s, Cause: protocol.CauseResponseToEnquiry}})
		}
	}
	return all
}

// TestEveryPair holds every (situation, input) pair to testdata/table.txt. Inputs that bring the same in every situation stand there under the name of the
// first of them; the head of the file lists them all. Those that bring the same in one situation stand together in it.
func TestEveryPair(t *testing.T) {
	all, given := steps(t), situations(t)
	states := map[call.State]bool{}
	outcomes := make([][]string, len(all)) // by input and situation
	for _, s := range given {
		states[decodeCall(t, s.body).State] = true
		for i, st := range all {
			outcomes[i] = append(outcomes[i], put(t, s, st))
		}
	}
	for s := call.Idle; s <= call.Ended; s++ {
		if !states[s] {
			t.Errorf("no situation in state %v", s)
		}
	}
	t.Logf("%d situations, %d inputs, %d pairs", len(given), len(all), len(given)*len(all))
	want, err := os.ReadFile(tableFile)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	golden(t, tableFile, string(want), table(t, given, all, outcomes))
}

// table writes outcomes for readers.
func table(t *testing.T, given []situation, all []step, outcomes [][]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("Inputs, each line those that bring the same in every situation.\n\n")
	seen, firsts := groups(len(all), func(i int) string { return strings.Join(outcomes[i], "\x00") })
	for _, first := range firsts {
		b.WriteString(names(all, seen[first]))
	}
	for at, s := range given {
		fmt.Fprintf(&b, "\n== %s: %s\n", s.name, described(decodeCall(t, s.body)))
		here, order := groups(len(firsts), func(i int) string { return outcomes[firsts[i]][at] })
		for _, first := range order {
			var inputs []int
			for _, i := range here[first] {
				inputs = append(inputs, firsts[i])
			}
			b.WriteString(names(all, inputs))
			b.WriteString("    " + strings.ReplaceAll(outcomes[firsts[first]][at], "\n", " | ") + "\n")
		}
	}
	return b.String()
}

// groups gathers 0 to n-1 by what they have in common, under the first of each group, and lists those.
func groups(n int, common func(int) string) (members map[int][]int, firsts []int) {
	members = map[int][]int{}
	first := map[string]int{}
	for i := range n {
		c := common(i)
		if _, known := first[c]; !known {
			first[c] = i
			firsts = append(firsts, i)
		}
		members[first[c]] = append(members[first[c]], i)
	}
	return members, firsts
}

// names lists inputs, a few a line.
func names(all []step, inputs []int) string {
	var b strings.Builder
	for line := range slices.Chunk(inputs, 6) {
		for i, at := range line {
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(all[at].name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

const tableTime = int64(1000_000_000)

// put gives a situation an input, tells what comes of it, and checks what must hold of any.
func put(t *testing.T, s situation, st step) string {
	t.Helper()
	if st.in == nil {
		return "can not arrive: it is never in a call"
	}
	in := *st.in
	in.Now, in.Node = tableTime, "node-1"
	calls := call.New(call.DefaultConfig())
	r, err := calls.ApplyInput(processor.Session{Key: keyCall, Body: slices.Clone(s.body)}, in)
	if err != nil {
		t.Fatalf("%s, %s: %v", s.name, st.name, err)
	}
	if r.Discard {
		return "discarded"
	}
	before, after := decodeCall(t, s.body), decodeCall(t, r.Body)
	name := s.name + ", " + st.name
	lawful(t, name, before, after, r)
	answered(t, name, before, st, r)
	repeatable(t, calls, name, r, in)
	lines := effects(t, r, tableTime)
	if bytes.Equal(r.Body, s.body) {
		if len(lines) == 0 {
			return "no effect"
		}
		return strings.Join(lines, "\n")
	}
	return strings.Join(append(lines, described(after)), "\n")
}

// lawful checks what holds of each change.
func lawful(t *testing.T, name string, before, after *call.Call, r processor.Result) {
	t.Helper()
	if after.State < before.State && before.State != call.Queued {
		t.Errorf("%s: from %v back to %v", name, before.State, after.State)
	}
	if r.Keep != after.Live() || r.Ended == after.Live() {
		t.Errorf("%s: %v, keep %v, ended %v", name, after.State, r.Keep, r.Ended)
	}
	if wrote := before.Ended == 0 && after.Ended != 0; len(r.CDRs) != 0 != wrote || len(r.CDRs) > 1 {
		t.Errorf("%s: %d CDRs", name, len(r.CDRs))
	}
	if after.State == call.Ended && len(after.Armed()) != 0 {
		t.Errorf("%s: ended with timers %v", name, after.Armed())
	}
	for _, n := range r.Notify {
		decoded, err := saga.Decode(n.Payload)
		if err != nil {
			t.Fatal(err)
		}
		free, is := decoded.(*saga.Free)
		if !is || before.State == call.Idle {
			continue
		}
		was, is2 := end(before, free.Side), end(after, free.Side)
		again := was.Hold == call.HoldFreeing && strings.HasSuffix(name, ", resync")
		if was.Hold != call.HoldGranted && was.Hold != call.HoldAsked && !again || is2.Hold != call.HoldFreeing || after.Released == 0 {
			t.Errorf("%s: frees the channel of %v, which was %v and is %v", name, free.Side, was.Hold, is2.Hold)
		}
		if before.Assigned != 0 && is2.Dialogue != call.DialogueDone {
			t.Errorf("%s: frees the channel of %v while its station may use it", name, free.Side)
		}
	}
}

func end(c *call.Call, s saga.Side) call.End {
	if s == saga.Called {
		return c.Called
	}
	return c.Calling
}

// answered checks that each request of a station that is in the call is answered once; but those that need no answer, and CALL-CONNECT, whose answer waits
// for the locks.
func answered(t *testing.T, name string, before *call.Call, st step, r processor.Result) {
	t.Helper()
	if st.in.Kind != processor.FromSession {
		return
	}
	n, err := saga.Decode(st.in.Payload)
	if err != nil {
		t.Fatal(err)
	}
	f, is := n.(*saga.Forward)
	if !is || f.Response || before.State == call.Idle {
		return
	}
	want := 1
	d := end(before, f.Side).Dialogue
	switch f.Message.Type() { //nolint:exhaustive // the others need an answer
	case protocol.TypeReleaseComplete, protocol.TypeStatus, protocol.TypeError, protocol.TypeOverload, protocol.TypeCallProceeding, protocol.TypeCallConnectAck:
		want = 0
	case protocol.TypeCallConnect:
		locked := before.Calling.Locked && before.Called.Locked
		if f.Side == saga.Called && d == call.DialogueUp && !locked {
			want = 0
		}
	}
	if d == call.DialogueNone || d == call.DialogueOffered || d == call.DialogueDone {
		want = 0
	}
	got := 0
	for _, out := range r.Notify {
		decoded, err := saga.Decode(out.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if to, is := decoded.(*saga.ToStation); is && to.Answers == requestNo && string(out.Key) == string(station(f.Side)) {
			got++
		}
	}
	if got != want {
		t.Errorf("%s: %d answers, want %d", name, got, want)
	}
}

// repeatable checks that an input which comes again changes nothing.
func repeatable(t *testing.T, calls *call.Calls, name string, r processor.Result, in processor.Input) {
	t.Helper()
	if in.Kind == processor.TimerFired || strings.Contains(name, "ERROR as a response") {
		return // a timer that is armed anew is another one, and a second ERROR refuses the next request
	}
	again, err := calls.ApplyInput(processor.Session{Key: keyCall, Body: slices.Clone(r.Body)}, in)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Body, r.Body) || len(again.CDRs)+len(again.Arm)+len(again.Cancel) != 0 {
		t.Errorf("%s: repeated, it leads from %s to %s", name, described(decodeCall(t, r.Body)), described(decodeCall(t, again.Body)))
	}
}

// TestStrangers puts each notification to each situation as from somebody else: it has no effect (I9).
func TestStrangers(t *testing.T) {
	calls := call.New(call.DefaultConfig())
	strangers := [][]byte{
		key.Station(nil, 0xC), key.Pool(nil, 99), key.Call(nil, key.CallID{Station: 0xC, Boot: 1, Reference: 1, Sequence: 1}), nil,
	}
	for _, s := range situations(t)[1:] {
		for _, st := range steps(t) {
			if st.in == nil || st.in.Kind != processor.FromSession {
				continue
			}
			for _, from := range strangers {
				in := *st.in
				in.From = from
				r, err := calls.ApplyInput(processor.Session{Key: keyCall, Body: slices.Clone(s.body)}, in)
				if err != nil || !bytes.Equal(r.Body, s.body) || len(effects(t, r, 0)) != 0 {
					t.Errorf("%s, %s from %x: %v, %v", s.name, st.name, from, effects(t, r, 0), err)
				}
			}
		}
	}
}

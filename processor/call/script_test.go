package call_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"skyring/processor"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

var rewrite = flag.Bool("rewrite", false, "write what tests print as what is expected")

// TestScripts runs testdata/calls/*.txt: whole calls. A paragraph is a command, "----", and the effects; lines that begin with # are for the reader.
//
//	setup [priority=N] [service=N]          the calling station's record begins the call
//	accept, refuse cause=N                  the called station's record answers the offer
//	pool beam=N size=N                      an operator makes a pool
//	pools                                   the pools get what the call told them, and their answers arrive at the call
//	calling TYPE, called TYPE [cause=N] [locked=false] [state=N] [response]     a station's message arrives
//	unanswered side=S type=TYPE, gone side=S cause=N, yield cause=N
//	fire TIMER                              when it is due
//	wait DURATION
//	show                                    the call and the pools
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/calls/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file, string(script), play(t, string(script)))
		})
	}
}

// golden compares with a file, or writes it.
func golden(t *testing.T, file, want, got string) {
	t.Helper()
	switch {
	case *rewrite:
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	case got != want:
		t.Errorf("%s differs, -rewrite would make it\n%s", file, got)
	}
}

// play returns the script with the effects that it has now.
func play(t *testing.T, script string) string {
	t.Helper()
	s := newScene(t)
	var out strings.Builder
	var printed []string
	skipping := false
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case skipping && line != "":
		case line == "----":
			skipping = true
			out.WriteString("----\n")
			for _, l := range printed {
				out.WriteString(l + "\n")
			}
		case line == "" || strings.HasPrefix(line, "#"):
			skipping = false
			out.WriteString(line + "\n")
		default:
			out.WriteString(line + "\n")
			printed = s.run(line)
		}
	}
	return out.String()
}

// scene is one call and its pools, with their handlers.
type scene struct {
	t        *testing.T
	now      int64
	calls    *call.Calls
	body     []byte
	pools    map[string][]byte
	outbox   []processor.Notification // for pools
	armed    map[uint8]int64
	sequence uint32
}

func newScene(t *testing.T) *scene {
	t.Helper()
	return &scene{t: t, now: 1, calls: call.New(call.DefaultConfig()), pools: map[string][]byte{}, armed: map[uint8]int64{}}
}

// arguments of a command by name; flags have an empty value.
type arguments map[string]string

func (s *scene) run(line string) []string {
	s.t.Helper()
	words := strings.Fields(line)
	args := arguments{}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		args[name] = value
	}
	switch words[0] {
	case "pool":
		return s.makePool(protocol.Beam(s.number(args, "beam")), uint16(s.number(args, "size")))
	case "pools":
		return s.servePools()
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now += d.Microseconds()
		return nil
	case "fire":
		return s.fire(words[1])
	case "show":
		return s.show()
	}
	from, n := s.notification(words, args)
	return s.apply(notify(s.t, from, n, s.now))
}

// notification is what a command brings to the call, and from whom.
func (s *scene) notification(words []string, args arguments) ([]byte, saga.Notification) { //nolint:ireturn // which of them it is, is the question
	s.t.Helper()
	cause := protocol.Cause(s.number(args, "cause"))
	switch words[0] {
	case "setup":
		return keyA, &saga.Setup{
			Calling: stationA, Called: stationB, Reference: 1, Service: uint8(s.number(args, "service")),
			Priority: protocol.Priority(s.number(args, "priority")), Beam: beamA,
		}
	case "accept":
		return keyB, &saga.OfferResult{Accepted: true, Beam: protocol.Beam(s.number(args, "beam"))}
	case "refuse":
		return keyB, &saga.OfferResult{Cause: cause}
	case "yield":
		return keyA, &saga.Yield{Cause: cause}
	case "gone":
		side := s.side(args["side"])
		return station(side), &saga.StationGone{Side: side, Cause: cause}
	case "unanswered":
		side := s.side(args["side"])
		return station(side), &saga.Unanswered{Side: side, Type: s.typeOf(args["type"])}
	default:
		side := s.side(words[0])
		_, response := args["response"]
		s.sequence++
		return station(side), &saga.Forward{Side: side, Response: response, Sequence: s.sequence, Message: s.message(s.typeOf(words[1]), args)}
	}
}

func (s *scene) message(typ protocol.Type, args arguments) protocol.Message { //nolint:ireturn // as above
	s.t.Helper()
	m := sample(typ)
	cause := protocol.Cause(s.number(args, "cause"))
	switch m.(type) {
	case protocol.ChannelStatus:
		return protocol.ChannelStatus{Locked: args["locked"] != "false", Cause: cause}
	case protocol.Disconnect:
		return protocol.Disconnect{Cause: cause}
	case protocol.Release:
		return protocol.Release{Cause: cause}
	case protocol.ReleaseComplete:
		return protocol.ReleaseComplete{Cause: cause}
	case protocol.Status:
		return protocol.Status{State: protocol.CallState(s.number(args, "state")), Cause: cause}
	case protocol.Error:
		return protocol.Error{Cause: cause}
	default:
		return m
	}
}

func (s *scene) number(args arguments, name string) int {
	s.t.Helper()
	if args[name] == "" {
		return 0
	}
	n, err := strconv.Atoi(args[name])
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *scene) side(name string) saga.Side {
	s.t.Helper()
	for _, side := range sides() {
		if side.String() == name {
			return side
		}
	}
	s.t.Fatalf("no side or command %q", name)
	return 0
}

func (s *scene) typeOf(name string) protocol.Type {
	s.t.Helper()
	for _, typ := range types() {
		if typ.String() == name {
			return typ
		}
	}
	s.t.Fatalf("no message %q", name)
	return 0
}

// apply gives the call an input and keeps what comes of it.
func (s *scene) apply(in processor.Input) []string {
	s.t.Helper()
	r, err := s.calls.ApplyInput(processor.Session{Key: keyCall, Body: s.body}, in)
	if err != nil {
		s.t.Fatal(err)
	}
	s.body = r.Body
	for _, n := range r.Notify {
		if key.KindOf(n.Key) == key.KindPool {
			s.outbox = append(s.outbox, n)
		}
	}
	for _, name := range r.Cancel {
		delete(s.armed, name)
	}
	for _, a := range r.Arm {
		s.armed[a.Name] = a.Due
	}
	lines := append(effects(s.t, r, s.now), described(decodeCall(s.t, s.body)))
	if r.Ended {
		lines = append(lines, "tombstone")
	}
	return lines
}

// fire lets a timer fire that is armed, when it is due.
func (s *scene) fire(name string) []string {
	s.t.Helper()
	for armed, due := range s.armed {
		if call.Timer(armed).String() == name {
			delete(s.armed, armed)
			s.now = max(s.now, due)
			return s.apply(fire(call.Timer(armed), s.now))
		}
	}
	return []string{"not armed"}
}

func (s *scene) makePool(beam protocol.Beam, size uint16) []string {
	s.t.Helper()
	b, err := call.NewPool(beam, 1, size)
	if err != nil {
		s.t.Fatal(err)
	}
	s.pools[string(key.Pool(nil, uint16(beam)))] = b
	return nil
}

// servePools hands on what the call told pools, and then their answers.
func (s *scene) servePools() []string {
	s.t.Helper()
	var lines []string
	for len(s.outbox) > 0 {
		n := s.outbox[0]
		s.outbox = s.outbox[1:]
		r, err := call.Pools{}.ApplyInput(processor.Session{Key: n.Key, Body: s.pools[string(n.Key)]}, processor.Input{
			Kind: processor.FromSession, From: keyCall, Payload: n.Payload, Now: s.now, Node: "node-1",
		})
		if err != nil {
			s.t.Fatal(err)
		}
		s.pools[string(n.Key)] = r.Body
		for _, answer := range r.Notify {
			lines = append(lines, key.Format(n.Key)+" "+notificationOf(s.t, answer.Payload))
			lines = append(lines, s.apply(processor.Input{
				Kind: processor.FromSession, From: n.Key, Payload: answer.Payload, Now: s.now, Node: "node-1",
			})...)
		}
	}
	return lines
}

func notificationOf(t *testing.T, payload []byte) string {
	t.Helper()
	n, err := saga.Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	return notification(n)
}

func (s *scene) show() []string {
	s.t.Helper()
	c := decodeCall(s.t, s.body)
	lines := []string{described(c), fmt.Sprintf("timers %v", c.Armed())}
	for _, beam := range []protocol.Beam{beamA, beamB} {
		b := s.pools[string(key.Pool(nil, uint16(beam)))]
		if len(b) == 0 {
			continue
		}
		p, err := call.DecodePool(b)
		if err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("pool %v: %d of %d free, granted %d, refused %d, freed %d, ignored %d",
			p.Beam, p.Free(), p.Size(), p.Granted, p.Refused, p.Freed, p.Ignored))
	}
	return lines
}

package processor_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
)

// toyKind is the kind of the toy's sessions: "\xF0a" and so on.
const toyKind key.Kind = 0xF0

// toy is a handler for sessions of its own. Its body lists what took effect, each with a space behind: "m<sequence>" for a message, "<name><n>" for a
// notification "n" of the session <name>, "t<name>" for a timer, "lost(<body>)" for a resync. Payloads are commands separated by "|", those of notifications by ",":
//
//	tell <name>:<payload>   leg <payload>   attach   detach   arm <name> <ms>   cancel <name>   cdr <text>   keep   end   discard   fail   reply <size>
//
// anything else does nothing.
type toy struct{}

func (toy) Apply(processor.Session, processor.Message) (processor.Result, error) {
	return processor.Result{}, errors.New("Apply is called for a session that takes inputs")
}

func (toy) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	var entry string
	var commands []string
	switch in.Kind {
	case processor.FromAssociation:
		entry, commands = fmt.Sprintf("m%d ", in.Message.Sequence), strings.Split(string(in.Message.Payload), "|")
	case processor.FromSession:
		entry, commands = fmt.Sprintf("%s:%s ", in.From[1:], strings.ReplaceAll(string(in.Payload), " ", "_")), strings.Split(string(in.Payload), ",")
	case processor.TimerFired:
		entry = fmt.Sprintf("t%d ", in.Timer)
	case processor.Resynced:
		entry = fmt.Sprintf("lost(%s) ", strings.TrimSpace(string(in.Payload)))
	}
	r := processor.Result{Body: append(slices.Clip(s.Body), entry...), Keep: true}
	for _, c := range commands {
		if err := command(&r, in, c); err != nil {
			return r, err
		}
	}
	return r, nil
}

func command(r *processor.Result, in processor.Input, c string) error {
	verb, rest, _ := strings.Cut(c, " ")
	switch verb {
	case "tell":
		name, payload, _ := strings.Cut(rest, ":")
		r.Notify = append(r.Notify, processor.Notification{Key: toyKey(name), Payload: []byte(payload)})
	case "leg":
		r.ToLeg = append(r.ToLeg, []byte(rest))
	case "attach":
		r.SetLeg = &processor.Leg{Dispatcher: in.Source.Dispatcher, Incarnation: in.Source.Incarnation, Epoch: in.Source.Epoch, Stream: 3, PPID: 5}
	case "detach":
		r.SetLeg = &processor.Leg{}
	case "arm":
		var name uint8
		var ms int64
		if _, err := fmt.Sscan(rest, &name, &ms); err != nil {
			return err
		}
		r.Arm = append(r.Arm, processor.Arm{Name: name, Due: in.Now + ms*1000})
	case "cancel":
		n, err := strconv.Atoi(rest)
		r.Cancel = append(r.Cancel, uint8(n))
		return err
	case "cdr":
		r.CDRs = append(r.CDRs, []byte(rest))
	case "end":
		r.Keep, r.Ended = false, true
	case "discard":
		r.Discard, r.AbortAssociation = true, true
	case "fail":
		return errors.New("poison")
	case "reply":
		n, err := strconv.Atoi(rest)
		r.HasReply, r.Reply = true, bus.Reply{PPID: 5, Payload: make([]byte, n)}
		return err
	}
	return nil
}

func toyKey(name string) []byte { return append([]byte{byte(toyKind)}, name...) }

func toys() processor.Handlers { return processor.NewHandlers(journal{}).ForKind(toyKind, toy{}) }

// quick runs a processor that leases, ticks and sweeps fast.
func (s *site) quick(id string, change ...func(*processor.Processor)) node {
	s.tb.Helper()
	return s.startWith(quickConfig(id), toys(), change...)
}

func quickConfig(id string) processor.Config {
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.Workers, cfg.DrainQuiet, cfg.Heartbeat = id, 3, 20*time.Millisecond, 50*time.Millisecond
	cfg.LeaseTTL, cfg.TimerTick, cfg.SweepAge = 400*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	return cfg
}

// to is a message for a toy session.
func to(name string, sequence uint64, payload string) bus.Envelope {
	return with(say(sequence, 0, payload), func(e *bus.Envelope) { e.Key = toyKey(name) })
}

// toyRecord is what the store has of a toy session, nil for nothing.
func (s *site) toyRecord(name string) *statestore.Record {
	s.tb.Helper()
	return must[[]statestore.Loaded](s.tb)(s.store().Load(s.tb.Context(), [][]byte{toyKey(name)}))[0].Record
}

// heard is the body of a toy session.
func (s *site) heard(name string) string {
	s.tb.Helper()
	if r := s.toyRecord(name); r != nil {
		return string(r.Body)
	}
	return ""
}

// settled waits until sessions have nothing left to do, as long as it becomes less.
func (s *site) settled(names ...string) {
	s.tb.Helper()
	defer func() {
		if s.tb.Failed() {
			for _, n := range names {
				s.tb.Logf("%s: %+v", n, s.toyRecord(n))
			}
		}
	}()
	for before := -1; before != 0; {
		wait(s.tb, func() bool {
			left := 0
			for _, n := range names {
				if r := s.toyRecord(n); r != nil {
					left += len(r.Outbox) + len(r.Timers)
				}
			}
			changed := left == 0 || left != before
			before = left
			return changed
		})
	}
}

// later waits until the store's clock has gone on by a time.
func (s *site) later(d time.Duration) {
	s.tb.Helper()
	store := s.store()
	until := must[int64](s.tb)(store.Time(s.tb.Context())) + d.Microseconds()
	wait(s.tb, func() bool { return must[int64](s.tb)(store.Time(s.tb.Context())) > until })
}

func committed(tb testing.TB, got []bus.Status) {
	tb.Helper()
	for _, st := range got {
		if st != bus.Committed {
			tb.Fatalf("answered %v", got)
		}
	}
}

package statestore_test

import (
	"reflect"
	"strings"
	"testing"

	"skyring/statestore"
)

// active is a record with everything that format 2 has.
func active() *statestore.Record {
	r := sample()
	r.Life, r.Line, r.Generation = statestore.Kept, 77, 9
	r.Leg = &statestore.Leg{Dispatcher: "d", Incarnation: 1, Epoch: 2, Stream: 3, PPID: 4, Gone: true}
	r.Timers = []statestore.Timer{{Name: 1, Generation: 8, Due: 100}, {Name: 7, Generation: 9, Due: 50}}
	r.Peers = []statestore.Peer{{Key: []byte("peer"), Line: 5, Mark: 6, Next: 7, Touched: 8}, {Next: 3, Touched: 9}}
	r.Outbox = []statestore.Entry{
		{Destination: []byte("peer"), Number: 7, Since: 10, Payload: []byte("p")}, {Number: 3, Since: 11, Payload: []byte("to the leg")},
	}
	return r
}

func TestActiveRecordSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	b := must[[]byte](t)(active().Append(nil))
	if b[12] != 2 {
		t.Errorf("format %d", b[12])
	}
	got := must[*statestore.Record](t)(statestore.Decode(b))
	if !reflect.DeepEqual(normal(got), normal(active())) {
		t.Errorf("got  %+v\nwant %+v", got, active())
	}
	if got.Due() != 50 || got.Pending() != true {
		t.Errorf("due %d, pending %v", got.Due(), got.Pending())
	}
	got.Outbox = got.Outbox[1:]
	if got.Pending() {
		t.Error("what is for a leg that is gone is pending")
	}
	for n := range len(b) - len(active().Body) {
		if _, err := statestore.Decode(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are a record", n, len(b))
		}
	}
}

func TestPassiveRecordsStayInFormat1(t *testing.T) {
	t.Parallel()
	b := must[[]byte](t)(sample().Append(nil))
	if b[12] != 1 {
		t.Errorf("format %d", b[12])
	}
}

func TestAppendRefusesActive(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*statestore.Record){
		"life":                      func(r *statestore.Record) { r.Life = 3 },
		"dispatcher too long":       func(r *statestore.Record) { r.Leg.Dispatcher = strings.Repeat("x", 256) },
		"timer twice":               func(r *statestore.Record) { r.Timers[1].Name = 1 },
		"timer without time":        func(r *statestore.Record) { r.Timers[1].Due = 0 },
		"timer of a generation":     func(r *statestore.Record) { r.Timers[1].Generation = 10 },
		"peer key too long":         func(r *statestore.Record) { r.Peers[0].Key = make([]byte, 256) },
		"destination too long":      func(r *statestore.Record) { r.Outbox[0].Destination = make([]byte, 256) },
		"entry without a number":    func(r *statestore.Record) { r.Outbox[0].Number = 0 },
		"more entries than counted": func(r *statestore.Record) { r.Outbox = make([]statestore.Entry, 1<<16) },
	} {
		r := active()
		change(r)
		if _, err := r.Append(nil); err == nil {
			t.Errorf("%s passed", name)
		}
	}
}

func TestCloneOfActiveSharesNothingThatChanges(t *testing.T) {
	t.Parallel()
	r := active()
	c := r.Clone()
	c.Timers[0].Due, c.Peers[0].Mark, c.Outbox[0].Number = 1, 1, 1
	if !reflect.DeepEqual(r, active()) {
		t.Errorf("%+v", r)
	}
}

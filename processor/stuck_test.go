package processor_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"skyring/processor"
	"skyring/statestore"
)

// A notification for a kind of session that this program does not know waits for one that does: during an upgrade the next processor may.
func TestNotificationsWaitForTheirHandler(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const unknown = 0xF1
	first := s.startWith(quickConfig("old"), processor.NewHandlers(journal{}).ForKind(toyKind, herald{unknown}))
	d := s.dispatcher("d", 1)
	committed(t, d.ask(first.id, to("a", 1, "")))
	wait(t, func() bool { return first.Stats().HandlerFaults > 5 })
	if st := first.Stats(); st.SetAside != 0 || len(s.toyRecord("a").Outbox) != 1 {
		t.Errorf("given up: %+v", st)
	}
	s.startWith(quickConfig("new"), processor.NewHandlers(journal{}).ForKind(toyKind, toy{}).ForKind(unknown, toy{}))
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	s.settled("a")
	if r := must[[]statestore.Loaded](t)(s.store().Load(t.Context(), [][]byte{{unknown, 'x'}}))[0].Record; r == nil || string(r.Body) != "a:hello " {
		t.Errorf("%+v", r)
	}
}

// herald tells a session of a kind of each message.
type herald struct{ kind byte }

func (herald) Apply(processor.Session, processor.Message) (processor.Result, error) {
	return processor.Result{}, errors.New("Apply is called for a session that takes inputs")
}

func (h herald) ApplyInput(processor.Session, processor.Input) (processor.Result, error) {
	return processor.Result{Body: []byte("x"), Notify: []processor.Notification{{Key: []byte{h.kind, 'x'}, Payload: []byte("hello")}}}, nil
}

// What has waited for long is looked after more rarely, but it is.
func TestWhatIsStuckIsLookedAfterMoreRarely(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	store := s.store()
	for name, since := range map[string]int64{"stuck": 1, "fresh": must[int64](t)(store.Time(t.Context()))} {
		r := &statestore.Record{Line: 1, Life: statestore.Kept, Outbox: []statestore.Entry{{Destination: []byte{0xF1, 'x'}, Number: 1, Since: since, Payload: []byte("y")}}}
		o := must[[]statestore.Outcome](t)(store.Commit(t.Context(), []statestore.Commit{{
			Key: toyKey(name), Record: r, Keep: true, Indexed: true, Pending: since, Expiry: math.MaxInt64 >> 12,
		}}))
		if o[0].Result != statestore.Written {
			t.Fatalf("%+v", o)
		}
	}
	n := s.startWith(quickConfig("p"), processor.NewHandlers(journal{}).ForKind(toyKind, toy{}))
	scores := map[string]float64{}
	wait(t, func() bool {
		for _, name := range []string{"stuck", "fresh"} {
			index := s.redisName("\xF0" + name)
			index = index[:strings.Index(index, ":s:")] + ":out"
			scores[name] = s.client().ZScore(t.Context(), index, "\xF0"+name).Val()
		}
		return n.Stats().Swept > 1 && scores["stuck"] > 1 && scores["stuck"]-scores["fresh"] > 100_000
	})
}

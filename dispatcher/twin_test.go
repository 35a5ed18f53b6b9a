package dispatcher_test

import (
	"slices"
	"testing"
	"time"

	"skyring/protocol/bus"
)

func TestTwinDispatchersRaiseAnAlarm(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	startNode(t, url, "n1", newStore())
	one := startDispatcher(t, url, testConfig("same"))
	one.ready(t, 1)

	other := startDispatcher(t, url, testConfig("other"))
	other.ready(t, 1)

	two := startDispatcher(t, url, testConfig("same"))

	for _, f := range []*front{one, two} {
		eventually(t, "the alarm", func() bool { return f.Stats().Twins == 1 })

		if alarms := f.Status().Alarms; !slices.Contains(alarms, "other live dispatchers have the id same (seen: 1)") {
			t.Errorf("%q", alarms)
		}
	}

	if other.Stats().Twins != 0 || len(other.Status().Alarms) != 0 {
		t.Errorf("%q", other.Status().Alarms)
	}
}

// Answers for another incarnation are of who had the id before, for a while.
func TestLateAnswersForAnotherAreOfATwin(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	cfg := testConfig("d1")
	cfg.DeadlineMax = cfg.Deadline
	cfg.Expiry = 2 * cfg.DeadlineMax

	f := startDispatcher(t, url, cfg)
	c := connect(t, url)

	answer := func() {
		var w bus.AnswerWriter

		w.Reset(nil, 4711, 1)

		if err := w.Append(&bus.Answer{Entry: 1, Attempt: 1, Status: bus.Committed}); err != nil {
			t.Fatal(err)
		}

		if err := c.Publish(testNamespace.Dispatcher("d1"), "", w.Bytes()); err != nil {
			t.Fatal(err)
		}
	}

	began := time.Now()

	eventually(t, "the alarm", func() bool {
		answer()

		return f.Stats().Twins == 1
	})

	if early := time.Since(began) < cfg.Expiry; early || f.Stats().Dropped["answer-other-incarnation"] == 0 {
		t.Errorf("early: %t, %v", early, f.Stats().Dropped)
	}
}

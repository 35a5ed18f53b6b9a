package replay_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestVerdictForms(t *testing.T) {
	g := &target{t: t, behave: once}
	v := run(t, config(g.start(16)), nil, capture(4))

	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	var object map[string]any
	if err := json.Unmarshal(encoded, &object); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{
		"sent", "acknowledged", "lost", "doubled", "outOfOrder", "ledgerDiffers", "sessions",
		"ppid", "nodes", "latency", "seconds", "messagesPerSecond", "judgement", "unanswered",
	} {
		if _, there := object[name]; !there {
			t.Errorf("JSON %s has no %q", encoded, name)
		}
	}

	var text bytes.Buffer
	if err := v.Render(&text); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"sent             16 messages", "PPID 100", "p99.9", "ledger           not compared", "verdict          good"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text does not say %q:\n%s", want, &text)
		}
	}
}

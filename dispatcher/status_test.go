package dispatcher_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skyring/protocol/bus"
	"skyring/protocol/key"
)

func TestStatusIsAnsweredOverTheBus(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	startNode(t, url, "n1", newStore())
	f := startDispatcher(t, url, testConfig("d1"))
	other := startDispatcher(t, url, testConfig("d2"))

	f.ready(t, 1)
	other.ready(t, 1)

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "x")
	eventually(t, "the receipt", func() bool { return a.received() == 1 })

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	got := map[string]*bus.DispatcherStatus{}

	err := connect(t, url).Collect(ctx, testNamespace.DispatcherStatuses(), nil, func(data []byte) bool {
		s, err := bus.DecodeJSON[bus.DispatcherStatus](data)
		if err != nil {
			t.Error(err)

			return false
		}

		got[s.ID] = s

		return len(got) < 2
	})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}

	d1, d2 := got["d1"], got["d2"]
	if d1.Messages != 1 || d1.Associations != 1 || d2.Messages != 0 || d1.Address != f.addr.String() || d1.Uptime <= 0 || len(d1.Alarms) != 0 {
		t.Errorf("%+v", d1)
	}

	if d1.Checksum == 0 || d1.Checksum != d2.Checksum {
		t.Errorf("checksums %v and %v", d1.Checksum, d2.Checksum)
	}

	if len(d1.Nodes) != 1 || d1.Nodes[0].ID != "n1" || d1.Nodes[0].Status != "open" || d1.Nodes[0].Share != 1 || d1.Nodes[0].Answered != 1 {
		t.Errorf("%+v", d1.Nodes)
	}

	if n := d1.Nodes[0]; n.Limit != 1024 || n.HardCap != 2048 || n.Keys != 1 || n.Weight <= 0 || n.Weight > 1 || n.Reason != "" {
		t.Errorf("%+v", n)
	}

	if d1.Policy != "skyring" || d1.RingBits != 16 || d1.RingEpsilon != 0 {
		t.Errorf("%+v", d1)
	}
}

func TestWhyIsAnsweredOverTheBus(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)
	startNode(t, url, "n2", s)

	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 2)

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "x")
	eventually(t, "the receipt", func() bool { return a.received() == 1 })

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	asker := connect(t, url)
	k := key.Association(nil, 1)

	if err := asker.Publish(testNamespace.Whys(), "", []byte{1, 33}); err != nil { // malformed
		t.Fatal(err)
	}

	data, err := asker.Request(ctx, testNamespace.Whys(), bus.Why{Key: k}.Append(nil))
	if err != nil {
		t.Fatal(err)
	}

	e, err := bus.DecodeJSON[bus.Explanation](data)
	if err != nil {
		t.Fatal(err)
	}

	server := "n1"
	if s.of("n2") > 0 {
		server = "n2"
	}

	if e.ID != "d1" || e.Key != key.Format(k) || uint64(e.Hash) != key.Hash(k) || e.Policy != "skyring" || len(e.Nodes) != 2 {
		t.Errorf("%+v", e)
	}

	if e.Binding != server || e.Home != server || e.Taken != server || e.How != "home" || len(e.Skipped) != 0 || e.Unanswered != 0 {
		t.Errorf("%s served the key's first message, which was the first of all: %+v", server, e)
	}

	if n := f.Stats().Dropped["why"]; n != 1 {
		t.Errorf("%d malformed questions counted", n)
	}
}

func TestReadyWhileItServes(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	f := startDispatcher(t, url, testConfig("d1"))

	if err := f.Ready(); err == nil || !strings.Contains(err.Error(), "no node") {
		t.Errorf("without a node: %v", err)
	}

	startNode(t, url, "n1", newStore())
	eventually(t, "it is ready", func() bool { return f.Ready() == nil })
	f.drain()

	if err := f.Ready(); err == nil || err.Error() != "draining" {
		t.Errorf("drained: %v", err)
	}
}

func TestStarvedDispatchersRaiseAnAlarm(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())
	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 1)

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "x")
	eventually(t, "the receipt", func() bool { return a.received() == 1 })
	n.state.Store(uint32(bus.Draining))
	n.beat()
	eventually(t, "it drains", func() bool { return f.Stats().Nodes[0].Status.String() == "draining" })
	a.send(0, unknownPPID, "y")
	eventually(t, "the alarm", func() bool {
		alarms := f.Status().Alarms

		return len(alarms) == 1 && alarms[0] == "no node takes messages, and 1 wait"
	})
	n.state.Store(uint32(bus.Ready))
	n.beat()
	eventually(t, "the alarm ends", func() bool { return len(f.Status().Alarms) == 0 })
}

func TestMetricsTellWhatStatsDo(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	startNode(t, url, "n1", newStore())
	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 1)

	registry := prometheus.NewPedanticRegistry()
	if err := f.Register(registry); err != nil {
		t.Fatal(err)
	}

	if err := f.Register(registry); err == nil {
		t.Error("registered twice")
	}

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, 18, "x")
	eventually(t, "the receipt", func() bool { return a.received() == 1 })

	if faults, err := testutil.GatherAndLint(registry); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}

	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))

	for _, line := range []string{
		`skyring_dispatcher_associations{dispatcher="d1"} 1`,
		`skyring_dispatcher_messages_total{dispatcher="d1",protocol="s1ap"} 1`,
		`skyring_dispatcher_messages_total{dispatcher="d1",protocol="essp"} 0`,
		`skyring_dispatcher_answers_total{dispatcher="d1",status="committed"} 1`,
		`skyring_dispatcher_picks_total{dispatcher="d1",how="home"} 1`,
		`skyring_dispatcher_resends_total{cause="stall",dispatcher="d1"} 0`,
		`skyring_dispatcher_drops_total{dispatcher="d1",reason="reply-queue"} 0`,
		`skyring_dispatcher_drops_total{dispatcher="d1",reason="answer-done"} 0`,
		`skyring_dispatcher_node_state{dispatcher="d1",node="n1",state="open"} 1`,
		`skyring_dispatcher_node_share{dispatcher="d1",node="n1"} 1`,
		`skyring_dispatcher_receipts_total{dispatcher="d1"} 1`,
		`skyring_transport_associations{dispatcher="d1"} 1`,
		`skyring_transport_events_total{dispatcher="d1",event="associationsAccepted"} 1`,
		`skyring_transport_ends_total{dispatcher="d1",reason="peer shutdown"} 0`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

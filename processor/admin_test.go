package processor_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
)

// administer asks node n1 for something, as an operator does.
func (s *site) administer(conn *bus.Conn, act bus.Administration) *bus.NodeReply {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(s.tb.Context(), patience)
	defer cancel()
	data := must[[]byte](s.tb)(conn.Request(ctx, bus.Namespace("default").Ask("n1"), bus.NodeRequest{Administration: act}.Append(nil)))
	return must[*bus.NodeReply](s.tb)(bus.DecodeJSON[bus.NodeReply](data))
}

func TestDrainedNodesStayDrained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	beats := s.watch("n1")
	n := s.start("n1", processor.NewHandlers(ledger.Handler{}))
	operator := s.connect("operator")
	if err := n.Ready(); err != nil {
		t.Error(err)
	}
	if r := s.administer(operator, bus.Inquire); r.Error != "" || r.Status.State != "ready" || r.Status.Drained || r.Status.Capacity != 1000 || r.Status.Uptime <= 0 {
		t.Errorf("%+v", r)
	}
	if r := s.administer(operator, bus.Drain); r.Error != "" || r.Status.State != "draining" || !r.Status.Drained {
		t.Errorf("%+v", r)
	}
	if err := n.Ready(); err == nil || err.Error() != "drained by an operator" {
		t.Errorf("%v", err)
	}
	for h := range beats { // it tells dispatchers at once
		if h.State == bus.Draining {
			break
		}
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if stored := must[bool](t)(drained(s, "n1")); !stored {
		t.Error("the store does not know of it")
	}

	beats = s.watch("n1")
	s.launch("n1")
	for h := range beats { // it listens before it tells of itself
		if h.State == bus.Draining {
			break
		}
	}
	if r := s.administer(operator, bus.Undrain); r.Error != "" || r.Status.State != "ready" || r.Status.Drained {
		t.Errorf("%+v", r)
	}
	if stored := must[bool](t)(drained(s, "n1")); stored {
		t.Error("the store still has it drained")
	}
}

// launch runs a processor and does not wait until it is ready.
func (s *site) launch(id string) *processor.Processor {
	s.tb.Helper()
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.DrainQuiet, cfg.Heartbeat = id, 20*time.Millisecond, 50*time.Millisecond
	p := must[*processor.Processor](s.tb)(processor.New(cfg, s.open(), s.connect(id), processor.NewHandlers(ledger.Handler{}), s.log))
	ctx, cancel := context.WithCancel(s.tb.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	s.tb.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.tb.Error(err)
		}
	})
	return p
}

func drained(s *site, id string) (bool, error) {
	node, err := s.store().Node(s.tb.Context(), id)
	return node.Drained, err
}

// A decision that the store does not keep is none: the node goes on, and the operator is told.
func TestDrainThatCanNotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("n1", processor.NewHandlers(ledger.Handler{}))
	operator := s.connect("operator")
	if err := s.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	if r := s.administer(operator, bus.Drain); !strings.Contains(r.Error, "could not be kept") || r.Status.Drained || r.Status.State != "ready" {
		t.Errorf("%+v", r)
	}
	wait(t, func() bool { return n.Ready() != nil }) // the heartbeat's question for the time fails
	if alarms := n.Status().Alarms; len(alarms) != 1 || alarms[0] != "the state store does not answer" {
		t.Errorf("%q", alarms)
	}
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return n.Ready() == nil && len(n.Status().Alarms) == 0 })
}

func TestNodesAnswerStatusQueries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, id := range []string{"n1", "n2", "n3"} {
		s.start(id, processor.NewHandlers(ledger.Handler{}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seen := map[string]bool{}
	err := s.connect("operator").Collect(ctx, bus.Namespace("default").NodeStatuses(), nil, func(data []byte) bool {
		status := must[*bus.NodeStatus](t)(bus.DecodeJSON[bus.NodeStatus](data))
		seen[status.ID] = status.State == "ready" && status.Incarnation != 0
		return len(seen) < 3
	})
	if err != nil || !seen["n1"] || !seen["n2"] || !seen["n3"] {
		t.Errorf("%v, %v", seen, err)
	}
}

func TestMetricsTellWhatStatsDo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("n1", processor.NewHandlers(ledger.Handler{}))
	other := s.start("n2", processor.NewHandlers(ledger.Handler{}))
	registry := prometheus.NewPedanticRegistry()
	for _, p := range []node{n, other} { // one process may have several
		if err := p.Register(registry); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Register(registry); err == nil {
		t.Error("registered twice")
	}
	if faults, err := testutil.GatherAndLint(registry); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`skyring_processor_state{node="n1",state="ready"} 1`,
		`skyring_processor_state{node="n2",state="draining"} 0`,
		`skyring_processor_answers_total{node="n1",status="refused"} 0`,
		`skyring_processor_store_up{node="n1"} 1`,
		`skyring_processor_drained{node="n1"} 0`,
		`skyring_processor_capacity{node="n2"} 1000`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

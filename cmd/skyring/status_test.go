package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"skyring/testbed/shared"
)

// shown is what status --json promises to other programs.
type shown struct {
	Namespace string
	Ring      struct {
		Agreed    bool
		Checksums []string
	}
	Dispatchers []struct {
		ID, Address, Checksum string
		UptimeSeconds         float64
		Messages              uint64
		Associations          int
	}
	Nodes []struct {
		ID, State       string
		Drained         bool
		Answers         bool
		Capacity        uint32
		Share           float64
		InFlight        int64
		ClockOffset     int64 `json:"clockOffsetMicros"`
		Commits         uint64
		Seen            map[string]struct{ Status string }
		ResponseMicros  uint32
		MessagesPerSec  uint32 `json:"messagesPerSecond"`
		UptimeSeconds   float64
		IncarnationText string `json:"incarnation"`
	}
	Alarms []struct{ From, Text string }
}

// run runs skyring in this process and returns what it prints.
func output(t *testing.T, args ...string) (string, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	var stdout, stderr bytes.Buffer

	err := run(ctx, args, &stdout, &stderr)

	return stdout.String() + stderr.String(), err
}

// until repeats what other processes bring about.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()

	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()

	timeout := time.After(limit)

	for !is() {
		select {
		case <-look.C:
		case <-timeout:
			t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func (in *installation) status(t *testing.T) (s shown, err error) {
	t.Helper()

	err = runJSON(t, &s, "status", "--json", "--nats", in.nats)

	return s, err
}

// settled waits until the dispatcher sees a node so.
func (in *installation) settled(t *testing.T, id, status string) shown {
	t.Helper()

	var s shown

	until(t, id+" is "+status, func() bool {
		s, _ = in.status(t)
		for _, n := range s.Nodes {
			if n.ID == id && n.Seen["d1"].Status == status {
				return true
			}
		}

		return false
	})

	return s
}

func TestStatusShowsAllAndFailsWithoutThem(t *testing.T) {
	in := install(t, 2)
	in.settled(t, "p1", "open")
	in.settled(t, "p2", "open")

	v, err := in.replay(t, filepath.Join(shared.Traces(t), mustReplay[0]))
	v.want(t, err)

	s, err := in.status(t)
	if err != nil || !s.Ring.Agreed || len(s.Ring.Checksums) != 1 || len(s.Dispatchers) != 1 || len(s.Nodes) != 2 || len(s.Alarms) != 0 {
		t.Fatalf("%v: %+v", err, s)
	}

	if d := s.Dispatchers[0]; d.ID != "d1" || d.Messages != v.Sent || d.Address != in.target || d.UptimeSeconds <= 0 || d.Checksum != s.Ring.Checksums[0] {
		t.Errorf("%+v", d)
	}

	for _, n := range s.Nodes {
		if n.State != "ready" || !n.Answers || n.Drained || n.Capacity != 1000 || n.Share < 0.49 || n.Commits == 0 {
			t.Errorf("%+v", n)
		}
	}

	text, err := output(t, "status", "--nats", in.nats)
	if err != nil || !strings.Contains(text, "the same on all dispatchers") || !strings.Contains(text, "no alarms") || !strings.Contains(text, "50.0 %") {
		t.Errorf("%v\n%s", err, text)
	}

	if text, err := output(t, "status", "--nats", in.nats, "--namespace", "other"); err == nil ||
		!strings.Contains(text, "no dispatcher answers in namespace other") || !strings.Contains(text, "no processor answers") {
		t.Errorf("%v\n%s", err, text)
	}

	if err := in.processors["p2"].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	s = in.settled(t, "p2", "dead")
	for _, n := range s.Nodes {
		if n.ID == "p2" && (n.Answers || n.Share != 0) {
			t.Errorf("%+v", n)
		}
	}
}

func TestStatusFailsWhenDispatchersDisagree(t *testing.T) {
	in := install(t, 1)
	in.settled(t, "p1", "open")

	// A dispatcher that hears nothing of the nodes.
	c, err := nats.Connect(in.nats)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if _, err := c.Subscribe("skyring.default.status.disp", func(m *nats.Msg) {
		if err := m.Respond([]byte(`{"id":"d2","checksum":"0000000000000001"}`)); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}

	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}

	text, err := output(t, "status", "--nats", in.nats)
	if err == nil || exitCode(err) != exitFailed || !strings.Contains(text, "DIFFERS") || !strings.Contains(text, "do not have the same ring") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Policies without a ring have the same checksum, 0, so that it does not tell them apart.
func TestStatusTellsPoliciesApart(t *testing.T) {
	nats, redis := backbone(t)
	in := &installation{nats: nats, redis: redis, processors: map[string]*process{}}
	in.add(t, "p1")

	dispatcher := func(id, policy string) {
		d := startProcess(t, "dispatcher", "--id", id, "--nats", nats, "--listen", freeUDP(t), "--log-format", "json",
			"--set", "dispatcher.cpuThreshold=0", "--set", "dispatcher.policy="+policy)
		d.await(t, `"message":"dispatcher serves"`)
	}

	dispatcher("d1", "paper")
	in.settled(t, "p1", "open")

	text, err := output(t, "status", "--nats", nats)
	if err != nil || !strings.Contains(text, "policy: paper on all dispatchers, which has no ring") ||
		strings.Contains(text, "0000000000000000") || strings.Contains(text, " 0.0 %") {
		t.Errorf("%v\n%s", err, text)
	}

	dispatcher("d2", "least-connections")

	until(t, "both dispatchers answer", func() bool { // on a busy machine one may be too late
		text, err = output(t, "status", "--nats", nats)

		return strings.Contains(text, "d1 ") && strings.Contains(text, "d2 ")
	})

	if exitCode(err) != exitFailed || !strings.Contains(text, "policy: DIFFERS between dispatchers: least-connections, paper") ||
		!strings.Contains(text, "dispatcher.policy must be the same") {
		t.Errorf("%v\n%s", err, text)
	}
}

// A drained node gets nothing, stays so when it is started again, and returns.
func TestDrainOutlivesTheProcess(t *testing.T) {
	in := install(t, 2)
	in.settled(t, "p1", "open")

	text, err := output(t, "node", "drain", "p1", "--wait", "--nats", in.nats)
	if err != nil || !strings.Contains(text, "p1 is draining") || !strings.Contains(text, "done in") {
		t.Fatalf("%v\n%s", err, text)
	}

	v, err := in.replay(t, filepath.Join(shared.Traces(t), mustReplay[0]))
	v.want(t, err)

	if v.Nodes["p1"] != 0 || v.Nodes["p2"] == 0 {
		t.Errorf("nodes that committed: %v, want p2 alone", v.Nodes)
	}

	if err := in.processors["p1"].signal(t, syscall.SIGTERM); err != nil {
		t.Errorf("p1 ended with %v", err)
	}

	in.add(t, "p1")

	for _, n := range in.settled(t, "p1", "draining").Nodes {
		if n.ID == "p1" && (!n.Drained || n.State != "draining") {
			t.Errorf("started again: %+v", n)
		}
	}

	if text, err := output(t, "node", "undrain", "p1", "--wait", "--nats", in.nats); err != nil || !strings.Contains(text, "p1 is ready") {
		t.Fatalf("%v\n%s", err, text)
	}

	v, err = in.replay(t, filepath.Join(shared.Traces(t), mustReplay[0]))
	v.want(t, err)

	if v.Nodes["p1"] == 0 {
		t.Errorf("nodes that committed: %v, want p1, too", v.Nodes)
	}

	if text, err := output(t, "node", "drain", "p9", "--nats", in.nats); err == nil || !strings.Contains(text, "no processor p9 answers in namespace default: there are p1, p2") {
		t.Errorf("%v\n%s", err, text)
	}
}

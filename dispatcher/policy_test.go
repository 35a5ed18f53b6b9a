package dispatcher_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"skyring/dispatcher"
	"skyring/ring/policy"
)

// Any policy of the list picks in a dispatcher: messages are served once, in order, also when a node is killed.
func TestOtherPoliciesPick(t *testing.T) {
	var names []string
	for _, d := range policy.List() {
		names = append(names, d.Name)
	}

	for _, name := range []string{"least-connections", "round-robin", "paper", "maglev"} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(names, name) {
				t.Fatalf("not among %q", names)
			}

			testPolicy(t, name)
		})
	}
}

func testPolicy(t *testing.T, name string) {
	t.Helper()

	url := startNATS(t, -1).ClientURL()
	s := newStore()

	nodes := map[string]*node{}
	for _, id := range []string{"n1", "n2", "n3"} {
		nodes[id] = startNode(t, url, id, s)
	}

	cfg := testConfig("d1")
	cfg.Policy = name

	f := startDispatcher(t, url, cfg)
	f.ready(t, 3)

	const (
		associations = 8
		messages     = 40
	)

	all := stations(t, f, associations)
	for _, a := range all {
		a.listen()
	}

	for i := range messages {
		if i == messages/2 {
			nodes["n2"].kill()
		}

		for _, a := range all {
			a.send(0, unknownPPID, strconv.Itoa(i))
		}
	}

	eventually(t, "all receipts", func() bool {
		received := 0
		for _, a := range all {
			received += a.received()
		}

		return received == associations*messages
	})
	s.check(t, associations*messages)

	if st := f.Status(); st.Policy != name {
		t.Errorf("the policy is %q", st.Policy)
	}

	if name == "round-robin" && (s.of("n1") == 0 || s.of("n3") == 0) {
		t.Errorf("n1 served %d, n3 %d", s.of("n1"), s.of("n3"))
	}
}

func TestUnknownPoliciesAreNamed(t *testing.T) {
	cfg := dispatcher.DefaultConfig()
	cfg.Policy = "sky-ring"

	err := cfg.Validate()
	if err == nil || !strings.Contains(err.Error(), `policy: "sky-ring" is no policy: skyring, `) {
		t.Errorf("%v", err)
	}
}

// A policy that cannot pick from the nodes that there are leaves nobody unserved: the default one stands in, with an alarm, until it can.
func TestUnfitPolicyIsStoodInFor(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)

	large := startNode(t, url, "n2", s)
	large.capacity.Store(4_000_000_000) // forty million times the other's

	cfg := testConfig("d1")
	cfg.Policy = "even-ring"

	f := startDispatcher(t, url, cfg)
	f.ready(t, 2)

	unfit := func() bool {
		return slices.ContainsFunc(f.Status().Alarms, func(text string) bool {
			return strings.Contains(text, "the configured policy cannot pick from the nodes that there are") && strings.Contains(text, "capacities closer to each other")
		})
	}
	eventually(t, "an alarm", unfit)

	one := stations(t, f, 1)[0]
	one.listen()
	one.send(0, unknownPPID, "x")
	eventually(t, "a receipt", func() bool { return one.received() == 1 })

	large.capacity.Store(100)
	eventually(t, "the end of the alarm", func() bool { return !unfit() })
}

package main

import (
	"strings"
	"testing"
)

// capacity is what the dispatcher has of p1: announced, and the share of the ring.
func (in *installation) capacity(t *testing.T) (capacity uint32, share float64) {
	t.Helper()

	s, err := in.status(t)
	if err != nil {
		t.Fatal(err)
	}

	for _, n := range s.Nodes {
		if n.ID == "p1" {
			return n.Capacity, n.Share
		}
	}

	t.Fatalf("no p1: %+v", s)

	return 0, 0
}

func TestNodeWeight(t *testing.T) {
	in := install(t, 2)
	in.settled(t, "p1", "open")
	in.settled(t, "p2", "open")

	text, err := output(t, "node", "weight", "p1", "1200", "--nats", in.nats)
	if err != nil || !strings.Contains(text, "p1 announces a capacity of 1000 messages a second and goes to 1200: 2 steps in ") ||
		strings.Contains(text, "warning") {
		t.Errorf("%v\n%s", err, text)
	}

	text, err = output(t, "status", "--nats", in.nats)
	if err != nil || !strings.Contains(text, "1000 (to 1200)") {
		t.Errorf("%v\n%s", err, text)
	}

	text, err = output(t, "node", "weight", "p1", "3000", "--now", "--nats", in.nats)
	if err != nil || !strings.Contains(text, "warning: this moves about 25.0 % of the stations") || !strings.Contains(text, "p1 announces a capacity of 3000 messages a second\n") {
		t.Errorf("%v\n%s", err, text)
	}

	until(t, "the ring follows", func() bool {
		capacity, share := in.capacity(t)

		return capacity == 3000 && share > 0.74 && share < 0.76
	})

	text, err = output(t, "node", "weight", "p9", "3000", "--nats", in.nats)
	if exitCode(err) != exitFailed || !strings.Contains(text, "no processor p9 answers in namespace default: there are p1, p2") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestNodeWeightUsage(t *testing.T) {
	t.Parallel()

	for args, want := range map[string]string{
		"p1":                "ID or CAPACITY is missing",
		"p1 0":              `CAPACITY is "0": a number of messages a second from 1 to 4294967295 is right`,
		"p1 -- -5":          `CAPACITY is "-5"`,
		"p1 5000000000":     `CAPACITY is "5000000000"`,
		"p.1 5":             "id \"p.1\" has '.'",
		"p1 5 6":            `"6" is one argument too many`,
		"p1 5 --timeout 0s": "--timeout is 0s",
	} {
		text, err := output(t, append([]string{"node", "weight"}, strings.Fields(args)...)...)
		if exitCode(err) != exitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s", args, err, text)
		}
	}
}

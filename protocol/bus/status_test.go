package bus_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"skyring/protocol/bus"
)

func TestStatusesComeBackAsTheyWent(t *testing.T) {
	d := bus.DispatcherStatus{
		ID: "d1", Incarnation: 1<<63 + 1, Uptime: 1.5, Address: "127.0.0.1:9899", Alarms: []string{"x"}, Checksum: 7,
		Nodes: []bus.NodeView{{ID: "p1", Status: "open", Capacity: 1000, Share: 0.5}},
	}

	b, err := bus.AppendJSON(nil, &d)
	if err != nil {
		t.Fatal(err)
	}

	if !strings.Contains(string(b), `"incarnation":"8000000000000001"`) {
		t.Errorf("%s: a number of 64 bits must be a string", b)
	}

	got, err := bus.DecodeJSON[bus.DispatcherStatus](b)
	if err != nil {
		t.Fatal(err)
	}

	if got.Incarnation != d.Incarnation || got.Checksum != d.Checksum || !slices.Equal(got.Nodes, d.Nodes) || !slices.Equal(got.Alarms, d.Alarms) {
		t.Errorf("%+v came back as %+v", d, *got)
	}
}

func TestStatusesThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"", "{", "{}", `{"id":"a b"}`, `{"id":"d1","incarnation":"xyz"}`, `[]`} {
		if _, err := bus.DecodeJSON[bus.NodeStatus]([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}

	if _, err := bus.DecodeJSON[bus.NodeStatus]([]byte(`{"id":"p1","later":1}`)); err != nil {
		t.Errorf("fields of a later version: %v", err)
	}
}

func TestNodeRequestsComeBackAsTheyWent(t *testing.T) {
	for _, want := range []bus.NodeRequest{
		{Administration: bus.Inquire},
		{Administration: bus.Drain},
		{Administration: bus.Undrain},
		{Administration: bus.Weigh, Capacity: 70_000},
		{Administration: bus.WeighNow, Capacity: 1},
	} {
		b := want.Append(nil)
		if !bus.IsNodeRequest(b) {
			t.Errorf("%v is not known as a request", want)
		}

		for _, longer := range [][]byte{b, append(slices.Clone(b), 1, 2)} {
			if r, err := bus.DecodeNodeRequest(longer); err != nil || r != want {
				t.Errorf("%v came back as %v, %v", want, r, err)
			}
		}
	}

	for _, bad := range [][]byte{nil, {1}, {1, 32}, {1, 32, 5}, {1, 32, 3}, {1, 32, 4, 0, 0, 1}, {1, 32, 3, 0, 0, 0, 0}, {2, 32, 0}, {1, 4, 0}} {
		if _, err := bus.DecodeNodeRequest(bad); err == nil {
			t.Errorf("% x was taken", bad)
		}
	}

	if q := (&bus.EpochRequest{}).Append(nil); bus.IsNodeRequest(q) {
		t.Error("an epoch request is taken for another")
	}
}

func TestCollectGathersTheAnswersOfAll(t *testing.T) {
	s := startServer(t, 0)
	asker := connect(t, s)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	err := asker.Collect(ctx, "statuses", nil, func([]byte) bool { return true })
	if !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("nobody listens, got %v", err)
	}

	if _, err := asker.Request(ctx, "statuses", nil); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("nobody listens, got %v", err)
	}

	for _, name := range []string{"a", "b"} {
		c := connect(t, s)
		if _, err := c.Subscribe("statuses", func(m bus.Message) {
			if err := c.Publish(m.Reply, "", []byte(name)); err != nil && t.Context().Err() == nil { // the last answer may come as the test ends
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}

		if err := c.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}

	var got []string

	err = asker.Collect(ctx, "statuses", nil, func(data []byte) bool {
		got = append(got, string(data))

		return len(got) < 2
	})

	slices.Sort(got)

	if err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q, %v", got, err)
	}

	ended, end := context.WithCancel(t.Context())
	if err := asker.Collect(ended, "statuses", nil, func([]byte) bool { end(); return true }); err != nil {
		t.Errorf("the end of ctx is no error, got %v", err)
	}
}

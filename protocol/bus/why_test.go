package bus_test

import (
	"bytes"
	"reflect"
	"testing"

	"skyring/protocol/bus"
)

func TestQuestionsComeBackAsTheyWent(t *testing.T) {
	for _, k := range [][]byte{{1}, []byte("key"), bytes.Repeat([]byte{0xFF}, bus.MaxKeyLen)} {
		b := bus.Why{Key: k}.Append(nil)

		if got, err := bus.DecodeWhy(append(b, 1, 2, 3)); err != nil || !bytes.Equal(got.Key, k) || cap(got.Key) != len(k) {
			t.Errorf("%x came back as %x, %v", k, got.Key, err)
		}

		for n := range b {
			if _, err := bus.DecodeWhy(b[:n]); err == nil {
				t.Errorf("a cut at %d passed", n)
			}
		}
	}

	for _, bad := range [][]byte{{1, 33, 0}, {2, 33, 1, 1}, {1, 32, 1, 1}} {
		if _, err := bus.DecodeWhy(bad); err == nil {
			t.Errorf("% x was taken", bad)
		}
	}
}

func TestExplanationsComeBackAsTheyWent(t *testing.T) {
	e := bus.Explanation{
		ID: "d1", Key: "station:0000000000000017", Hash: 1 << 63, Policy: "skyring", Unanswered: 2, Node: "n1", Binding: "n1", Home: "n2",
		Skipped: []bus.Skipped{{Node: "n2", Reason: "CPU 82 % over 75 %"}}, Taken: "n1", How: "bound", Nodes: []bus.NodeView{{ID: "n1", Weight: -0.5}},
	}

	b, err := bus.AppendJSON(nil, &e)
	if err != nil {
		t.Fatal(err)
	}

	if got, err := bus.DecodeJSON[bus.Explanation](b); err != nil || !reflect.DeepEqual(*got, e) {
		t.Errorf("%+v came back as %+v, %v", e, got, err)
	}
}

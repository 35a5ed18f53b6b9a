package statestore_test

import (
	"strings"
	"testing"

	"skyring/statestore"
)

func TestWeightsStayAsDecided(t *testing.T) {
	t.Parallel()
	url := startRedis(t).URL()
	s, other := open(t, url), open(t, url)
	if w := must[statestore.Weight](t)(s.Weight(t.Context(), "a")); w != (statestore.Weight{}) {
		t.Errorf("nothing was decided: %+v", w)
	}
	for _, want := range []statestore.Weight{{Target: 5, Announced: 4, Configured: 3, Changed: 1 << 50}, {Target: 4e9, Announced: 1, Configured: 1, Changed: -1}} {
		if err := s.SetWeight(t.Context(), "a", want); err != nil {
			t.Fatal(err)
		}
		if got := must[statestore.Weight](t)(other.Weight(t.Context(), "a")); got != want {
			t.Errorf("%+v became %+v", want, got)
		}
	}
	if w := must[statestore.Weight](t)(s.Weight(t.Context(), "b")); w != (statestore.Weight{}) {
		t.Errorf("nothing was decided of another one: %+v", w)
	}
	if nodes := must[[]statestore.Node](t)(s.Nodes(t.Context())); len(nodes) != 0 {
		t.Errorf("a capacity drains nothing: %+v", nodes)
	}
	c := client(t, url)
	must[int64](t)(c.HSet(t.Context(), "skyring:weights", "a", "heavy").Result())
	if _, err := s.Weight(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "capacity of node a") {
		t.Errorf("%v", err)
	}
}

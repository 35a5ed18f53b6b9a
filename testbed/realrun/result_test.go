package realrun_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"skyring/testbed/compare"
	"skyring/testbed/realrun"
)

func figures(response, same float64) compare.Figures {
	return compare.Figures{MeanResponse: response, SameNode: same}
}

func sample() realrun.Result {
	return realrun.Result{
		Config: realrun.Config{Scenario: "small", Policies: []string{"a", "b"}, Seeds: 2, Messages: 10},
		Rounds: []realrun.Round{
			{Policy: "a", Seed: 1, Simulated: figures(1, 0.5), Real: figures(1.2, 0.5)},
			{Policy: "b", Seed: 1, Simulated: figures(2, 0.5), Real: figures(2.2, 0.9)},
			{Policy: "a", Seed: 2, Simulated: figures(3, 0.5), Real: figures(3.2, 0.5)},
			{Policy: "b", Seed: 2, Simulated: figures(2, 0.5), Real: figures(2.2, 0.9)},
		},
	}
}

func TestAgreements(t *testing.T) {
	got := sample().Agreements()
	if len(got) != 2 || !got[0].Agrees() || got[1].Agrees() {
		t.Fatalf("%+v: want that a agrees and b does not", got)
	}

	for _, a := range got {
		if d := a.Response - 1.1; d < -1e-9 || d > 1e-9 {
			t.Errorf("%s: response %v times the simulated one, want 1.1", a.Policy, a.Response)
		}
	}

	var text strings.Builder
	if err := sample().Text(&text); err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"a agrees within 15 %: response is 1.100", "b does not agree within 15 %: response is 1.100 times the simulated one, same-node share 1.800 times"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

func TestRows(t *testing.T) {
	r := sample()
	rows := r.Rows()

	if len(rows) != 4 || rows[0].Variant != "real" || rows[0].Policy != "a" || rows[3].Policy != "b" {
		t.Fatalf("%+v", rows)
	}

	// Two samples 1.2 and 3.2: the half-width is 12.706 (Student, one degree of freedom) times 1.41421/sqrt(2).
	if m, h := rows[0].MeanResponse, rows[0].Interval.MeanResponse; m < 2.1999 || m > 2.2001 || h < 12.70 || h > 12.71 {
		t.Errorf("mean response %v, interval %v: want 2.2 and 12.706", m, h)
	}

	r.Rounds, r.Config.Seeds = r.Rounds[:2], 1
	if h := r.Rows()[0].Interval; h != (compare.Figures{}) {
		t.Errorf("interval of one sample: %+v", h)
	}

	if _, err := json.Marshal(r.Rows()); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	c := realrun.Config{Scenario: "small", Policies: []string{"skyring", "nothing"}, Service: time.Nanosecond}

	err := c.Validate()
	if err == nil {
		t.Fatal("no error")
	}

	for _, want := range []string{"seeds: 0", "messages: 0", "service: 1ns", "dir: missing", `no policy "nothing"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no %q", err, want)
		}
	}

	c = realrun.DefaultConfig()
	c.Dir, c.Scenario, c.Policies = t.TempDir(), "no-such", []string{"skyring"}

	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("%v", err)
	}

	for _, d := range compare.List() { // only those that can be run are taken
		c.Scenario = d.Name

		load, err := compare.Config(d.Name, "skyring", 1)
		if err != nil {
			continue
		}

		real := len(load.Events) == 0 && load.Limits.PerWorker == 0 && load.Arrivals.Users == 0 && load.Window > 0
		if err := c.Validate(); (err == nil) != real {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

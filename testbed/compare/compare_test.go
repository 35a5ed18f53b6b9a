package compare_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"skyring/testbed/compare"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Student's interval for ten samples: 2.262157 standard errors; it holds the true mean in 95 % of cases.
func TestIntervals(t *testing.T) {
	samples := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}

	mean, half := compare.Interval(samples)
	if want := 2.262157 * 3.027650 / math.Sqrt(10); math.Abs(mean-5.5) > 1e-9 || math.Abs(half-want) > 1e-4 {
		t.Errorf("%v ± %v, want 5.5 ± %v", mean, half, want)
	}

	const trials = 20_000

	r := rand.New(rand.NewPCG(1, 1))
	holds := 0

	for range trials {
		for i := range samples {
			samples[i] = r.NormFloat64()
		}

		if mean, half := compare.Interval(samples); math.Abs(mean) <= half {
			holds++
		}
	}

	if share := float64(holds) / trials; math.Abs(share-0.95) > 0.008 { // 5 standard deviations
		t.Errorf("%.4f of the intervals hold the mean, want 0.95", share)
	}
}

// Verdicts go by intervals: of differences seed by seed where there are two policies, so that noise both have does not hide them.
func TestVerdicts(t *testing.T) {
	low, high := []float64{1, 1.1, 0.9}, []float64{2, 2.1, 1.9}
	wide := []float64{0.1, 2.2, 1.1}
	noisy, above := []float64{1, 50, 9, 22}, []float64{1.5, 50.6, 9.4, 22.5}

	for _, c := range []struct {
		kind  string
		a, b  []float64
		bound float64
		want  compare.Verdict
	}{
		{"less", low, high, 1, compare.Reproduced},
		{"less", high, low, 1, compare.Refuted},
		{"less", low, wide, 1, compare.Undecidable},
		{"less", noisy, above, 1, compare.Reproduced},
		{"less", high, low, 3, compare.Reproduced},
		{"more", high, low, 1, compare.Reproduced},
		{"more", low, high, 1, compare.Refuted},
		{"more", wide, low, 1, compare.Undecidable},
		{"within", low, []float64{1.01, 1.11, 0.91}, 0.05, compare.Reproduced},
		{"within", low, high, 0.05, compare.Refuted},
		{"within", high, low, 0.05, compare.Refuted},
		{"within", low, wide, 0.05, compare.Undecidable},
		{"most", low, high, 1.5, compare.Reproduced},
		{"most", low, high, 0.5, compare.Refuted},
		{"most", low, high, 1.1, compare.Undecidable},
		{"least", low, high, 0.5, compare.Reproduced},
		{"least", low, high, 1.5, compare.Refuted},
		{"every", low, low, 1.5, compare.Reproduced},
		{"every", low, high, 1.5, compare.Refuted},
		{"every", low, wide, 1.5, compare.Undecidable},
	} {
		verdict, why := compare.Judged(c.kind, c.a, c.b, c.bound)
		if verdict != c.want || !strings.Contains(why, "±") {
			t.Errorf("%s of %v and %v by %v: %s, want %s: %s", c.kind, c.a, c.b, c.bound, verdict, c.want, why)
		}
	}
}

// All scenarios of the list are valid, no row is there twice, and all but the large one are of a size to be run at once.
func TestScenariosAreValid(t *testing.T) {
	list := compare.List()
	if len(list) < 13 {
		t.Errorf("%d scenarios", len(list))
	}

	for _, d := range list {
		seen := map[[2]string]bool{}

		var messages float64

		for _, p := range compare.Points(d.Name) {
			if p.Fault != nil {
				t.Errorf("%s, %s at %s: %v", d.Name, p.Policy, p.Where, p.Fault)
			}

			if name := [2]string{p.Policy, p.Where}; seen[name] {
				t.Errorf("%s has %s at %s twice", d.Name, p.Policy, p.Where)
			} else {
				seen[name] = true
			}

			messages += p.Messages
		}

		if d.Name == "" || d.Summary == "" || d.Source == "" || len(seen) == 0 || messages > 12e6 && d.Name != "large" {
			t.Errorf("%+v: %d rows, %.0f messages a seed", d, len(seen), messages)
		}
	}
}

// Every scenario but the large one runs, shortened, to a verdict on each claim; its rows have all figures and the claims that speak of their policies.
func TestScenariosRun(t *testing.T) {
	for _, d := range compare.List() {
		if d.Name == "large" {
			continue
		}

		t.Run(d.Name, func(t *testing.T) {
			var last, total int

			r, err := compare.RunWith(t.Context(), d.Name, compare.Settings{Seeds: 2, PickCost: 100, Scale: 0.004}, func(done, of int) {
				if done != last+1 {
					t.Errorf("%d runs done after %d", done, last)
				}

				last, total = done, of
			})
			if err != nil {
				t.Fatal(err)
			}

			if last != total || total != 2*len(r.Rows) || r.Scenario != d || r.Seeds != 2 {
				t.Errorf("%d of %d runs, %d rows, %+v", last, total, len(r.Rows), r.Scenario)
			}

			for _, c := range r.Claims {
				if c.Claim == "" || c.Why == "" || !slices.Contains([]compare.Verdict{compare.Reproduced, compare.Refuted, compare.Undecidable}, c.Verdict) {
					t.Errorf("finding %+v", c)
				}

				if !slices.ContainsFunc(r.Rows, func(row compare.Row) bool { return slices.Contains(row.Claims, c) }) {
					t.Errorf("no row has the claim %q", c.Claim)
				}
			}

			checkForms(t, r)
		})
	}
}

// checkForms holds a report's JSON to the names that its readers know, and its text to its rows.
func checkForms(t *testing.T, r compare.Report) {
	t.Helper()

	b, err := json.Marshal(r.Rows)
	if err != nil {
		t.Fatal(err)
	}

	var rows []map[string]any
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}

	for _, row := range rows {
		ci, isObject := row["ci"].(map[string]any)
		for _, name := range []string{"meanResponse", "p99", "throughput", "maxMean", "spread", "sameNode", "shed", "moved"} {
			if _, isNumber := row[name].(float64); !isNumber || !isObject || ci[name] == nil {
				t.Errorf("no %s in %v", name, row)
			}
		}

		if _, isList := row["claims"].([]any); !isList || row["policy"] == "" || row["nodes"] == 0.0 {
			t.Errorf("row %v", row)
		}
	}

	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}

	if lines := strings.Count(text.String(), "\n"); lines < len(r.Rows)+2*len(r.Claims) || !strings.Contains(text.String(), "±") {
		t.Errorf("%d lines for %d rows and %d claims", lines, len(r.Rows), len(r.Claims))
	}
}

// With the cost of a pick fixed, a comparison is a function of its seeds, however its runs take turns.
func TestReportsAreDeterministic(t *testing.T) {
	s := compare.Settings{Seeds: 3, PickCost: 100, Scale: 0.01}

	a, err := compare.RunWith(t.Context(), "small", s, nil)
	if err != nil {
		t.Fatal(err)
	}

	b, err := compare.RunWith(t.Context(), "small", s, nil)
	if err != nil {
		t.Fatal(err)
	}

	if !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ:\n%+v\n%+v", a, b)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	if _, err := compare.RunWith(t.Context(), "no-such", compare.Settings{Seeds: 2}, nil); err == nil || !strings.Contains(err.Error(), "even-ring-equal") {
		t.Errorf("error %v does not say which scenarios there are", err)
	}

	if _, err := compare.RunWith(t.Context(), "small", compare.Settings{Seeds: 1}, nil); err == nil || !strings.Contains(err.Error(), "seeds: 1: an interval needs 2") {
		t.Errorf("error %v does not name the seeds", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	if _, err := compare.RunWith(ctx, "small", compare.Settings{Seeds: 2}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}

	if _, err := compare.Config("small", "maglev", 1); err == nil || !strings.Contains(err.Error(), "maglev") {
		t.Errorf("error %v does not name the policy", err)
	}

	if c, err := compare.Config("small", "skyring", 7); err != nil || c.Seed != 7 || c.Policy != "skyring" || c.Validate() != nil {
		t.Errorf("%+v, error %v", c, err)
	}
}

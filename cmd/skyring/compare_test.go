package main

import (
	"encoding/json"
	"strings"
	"testing"

	"skyring/testbed/compare"
)

// jsonLines reads what is printed, an object a line.
func jsonLines(t *testing.T, args ...string) []map[string]any {
	t.Helper()

	text, err := output(t, args...)
	if err != nil {
		t.Fatalf("skyring %s: %v\n%s", strings.Join(args, " "), err, text)
	}

	var rows []map[string]any

	for line := range strings.Lines(text) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%q is no JSON object: %v", line, err)
		}

		rows = append(rows, row)
	}

	return rows
}

// wantNumbers fails unless a row has numbers under all names.
func wantNumbers(t *testing.T, row map[string]any, names string) {
	t.Helper()

	for name := range strings.FieldsSeq(names) {
		if _, is := row[name].(float64); !is {
			t.Errorf("%s is no number in %v", name, row)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()

	rows := jsonLines(t, "compare", "--scenario", "small", "--seeds", "2", "--scale", "0.01", "--pick-cost", "100", "--json")
	if len(rows) != 6 {
		t.Errorf("%d rows, want one for each of six policies", len(rows))
	}

	for _, row := range rows {
		wantNumbers(t, row, "nodes meanResponse p99 throughput maxMean spread sameNode shed moved")

		if row["policy"] == "" || row["pickNs"] != 100.0 || row["ci"] == nil {
			t.Errorf("%v", row)
		}
	}

	text, err := output(t, "compare", "--scenario", "small", "--seeds", "2", "--scale", "0.01", "--pick-cost", "100")
	if err != nil || !strings.Contains(text, "least-connections") || !strings.Contains(text, "a policy that looks at the load answers sooner") {
		t.Errorf("%v\n%s", err, text)
	}

	list := jsonLines(t, "compare", "--list", "--json")
	if len(list) != len(compare.List()) || list[0]["name"] != "small" || list[0]["summary"] == "" || list[0]["source"] == "" {
		t.Errorf("%v", list)
	}

	if text, err := output(t, "compare", "--list"); err != nil || !strings.Contains(text, "\nz-curve ") || !strings.Contains(text, "\ndrf ") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestCompareRefusesInSentences(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ args, want string }{
		{"", "--scenario is missing"},
		{"--list --scenario small", "do not go together"},
		{"--scenario other", `"other" is no scenario: small, paper, `},
		{"--scenario small --seeds 0", "--seeds is 0"},
		{"--scenario small --scale 0", "--scale is 0"},
		{"--scenario small --scale 1e-9", "--scale is 1e-09: 0.001 to 100 is right"},
		{"--scenario small --seeds 1", "seeds: 1: an interval needs 2.."},
		{"--scenario small --scale -1", "scale -1: want more than 0"},
	} {
		text, err := output(t, append([]string{"compare"}, strings.Fields(c.args)...)...)
		if exitCode(err) != exitUsage || !strings.Contains(text, c.want) {
			t.Errorf("skyring compare %s: %v\n%s\nwithout %q", c.args, err, text, c.want)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestBenchSCTP prints a row for each contestant under each load, as JSON and for people.
func TestBenchSCTP(t *testing.T) {
	var stdout, stderr bytes.Buffer

	args := strings.Fields("bench sctp --rounds 1 --seconds 0.02 --only udp,skyring,pionStock")
	if err := run(t.Context(), append(args, "--json"), &stdout, &stderr); err != nil {
		t.Fatal(err)
	}

	var got []string

	for line := range strings.Lines(stdout.String()) {
		var row struct {
			Name                                   string
			Associations, Window                   int
			MessagesPerSecond, CPUMicros, P50, P99 float64
			Rounds                                 []any
		}

		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}

		if row.MessagesPerSecond <= 0 || row.CPUMicros <= 0 || row.P50 <= 0 || row.P99 < row.P50 || row.Rounds != nil {
			t.Errorf("%s", line)
		}

		got = append(got, fmt.Sprint(row.Name, " ", row.Associations, " ", row.Window))
	}

	want := []string{
		"udp 1 1", "pionStock 1 1", "skyring 1 1", "udp 1 64", "pionStock 1 64", "skyring 1 64",
		"udp 100 8", "pionStock 100 8", "skyring 100 8",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}

	stdout.Reset()

	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}

	for _, part := range []string{"x pionStock", "skyring echoes at least 0.95 of pionStock with 100 associations: ", "of usrsctp with 100 associations: not measured"} {
		if !strings.Contains(stdout.String(), part) {
			t.Errorf("it does not say %q:\n%s", part, &stdout)
		}
	}

	if stderr.Len() > 0 {
		t.Errorf("standard error:\n%s", &stderr)
	}
}

// TestBenchSCTPUsage holds wrong command lines to a sentence.
func TestBenchSCTPUsage(t *testing.T) {
	t.Parallel()

	for args, want := range map[string]string{
		"--only quic":              `only: "quic": tcp, udp, pionStock, skyring, skyring-stations, skyring-dtls, usrsctp are right`,
		"--seconds 0":              "--seconds is 0: more than 0, and at most 60, is right",
		"--seconds NaN":            "--seconds is NaN",
		"--rounds 0":               "--rounds is 0: at least 1 is right",
		"--rounds 1001":            "rounds: 1001: 1 to 1000 is right",
		"--raw":                    "--raw belongs to --json",
		"--link --only skyring":    "--only does not go with --link",
		"--link --rounds 101":      "rounds over a link: 101: 1 to 100 is right",
		"--json --raw --seconds x": `invalid argument "x"`,
	} {
		var stdout, stderr bytes.Buffer

		err := run(t.Context(), append([]string{"bench", "sctp"}, strings.Fields(args)...), &stdout, &stderr)
		if code := exitCode(err); code != exitUsage {
			t.Errorf("%s: exit code %d (%v), want %d", args, code, err, exitUsage)
		}

		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: standard error does not say %q:\n%s", args, want, &stderr)
		}
	}
}

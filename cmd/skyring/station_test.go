package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/key"
	"skyring/statestore"
)

// skyring runs a command in this process and returns what it prints.
func skyring(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()

	var out, errs bytes.Buffer

	err = run(t.Context(), args, &out, &errs)

	return out.String(), errs.String(), err
}

// mustSkyring is skyring for commands that have to succeed.
func mustSkyring(t *testing.T, args ...string) string {
	t.Helper()

	stdout, stderr, err := skyring(t, args...)
	if err != nil {
		t.Fatalf("skyring %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}

	return stdout
}

func TestStationTable(t *testing.T) {
	t.Parallel()

	_, redis := backbone(t)
	on := func(args ...string) []string { return append(args, "--redis", redis) }

	added := mustSkyring(t, on("station", "add", "17", "--beam", "3,4", "--max-calls", "2")...)

	secret := regexp.MustCompile(`key ([0-9a-f]{64}) `).FindStringSubmatch(added)
	if secret == nil {
		t.Fatalf("no key was printed: %s", added)
	}

	if _, stderr, err := skyring(t, on("station", "add", "17", "--beam", "3")...); err == nil || !strings.Contains(stderr, "--replace") {
		t.Errorf("adding it again: %v, %s", err, stderr)
	}

	if again := mustSkyring(t, on("station", "add", "17", "--beam", "5", "--replace")...); strings.Contains(again, "key") {
		t.Errorf("a replaced station that kept its key: %s", again)
	}

	mustSkyring(t, on("station", "bar", "17")...)

	shown := mustSkyring(t, on("station", "show", "17", "--json")...)
	for _, want := range []string{`"id": "0000000000000017"`, `"state": "barred"`, `"barred": true`} {
		if !strings.Contains(shown, want) {
			t.Errorf("show lacks %s:\n%s", want, shown)
		}
	}

	listed := mustSkyring(t, on("station", "list")...)
	if strings.Contains(shown+listed, secret[1]) {
		t.Error("a key is shown again")
	}

	mustSkyring(t, on("station", "bar", "17", "--off")...)

	if listed := mustSkyring(t, on("station", "list")...); !regexp.MustCompile(`0000000000000017 +off`).MatchString(listed) {
		t.Errorf("list after bar --off:\n%s", listed)
	}

	for _, args := range [][]string{{"station", "show", "99"}, {"station", "bar", "99"}} {
		if _, stderr, err := skyring(t, on(args...)...); err == nil || !strings.Contains(stderr, "no station 0000000000000099") {
			t.Errorf("%v: %v, %s", args, err, stderr)
		}
	}
}

func TestImportFormats(t *testing.T) {
	t.Parallel()

	_, redis := backbone(t)
	secret := strings.Repeat("ab", 32)

	for i, text := range []string{
		"\ufeffid, key, beams, class, maxCalls, maxPriority, barred\n# a comment\n0x21," + secret + ",\"3,4\",1,2,9,true\n22," + secret + ",3 4,,,,\n",
		`{"id":"21","key":"` + secret + `","beams":[3,4],"class":1,"maxCalls":2,"maxPriority":9,"barred":true}` + "\n\n" +
			`{"id":"station:0000000000000022","key":"` + secret + `","beams":"3;4"}` + "\n",
		`[{"id":"21","key":"` + secret + `","beams":[3,4],"class":1,"maxCalls":2,"maxPriority":9,"barred":true},` +
			`{"id":"22","key":"` + secret + `","beams":[3,4]}]`,
	} {
		path := filepath.Join(t.TempDir(), "stations")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		want := "2 stations: 0 added, 0 changed, 2 as they were\n"
		if i == 0 {
			want = "2 stations: 2 added, 0 changed, 0 as they were\n"
		}

		if got := mustSkyring(t, "station", "import", path, "--redis", redis); got != want {
			t.Errorf("format %d: %q, want %q", i, got, want)
		}
	}
}

func TestPools(t *testing.T) {
	t.Parallel()

	_, redis := backbone(t)

	mustSkyring(t, "pool", "set", "12", "--channels", "1-100", "--redis", redis)
	mustSkyring(t, "pool", "set", "3", "--channels", "5-5", "--redis", redis)

	listed := mustSkyring(t, "pool", "list", "--redis", redis)
	if !regexp.MustCompile(`(?s)3 +5-5 +0 +1 .*12 +1-100 +0 +100 `).MatchString(listed) {
		t.Errorf("pool list:\n%s", listed)
	}
}

// writeCDRs writes call detail records as processors do, one to each of the keys.
func writeCDRs(t *testing.T, redis string, texts ...string) {
	t.Helper()

	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Namespace, cfg.Timeout = redis, DefaultConfig().Namespace, time.Minute // a busy machine has not failed

	store, err := statestore.Open(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = store.Close() })

	now, err := store.Time(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	for i, text := range texts {
		outcomes, err := store.Commit(t.Context(), []statestore.Commit{{
			Key: key.Call(nil, key.CallID{Station: uint64(i), Boot: uint64(now)}), Record: &statestore.Record{Body: []byte{1}},
			Expiry: now + time.Minute.Microseconds(), TTL: time.Minute, CDRs: [][]byte{[]byte(text)},
		}})
		if err != nil || outcomes[0].Result != statestore.Written {
			t.Fatalf("%+v, %v", outcomes, err)
		}
	}
}

func cdrTexts(from, to int) []string {
	var texts []string
	for n := from; n < to; n++ {
		texts = append(texts, fmt.Sprintf(`{"call":"c%d","cause":16,"causeName":"normal call clearing","durationUs":%d,"later":true}`, n, n))
	}

	return texts
}

// TestExportGoesOnWhereItEnded exports twice with one position file, and finds each record
// once.
func TestExportGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()

	_, redis := backbone(t)
	position := filepath.Join(t.TempDir(), "position")
	export := func() []string {
		text := mustSkyring(t, "cdr", "export", "--position", position, "--redis", redis)

		return strings.Split(strings.TrimSpace(text), "\n")
	}

	writeCDRs(t, redis, cdrTexts(0, 1500)...)

	first := export()

	writeCDRs(t, redis, cdrTexts(1500, 1600)...)

	all := append(first, export()...)
	if len(all) != 1600 {
		t.Fatalf("%d records in two exports", len(all))
	}

	found := map[string]bool{}

	for i, line := range all {
		var record struct {
			Call     string
			Sequence uint64
			Later    bool
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil || found[record.Call] || record.Sequence == 0 || !record.Later {
			t.Fatalf("record %d is %s (%v)", i, line, err)
		}

		found[record.Call] = true
	}

	table := mustSkyring(t, "cdr", "export", "--format", "csv", "--redis", redis)
	if rows := strings.Count(table, "\n"); rows != 1601 || !strings.HasPrefix(table, "partition,sequence,call,calling") {
		t.Errorf("%d rows:\n%.300s", rows, table)
	}

	if later := mustSkyring(t, "cdr", "export", "--from", "2100-01-01", "--redis", redis); later != "" {
		t.Errorf("records of the future: %s", later)
	}

	if recent := mustSkyring(t, "cdr", "export", "--from", "1h", "--redis", redis); strings.Count(recent, "\n") != 1600 {
		t.Error("--from 1h leaves something out")
	}
}

// TestGapsAreTold hands an export records of which some are missing.
func TestGapsAreTold(t *testing.T) {
	t.Parallel()

	var out, errs bytes.Buffer

	e := &cdrExport{out: bufio.NewWriter(&out), format: cdrLines{&out}, stderr: &errs, position: cdrPosition{}}
	e.note([]statestore.CDR{
		{Partition: 1, Sequence: 1, ID: "1-0"},
		{Partition: 1, Sequence: 2, ID: "2-0"},
		{Partition: 2, Sequence: 3, ID: "2-0"},
		{Partition: 1, Sequence: 6, ID: "3-0"},
	})

	want := "skyring: partition 2: call detail records 1 to 2 are missing\nskyring: partition 1: call detail records 3 to 5 are missing\n"
	if e.missing != 5 || errs.String() != want {
		t.Errorf("%d missing:\n%s", e.missing, errs.String())
	}

	since := cdrPosition{}
	since.begin(3, time.Now())

	if _, gap := since.advance(statestore.CDR{Partition: 2, Sequence: 77, ID: "9-0"}); gap {
		t.Error("the first record after --from is a gap")
	}
}

// TestExportIsMergedByTime writes what waits up to where nothing earlier can come.
func TestExportIsMergedByTime(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer

	e := &cdrExport{out: bufio.NewWriter(&out), format: cdrLines{&out}, position: cdrPosition{}}
	e.waiting = []statestore.CDR{
		{Partition: 1, Sequence: 1, ID: "5-0", Payload: []byte(`{}`)},
		{Partition: 1, Sequence: 2, ID: "10-0", Payload: []byte(`{}`)},
		{Partition: 2, Sequence: 1, ID: "4-2", Payload: []byte(`{}`)},
		{Partition: 2, Sequence: 2, ID: "9-0", Payload: []byte(`{}`)},
	}

	if until := bound(e.waiting); until != "9-0" {
		t.Fatalf("bound %s", until)
	}

	if err := e.flush("9-0"); err != nil {
		t.Fatal(err)
	}

	want := `{"partition":2,"sequence":1}` + "\n" + `{"partition":1,"sequence":1}` + "\n" + `{"partition":2,"sequence":2}` + "\n"
	if out.String() != want || len(e.waiting) != 1 {
		t.Errorf("%s%d wait", out.String(), len(e.waiting))
	}
}

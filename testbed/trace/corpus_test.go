package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"skyring/testbed/shared"
	"skyring/testbed/trace"
)

// corpus lists every file that lies beside the project.
func corpus(tb testing.TB) []string {
	tb.Helper()
	var files []string
	err := filepath.WalkDir(shared.Traces(tb), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 100 {
		tb.Fatalf("walk the captures: %d files, %v", len(files), err)
	}
	return files
}

func open(tb testing.TB, path string) (*trace.Trace, error) {
	tb.Helper()
	return trace.Open(context.Background(), path, trace.DefaultConfig())
}

// Every file ends in a trace that holds together, or in a sentence that names it and a reason.
func TestEveryFileEndsInATraceOrASentence(t *testing.T) {
	for _, path := range corpus(t) {
		got, err := open(t, path)
		if err != nil {
			checkFault(t, path, err)
			continue
		}
		checkTrace(t, got)
		checkInspection(t, got)
	}
}

func checkFault(t *testing.T, path string, err error) {
	t.Helper()
	var fault *trace.FileError
	if !errors.As(err, &fault) || fault.File != path || fault.Detail == "" || fault.Want == "" {
		t.Errorf("%s: %v is no sentence that names the file", path, err)
		return
	}
	if !errors.Is(err, trace.ErrNotCapture) && !errors.Is(err, trace.ErrNoSCTP) {
		t.Errorf("%s: %v is neither no capture nor without SCTP", path, err)
	}
}

// checkTrace checks what holds for every trace.
func checkTrace(tb testing.TB, got *trace.Trace) {
	tb.Helper()
	type streamOf struct {
		association int
		direction   trace.Direction
		stream      uint16
	}
	messages := make(map[int]uint64)
	last := make(map[streamOf]trace.Message)
	for i, m := range got.Messages {
		if i > 0 && m.Time.Before(got.Messages[i-1].Time) {
			tb.Fatalf("%s: message %d is earlier than the one before", got.File, i)
		}
		if len(m.Payload) == 0 || m.Association >= len(got.Associations) {
			tb.Fatalf("%s: message %d has %d bytes, association %d of %d", got.File, i, len(m.Payload), m.Association, len(got.Associations))
		}
		messages[m.Association]++
		if m.Unordered {
			continue
		}
		on := streamOf{m.Association, m.Direction, m.Stream}
		if before, ok := last[on]; ok && int32(m.TSN-before.TSN) <= 0 {
			tb.Fatalf("%s: message %d has TSN %d after %d on %+v", got.File, i, m.TSN, before.TSN, on)
		}
		last[on] = m
	}
	for id, a := range got.Associations {
		if a.ID != id || a.Start.After(a.End) || len(a.Client.Addrs) == 0 || len(a.Server.Addrs) == 0 {
			tb.Errorf("%s: association %d is %+v", got.File, id, a)
		}
		if a.ToServer.Messages+a.ToClient.Messages != messages[id] {
			tb.Errorf("%s: association %d counts %d+%d messages, %d are there", got.File, id, a.ToServer.Messages, a.ToClient.Messages, messages[id])
		}
		for _, f := range []trace.Flow{a.ToServer, a.ToClient} {
			if f.Chunks != f.Unique+f.Repeated || f.Conflicting > f.Repeated {
				tb.Errorf("%s: association %d: %d chunks, %d unique, %d repeated, %d conflicting", got.File, id, f.Chunks, f.Unique, f.Repeated, f.Conflicting)
			}
		}
	}
}

func checkInspection(tb testing.TB, got *trace.Trace) {
	tb.Helper()
	in := trace.Inspect(got)
	var text bytes.Buffer
	if err := in.WriteText(&text); err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 120 && !strings.Contains(line, got.File) {
			tb.Errorf("%s: a line is %d columns wide: %s", got.File, width, line)
		}
	}
	var back trace.Inspection
	encoded, err := json.Marshal(in)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &back); err != nil || back.Messages != in.Messages || bytes.Contains(encoded, []byte(":null,\"messages\"")) {
		tb.Errorf("%s: JSON %v", got.File, err)
	}
	var sessions uint64
	for _, s := range in.Sessions {
		sessions += s.Messages
	}
	if sessions != in.Messages || int(in.Messages) != len(got.Messages) {
		tb.Errorf("%s: %d messages in sessions, %d in associations, %d in all", got.File, sessions, in.Messages, len(got.Messages))
	}
}

// manifest.tsv counts packets, SCTP packets and DATA chunks of each capture, by another reader.
func TestCountsAgreeWithTheManifest(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(shared.Traces(t), "manifest.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for i, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		fields := strings.Split(line, "\t")
		if i == 0 || fields[1] == "fuzz-corpus" {
			continue
		}
		checked++
		got, err := open(t, filepath.Join(shared.Traces(t), fields[0]))
		if fields[4] == "0" {
			if !errors.Is(err, trace.ErrNoSCTP) {
				t.Errorf("%s: error %v, want %v", fields[0], err, trace.ErrNoSCTP)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", fields[0], err)
			continue
		}
		chunks := "0"
		for _, c := range got.Chunks {
			if c.Name == "DATA" {
				chunks = strconv.FormatUint(c.Count, 10)
			}
		}
		have := []string{strconv.FormatUint(got.Packets, 10), strconv.FormatUint(got.SCTPPackets, 10), chunks}
		if want := fields[3:6]; strings.Join(have, " ") != strings.Join(want, " ") {
			t.Errorf("%s: packets, SCTP packets, DATA chunks are %v, want %v", fields[0], have, want)
		}
	}
	if checked < 40 {
		t.Errorf("the manifest names %d captures", checked)
	}
}

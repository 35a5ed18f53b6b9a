package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"skyring/testbed/shared"
)

// mustReplay are the captures that come through whole, both sides of each association.
var mustReplay = []string{
	"magma+magma/gx_gy_combined_04_sctp-only.pcapng",
	"magma+magma/inbound_roaming_05_210504_215514-1.pcapng",
	"the-tcpdump-group+tcpdump/isup.pcap",
	"arkime+arkime/m3ua_synthetic.pcap",
	"telekom+5g-trace-visualizer/free5gc.pcap",
	"handymenny+uecapabilityparser/sctpS1apNgap.pcap",
	"debian-wireshark/netperfmeter.pcapng.gz",
	"aboutsip+pkts/sctp-test.cap",
	"aboutsip+pkts/sctp-www.cap",
}

func TestCapturesComeThroughWhole(t *testing.T) {
	traces := shared.Traces(t)

	for _, name := range mustReplay {
		t.Run(filepath.Base(name), func(t *testing.T) {
			file := filepath.Join(traces, name)

			var v verdict

			err := runJSON(t, &v, "replay", "--side", "both", "--json", file)
			v.want(t, err)

			if counted := tsharkMessages(t, file); !maps.Equal(counted, v.PPID) {
				t.Errorf("messages by PPID: %v, tshark says %v", v.PPID, counted)
			}
		})
	}
}

// tsharkMessages counts the last fragments of user messages by PPID, each TSN of a
// direction once: an independent reader's number of messages.
func tsharkMessages(t *testing.T, file string) map[string]uint64 {
	t.Helper()

	if _, err := exec.LookPath("tshark"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tshark is not installed, and is the independent reader of captures")
		}

		t.Skip("tshark is not installed")
	}

	fields := []string{"ip.src", "ip.dst", "sctp.srcport", "sctp.dstport", "sctp.verification_tag", "sctp.data_tsn_raw", "sctp.data_e_bit", "sctp.data_payload_proto_id"}
	args := []string{"-n", "-r", file, "-Y", "sctp.data_tsn_raw", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,"}

	for _, f := range fields {
		args = append(args, "-e", f)
	}

	var stderr bytes.Buffer

	cmd := exec.CommandContext(t.Context(), "tshark", args...)
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.String())
	}

	return countLastFragments(t, strings.Split(strings.TrimSpace(string(out)), "\n"))
}

// countLastFragments reads tshark's rows, in which the chunks of a packet are lists.
func countLastFragments(t *testing.T, rows []string) map[string]uint64 {
	t.Helper()

	seen, counts := map[string]bool{}, map[string]uint64{}

	for _, row := range rows {
		column := strings.Split(row, "\t")
		association, lists := strings.Join(column[:5], "/"), column[5:]
		tsns, ends, ppids := strings.Split(lists[0], ","), strings.Split(lists[1], ","), strings.Split(lists[2], ",")

		if len(tsns) != len(ends) || len(tsns) != len(ppids) {
			t.Fatalf("tshark row %q: lists of different length", row)
		}

		for i := range tsns {
			chunk := association + "/" + tsns[i]
			if seen[chunk] || ends[i] != "1" && ends[i] != "True" {
				continue
			}

			seen[chunk] = true
			counts[ppids[i]]++
		}
	}

	return counts
}

// TestEveryFileEndsInAVerdict replays all that lies beside the project, malformed
// captures and fuzz inputs too, into one running stack.
func TestEveryFileEndsInAVerdict(t *testing.T) {
	traces := shared.Traces(t)
	up := startProcess(t, "up", "--receipts", "--listen", "127.0.0.1:0", "--nats-port", "0", "--dir", shortDir(t), "--log-level", "warn")
	target, redis := addresses(t, up.await(t, "Redis"))

	replayed, refused := 0, 0

	err := filepath.WalkDir(traces, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}

		if replayFile(t, path, target, redis) {
			replayed++
		} else {
			refused++
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if replayed < 20 || refused < 20 {
		t.Errorf("%d files replayed, %d refused: at least 20 of each are there", replayed, refused)
	}

	if err := up.signal(t, os.Interrupt); err != nil {
		t.Errorf("up ended with %v after all files", err)
	}
}

// replayFile reports whether the file holds messages; then they must come through.
func replayFile(t *testing.T, path, target, redis string) bool {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()

	var stdout, stderr bytes.Buffer

	err := run(ctx, []string{"replay", "--receipts", "on", "--target", target, "--redis", redis, "--json", path}, &stdout, &stderr)

	var wrong *usageError

	switch {
	case err == nil:
		return true
	case errors.As(err, &wrong) && stdout.Len() == 0 && strings.Contains(stderr.String(), filepath.Base(path)),
		errors.As(err, &wrong) && strings.Contains(stderr.String(), "nothing to replay"):
		return false
	default:
		t.Errorf("%s: %v\n%s%s", path, err, stdout.String(), stderr.String())

		return false
	}
}

// addresses reads what 'skyring up' prints about itself.
func addresses(t *testing.T, printed string) (stations, redis string) {
	t.Helper()

	for line := range strings.Lines(printed) {
		words := strings.Fields(line)

		switch {
		case len(words) > 0 && words[0] == "stations":
			stations = words[len(words)-1]
		case len(words) > 1 && words[0] == "Redis":
			redis = words[1]
		}
	}

	if stations == "" || redis == "" {
		t.Fatalf("up prints no addresses:\n%s", printed)
	}

	return stations, redis
}

// shortDir is a directory whose path leaves room for a unix socket's name.
func shortDir(t *testing.T) string {
	t.Helper()

	dir, err := os.MkdirTemp("", "skyring-") //nolint:usetesting // t.TempDir holds the test's name, too long for a socket
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	return dir
}

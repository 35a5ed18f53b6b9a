package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"skyring/testbed/shared"
)

// get is the status and text of an answer over HTTP.
func get(t *testing.T, url string) (int, string) {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}

	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}

	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}

	return response.StatusCode, string(text)
}

// watchedAt is the address at which a process says that it is watched.
func watchedAt(t *testing.T, p *process) string {
	t.Helper()

	found := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(p.await(t, "metrics are served"))
	if found == "" {
		t.Fatal("no address")
	}

	return found
}

func TestMetricsOverHTTP(t *testing.T) {
	nats, redis := backbone(t)
	target := freeUDP(t)
	d := startProcess(t, "dispatcher", "--nats", nats, "--listen", target, "--receipts", "--metrics", "127.0.0.1:0",
		"--set", "dispatcher.cpuThreshold=0", "--set", "dispatcher.memoryThreshold=0") // of a machine that others use
	at := watchedAt(t, d)

	if code, text := get(t, at+"/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("healthz: %d %q", code, text)
	}

	if code, text := get(t, at+"/readyz"); code != http.StatusServiceUnavailable || text != "no node takes messages\n" {
		t.Errorf("readyz: %d %q", code, text)
	}

	p := startProcess(t, "processor", "--id", "p1", "--nats", nats, "--redis", redis, "--metrics", "127.0.0.1:0")
	atP := watchedAt(t, p)

	for _, url := range []string{at, atP} {
		until(t, "readyz", func() bool { code, _ := get(t, url+"/readyz"); return code == http.StatusOK })
	}

	in := installation{target: target, redis: redis, nats: nats}
	v, err := in.replay(t, filepath.Join(shared.Traces(t), mustReplay[0]))
	v.want(t, err)

	_, text := get(t, at+"/metrics")
	_, textP := get(t, atP+"/metrics")

	for _, line := range []string{
		`(?m)^skyring_dispatcher_answers_total{dispatcher="d1",status="committed"} [1-9]`,
		`(?m)^skyring_dispatcher_node_state{dispatcher="d1",node="p1",state="open"} 1$`,
		`(?m)^skyring_transport_events_total{dispatcher="d1",event="associationsAccepted"} [1-9]`,
		`(?m)^go_goroutines `,
	} {
		if !regexp.MustCompile(line).MatchString(text) {
			t.Errorf("no %s", line)
		}
	}

	for _, line := range []string{
		`(?m)^skyring_processor_commits_total{node="p1"} [1-9]`,
		`(?m)^skyring_processor_state{node="p1",state="ready"} 1$`,
		`(?m)^skyring_processor_answers_total{node="p1",status="committed"} [1-9]`,
	} {
		if !regexp.MustCompile(line).MatchString(textP) {
			t.Errorf("no %s", line)
		}
	}

	documented(t, text+textP)

	taken, err := output(t, "dispatcher", "--nats", nats, "--listen", freeUDP(t), "--metrics", strings.TrimPrefix(at, "http://"))
	if err == nil || !strings.Contains(taken, "metrics.listen") || !strings.Contains(taken, "address already in use") {
		t.Errorf("a port that is taken: %v\n%s", err, taken)
	}
}

// documented holds docs/operations.md against what is exported: every metric of ours
// has a row, with its labels, and every row a metric.
func documented(t *testing.T, exported string) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}

	row := regexp.MustCompile("(?m)^\\| `(skyring_[a-z_]+)` \\|")

	var rows []string
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, m[1])
	}

	var names []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (skyring_[a-z_]+) `).FindAllStringSubmatch(exported, -1) {
		names = append(names, m[1])
	}

	if len(names) < 30 {
		t.Fatalf("only %d metrics", len(names))
	}

	for _, name := range names {
		if !slices.Contains(rows, name) {
			t.Errorf("docs/operations.md has no row for %s", name)
		}
	}

	for _, name := range rows {
		if !slices.Contains(names, name) {
			t.Errorf("docs/operations.md has a row for %s, which is not exported", name)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9" //nolint:depguard // looks at what is left in Redis
)

// calibrated is what processor --calibrate --json promises to other programs.
type calibrated struct {
	Capacity              uint32
	P99Seconds            float64
	ResponseTargetSeconds float64
	LimitedBy             string
	Rounds                []struct{ Offered, Answered, P99Seconds, CPU, Redis float64 }
}

func keys(t *testing.T, url string) []string {
	t.Helper()

	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}

	client := redis.NewClient(options)

	t.Cleanup(func() { _ = client.Close() })

	all, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}

	return all
}

// A calibration finds a value, says how to use it, and leaves nothing in Redis.
func TestCalibrate(t *testing.T) {
	t.Parallel()

	_, redisURL := backbone(t)
	args := []string{"processor", "--calibrate", "--calibrate-seconds", "4", "--response-target", "2s", "--redis", redisURL, "--set", "processor.drainQuiet=10ms"}

	var found calibrated
	if err := runJSON(t, &found, append(args, "--json")...); err != nil {
		t.Fatal(err)
	}

	if found.Capacity == 0 || found.P99Seconds <= 0 || found.P99Seconds > 2 || found.ResponseTargetSeconds != 2 || found.LimitedBy == "" || len(found.Rounds) == 0 {
		t.Errorf("%+v", found)
	}

	if left := keys(t, redisURL); len(left) > 0 {
		t.Errorf("%d keys are left in Redis, such as %s", len(left), left[0])
	}

	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}

	_, line, _ := strings.Cut(stdout.String(), "processor:\n  capacity: ")
	if n, err := strconv.Atoi(strings.TrimSpace(line)); err != nil || n < 1 {
		t.Errorf("no capacity to write in\n%s", &stdout)
	}

	if !strings.Contains(stdout.String(), "in the way of more: ") || !strings.Contains(stderr.String(), "500 messages/s, p99 ") {
		t.Errorf("%s\n%s", &stdout, &stderr)
	}
}

// Who interrupts a calibration finds nothing, and finds nothing in Redis.
func TestCalibrateInterrupted(t *testing.T) {
	t.Parallel()

	_, redisURL := backbone(t)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	progress := &interrupting{cancel: cancel}

	err := run(ctx, []string{"processor", "--calibrate", "--redis", redisURL}, &progress.buffer, progress)
	if exitCode(err) != exitFailed || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%v", err)
	}

	if left := keys(t, redisURL); len(left) > 0 {
		t.Errorf("%d keys are left in Redis, such as %s", len(left), left[0])
	}
}

// interrupting ends a command with its first round.
type interrupting struct {
	buffer bytes.Buffer
	cancel context.CancelFunc
}

func (i *interrupting) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("messages/s")) {
		i.cancel()
	}

	return len(p), nil
}

func TestCalibrateWithoutRedis(t *testing.T) {
	t.Parallel()

	text, err := output(t, "processor", "--calibrate", "--redis", "redis://127.0.0.1:1", "--set", "redis.connectTimeout=500ms")

	if exitCode(err) != exitFailed || !strings.Contains(text, "no Redis server answers at 127.0.0.1:1") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestCalibrateUsage(t *testing.T) {
	t.Parallel()

	for args, want := range map[string]string{
		"--calibrate-seconds 5":                       "--calibrate-seconds belongs to --calibrate",
		"--json":                                      "--json belongs to --calibrate",
		"--calibrate --calibrate-seconds 1":           "1s is no time to calibrate in",
		"--calibrate --response-target 0s":            "0s is no response target",
		"--calibrate --redis nowhere":                 "redis.url",
		"--calibrate --set processor.capacityStep=2":  "processor.capacityStep: 2 must be 0.001 to 1",
		"--calibrate --set processor.capacityStep=-1": "processor.capacityStep: -1 must be",
	} {
		text, err := output(t, append([]string{"processor"}, strings.Fields(args)...)...)
		if exitCode(err) != exitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s", args, err, text)
		}
	}

	text, err := output(t, "processor", "--help")
	if err != nil || !strings.Contains(text, "never calibrate two processors on one machine or one Redis at the same time") {
		t.Errorf("%v\n%s", err, text)
	}
}

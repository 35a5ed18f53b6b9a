package essp_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/protocol/client"
)

// TestTimersOfSpecification holds the table of timers in docs/essp.md against the defaults of gateway and station.
func TestTimersOfSpecification(t *testing.T) {
	t.Parallel()
	var got []string
	for _, row := range timersOfSpecification(t) {
		got = append(got, strings.Join(row[:6], " | "))
	}
	if want := rowsOfDefaults(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/essp.md section 9 has\n%s\n\nthe defaults are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// timersOfSpecification returns the cells of the table of section 9: timer, side, kind, default, GEO, sends and more.
func timersOfSpecification(t *testing.T) (rows [][]string) {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../../docs/essp.md"))
	_, section, found := strings.Cut(string(text), "\n## 9 Timers\n")
	section, _, ended := strings.Cut(section, "\n## ")
	if !found || !ended {
		t.Fatal("docs/essp.md has no section 9")
	}
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---") || strings.HasPrefix(line, "| timer |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// rowsOfDefaults returns what the table should begin with.
func rowsOfDefaults() []string {
	near := client.DefaultTimers()
	geo := near.Scaled(client.ScaleGEO)
	a, c := access.DefaultConfig(), call.DefaultConfig()
	station := func(name, kind string, near, geo time.Duration, sends int) string {
		return row(name, "station", kind, near, geo, sends)
	}
	repeated := func(name string, near, geo client.Repetition) string {
		return station(name, "interval", near.Interval, geo.Interval, near.Sends)
	}
	gateway := func(name, kind string, d time.Duration, sends int) string {
		return row(name, "gateway", kind, d, d, sends)
	}
	return []string{
		repeated("tA11", near.TA11, geo.TA11),
		gateway("tA12", "interval", a.Confirm, int(a.Sends)),
		gateway("tA13", "interval", a.Interrogation, int(a.Sends)),
		repeated("tA50", near.TA50, geo.TA50),
		gateway("tA50", "interval", a.Repeat, int(a.Sends)),
		station("T320", "idle", a.Heartbeat, a.Heartbeat, 0), // the gateway tells it
		gateway("tG6", "idle", a.Inactivity, 0),
		gateway("tG10", "weather", a.Fade, 0),
		row("T301", "both", "people", near.T301, c.T301, 0),
		repeated("T303", near.T303, geo.T303),
		gateway("T303", "watch", c.T303, 0),
		repeated("T305", near.T305, geo.T305),
		gateway("T305", "watch", c.T305, 0),
		repeated("T308", near.T308, geo.T308),
		station("T308", "watch", near.T308.Interval, geo.T308.Interval, 0),
		gateway("T308", "watch", c.T308, 0),
		station("T309", "weather", near.T309, geo.T309, 0),
		station("T310", "watch", near.T310, geo.T310, 0),
		gateway("T310", "watch", c.T310, 0),
		repeated("T313", near.T313, geo.T313),
		gateway("T313", "watch", c.T313, 0),
		station("T321", "modem", near.T321, geo.T321, 0),
		gateway("lock", "watch", c.Lock, 0),
		station("T330", "back-off", near.T330, geo.T330, 0),
		station("T331", "back-off", near.T331, geo.T331, 0),
		gateway("challenge", "age", a.Challenge, 0),
	}
}

// row is a row as the document writes it: seconds up to 100 s, whole minutes over it; sends 0: nothing.
func row(name, side, kind string, near, geo time.Duration, sends int) string {
	seconds := func(d time.Duration) string {
		if d > 100*time.Second {
			return fmt.Sprintf("%g min", d.Minutes())
		}
		return fmt.Sprintf("%g s", d.Seconds())
	}
	often := ""
	if sends > 0 {
		often = strconv.Itoa(sends)
	}
	return strings.Join([]string{name, side, kind, seconds(near), seconds(geo), often}, " | ")
}

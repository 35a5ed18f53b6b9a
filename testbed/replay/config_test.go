package replay_test

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/testbed/replay"
	"skyring/testbed/trace"
)

func TestNewRefuses(t *testing.T) {
	to := netip.MustParseAddrPort("127.0.0.1:9899")
	tests := map[string]struct {
		edit func(*replay.Config)
		want string
	}{
		"side":     {func(c *replay.Config) { c.Side = "left" }, "side:"},
		"receipts": {func(c *replay.Config) { c.Receipts = "maybe" }, "receipts:"},
		"speed":    {func(c *replay.Config) { c.Speed = math.NaN() }, "speed:"},
		"target":   {func(c *replay.Config) { c.Target = transport.Target{} }, "target:"},
		"times":    {func(c *replay.Config) { c.Times = 0 }, "times:"},
		"window":   {func(c *replay.Config) { c.Window = 0 }, "window:"},
		"timeout":  {func(c *replay.Config) { c.IdleTimeout = 0 }, "idleTimeout:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := config(to)
			tt.edit(&cfg)

			_, err := replay.New(cfg, []*trace.Trace{capture(1)}, nil, nil, zerolog.Nop())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v does not name %s", err, tt.want)
			}
		})
	}

	if _, err := replay.New(config(to), []*trace.Trace{{File: "x"}}, nil, nil, zerolog.Nop()); !errors.Is(err, replay.ErrNothing) {
		t.Errorf("error %v for a capture without messages, want ErrNothing", err)
	}
}

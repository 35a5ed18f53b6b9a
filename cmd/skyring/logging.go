package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// LogConfig says what is logged and how. Logs go to standard error.
type LogConfig struct {
	// Level is trace, debug, info, warn, error or disabled.
	Level string `env:"LEVEL" yaml:"level"`
	// Format is console (for people) or json (one object a line, for collectors).
	Format string `env:"FORMAT" yaml:"format"`
}

// DefaultLogConfig logs lifecycle and everything worse, for people.
func DefaultLogConfig() LogConfig {
	return LogConfig{Level: zerolog.InfoLevel.String(), Format: "console"}
}

// Validate names the key that is wrong and what would be right.
func (c LogConfig) Validate() error {
	if _, err := zerolog.ParseLevel(c.Level); err != nil || c.Level == "" {
		return fmt.Errorf("log.level is %q: it must be trace, debug, info, warn, error or disabled", c.Level)
	}

	if c.Format != "console" && c.Format != "json" {
		return fmt.Errorf("log.format is %q: it must be console or json", c.Format)
	}

	return nil
}

// newLogger returns a logger for a validated configuration.
func newLogger(c LogConfig, w io.Writer) zerolog.Logger {
	level, err := zerolog.ParseLevel(strings.ToLower(c.Level))
	if err != nil {
		level = zerolog.InfoLevel
	}

	if c.Format == "console" {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: "15:04:05.000", NoColor: true}
	}

	return zerolog.New(w).Level(level).Hook(clock{})
}

// clock adds the time to each line, to the millisecond and with its zone. zerolog's own way counts whole seconds
// unless a variable of its package is changed for everybody.
type clock struct{}

// Run implements zerolog.Hook.
func (clock) Run(e *zerolog.Event, _ zerolog.Level, _ string) {
	e.Str(zerolog.TimestampFieldName, time.Now().Format("2006-01-02T15:04:05.000Z07:00"))
}

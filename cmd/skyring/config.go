package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/processor/essp"
	"skyring/protocol/bus"
	"skyring/protocol/textfile"
	"skyring/protocol/transport"
	"skyring/statestore"
)

// envPrefix begins the name of every environment variable that is a setting.
const envPrefix = "SKYRING_"

// maxConfiguration is the longest configuration file, in bytes.
const maxConfiguration = 4 << 20

// Config is everything a skyring process can be told. Each subcommand reads the
// sections it needs; all of them share one file, so that a control centre keeps one.
type Config struct {
	// Namespace separates installations that share a NATS and a Redis server.
	Namespace string `env:"NAMESPACE" yaml:"namespace"`

	Log        LogConfig         `envPrefix:"LOG_"        yaml:"log"`
	NATS       bus.Config        `envPrefix:"NATS_"       yaml:"nats"`
	Redis      statestore.Config `envPrefix:"REDIS_"      yaml:"redis"`
	SCTP       SCTPConfig        `envPrefix:"SCTP_"       yaml:"sctp"`
	Dispatcher dispatcher.Config `envPrefix:"DISPATCHER_" yaml:"dispatcher"`
	Processor  processor.Config  `envPrefix:"PROCESSOR_"  yaml:"processor"`
	ESSP       essp.Config       `envPrefix:"ESSP_"       yaml:"essp"`
	Metrics    MetricsConfig     `envPrefix:"METRICS_"    yaml:"metrics"`
	Up         UpConfig          `envPrefix:"UP_"         yaml:"up"`
}

// DefaultConfig is a working configuration for one machine.
func DefaultConfig() Config {
	return Config{
		Namespace:  "default",
		Log:        DefaultLogConfig(),
		NATS:       bus.DefaultConfig(),
		Redis:      statestore.DefaultConfig(),
		SCTP:       SCTPConfig{Listen: "127.0.0.1:9899", DTLS: transport.DefaultSecureConfig(), Config: transport.DefaultConfig()},
		Dispatcher: dispatcher.DefaultConfig(),
		Processor:  processor.DefaultConfig(),
		ESSP:       essp.DefaultConfig(),
		Up:         DefaultUpConfig(),
	}
}

// settings are the ways to change a Config, in the order in which they win:
// file, environment, --set, and last the named flags.
type settings struct {
	defaults  func(*Config) // what the command changes before; nil: nothing
	file      string
	set       []string
	overrides []func(*Config)
}

// load returns the configuration that the file, the environment and the flags make.
func (s *settings) load() (Config, error) {
	c := DefaultConfig()
	if s.defaults != nil {
		s.defaults(&c)
	}

	if s.file != "" {
		text, err := textfile.Read(s.file, maxConfiguration)
		if err != nil {
			return c, usagef("read configuration: %w", err)
		}

		if err := decodeYAML(text, &c); err != nil {
			return c, usagef("configuration %s:\n%w", s.file, err)
		}
	}

	if err := applyEnvironment(&c, os.Environ()); err != nil {
		return c, &usageError{err: err}
	}

	for _, assignment := range s.set {
		if err := applyAssignment(&c, assignment); err != nil {
			return c, &usageError{err: err}
		}
	}

	for _, override := range s.overrides {
		override(&c)
	}

	return c, nil
}

// applyAssignment reads "section.key=value" over c. The value is taken as it stands, quotes and all.
func applyAssignment(c *Config, assignment string) error {
	path, value, ok := strings.Cut(assignment, "=")
	if !ok || path == "" {
		return fmt.Errorf("--set %s: must be section.key=value, such as dispatcher.window=4", path)
	}

	shape := configTree()

	one, known := shape.settings[path]
	if !known {
		if shape.sections[path] {
			return fmt.Errorf("--set %s: is a section: section.key=value is right, such as dispatcher.window=4", path)
		}

		return fmt.Errorf("--set %s: names no setting (skyring dispatcher --print-config lists them)", path)
	}

	if err := one.check(value); err != nil {
		return fmt.Errorf("--set %s: %w", path, err)
	}

	if one.isString() {
		value = strconv.Quote(value)
	}

	var text strings.Builder

	for depth, name := range strings.Split(path, ".") {
		if depth > 0 {
			text.WriteByte('\n')
		}

		text.WriteString(strings.Repeat("  ", depth) + name + ":")
	}

	text.WriteString(" " + value + "\n")

	if err := decodeYAML([]byte(text.String()), c); err != nil {
		return fmt.Errorf("--set %s: %w", path, err)
	}

	return nil
}

// applyEnvironment reads the variables that begin with SKYRING_ over c. An empty one is as good as none. One that
// names no setting is an error: it is a misspelt one.
func applyEnvironment(c *Config, environ []string) error {
	options := env.Options{Prefix: envPrefix, Environment: env.ToMap(environ)}

	byVariable := make(map[string]setting)
	for _, one := range configTree().settings {
		byVariable[one.variable] = one
	}

	var faults []error

	for _, name := range slices.Sorted(maps.Keys(options.Environment)) {
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}

		one, known := byVariable[name]
		if !known {
			faults = append(faults, fmt.Errorf("environment variable %s names no setting (skyring dispatcher --print-config lists them)", name))

			continue
		}

		value := options.Environment[name]
		if err := one.check(value); value != "" && err != nil {
			faults = append(faults, fmt.Errorf("environment variable %s %w", name, err))
		}
	}

	if len(faults) > 0 {
		return errors.Join(faults...)
	}

	if err := env.ParseWithOptions(c, options); err != nil {
		return fmt.Errorf("environment: %w", err)
	}

	return nil
}

// printYAML writes c as a configuration file holds it.
func printYAML(w io.Writer, c *Config) error {
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("write the configuration as YAML: %w", err)
	}

	_, err = w.Write(text)

	return err
}

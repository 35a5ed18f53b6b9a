package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/bus"
	"skyring/statestore"
)

// settingsHelp ends the --help of every command that takes a configuration.
const settingsHelp = `
Settings come from, each over the one before: defaults, the YAML file of --config,
environment variables SKYRING_SECTION_KEY (SKYRING_NATS_URL, SKYRING_DISPATCHER_WINDOW),
--set section.key=value, and the flags. --print-config shows all of them with their
values; docs/configuration.md explains them.

SIGTERM or SIGINT drains and ends; a second one ends at once. SIGHUP has the files of sctp.dtls read again, where they are used.`

// register adds the flags that every command with a configuration has.
func (s *settings) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&s.file, "config", "c", "", "YAML file with settings")
	flags.StringArrayVar(&s.set, "set", nil, "one setting as section.key=value; may be repeated")
	stringFlag(cmd, s, "namespace", "installations that share NATS and Redis servers differ in it", func(c *Config) *string { return &c.Namespace })
	stringFlag(cmd, s, "log-level", "trace, debug, info, warn, error or disabled", func(c *Config) *string { return &c.Log.Level })
	stringFlag(cmd, s, "log-format", "console or json", func(c *Config) *string { return &c.Log.Format })
}

// oneMachine is what commands change before that run several nodes on this machine: all of them would be at their limit by
// its CPU or memory at the same time, which tells nothing about which one to pick.
func oneMachine(c *Config) { c.Dispatcher.CPUThreshold, c.Dispatcher.MemoryThreshold = 0, 0 }

// stringFlag adds a flag that sets the field of the configuration which at returns.
func stringFlag(cmd *cobra.Command, s *settings, name, usage string, at func(*Config) *string) {
	defaults := DefaultConfig()
	value := cmd.Flags().String(name, *at(&defaults), usage)
	s.whenGiven(cmd, name, func(c *Config) { *at(c) = *value })
}

// metricsFlag adds --metrics.
func metricsFlag(cmd *cobra.Command, s *settings) {
	stringFlag(cmd, s, "metrics", "TCP address, numeric HOST:PORT, of /metrics, /healthz and /readyz over HTTP; empty: none",
		func(c *Config) *string { return &c.Metrics.Listen })
}

// intFlag is stringFlag for numbers.
func intFlag(cmd *cobra.Command, s *settings, name, usage string, at func(*Config) *int) {
	defaults := DefaultConfig()
	value := cmd.Flags().Int(name, *at(&defaults), usage)
	s.whenGiven(cmd, name, func(c *Config) { *at(c) = *value })
}

// boolFlag is stringFlag for switches.
func boolFlag(cmd *cobra.Command, s *settings, name, usage string, at func(*Config) *bool) {
	defaults := DefaultConfig()
	value := cmd.Flags().Bool(name, *at(&defaults), usage)
	s.whenGiven(cmd, name, func(c *Config) { *at(c) = *value })
}

// part is what a command does of an installation, as far as --print-config checks more or less for it.
type part uint8

const (
	listening part = iota + 1 // for stations
	elsewhere                 // stations arrive at another process, perhaps on another machine, that has its files
)

// printConfigFlag adds --print-config, which prints the settings, if they are right, instead of running.
func printConfigFlag(cmd *cobra.Command, s *settings, listens part) {
	wanted := cmd.Flags().Bool("print-config", false, "print all settings with their values as YAML, and end")
	execute := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*wanted {
			return execute(cmd, args)
		}

		c, err := s.load()
		if err != nil {
			return err
		}

		if err := c.validateAll(listens); err != nil {
			return err
		}

		return printYAML(cmd.OutOrStdout(), &c)
	}
}

// whenGiven has override change the configuration if the flag is on the command line.
func (s *settings) whenGiven(cmd *cobra.Command, name string, override func(*Config)) {
	s.overrides = append(s.overrides, func(c *Config) {
		if cmd.Flags().Changed(name) {
			override(c)
		}
	})
}

// store is the configuration of the state store, in the installation's namespace.
func (c *Config) store() statestore.Config {
	store := c.Redis
	store.Namespace = c.Namespace

	return store
}

// validate is the part of the check that every process shares; sections are the
// checks of the sections it uses.
func (c *Config) validate(sections ...error) error {
	faults := errors.Join(append([]error{
		within("", bus.Namespace(c.Namespace).Validate()), c.Log.Validate(), c.validateExpiry(),
	}, sections...)...)
	if faults == nil {
		return nil
	}

	return usagef("the configuration is wrong:\n%w", namespaceOnce(faults))
}

// clockMargin is how much shorter than processor.longestExpiry dispatcher.expiry is: clocks differ, and
// a processor that believes an attempt to be too far ahead refuses it for ever.
const clockMargin = 10 * time.Second

// validateExpiry checks what dispatchers and processors, whose settings are in one file, must agree on.
func (c *Config) validateExpiry() error {
	if c.Dispatcher.Expiry <= c.Processor.LongestExpiry-clockMargin {
		return nil
	}

	return fmt.Errorf("dispatcher.expiry is %s and processor.longestExpiry %s: processors refuse what may be committed later than "+
		"longestExpiry, so expiry must be at least %s shorter", c.Dispatcher.Expiry, c.Processor.LongestExpiry, clockMargin)
}

// validateAll checks every section, whichever process reads it.
func (c *Config) validateAll(listens part) error {
	listeners, err := c.SCTP.listeners()
	if listens == listening {
		err = errors.Join(err, c.SCTP.check(listeners, time.Now()))
	}

	all := *c
	all.Dispatcher.Namespace, all.Processor.Namespace = bus.Namespace(c.Namespace), bus.Namespace(c.Namespace)
	all.Redis = c.store()
	all.Processor.ID = cmp.Or(c.Processor.ID, "p") // empty: made by the process

	return c.validate(err, c.Metrics.Validate(), within("nats", all.NATS.Validate()), within("redis", all.Redis.Validate()),
		within("sctp", all.SCTP.Validate()), within("dispatcher", all.Dispatcher.Validate()),
		within("processor", all.Processor.Validate()), within("essp", all.ESSP.Validate()), within("up", all.Up.Validate()))
}

// namespaceOnce leaves one of the faults that sections find in the namespace they all share.
func namespaceOnce(faults error) error {
	var (
		kept  []string
		found bool
	)

	for one := range strings.SplitSeq(faults.Error(), "\n") {
		_, about, sectioned := strings.Cut(one, ".")
		if namespace := sectioned && strings.HasPrefix(about, "namespace: "); namespace || strings.HasPrefix(one, "namespace: ") {
			if found {
				continue
			}

			found = true

			if namespace {
				one = about
			}
		}

		kept = append(kept, one)
	}

	return errors.New(strings.Join(kept, "\n"))
}

// within names the section of each fault of a joined error.
func within(section string, err error) error {
	if err == nil {
		return nil
	}

	if section != "" {
		section += "."
	}

	return eachLine(section, err)
}

// eachLine puts a prefix before each fault of a joined error.
func eachLine(prefix string, err error) error {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = prefix + line
	}

	return errors.New(strings.Join(lines, "\n"))
}

// defaultID is an id for a process that was given none: role, host and process number.
func defaultID(role string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}

	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}

		return '-'
	}, host)

	return fmt.Sprintf("%s-%s-%d", role, name[:min(len(name), 32)], os.Getpid())
}

// defaultDir is where 'skyring up' keeps its data: XDG_STATE_HOME/skyring, else
// ~/.local/state/skyring (XDG Base Directory Specification), else one of the user's in the temporary directory.
func defaultDir() string {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "skyring")
	}

	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "skyring")
	}

	return filepath.Join(os.TempDir(), fmt.Sprintf("skyring-%d", os.Getuid()))
}

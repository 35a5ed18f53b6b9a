package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of the process. Success is 0 and nothing else is.
const (
	exitFailed = 1 // it ran and failed, or a verdict is bad
	exitUsage  = 2 // the command line, the configuration or an input file is wrong
)

// errBadVerdict ends a run whose report has already been printed.
var errBadVerdict = errors.New("the verdict is bad")

// usageError marks what the caller wrote wrong, for the exit code.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	var usage *usageError

	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailed
	}
}

// run executes the command line args and reports on stdout and stderr. It
// returns what went wrong; the sentence about it is on stderr by then.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := rootCommand(stdout, stderr) //nolint:contextcheck // commands get their context from ExecuteContext
	root.SetArgs(args)

	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, errBadVerdict) {
		_, printErr := fmt.Fprintf(stderr, "skyring: %s\n", indentLines(err.Error()))
		err = errors.Join(err, printErr)
	}

	return err
}

// indentLines keeps the lines of a joined error apart from what follows them.
func indentLines(text string) string {
	return strings.ReplaceAll(text, "\n", "\n  ")
}

func rootCommand(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "skyring",
		Short: "signalling dispatcher for satellite gateway control centres",
		Long: `skyring takes the access and call signalling of earth stations in over SCTP, picks a
processor for each session on a Fibonacci-hashed ring, carries the message there over
NATS, and keeps every session in Redis, so that any processor can go on with any call.

  skyring up                        everything on this machine: the quickest way to look at it
  skyring replay FILE               replay a capture through a stack of its own and judge it
  skyring dispatcher, processor     the parts, as a control centre runs them
  skyring ring                      shares, what a change would move, why a key goes where it goes
  skyring status, node              see what they do, and take processors out of service
  skyring stations                  play stations that log on and call each other, and judge it
  skyring station, pool, cdr        who may log on, channels of beams, call detail records
  skyring compare, bench            picking algorithms on the same load; figures of this machine
  skyring link                      put a bad link between stations and a dispatcher
  skyring trace, session            look into captures, and into what Redis holds

Exit codes: 0 success; 1 it ran and failed, or a verdict is bad; 2 wrong command line,
configuration or input file.`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nsee %s --help", shortFlagError(err), cmd.CommandPath())
	})
	root.AddCommand(
		upCommand(), dispatcherCommand(), processorCommand(),
		replayCommand(), traceCommand(), sessionCommand(),
		ringCommand(), compareCommand(), benchCommand(), linkCommand(), certCommand(),
		stationCommand(), poolCommand(), cdrCommand(), stationsCommand(),
		statusCommand(), nodeCommand(),
	)
	root.SetHelpCommand(helpCommand(root))
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)

	return root
}

// shortFlagError is the error of a flag without more than the beginning of its value, which may be a list of thousands.
func shortFlagError(err error) error {
	invalid, ok := errors.AsType[interface {
		error
		GetValue() string
	}](err)
	if !ok || len(invalid.GetValue()) <= longestQuote {
		return err
	}

	return errors.New(strings.Replace(err.Error(), strconv.Quote(invalid.GetValue()), strconv.Quote(shorten(invalid.GetValue())), 1))
}

// helpCommand is 'skyring help', which knows what is no command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "what a command does and how to call it",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return &usageError{err: err}
			}

			if len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}

			return found.Help()
		},
	}
}

// refuseUnknown has every command that only groups others refuse what is none of them, and a command that is
// missing. The root alone shows its help then.
func refuseUnknown(cmd *cobra.Command) {
	for _, one := range cmd.Commands() {
		refuseUnknown(one)
	}

	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}

	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(cmd, args[0])
		case cmd.HasParent():
			return usagef("a command is missing: %s\nsee %s --help", commandNames(cmd), cmd.CommandPath())
		default:
			return cmd.Help()
		}
	}
}

func unknownCommand(group *cobra.Command, name string) error {
	hint := ""
	if similar := group.SuggestionsFor(name); len(similar) > 0 {
		hint = ", did you mean " + strings.Join(similar, " or ") + "?"
	}

	return usagef("unknown command %q%s\nsee %s --help", name, hint, group.CommandPath())
}

func commandNames(group *cobra.Command) string {
	var names []string

	for _, one := range group.Commands() {
		if one.IsAvailableCommand() {
			names = append(names, one.Name())
		}
	}

	return strings.Join(names, ", ")
}

// version is the revision the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}

	revision, modified := "unknown", ""

	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = " with changes"
			}
		}
	}

	return revision + modified + " " + info.GoVersion
}

// Command skyring is the signalling dispatcher for satellite gateway control
// centres: one binary whose subcommands run the parts of it (up, dispatcher,
// processor), replay captures through it (replay), and look into captures and
// into what Redis holds (trace, session). `skyring help` tells the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default action is back, so a second one ends
	// the process at once while the first is still draining.
	context.AfterFunc(ctx, stop)

	code := exitCode(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

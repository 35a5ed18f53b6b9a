// Command skyring is the signalling dispatcher for satellite gateway control
// centres: one binary whose subcommands run the parts of it (up, dispatcher,
// processor), play stations and captures against it (stations, replay), and look
// after what it keeps and does (station, pool, cdr, session, status, node, trace).
// `skyring help` tells the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	go func() {
		<-signals
		// Before anything says that it drains, the default action is back: a second
		// signal ends the process at once.
		signal.Stop(signals)
		cancel()
	}()

	code := exitCode(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
	cancel()
	os.Exit(code)
}

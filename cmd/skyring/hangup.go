package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"skyring/protocol/transport"
)

// hangups are the SIGHUPs to this process, which do not end it from catchHangups to stop. One that comes before follow looks
// is not lost. Under nohup(1) there are none.
type hangups struct{ signals chan os.Signal }

func catchHangups() hangups {
	h := hangups{signals: make(chan os.Signal, 1)} // one that waits is enough
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(h.signals, syscall.SIGHUP)
	}

	return h
}

// stop has SIGHUP end the process again.
func (h hangups) stop() { signal.Stop(h.signals) }

// follow calls do at each SIGHUP, until ctx ends.
func (h hangups) follow(ctx context.Context, do func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.signals:
			do()
		}
	}
}

// reloading reads certificates and keys again. What is wrong is logged, and the old ones stay.
func reloading(listeners []transport.Listener, reload func() error, log zerolog.Logger) func() {
	if !secures(listeners) {
		return nothingToReload("no listener speaks DTLS, so there are no certificates and keys to read again; all else is read at the start", log)
	}

	return func() {
		if err := reload(); err != nil {
			log.Error().Err(err).Msg("certificates and keys were not read again, the old ones stay")
		} else {
			log.Info().Msg("certificates and keys read again")
		}
	}
}

// nothingToReload says why a SIGHUP changes nothing.
func nothingToReload(why string, log zerolog.Logger) func() {
	return func() { log.Info().Msg("SIGHUP changes nothing: " + why) }
}

// endsOnHangup has SIGHUP end a command as SIGTERM does: one that runs for a while on a terminal, and is not to stay when that is closed.
func endsOnHangup(cmd *cobra.Command) {
	execute := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if signal.Ignored(syscall.SIGHUP) {
			return execute(cmd, args)
		}

		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
		defer stop()

		cmd.SetContext(ctx)

		return execute(cmd, args)
	}
}

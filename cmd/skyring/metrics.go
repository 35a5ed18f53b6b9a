package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

const (
	metricsReadTimeout = 5 * time.Second // for a request to arrive
	metricsStopTimeout = time.Second     // for answers under way when the process ends
)

// MetricsConfig says where a process is watched.
type MetricsConfig struct {
	// Listen is the TCP address, host:port, of /metrics, /healthz and /readyz over HTTP; empty: nowhere.
	Listen string `env:"LISTEN" yaml:"listen"`
}

// Validate names the key that is wrong and what would be right.
func (c MetricsConfig) Validate() error {
	if c.Listen == "" {
		return nil
	}

	_, err := parseAddress("metrics.listen", c.Listen)

	return err
}

// watched is a part of the process that has metrics.
type watched interface {
	Register(r prometheus.Registerer) error
	Ready() error // nil, or why it does not do its work
}

// serveMetrics serves the metrics of a part of this process, and whether it lives and is
// ready, over HTTP until stop is called. Without an address it does nothing.
func serveMetrics(ctx context.Context, c MetricsConfig, part watched, log zerolog.Logger) (stop func() error, err error) {
	if c.Listen == "" {
		return func() error { return nil }, nil
	}

	registry := prometheus.NewRegistry()
	if err := errors.Join(
		part.Register(registry),
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	); err != nil {
		return nil, err
	}

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("metrics.listen: %w", err)
	}

	server := &http.Server{Handler: metricsHandler(registry, part), ReadTimeout: metricsReadTimeout}
	served := make(chan error, 1)

	go func() { served <- server.Serve(listener) }()

	log.Info().Str("address", "http://"+listener.Addr().String()).Msg("metrics are served")

	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), metricsStopTimeout)
		defer cancel()

		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}

		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("metrics server: %w", end))
		}

		return err
	}, nil
}

func metricsHandler(registry *prometheus.Registry, part watched) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answer(w, part.Ready()) })

	return mux
}

// answer is "ok", or 503 and why not.
func answer(w http.ResponseWriter, fault error) {
	text := "ok"

	if fault != nil {
		w.WriteHeader(http.StatusServiceUnavailable)

		text = fault.Error()
	}

	_, _ = w.Write([]byte(text + "\n")) // the client went away: nobody to tell
}

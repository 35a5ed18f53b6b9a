package stations

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher/routing"
	"skyring/protocol/transport"
	"skyring/testbed/servers"
	"skyring/testbed/stack"
)

const (
	readyTimeout = 30 * time.Second // for processors to be known to the dispatcher
	stopTimeout  = 20 * time.Second // for a processor to drain
)

// InstallationConfig says what an Installation consists of.
type InstallationConfig struct {
	// Stack is what runs in this process: servers and the dispatcher. Its processors are not.
	Stack stack.Config
	// Processors is how many processors are started, at least 1.
	Processors int
	// Command makes the command of a processor with an id, which finds NATS and Redis at these URLs.
	Command func(id, nats, redis string) *exec.Cmd
}

// Installation is an installation for one run: servers and a dispatcher in this process,
// processors as processes of their own, so that they can be killed.
type Installation struct {
	// static after Start
	cfg   InstallationConfig
	stack *stack.Stack
	log   zerolog.Logger

	mu         sync.Mutex
	started    int // guarded by mu: how many processors were started
	processors map[string]*servers.Process
}

// Start starts everything and returns when the dispatcher knows all processors. ctx bounds
// the start alone.
func Start(ctx context.Context, cfg InstallationConfig, log zerolog.Logger) (*Installation, error) {
	if cfg.Processors < 1 {
		return nil, fmt.Errorf("processors: %d: at least 1 is right", cfg.Processors)
	}

	cfg.Stack.Processors = 0

	running, err := stack.Start(ctx, cfg.Stack, log)
	if err != nil {
		return nil, err
	}

	i := &Installation{cfg: cfg, stack: running, log: log, processors: map[string]*servers.Process{}}

	for range cfg.Processors {
		if _, err = i.start(); err != nil {
			return nil, errors.Join(err, i.Stop(ctx))
		}
	}

	if err := i.awaitKnown(ctx); err != nil {
		return nil, errors.Join(err, i.Stop(ctx))
	}

	return i, nil
}

// Site is the installation as a run sees it.
func (i *Installation) Site() Site {
	return Site{Targets: []transport.Target{{Mode: transport.ModeUDP, Address: i.stack.Addr()}}, Store: i.stack.Store(), Kill: i.Kill, Add: i.Add}
}

// Warning is what the operator must know of the servers, empty for real ones.
func (i *Installation) Warning() string { return i.stack.Warning() }

// Kill kills one of the processors (SIGKILL), the one that was started first.
func (i *Installation) Kill(context.Context) (id string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()

	for n := 1; n <= i.started; n++ {
		id := processorID(n)
		if p := i.processors[id]; p != nil {
			delete(i.processors, id)

			return id, p.Kill()
		}
	}

	return "", errors.New("no processor is left")
}

// Add starts one more processor and returns when the dispatcher knows it.
func (i *Installation) Add(ctx context.Context) (id string, err error) {
	if id, err = i.start(); err != nil {
		return "", err
	}

	return id, i.awaitKnown(ctx)
}

// start starts one more processor.
func (i *Installation) start() (id string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()

	i.started++
	id = processorID(i.started)

	p, err := servers.StartProcess(i.cfg.Command(id, i.stack.NATS(), i.stack.Redis()))
	if err != nil {
		return "", fmt.Errorf("processor %s: %w", id, err)
	}

	i.processors[id] = p

	return id, nil
}

func processorID(n int) string { return "p" + strconv.Itoa(n) }

// awaitKnown waits until the dispatcher may pick every processor that runs.
func (i *Installation) awaitKnown(ctx context.Context) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()

	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()

	for {
		waiting, err := i.unknown()
		if err != nil || len(waiting) == 0 {
			return err
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-i.stack.Done():
			return errors.New("the installation ended while a processor started")
		case <-timeout.C:
			return fmt.Errorf("the dispatcher does not know %v after %s", waiting, readyTimeout)
		case <-look.C:
		}
	}
}

// unknown are the processors that the dispatcher may not pick yet; one that has ended is an error.
func (i *Installation) unknown() (ids []string, err error) {
	open := map[string]bool{}
	for _, node := range i.stack.Stats().Nodes {
		open[node.ID] = node.Status == routing.Open
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	for id, p := range i.processors {
		select {
		case <-p.Done():
			return nil, fmt.Errorf("processor %s ended: %s", id, p.How())
		default:
		}

		if !open[id] {
			ids = append(ids, id)
		}
	}

	slices.Sort(ids)

	return ids, nil
}

// Stop drains the dispatcher and the processors and stops the servers. It returns what
// failed. Call it once.
func (i *Installation) Stop(ctx context.Context) error {
	late := context.WithoutCancel(ctx)

	return errors.Join(i.stopProcessors(late), i.stack.Stop())
}

// stopProcessors lets all processors drain, at the same time.
func (i *Installation) stopProcessors(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	var (
		stopping sync.WaitGroup
		mu       sync.Mutex
		faults   []error
	)

	for id, p := range i.processors {
		stopping.Go(func() {
			if err := p.Stop(ctx, stopTimeout); err != nil {
				mu.Lock()
				defer mu.Unlock()

				faults = append(faults, fmt.Errorf("stop processor %s: %w", id, err))
			}
		})
	}

	stopping.Wait()
	clear(i.processors)

	return errors.Join(faults...)
}

package stations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Progress is how far a run is.
type Progress struct {
	Phase    string        // provision, log on, call, settle, log off
	Elapsed  time.Duration // since the run began
	LoggedOn int           // stations, now
	Up       int           // calls that are connected
	Running  int           // calls that have not ended, those that are up among them
	Attempts int           // calls so far
	Note     string        // what has just been done, such as "killed processor p2"; mostly empty
	Trouble  string        // why the last log-on failed, while none has been successful
}

// progressEvery is between two calls of the progress function.
const progressEvery = 2 * time.Second

// run is one run of Run.
type run struct {
	// static
	cfg     Config
	site    Site
	tell    func(Progress) // never nil
	log     zerolog.Logger
	started time.Time

	fleet  *fleet // static once stations are there
	result Result // owned by do

	mu    sync.Mutex
	phase string // guarded by mu
}

// Run plays stations against a site and judges what came of it. progress may be nil; it is
// called every other second and when something happens. An error means that there is no
// judgement; ctx ending is one.
func Run(ctx context.Context, cfg Config, site Site, progress func(Progress), log zerolog.Logger) (*Result, error) {
	if err := errors.Join(cfg.Validate(), site.can(cfg)); err != nil {
		return nil, err
	}

	if progress == nil {
		progress = func(Progress) {}
	}

	r := &run{
		cfg: cfg, site: site, tell: progress, log: log, started: time.Now(),
		result: Result{Stations: cfg.Count, Audited: site.Store != nil},
	}
	if err := r.do(ctx); err != nil {
		return nil, err
	}

	return &r.result, nil
}

// do does the steps, and ends all that it began whatever becomes of them.
func (r *run) do(ctx context.Context) (err error) {
	r.enter("provision")

	if err := r.cfg.provision(ctx, r.site); err != nil {
		return err
	}

	before, err := r.recordsBefore(ctx)
	if err != nil {
		return err
	}

	if r.fleet, err = newFleet(ctx, r.cfg, r.site, r.log); err != nil {
		return err
	}

	running, off := context.WithCancel(context.WithoutCancel(ctx))
	helping, stop := context.WithCancel(context.WithoutCancel(ctx))

	var helpers sync.WaitGroup

	helpers.Go(func() { r.fleet.traffic.agenda.run(helping) })
	helpers.Go(func() { r.report(helping) })

	defer func() {
		r.enter("log off")
		off()
		r.fleet.close()
		stop()
		helpers.Wait()
	}()

	if err := r.logOn(ctx, running); err != nil {
		return err
	}

	if r.fleet.traffic.any() { // else there is nobody to call
		if err := r.call(ctx); err != nil {
			return err
		}
	}

	r.result.Elapsed = time.Since(r.started)
	r.enter("settle")
	r.count()

	return r.audit(ctx, before)
}

// logOn switches the stations on and waits until all are logged on, or none comes any more.
func (r *run) logOn(ctx, running context.Context) error {
	r.enter("log on")

	began := time.Now()
	if err := r.fleet.switchOn(ctx, running); err != nil {
		return err
	}

	patience := r.cfg.Settle
	if !r.fleet.traffic.any() { // it waited while they were switched on
		patience -= time.Since(began)
	}

	return r.waitFor(ctx, max(patience, 0), func(t *traffic) bool { return t.everOn == r.cfg.Count })
}

// call keeps calls up for a while, kills and adds processors, and waits until all calls have ended.
func (r *run) call(ctx context.Context) error {
	r.enter("call")
	r.fleet.traffic.begin(time.Now())

	kill := time.NewTimer(r.cfg.Duration / 3)
	defer kill.Stop()

	add := time.NewTimer(r.cfg.Duration / 2)
	defer add.Stop()

	end := time.NewTimer(r.cfg.Duration)
	defer end.Stop()

	for over := false; !over; {
		var err error

		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-kill.C:
			err = r.kill(ctx)
		case <-add.C:
			err = r.add(ctx)
		case <-end.C:
			over = true
		}

		if err != nil {
			return err
		}
	}

	r.fleet.traffic.finish()

	return r.waitFor(ctx, longest*(r.cfg.Hold+r.cfg.Ring)+r.cfg.Settle, func(t *traffic) bool { return t.running == 0 })
}

// kill kills a processor, if that is wanted, when a call is up that can outlive it.
func (r *run) kill(ctx context.Context) (err error) {
	if !r.cfg.KillProcessor {
		return nil
	}

	// Where the machine is slow, the first calls may still be coming up.
	err = r.waitFor(ctx, r.cfg.Settle, func(t *traffic) bool {
		r.result.UpAtKill = t.markUp()

		return r.result.UpAtKill > 0
	})
	if err != nil {
		return err
	}

	if r.result.KilledProcessor, err = r.site.Kill(ctx); err != nil {
		return fmt.Errorf("kill a processor: %w", err)
	}

	r.note("killed processor " + r.result.KilledProcessor)

	return nil
}

// add adds a processor, if that is wanted.
func (r *run) add(ctx context.Context) (err error) {
	if !r.cfg.AddProcessor {
		return nil
	}

	if r.result.AddedProcessor, err = r.site.Add(ctx); err != nil {
		return fmt.Errorf("add a processor: %w", err)
	}

	r.note("added processor " + r.result.AddedProcessor)

	return nil
}

// waitFor waits until the traffic is as wanted, and no longer than patience: what is missing
// then is in the result.
func (r *run) waitFor(ctx context.Context, patience time.Duration, as func(*traffic) bool) error {
	t := r.fleet.traffic

	timeout := time.NewTimer(patience)
	defer timeout.Stop()

	for {
		t.mu.Lock()
		done := as(t)
		t.mu.Unlock()

		if done {
			return nil
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return nil
		case <-t.progress:
		}
	}
}

// enter begins a phase.
func (r *run) enter(phase string) {
	r.mu.Lock()
	r.phase = phase
	r.mu.Unlock()
}

// note tells at once that something was done.
func (r *run) note(text string) {
	p := r.snapshot()
	p.Note = text
	r.tell(p)
}

func (r *run) snapshot() Progress {
	p := r.fleet.traffic.snapshot()
	p.Elapsed = time.Since(r.started)

	r.mu.Lock()
	defer r.mu.Unlock()

	p.Phase = r.phase

	return p
}

// report tells how far the run is.
func (r *run) report(ctx context.Context) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.tell(r.snapshot())
		}
	}
}

// count takes what the stations saw into the result.
func (r *run) count() {
	t := r.fleet.traffic

	t.mu.Lock()
	defer t.mu.Unlock()

	var setups, answers []time.Duration

	for _, a := range t.attempts {
		completed := a.ended && a.planned && !a.connected.IsZero()

		switch {
		case completed:
			r.result.Completed++
		case a.ended && !a.connected.IsZero():
			r.result.Dropped++
		}

		if a.atKill && completed {
			r.result.KeptAtKill++
		}

		if !a.alerted.IsZero() {
			setups = append(setups, a.alerted.Sub(a.placed))
		}

		if !a.connected.IsZero() && !a.answered.IsZero() {
			answers = append(answers, a.connected.Sub(a.answered))
		}
	}

	r.result.LoggedOn, r.result.Calls, r.result.Failures = t.everOn, len(t.attempts), maps.Clone(t.refused)
	if waiting := t.waiting(); waiting > 0 {
		r.result.Failures["log-on: no answer yet from "+r.site.names()] = waiting
	}

	r.result.Setup, r.result.Answer = quantilesOf(setups), quantilesOf(answers)
}

package stations

import (
	"context"
	"errors"
	"strings"

	"skyring/protocol/transport"
	"skyring/statestore"
)

// Site is the installation that stations are played against.
type Site struct {
	// Targets are where its dispatchers listen.
	Targets []transport.Target
	// Secure is how the stations prove themselves at targets that want DTLS. All of them are one client there, which
	// has to be one that may speak for all stations that are played, FirstStation to LastStation at most.
	Secure transport.SecureConfig
	// Store is its state store, where stations and pools are provisioned and the audit looks. nil: stations are
	// there already, and the audit can only tell what stations saw.
	Store *statestore.Store
	// Kill kills a processor, Add adds one; both return its id. nil: the site can not.
	Kill func(context.Context) (id string, err error)
	Add  func(context.Context) (id string, err error)
}

// names are the targets, with what to think of when they are silent.
func (s Site) names() string {
	var list []string
	for _, t := range s.Targets {
		list = append(list, t.String()+" "+t.Mode.Silence())
	}

	return strings.Join(list, " or ")
}

// can tells what the site lacks for a run.
func (s Site) can(cfg Config) error {
	var faults []error

	if len(s.Targets) == 0 {
		faults = append(faults, errors.New("target: the address of a dispatcher is missing"))
	}

	if cfg.KillProcessor && s.Kill == nil {
		faults = append(faults, errors.New("kill a processor: only those of an installation started for the run can be killed"))
	}

	if cfg.AddProcessor && s.Add == nil {
		faults = append(faults, errors.New("add a processor: only to an installation started for the run one can be added"))
	}

	return errors.Join(faults...)
}

// Package essp lets processors serve ESSP: it puts the handlers of stations, calls and
// channel pools together.
package essp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

// Config is how long the gateway waits in log-ons and calls. All processors of an installation
// should have the same.
type Config struct {
	Access access.Config `envPrefix:"ACCESS_" yaml:"access"`
	Call   call.Config   `envPrefix:"CALL_"   yaml:"call"`
}

// DefaultConfig is made for geostationary satellites.
func DefaultConfig() Config {
	return Config{Access: access.DefaultConfig(), Call: call.DefaultConfig()}
}

// Validate reports every fault at once, each by its yaml key.
func (c Config) Validate() error {
	return errors.Join(within("access", c.Access.Validate()), within("call", c.Call.Validate()))
}

// within names the section of each fault of a joined error.
func within(section string, err error) error {
	if err == nil {
		return nil
	}

	return errors.New(section + "." + strings.ReplaceAll(err.Error(), "\n", "\n"+section+"."))
}

// Handlers adds ESSP's handlers to those that there are. The namespace's secret, which makes
// challenges, is taken from the store.
func Handlers(ctx context.Context, cfg Config, store *statestore.Store, others processor.Handlers) (processor.Handlers, error) {
	secret, err := store.Secret(ctx)
	if err != nil {
		return others, fmt.Errorf("ESSP: %w", err)
	}

	cfg.Access.Secret = secret

	return others.
		ForKind(key.KindStation, access.New(cfg.Access)).
		ForKind(key.KindCall, call.New(cfg.Call)).
		ForKind(key.KindPool, call.Pools{}).
		ForUnreadable(protocol.PPID, unreadable{}), nil
}

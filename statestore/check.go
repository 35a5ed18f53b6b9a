package statestore

import "context"

// Warning is a sentence about a setting of the server that may lose sessions.
type Warning string

// Check looks for settings of the server under which what was acknowledged may be lost. Open logs them; status displays may ask again. A server
// that does not let its settings be read gives a warning that says so.
func (s *Store) Check(ctx context.Context) []Warning {
	policy, err := s.setting(ctx, "maxmemory-policy")
	if err != nil {
		return []Warning{Warning("the Redis server does not tell its settings (" + err.Error() +
			"): check that appendonly is on and maxmemory-policy is noeviction")}
	}
	var warnings []Warning
	if policy != "" && policy != "noeviction" {
		warnings = append(warnings, Warning("Redis may evict sessions when its memory is full: set maxmemory-policy noeviction, it is "+policy))
	}
	if aof, err := s.setting(ctx, "appendonly"); err == nil && aof == "no" {
		warnings = append(warnings, "Redis keeps no append-only file: a restart loses what was acknowledged; set appendonly yes")
	}
	return warnings
}

func (s *Store) setting(ctx context.Context, name string) (string, error) {
	m, err := s.client.ConfigGet(ctx, name).Result()
	return m[name], err
}

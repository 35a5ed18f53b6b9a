package statestore

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by SHA-1; nothing is secured by it
	_ "embed"
	"encoding/hex"
	"errors"

	"github.com/redis/go-redis/v9"
)

// commitSource is the commit script.
//
//go:embed commit.lua
var commitSource string

// commitIndexedSource is the commit script for sessions with timers, an outbox or CDRs.
//
//go:embed commitindexed.lua
var commitIndexedSource string

// epochSource is the epoch script.
//
//go:embed epoch.lua
var epochSource string

// leaseSource takes or renews a lease.
//
//go:embed lease.lua
var leaseSource string

// releaseSource gives a lease back.
//
//go:embed release.lua
var releaseSource string

// reindexSource repairs the indexes of a session.
//
//go:embed reindex.lua
var reindexSource string

// script is run by its hash, which the server knows after it saw the text once, until it restarts or is told to forget.
type script struct {
	text string
	hash string
}

func newScript(text string) script {
	h := sha1.Sum([]byte(text)) //nolint:gosec // see above
	return script{text: text, hash: hex.EncodeToString(h[:])}
}

// scripts are those that run often.
type scripts struct {
	commit, commitIndexed, lease script
}

func newScripts() scripts {
	return scripts{commit: newScript(commitSource), commitIndexed: newScript(commitIndexedSource), lease: newScript(leaseSource)}
}

// call is one run of a script within a pipeline.
type call struct {
	script script
	keys   []string
	args   []any
	cmd    *redis.Cmd
}

// run runs all calls as one pipeline; those that the server does not know the script for, which did nothing, are sent again with the text. Each
// call's cmd then holds its own result or error; there is no other error.
func run(ctx context.Context, client redis.UniversalClient, calls []call) {
	p := client.Pipeline()
	for i := range calls {
		calls[i].cmd = p.EvalSha(ctx, calls[i].script.hash, calls[i].keys, calls[i].args...)
	}
	_, err := p.Exec(ctx)
	if err == nil {
		return
	}
	unknown := 0
	for i := range calls {
		if !redis.HasErrorPrefix(calls[i].cmd.Err(), "NOSCRIPT") {
			continue
		}
		calls[i].cmd = p.Eval(ctx, calls[i].script.text, calls[i].keys, calls[i].args...)
		unknown++
	}
	if unknown > 0 {
		_, _ = p.Exec(ctx) // each command holds its own
	}
}

// refused tells a server that answered with an error, and so did nothing, from one whose answer did not come.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

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

// epochSource is the epoch script.
//
//go:embed epoch.lua
var epochSource string

// script is run by its hash, which the server knows after it saw the text once, until it restarts or is told to forget.
type script struct {
	text string
	hash string
}

func newScript(text string) script {
	h := sha1.Sum([]byte(text)) //nolint:gosec // see above
	return script{text: text, hash: hex.EncodeToString(h[:])}
}

// call is one run of a script within a pipeline.
type call struct {
	key  string
	args []any
	cmd  *redis.Cmd
}

// run runs all calls as one pipeline; those that the server does not know the script for, which did nothing, are sent again with the text. Each
// call's cmd then holds its own result or error; there is no other error.
func (s script) run(ctx context.Context, client redis.UniversalClient, calls []call) {
	p := client.Pipeline()
	for i := range calls {
		calls[i].cmd = p.EvalSha(ctx, s.hash, []string{calls[i].key}, calls[i].args...)
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
		calls[i].cmd = p.Eval(ctx, s.text, []string{calls[i].key}, calls[i].args...)
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

package statestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Commit is one record to be written.
type Commit struct {
	Key    []byte
	Expect Stamp         // of the record that this one was made from; the zero stamp when there was none
	Record *Record       // gets its new stamp by Commit
	Expiry int64         // from this time on nothing may be written; us, Redis time
	TTL    time.Duration // after it the record is forgotten; at least 1 ms; not meant with Keep
	Keep   bool          // the record is never forgotten

	// What follows changes together with the record. A record that has, or had, timers or an outbox is Indexed, so that the indexes follow it;
	// any other is written by a cheaper script.
	Indexed bool
	Due     int64    // earliest armed timer, us, Redis time; 0: none
	Pending int64    // when to look after the outbox, us, Redis time; 0: it is empty, or has nothing that can go
	CDRs    [][]byte // appended to the stream of the session's partition, see Store.CDRs
}

// Result of one commit.
type Result uint8

// Results. Only Unknown leaves open whether the record was written.
const (
	Unknown    Result = iota // no answer: it was written or not
	Written                  // it is there
	Conflict                 // another record is there, see Current
	Absent                   // a record was expected, there is none
	Expired                  // too late
	Unreadable               // another record is there, and can not be read, see Err
	Refused                  // the server answered with an error, see Err
)

// Outcome of one commit. But for Written nothing was written, or, when Unknown, perhaps.
type Outcome struct {
	Result    Result
	Current   *Record // of Conflict
	RedisTime int64   // when the server looked; us; 0 for Unknown and Refused
	Err       error   // of Unreadable, Refused and Unknown
}

// Commit writes records, each for itself, in one pipeline; outcomes are in the order of commits. One call holds a key at most once. The
// error is that of the first Unknown outcome: the others count nevertheless. Records get the version after the expected one and a new tag.
func (s *Store) Commit(ctx context.Context, commits []Commit) ([]Outcome, error) {
	outcomes := make([]Outcome, len(commits))
	calls := make([]call, 0, len(commits))
	sent := make([]int, 0, len(commits))
	for i := range commits {
		args, err := commits[i].arguments()
		if err != nil {
			outcomes[i] = Outcome{Result: Refused, Err: err}
			continue
		}
		calls = append(calls, s.commitCall(&commits[i], args))
		sent = append(sent, i)
	}
	if len(calls) == 0 {
		return outcomes, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	run(ctx, s.client, calls)
	var unknown error
	for j, i := range sent {
		outcomes[i] = outcome(calls[j])
		if outcomes[i].Result == Unknown && unknown == nil {
			unknown = fmt.Errorf("commit sessions: %w", outcomes[i].Err)
		}
	}
	return outcomes, unknown
}

// arguments stamps the record and gives what the script is called with.
func (c *Commit) arguments() ([]any, error) {
	if c.TTL < time.Millisecond && !c.Keep {
		return nil, fmt.Errorf("commit: TTL %v is under 1ms", c.TTL)
	}
	c.Record.Version, c.Record.Tag = c.Expect.Version+1, rand.Uint32()
	blob, err := c.Record.Append(make([]byte, 0, c.Record.size()))
	if err != nil {
		return nil, err
	}
	var expect []byte
	if c.Expect != (Stamp{}) {
		expect = appendStamp(make([]byte, 0, stampLen), c.Expect)
	}
	ttl := c.TTL.Milliseconds()
	if c.Keep {
		ttl = 0
	}
	args := []any{expect, blob, ttl, c.Expiry}
	if !c.indexed() {
		return args, nil
	}
	args = append(args, c.Due, c.Pending, c.Key)
	for _, cdr := range c.CDRs {
		args = append(args, cdr)
	}
	return args, nil
}

// indexed tells which script it takes: the plain one knows neither indexes nor records without TTL.
func (c *Commit) indexed() bool { return c.Indexed || c.Keep || len(c.CDRs) > 0 }

// commitCall is the run of the script that fits a commit.
func (s *Store) commitCall(c *Commit, args []any) call {
	name := s.redisKey(c.Key)
	if !c.indexed() {
		return call{script: s.scripts.commit, keys: []string{name}, args: args}
	}
	partition := s.Partition(c.Key)
	return call{script: s.scripts.commitIndexed, args: args, keys: []string{
		name, s.partitionKey(partition, dueIndex), s.partitionKey(partition, pendingIndex), s.partitionKey(partition, cdrStream),
		s.partitionKey(partition, cdrCount),
	}}
}

func outcome(c call) Outcome {
	v, err := c.cmd.Result()
	if err != nil {
		if refused(err) {
			return Outcome{Result: Refused, Err: err}
		}
		return Outcome{Result: Unknown, Err: err}
	}
	switch v := v.(type) {
	case int64:
		if v < 0 {
			return Outcome{Result: Expired, RedisTime: -v}
		}
		return Outcome{Result: Written, RedisTime: v}
	case []any:
		if len(v) == 2 {
			if now, ok := v[0].(int64); ok {
				return conflict(now, v[1])
			}
		}
	}
	return Outcome{Result: Unknown, Err: errors.New("commit script gave an answer of unknown form")}
}

func conflict(now int64, there any) Outcome {
	blob, ok := there.(string)
	if !ok {
		return Outcome{Result: Absent, RedisTime: now}
	}
	r, err := Decode([]byte(blob))
	if err != nil {
		return Outcome{Result: Unreadable, RedisTime: now, Err: err}
	}
	return Outcome{Result: Conflict, RedisTime: now, Current: r}
}

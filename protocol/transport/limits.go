package transport

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// bucketSpan is how long a bucket takes to fill: after a pause, what is allowed in that time may come at once.
const bucketSpan = time.Second

// sourceBuckets is how many buckets the sources share. Which one a source gets depends on a secret, so that nobody can aim
// at another's; a flood from forged addresses spreads over all of them.
const sourceBuckets = 4096

// bucket is a token bucket, kept as the time at which it will be full again.
type bucket time.Duration

// take takes a token of those that come perSecond; false when there is none. now counts from any fixed moment.
func (b *bucket) take(now time.Duration, perSecond int) bool {
	full := max(time.Duration(*b), now) + time.Second/time.Duration(perSecond)
	if full-now > bucketSpan {
		return false
	}
	*b = bucket(full)
	return true
}

// answerLimits bound what is answered to who has proven nothing, whose address may be forged: neither the sender nor the
// one whose address it is shall have us work, or send, without a bound. What is beyond is dropped without a word, as an
// answer would be what the limit is there against; SCTP asks again.
type answerLimits struct {
	// static
	cfg   Config
	begun time.Time
	seed  maphash.Seed

	// owned by handle
	inits   bucket
	blue    bucket
	sources [sourceBuckets]bucket
}

func newAnswerLimits(cfg Config) *answerLimits {
	return &answerLimits{cfg: cfg, begun: time.Now(), seed: maphash.MakeSeed()}
}

// init decides whether an INIT may be answered. The second result says why not.
func (l *answerLimits) init(from netip.Addr, now time.Time) (bool, Counter) {
	at := now.Sub(l.begun)
	source := maphash.Comparable(l.seed, sourceOf(from)) % sourceBuckets
	if !l.sources[source].take(at, l.cfg.InitsPerSourcePerSecond) {
		return false, LimitedSourceInits
	}
	return l.inits.take(at, l.cfg.InitsPerSecond), LimitedInits
}

// outOfTheBlue decides whether a packet that belongs to nobody may be answered.
func (l *answerLimits) outOfTheBlue(now time.Time) bool {
	return l.blue.take(now.Sub(l.begun), l.cfg.BlueRepliesPerSecond)
}

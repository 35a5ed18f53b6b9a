package processor

import (
	"slices"

	"skyring/statestore"
)

// maxSources is how many associations a session remembers, unless more were active within the longest expiry.
const maxSources = 64

// manyPeers is how many other sessions a session remembers before it is looked whether they are still there. A peer's mark is kept as long as the
// peer: a peer that is gone has sent all it had, and what was on the way then has expired, since tombstones stay longer than that.
const manyPeers = 32

// forget drops what can not be asked for any more. Nothing that was sent before the longest expiry can be committed, so the replies of a source that
// has been quiet for so long are not needed; its mark is kept nevertheless, as long as there are not too many.
func (e engine) forget(r *statestore.Record, now int64) {
	outlived := func(s statestore.Source) bool { return s.Touched < now-e.longest }
	for i := range r.Sources {
		if outlived(r.Sources[i]) {
			r.Sources[i].Ring = nil
		}
	}
	if e.without == peerGoneRule && len(r.Peers) > manyPeers {
		r.Peers = r.Peers[len(r.Peers)-manyPeers:]
	}
	if len(r.Sources) <= maxSources {
		return
	}
	slices.SortStableFunc(r.Sources, func(a, b statestore.Source) int {
		switch {
		case a.Touched < b.Touched:
			return -1
		case a.Touched > b.Touched:
			return 1
		default:
			return 0
		}
	})
	for len(r.Sources) > maxSources && outlived(r.Sources[0]) {
		r.Sources = r.Sources[1:]
	}
}

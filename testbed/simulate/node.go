package simulate

import (
	"math"
	"time"

	"skyring/ring/policy"
)

// What a node's memory holds: the program itself, and room for so many messages per worker.
const (
	memoryBase      = 0.2
	memoryPerWorker = 64
	messageBytes    = 200
)

// job is an attempt at a message, in a node's queue.
type job struct {
	message int32
	serial  uint32
	lane    uint8
	work    int64 // ns at speed 1
}

// lane is a queue and how many work it off.
type lane struct {
	workers int // static
	busy    int // of these
	queue   fifo[job]
}

func newLanes(workers int, q Queues) []lane {
	if q == SharedQueue {
		return []lane{{workers: workers}}
	}

	lanes := make([]lane, workers)
	for i := range lanes {
		lanes[i].workers = 1
	}

	return lanes
}

// node is a processor at work.
type node struct {
	Node

	present bool
	life    uint16
	factor  float64 // on its service times
	lanes   []lane  // one for all workers, or one each
	busy    int     // workers
	queued  int     // jobs

	// For its heartbeat.
	busyTime int64 // ns that workers worked, up to changed
	changed  int64
	answered uint64
	taken    uint64
	beat     snapshot // at the last heartbeat
}

type snapshot struct {
	at, busyTime    int64
	answered, taken uint64
}

// account brings busyTime up to now.
func (n *node) account(now int64) {
	n.busyTime += int64(n.busy) * (now - n.changed)
	n.changed = now
}

// takes is how long a worker is busy with a job, in ns.
func (n *node) takes(j job) int64 { return int64(float64(j.work) * n.factor / n.Speed) }

// die drops all it has.
func (n *node) die(now int64) {
	n.account(now)
	for i := range n.lanes {
		n.lanes[i].queue.clear()
		n.lanes[i].busy = 0
	}

	n.busy, n.queued = 0, 0
	n.present = false
	n.life++
}

// report is the heartbeat at now, without what dispatchers find out themselves.
func (n *node) report(now int64) policy.Report {
	n.account(now)

	before := n.beat
	n.beat = snapshot{at: now, busyTime: n.busyTime, answered: n.answered, taken: n.taken}
	inHand := n.busy + n.queued
	r := policy.Report{
		At:     time.Duration(now),
		Memory: min(1, memoryBase+(1-memoryBase)*float64(inHand)/float64(memoryPerWorker*n.Workers)),
		Active: uint32(inHand),
	}

	if past := float64(now - before.at); past > 0 {
		r.CPU = min(1, float64(n.busyTime-before.busyTime)/past/float64(n.Workers))
		r.MessagesPerSecond = float64(n.answered-before.answered) / past * 1e9
		r.BytesPerSecond = float64(n.taken-before.taken) / past * 1e9 * messageBytes
	}

	return r
}

// limit is a bound of so many messages per worker and unit of speed over all dispatchers, as the share of one of them; none is no bound.
func (n *node) limit(perWorker float64, dispatchers int) uint32 {
	if perWorker == 0 {
		return math.MaxUint32
	}

	return uint32(max(1, math.Ceil(perWorker*float64(n.Workers)*n.Speed/float64(dispatchers))))
}

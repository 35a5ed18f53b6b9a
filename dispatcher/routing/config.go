package routing

import "time"

// Config are the limits and times of a Core. Its owner validates them: the
// dispatcher, under whose configuration keys they stand.
type Config struct {
	Window          int           // messages of a key in flight at once; at most the reply ring of a record holds
	InFlightLimit   int           // messages in flight to a node from which it is at its limit, unless it tells another number
	HardCap         int           // and from which it takes none, even when all are at their limit; 0: there is none
	MaxBytesPerNode int           // bytes in flight to a node from which it takes none
	Deadline        time.Duration // for an answer to a first attempt; doubles on each further one
	DeadlineMax     time.Duration // where doubling ends
	RetryDelay      time.Duration // before a key is tried again that a node could not serve; doubles up to Deadline
	RetryShare      float64       // resends allowed for each first send
	RetryRate       float64       // resends a second allowed besides
	Probe           time.Duration // silence after which a node with something in flight is probed
	Expiry          time.Duration // how long after its sending an attempt may commit
	Heartbeat       time.Duration // interval at which nodes report: suspect after 2.5, dead after 4 without
	MaxNodes        int           // known nodes; further ones are not listened to while none of these is dead
	NodeMemory      time.Duration // silence after which a dead node is forgotten
	CPUThreshold    float64       // used part of its processor time from which a node is at its limit, 0: none
	MemoryThreshold float64       // used part of its memory from which a node is at its limit, 0: none
	RateThreshold   float64       // messages a second, as a multiple of its capacity, at which a node's weight is 0; 0: they do not weigh
	ResponseTarget  time.Duration // response at which a node's weight is 0, and which limits of messages in flight aim at
	Hysteresis      time.Duration // least time between two changes of a node's state by CPU and memory
}

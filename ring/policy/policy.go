package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skyring/ring"
)

// Query is what a policy may know of a message.
type Query struct {
	Hash   uint64 // of the session key (xxh3)
	Number uint64 // the session's number as published hashes take it: a station's id; where there is none, Hash
	Source uint64 // who sends it: the number of its association
	Avoid  int    // index of the node that was just given up on, ring.NoNode for none: chosen only where there is no other
}

// Load is what the picker itself counts of a node.
type Load struct {
	InFlight uint32 // messages it has and has not answered
	Limit    uint32 // from which it is at its limit
	HardCap  uint32 // from which it takes none, even as the last resort; math.MaxUint32: never
}

// Report is what a node last told of itself, or was found out about it; it is as old as the last heartbeat.
type Report struct {
	At time.Duration // when it was made, on the clock of Tick

	CPU     float64 // used part of what the node may use: 0..1
	Memory  float64 // as CPU
	Disk    float64 // as CPU; 0 where it is not measured
	Network float64 // as CPU; 0 where it is not measured

	Active            uint32  // requests in hand
	MessagesPerSecond float64 // answered
	BytesPerSecond    float64 // taken in

	Response            time.Duration // smoothed time to an answer
	ResponseDeviation   time.Duration // its standard deviation
	Failures            uint32        // messages not answered in time, in the node's life
	ConsecutiveFailures uint32        // of them since the last answer

	Pressure float64 // max over used/threshold of CPU, memory, rate and response: 1 at a threshold, may be more (thresholds: docs/configuration.md)
}

// Policy picks a node for each message. Nodes are numbered 0, 1, 2, ... in ascending byte order of their ids. All are
// Open and idle at first, with their capacity as the limit and no hard cap. Methods that take an index panic
// when it is out of [0, Len()). No method but Tick allocates.
type Policy interface {
	// Len is the number of nodes.
	Len() int
	// Node is the node of an index.
	Node(i int) ring.Node
	// SetState says how a node may be picked.
	SetState(i int, s ring.State)
	// SetLoad brings the picker's own counts; it is called at each message.
	SetLoad(i int, l Load)
	// SetReport brings a node's report.
	SetReport(i int, r Report)
	// Tick tells the time, which never goes back, about once a second: for algorithms that do something at intervals.
	Tick(now time.Duration)
	// Pick chooses a node. Its How is ring.Home for the algorithm's first choice, ring.Chain for a later one, ring.Spill for any open node,
	// ring.BestWeight for the last resort, and ring.None when the message is to be shed.
	Pick(q Query) ring.Choice
}

// LimitRule says what the limits of nodes mean to algorithms that were published without any.
type LimitRule uint8

const (
	// RespectLimits has nodes at their limit chosen only when none is open.
	RespectLimits LimitRule = iota
	// IgnoreLimits has them chosen as if they were open, up to their hard cap.
	IgnoreLimits
)

// Options are what policies are made with. The zero value is right for a dispatcher but for Ring and Seed.
type Options struct {
	Ring   ring.Config // of the slot ring
	Seed   uint64      // of policies that choose at random
	Limits LimitRule

	// Parameters that papers leave open, for sweeps; 0: the policy's default.
	VirtualNodes int           // of a node of mean capacity (rings), its entries (Maglev); the factor k of the even ring
	Threshold    float64       // of the even ring: the part of the median by which a node's load factor may differ from it
	BKDRSeed     uint64        // of the even ring's hash: 31, 131, 1313, ...
	Interval     time.Duration // between two refreshes (Z-curve, DRF, response-time weights, even ring)
	Bits         int           // of the Z-curve, for each of CPU and memory

	Needs Needs // of DRF, as experts see them; the zero value: as measured
}

// Description is a policy as it is listed.
type Description struct {
	Name    string // as configuration and results call it
	Summary string // what it does, in one line
	Source  string // paper, manual or program it is from
}

// entry is a policy that can be made.
type entry struct {
	Description

	build func(nodes []ring.Node, o Options) (Policy, error)
}

// Default is the policy of a dispatcher unless it is configured otherwise.
const Default = "skyring"

// entries are all policies, ours first.
func entries() []entry { return slices.Concat(ownPolicies(), hashPolicies(), loadPolicies()) }

// List describes all policies, ours first.
func List() []Description {
	var all []Description
	for _, e := range entries() {
		all = append(all, e.Description)
	}

	return all
}

// Known is nil when there is a policy of a name, else it says which there are.
func Known(name string) error {
	var names []string

	for _, e := range entries() {
		if e.Name == name {
			return nil
		}

		names = append(names, e.Name)
	}

	return fmt.Errorf("%q is no policy: %s are", name, strings.Join(names, ", "))
}

// New makes a policy for a set of nodes, given in any order. A change of members or capacities needs a new one; states, loads and reports are brought
// to it before it is used. Errors: those of ring.Build, of Known, and of Options.Validate.
func New(name string, nodes []ring.Node, o Options) (Policy, error) { //nolint:ireturn // the type is chosen at run time
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b ring.Node) int { return strings.Compare(a.ID, b.ID) })

	for _, e := range entries() {
		if e.Name == name {
			if err := errors.Join(ring.Validate(sorted, o.Ring), o.Validate()); err != nil {
				return nil, fmt.Errorf("policy %s: %w", name, err)
			}

			return e.build(sorted, o)
		}
	}

	return nil, Known(name)
}

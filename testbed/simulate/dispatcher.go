package simulate

import (
	"fmt"
	"math"
	"time"

	"skyring/ring"
	"skyring/ring/gauge"
	"skyring/ring/policy"
)

// dispatcher is one picker: a policy, and what it knows of the nodes.
type dispatcher struct {
	// Static.
	name    string
	options policy.Options
	limits  Limits

	policy  policy.Policy
	members []int32 // node of each of the policy's indexes, ascending
	index   []int   // the policy's index of each node, ring.NoNode for those that are not in it
	views   []view  // per node
	open    int     // members that are open
	free    float64 // ns at which it has picked all that came so far

	parked fifo[*session] // those that no node takes, with a window
}

// view is what a dispatcher knows of a node.
type view struct {
	load   policy.Load
	state  ring.State // as the policy has it
	report policy.Report

	strain   gauge.Strain
	response gauge.Response
	limit    gauge.Limit
	answered uint64

	ceiling, hardCap uint32 // of load while the limit is not adapted

	failures, consecutive uint32
}

// id names a node so that ids ascend with indexes. Numbers begin with 1, as the paper ring takes them from there.
func id(node int32) string { return fmt.Sprintf("node-%05d", node+1) }

// rebuild makes the policy anew for the nodes that are members, as a change of nodes does, and brings it all that is known.
func (d *dispatcher) rebuild(nodes []node, member []bool) error {
	var (
		set     []ring.Node
		members []int32
	)

	for i := range nodes {
		d.index[i] = ring.NoNode
		if member[i] {
			d.index[i] = len(set)
			set = append(set, ring.Node{ID: id(int32(i)), Capacity: nodes[i].Capacity})
			members = append(members, int32(i))
		}
	}

	p, err := policy.New(d.name, set, d.options)
	if err != nil {
		return fmt.Errorf("make the policy for %d nodes: %w", len(set), err)
	}

	d.policy, d.members, d.open = p, members, len(members)
	for _, n := range members {
		v := &d.views[n]
		v.state = ring.Open
		d.policy.SetReport(d.index[n], v.report)
		d.bring(n)
	}

	return nil
}

// bring gives the policy a node's load, and its state where that changed.
func (d *dispatcher) bring(n int32) {
	i := d.index[n]
	if i == ring.NoNode {
		return
	}

	v := &d.views[n]
	d.policy.SetLoad(i, v.load)

	state := ring.Open
	if v.strain.Held() || v.load.InFlight >= v.load.Limit {
		state = ring.AtLimit
	}

	if state == v.state {
		return
	}

	if d.open++; state != ring.Open {
		d.open -= 2
	}

	v.state = state
	d.policy.SetState(i, state)
}

// takes tells that a node gets more of a station that it has messages of, as a dispatcher has it (Core.takes in dispatcher/routing).
func (d *dispatcher) takes(n int32) bool {
	v := &d.views[n]

	switch {
	case d.index[n] == ring.NoNode || v.load.InFlight >= v.load.HardCap:
		return false
	case d.options.Limits == policy.IgnoreLimits:
		return true
	default:
		return v.load.InFlight < v.load.Limit && (!v.strain.Held() || d.open == 0)
	}
}

// adapt adapts the limits of all members to their responses, once a second.
func (d *dispatcher) adapt(now int64) {
	if d.limits.ResponseTarget == 0 {
		return
	}

	for _, n := range d.members {
		v := &d.views[n]
		v.limit.Adapt(gauge.Sample{
			Now: time.Duration(now), Answered: v.answered, InFlight: int(v.load.InFlight), Response: v.response.Mean(), Target: d.limits.ResponseTarget,
		})

		v.load.Limit = uint32(v.limit.Value()) //nolint:gosec // the ceiling at most
		if v.hardCap != math.MaxUint32 {
			v.load.HardCap = max(v.load.Limit, uint32(uint64(v.hardCap)*uint64(v.load.Limit)/uint64(v.ceiling))) //nolint:gosec // hardCap at most
		}

		d.bring(n)
	}
}

// hear takes a report in.
func (d *dispatcher) hear(n int32, r policy.Report, now int64) {
	v := &d.views[n]
	r.Response, r.ResponseDeviation = v.response.Mean(), v.response.Deviation()
	r.Failures, r.ConsecutiveFailures = v.failures, v.consecutive

	used := max(gauge.Used(r.CPU, d.limits.CPU), gauge.Used(r.Memory, d.limits.Memory))
	r.Pressure = max(used, gauge.Used(r.Response.Seconds(), d.limits.ResponseTarget.Seconds()))

	v.report = r
	v.strain.Observe(time.Duration(now), used, d.limits.Hold)

	if i := d.index[n]; i != ring.NoNode {
		d.policy.SetReport(i, r)
		d.bring(n)
	}
}

// answered takes an answer's time in, ns after it was sent.
func (d *dispatcher) answered(n int32, response int64) {
	v := &d.views[n]
	v.consecutive = 0
	v.response.Took(time.Duration(response))
	v.answered++
	d.recalled(n)
}

// sent takes in that a node got a message.
func (d *dispatcher) sent(n int32) {
	v := &d.views[n]
	v.load.InFlight++
	v.limit.Loaded(int(v.load.InFlight))
	d.bring(n)
}

// gaveUp takes the end of an attempt without an answer in.
func (d *dispatcher) gaveUp(n int32) {
	v := &d.views[n]
	v.failures++
	v.consecutive++
	d.recalled(n)
}

// recalled takes in that a node has a message less.
func (d *dispatcher) recalled(n int32) {
	d.views[n].load.InFlight--
	d.bring(n)
}

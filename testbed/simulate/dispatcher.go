package simulate

import (
	"fmt"
	"math"
	"time"

	"skyring/ring"
	"skyring/ring/policy"
)

// smoothing is the weight of a new response time in the mean and deviation a dispatcher keeps of a node.
const smoothing = 1.0 / 16

// reopening is the part of a threshold under which a node that was over it is open again, as in dispatchers.
const reopening = 0.9

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
	free    float64 // ns at which it has picked all that came so far
}

// view is what a dispatcher knows of a node.
type view struct {
	load   policy.Load
	state  ring.State // as the policy has it
	report policy.Report

	held    bool  // at its limit by what it reported
	heldAt  int64 // ns of the last change of held
	changed bool  // whether there was one

	response, variance    float64 // ns, ns^2
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

	d.policy, d.members = p, members
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
	if v.held || v.load.InFlight >= v.load.Limit {
		state = ring.AtLimit
	}

	if state != v.state {
		v.state = state
		d.policy.SetState(i, state)
	}
}

// hear takes a report in.
func (d *dispatcher) hear(n int32, r policy.Report, now int64) {
	v := &d.views[n]
	r.Response = time.Duration(v.response)
	r.ResponseDeviation = time.Duration(math.Sqrt(v.variance))
	r.Failures, r.ConsecutiveFailures = v.failures, v.consecutive

	if d.limits.CPU > 0 {
		r.Pressure = r.CPU / d.limits.CPU
	}

	if d.limits.Memory > 0 {
		r.Pressure = max(r.Pressure, r.Memory/d.limits.Memory)
	}

	v.report = r

	held := r.Pressure >= 1 || v.held && r.Pressure >= reopening
	if held != v.held && (!v.changed || now-v.heldAt >= int64(d.limits.Hold)) {
		v.held, v.heldAt, v.changed = held, now, true
	}

	if i := d.index[n]; i != ring.NoNode {
		d.policy.SetReport(i, r)
		d.bring(n)
	}
}

// answered takes an answer's time in, ns after it was sent.
func (d *dispatcher) answered(n int32, response int64) {
	v := &d.views[n]
	v.consecutive = 0

	if x := float64(response); v.response == 0 {
		v.response = x
	} else {
		difference := x - v.response
		v.response += smoothing * difference
		v.variance = (1 - smoothing) * (v.variance + smoothing*difference*difference)
	}

	v.load.InFlight--
	d.bring(n)
}

// gaveUp takes the end of an attempt without an answer in.
func (d *dispatcher) gaveUp(n int32) {
	v := &d.views[n]
	v.failures++
	v.consecutive++
	v.load.InFlight--
	d.bring(n)
}

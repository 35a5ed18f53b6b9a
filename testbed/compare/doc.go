// Package compare runs the policies of skyring/ring/policy against each other on named loads in the simulator, and judges what has
// been published of them.
//
//	scenario = points (policy, nodes, load, variant)     x seeds      --> rows: mean and 95 % interval of each figure
//	         + claims (what a paper says)                --> verdict: reproduced, refuted, undecidable, and why
//
// All points of a scenario have the same messages under the same seed, so two policies are compared by the differences of their
// figures seed by seed (paired Student t), which tell more than their own intervals do. A claim is reproduced when the interval lies where the paper
// says, refuted when it lies on the other side, and undecidable when it holds the border.
//
// A policy pays for its picks: the cost is measured before the runs, on the machine they are on, unless Settings fixes it. All else is a function of
// the scenario and the number of seeds.
package compare

package policy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"skyring/ring"
)

// Needs are what experts expect nodes to show of each factor (see Factors): N and TR of the paper of dominant-resource
// balancing. Its largest share N/TR is a node's dominant factor. The zero value says that there are none.
type Needs struct {
	Totals map[string]float64            // TR by factor: 0 or more; a factor of which there is 0 dominates nowhere
	Nodes  map[string]map[string]float64 // N by a node's id, and factor: 0 or more
}

// Factors are the names of DRF's factors, in the order in which they are printed.
func Factors() []string {
	return []string{"failures", "active-requests", "consecutive-failures", "response-deviation", "response"}
}

// dominants is the dominant factor of each node, nil where there are no needs. The error names all that is missing or out of range.
func (n Needs) dominants(nodes []ring.Node) ([]int, error) {
	if n.Totals == nil && n.Nodes == nil {
		return nil, nil
	}

	totals, faults := row("totals", n.Totals)
	sound := len(faults) == 0
	dominants := make([]int, len(nodes))

	for i, node := range nodes {
		values, wrong := row(fmt.Sprintf("node %q", node.ID), n.Nodes[node.ID])
		faults = append(faults, wrong...)

		for j, v := range values {
			if sound && v > 0 && totals[j] == 0 {
				faults = append(faults, fmt.Errorf("needs: node %q: %s is %v of a total of 0", node.ID, Factors()[j], v))
			}
		}

		dominants[i] = dominantOf(values, totals)
	}

	return dominants, errors.Join(faults...)
}

// row puts values by factor in order.
func row(whose string, byFactor map[string]float64) (factors, []error) {
	var (
		values factors
		faults []error
	)

	names := Factors()

	for j, name := range names {
		v, there := byFactor[name]

		switch {
		case !there:
			faults = append(faults, fmt.Errorf("needs: %s: %s is missing", whose, name))
		case !(v >= 0) || math.IsInf(v, 1):
			faults = append(faults, fmt.Errorf("needs: %s: %s is %v: want a number from 0 on", whose, name, v))
		default:
			values[j] = v
		}
	}

	for _, name := range slices.Sorted(maps.Keys(byFactor)) {
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Errorf("needs: %s: %q is no factor: %s are", whose, name, strings.Join(names, ", ")))
		}
	}

	return values, faults
}

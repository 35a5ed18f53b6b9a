package policy

import "skyring/ring"

// hashPolicies are those that choose by the session, and step aside where a node is full.
func hashPolicies() []entry {
	return []entry{
		paperEntry(),
		paper32BitEntry(),
		moduloEntry(),
		sourceHashEntry(),
		destinationHashEntry(),
		evenRingEntry(),
		evenRingPrintedEntry(),
		plainRingEntry(),
		randomPlacementEntry(),
		boundedRingEntry(),
		maglevEntry(),
		jumpEntry(),
		weightedRendezvousEntry(),
		multiProbeEntry(),
	}
}

// certain fits a policy that can always be made into an entry.
func certain[P Policy](build func([]ring.Node, Options) P) func([]ring.Node, Options) (Policy, error) {
	return func(nodes []ring.Node, o Options) (Policy, error) { return build(nodes, o), nil }
}

// checked fits one that may refuse its nodes or options.
func checked[P Policy](build func([]ring.Node, Options) (P, error)) func([]ring.Node, Options) (Policy, error) {
	return func(nodes []ring.Node, o Options) (Policy, error) {
		p, err := build(nodes, o)
		if err != nil {
			return nil, err
		}

		return p, nil
	}
}

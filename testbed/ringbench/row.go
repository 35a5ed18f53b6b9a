package ringbench

// Row is what was measured of one candidate at one number of nodes.
type Row struct {
	Name  string `json:"name"`
	Nodes int    `json:"nodes"`

	LookupNs float64 `json:"lookupNs"` // from a key's bytes to its node, hash included; median of rounds
	Allocs   float64 `json:"allocs"`   // of a look-up

	MaxMean      float64  `json:"maxMean"`      // keys of the fullest of equal nodes, as a multiple of the mean
	Weighted1248 *float64 `json:"weighted1248"` // the same at capacities 1:2:4:8, of the fair share; null where capacities are not honoured
	MovedRemove  float64  `json:"movedRemove"`  // keys that move when the node in the middle leaves, as a multiple of those it had
	MovedAdd     float64  `json:"movedAdd"`     // keys that move when a node joins, as a multiple of those it gets

	BuildMs float64 `json:"buildMs"` // median

	Rounds []float64 `json:"rounds,omitempty"` // LookupNs of each round, in order, when asked for
}

package policy

// reported is what nodes last told of themselves, and of how many messages in flight each of these reports knew.
type reported struct {
	reports []Report
	then    []uint32 // messages in flight when the report came
	loaded  []bool   // the picker told how many there are
}

func newReported(n int) reported {
	return reported{reports: make([]Report, n), then: make([]uint32, n), loaded: make([]bool, n)}
}

// report takes a report in that came at so many messages in flight.
func (r *reported) report(i int, of Report, inFlight uint32) { r.reports[i], r.then[i] = of, inFlight }

// load takes note of the first load. Whoever brings what is known of a node to a new policy brings the report first, which knew of these messages.
func (r *reported) load(i int, inFlight uint32) {
	if !r.loaded[i] {
		r.loaded[i], r.then[i] = true, inFlight
	}
}

// pressureAt is a report's pressure as it has become since. A report is as old as the last heartbeat: going by it alone, whoever picks would give all messages of
// a second to the node that was best when it began. So the pressure grows, and falls, with the messages that the picker itself has in flight there: then
// when the report came, now by its present count.
func (r *reported) pressureAt(i int, now uint32) float64 {
	return r.reports[i].Pressure * (float64(now) + 1) / (float64(r.then[i]) + 1)
}

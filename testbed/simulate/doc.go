// Package simulate is a discrete-event simulator of dispatchers in front of nodes, for comparing the policies of
// skyring/ring/policy on equal terms: the policies run as they are, the rest is modelled.
//
//	stations (Zipf) --arrivals--> dispatcher --Pick--> node: FIFO queue, c workers --answer--> dispatcher
//	                              one server,          service time / speed         counts in flight, response, failures
//	                              cost of a pick            |
//	                                   ^                    |
//	                                   +---- heartbeat -----+   every T with jitter, late: CPU, memory, rate
//
// # The model
//
//   - A message is one of a station, drawn by popularity; each is a pick of its own, so a policy's affinity shows as the share of
//     messages that meet the node of their station's last one. With Config.Window a station stays with the node that has messages of it, and what
//     finds no node waits, as in skyring/dispatcher/routing, which a test runs beside it.
//   - A dispatcher is one server that picks one message after another; a pick takes the policy's cost. It knows at once what it has in flight, and
//     all else by heartbeats, which are as old as their delay.
//   - A dispatcher's limits in flight may follow the response (Limits.ResponseTarget), and its nodes are at their limit by CPU and memory with hysteresis:
//     both by the dispatcher's own code (skyring/ring/gauge).
//   - A node works off its queue first come, first served, with one or more workers; or each worker has a queue of its own (Config.Queues). How long a
//     message takes is drawn with it, before any policy sees it, so two policies under one seed have the same messages, stations and work: their difference is
//     theirs alone.
//   - A node that dies answers nothing. Its dispatchers find out after the detection time and pick again for what it had; a deadline does so
//     for each message before that.
//
// Not modelled: the network but for one fixed delay, batching, the bound on keys of a node, a dispatcher's retry budget and the jitter of its deadlines, the
// turns of associations among what waits, and what a processor's state store costs.
//
// # Determinism
//
// A run is a function of its Config: one goroutine, its own generators, integer time; two runs of the same Config on one machine are equal to the last bit. The
// cost of a pick is therefore part of the Config; MeasurePick finds it.
//
// # Sources
//
//   - W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996.
//   - 3GPP TR 37.868: arrivals of a crowd of devices, Beta(3,4).
//   - V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988: smoothing of response times.
package simulate

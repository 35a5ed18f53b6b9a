// Package gauge is what one who picks nodes works out for itself of each of them: how long it takes to answer, how many messages it may have in
// flight, and whether its own reports put it at its limit.
//
//	answers ----> Response   smoothed time to an answer, and its deviation
//	                 |
//	answers ----> Limit      messages in flight: adaptive, between an eighth of a ceiling and the ceiling
//	heartbeats -> Strain     CPU or memory past a threshold, with hysteresis
//
// A dispatcher (skyring/dispatcher/routing) and the simulator (skyring/testbed/simulate) go by the same code, so that a simulated node is
// limited as a real one is. All of it is values: time is an argument, and nothing here is safe for concurrent use.
package gauge

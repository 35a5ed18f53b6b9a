// Package ledger keeps account of signalling that is dispatched but not understood: how many messages a session had, how many bytes, when, of
// what type, and hash chains which prove that each took effect once and in order.
//
//	session (record body)
//	  count 5, bytes 311, first, last, last type "S1AP initiatingMessage 13"
//	  nodes    node-1: 3, node-2: 2                      who committed them
//	  chains   association A, stream 0, ordered          value = H( H( H(0 || m1) || m2 ) || m4 )
//	           association A, stream 0, unordered        value = S(m3) + S(m5)       any order gives the same sum
//
// Whoever knows what was sent (a capture, a generator) computes the same ledger and compares: a message lost, doubled, changed or out of order
// changes a chain. Order holds per association, stream and kind of delivery, which is what SCTP promises; so do the chains. Those of a session
// compare as a set.
//
// A session keeps at most [MaxChains] chains and [MaxNodes] nodes; of more, those that were used longest ago are folded into sums.
package ledger

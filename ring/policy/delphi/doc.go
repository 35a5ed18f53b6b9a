// Package delphi turns what experts expect of servers into the needs that the DRF policies go by (policy.Needs): the Delphi method of the
// paper of dominant-resource balancing.
//
//	round 1: CSV --Read--+
//	round 2: CSV --Read--+--> Panel.Evaluate --> settled:         Needs{Totals: TR, Nodes: N}
//	...                  |                       another round:   ask the experts again
//	                     +                       too few answers: ask those who did not answer
//
// An answer is an expert's smallest, likeliest and largest value of a factor of a server. It counts as (min + 4 likely + max)/6. N is the mean of a server's
// answers over rounds and experts; TR is that of the server named "total" or, where nobody was asked for it, the sum of N over the servers.
//
// # Readings
//
//   - The divisor is printed as 3 in one place and is 6 in the method it stems from: both can be chosen. As N and TR both double with 3, no share
//     changes, unless totals come from elsewhere.
//   - At least 90 % of the answers: of experts asked times servers and factors asked about, in each round. Asked about is what
//     at least one expert ever answered.
//   - Another round where more than 40 % of the coefficients of variation are over 0.5: those of the last round, one for each server and factor, the
//     standard deviation of the experts (not the estimate from a sample) over their mean; 0 where all say 0.
//   - The mean over rounds and experts takes all answers alike: a round with fewer of them counts less.
package delphi

// Package arrivals finds who arrives last where ranks synchronise, and why,
// from the times at which each rank entered its collectives, sends and
// receives; and, where the record ends in the middle of a collective, who is
// missing.
//
// Between two entries a rank works or waits. What it waits for is told from the
// data: after a call that blocks, the spread of the next entries does not depend
// on the spread of its own. With L the release of the call waited for, which is
// its last entry, and e the entries of a rank,
//
//	work(k) = e(k) − max(e(k−1), L)
//
// so that lateness which a rank inherits at a synchronisation point, or over a
// second group, is not its own. Own delay is its work less the lower median of
// the others in the same synchronisation point.
//
// A rank is struck where its own delay exceeds three robust standard deviations
// of the place. Members of a synchronisation point are exchangeable if all ranks
// are alike, so that of K strikes Binomial(K, 1/N) fall on one rank; p-values
// are corrected for all ranks and places. What fixing a rank gains is replayed:
// the same waits with the work of its peers.
//
// Clocks of different hosts are brought together by the entries. Nobody goes on
// from a call that blocks before its last entry, which bounds every offset from
// both sides; within the bounds it is the one that leaves the least own delay
// over all places. What may be an offset as well as a delay is not called a
// delay.
//
// Times are nanoseconds. Cost: O(calls × lags), memory 48 bytes a call.
package arrivals

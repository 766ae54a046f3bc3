// Package arrivals finds which rank arrives last at synchronisation points, and
// why, from the times at which each rank entered its collectives, sends and
// receives. If the record ends in the middle of a collective, it finds which rank
// is missing.
//
// Between two entries a rank works or waits. Which call it waits for is inferred
// from the data: after a call that blocks, the spread of the next entries does
// not depend on the spread of its own. Let L be the release of the blocking call,
// which is its last entry, and e the entries of a rank. Then
//
//	work(k) = e(k) − max(e(k−1), L)
//
// so that lateness inherited from a synchronisation point, or from a second
// group, is excluded. Own delay is a rank's work less the lower median of the
// others at the same synchronisation point; where members come from calls of
// different groups, at most the same since the last call that all of them entered.
//
// What repeats is divided into steps, the work before each call being a piece of its step and the
// calls that all ranks wait for its synchronisation points, and judged by package delay.
//
// Clocks of different hosts are aligned by the entries. No rank continues from a
// blocking call before its last entry, which bounds every offset from both
// sides; within the bounds, the offset with the least own delay over all places
// is chosen. What may equally be a clock offset is not reported as a delay.
//
// The numbers that decide where ranks wait and whose clock is off are set by hand; jobs of known truth hold
// them together: the generated ones of this package's tests, and the recordings of real jobs of go test
// ./cmd/sfstat -run DumpsOfRealJobs.
//
// Times are nanoseconds. Cost: O(calls × lags), memory 48 bytes per call and 40 for each call site, step
// and rank.
package arrivals

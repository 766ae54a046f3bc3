// Package sync finds who waits for whom, for how long and on which clock, from the times at which the ranks of a job
// entered their collectives, sends and receives, and divides what they do between those waits.
//
// Calls of all ranks are matched to synchronisation points. Between two entries a rank works or waits. Which call it
// waits for is inferred from the data: after a call that blocks, the spread of the next entries does not depend on the
// spread of its own. Let L be the release of the blocking call, which is its last entry, and e the entries of a rank. Then
//
//	work(k) = e(k) − max(e(k−1), L)
//
// so that lateness inherited from a synchronisation point, or from a second group, is excluded. Own delay is a rank's
// work less the lower median of the others at the same synchronisation point; where members come from calls of
// different groups, at most the same since the last call that all of them entered.
//
// Clocks of different hosts are aligned by the entries. No rank continues from a blocking call before its last entry,
// which bounds every offset from both sides; within the bounds, the offset with the least own delay over all places is
// chosen.
//
// The calls that repeat are divided into steps: the work before each call is a piece of its step, the calls that all
// ranks wait for are its synchronisation points. A [Division] holds them for package delay.
//
// Times are nanoseconds. Cost: O(calls × lags), memory 40 bytes per call and 40 for each call site, step and rank.
package sync

package pipeline

import "github.com/sfstat/sfstat/eval/simulate/internal/streams"

// What streams are for.
const (
	forWork     streams.Purpose = iota + 1 // durations on one worker in one step
	forLaunch                              // launch delays on one worker in one step
	forTransfer                            // transfers between stages from one worker in one step
	forGroup                               // transfers of collectives over replicas in one step
	forBetween                             // time before a step on one worker
	forSpeed                               // persistent speed of one worker
	forClock                               // clock of one worker
	forLength                              // lengths of the microbatches of one replica in one step
	forStrike                              // whether a random fault strikes in one step
	forHidden                              // where a fault hides
)

// worker names a worker to the streams; the name does not change when the job
// has more replicas.
func worker(dp, pp int) uint64 { return uint64(dp)<<32 | uint64(pp) }

// Package pipeline makes operator traces of hybrid-parallel training that
// never ran, with a culprit that is known: it asks what a profiler on every
// worker would have written had this job run with that fault.
//
// A job is DP replicas of a pipeline of PP stages, each a worker of TP ranks
// that move in step and are recorded as one. Every worker works off its
// queues: one of passes, in the order of the one-forward-one-backward schedule
// or, with several model chunks on a stage, of the interleaved one; one for
// each kind of transfer; one of collectives over the replicas. With all times
// in nanoseconds,
//
//	start(v) = max over u before v of end(u), or begin(worker)  + launch(v)
//	end(v)   = start(v) + duration(v)                           ordinary
//	end(v)   = max over the group g of start(g) + transfer(g)   communication
//	begin    = end of the worker's optimizer in the step before + between
//
// A group is a send with its receive, a collective over the replicas of a
// stage, the first with the last stage (embedding gradients), or everybody
// (clipping). Nothing else aligns workers, so time that one loses in its
// optimizer comes back as its late start of the next step. docs/campaign.md
// lists which operator waits for which.
//
// Units: int64 nanoseconds on the timeline, milliseconds in a [Spec].
//
// Assumptions: communication is a rendezvous, which starts when the last
// member has come and ends for all at once; durations do not depend on when an
// operator runs; the host never blocks the device other than by launch delays.
//
// A [Spec] is one run. The same Spec gives the same trace to the bit: every
// random number comes from a PCG stream of its own (seed, what it is for,
// worker or group, step). Faults draw from streams of their own too, so a run
// with a fault and its healthy twin share all their noise.
package pipeline

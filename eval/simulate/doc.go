// Package simulate makes windows of a training job that never ran, with a
// culprit that is known: it asks what a recorder on every rank would have
// written had this program run with that fault.
//
// The model is an event timeline, not a table of noise. Every rank r has a
// clock of its own in absolute nanoseconds, and walks through the stages of
// its step without regard to the others:
//
//	end = max(start, device) + work        a stage, which may await its device
//	end = max_g(end) + transfer + exit     where the program makes ranks synchronise
//
// The maximum runs over the ranks g that synchronise (all of them, or the group along
// some axes of the layout). Nothing else aligns ranks: a step begins where the
// last one ended, rank by rank, so time that a rank loses after the last
// synchronisation point of a step comes back as everybody else's wait in the next one.
// Durations are then measured as a recorder would, as differences of readings
// of the rank's own clock.
//
// Units: nanoseconds in int64 on the timeline, milliseconds in a [Spec].
//
// Assumptions: one host thread and one device queue per rank; a synchronisation point is a
// barrier followed by a transfer that takes all its members the same time; no
// two stages of a rank overlap on the host.
//
// A [Spec] is one run. The same Spec gives the same windows to the bit: every
// random number comes from a PCG stream of its own (seed, what it is for, rank
// or host or group, step). Faults draw from streams of their own too, so a run
// with a fault and the run without it share all their noise.
package simulate

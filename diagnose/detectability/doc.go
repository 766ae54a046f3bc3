// Package detectability asks how large a delay of one rank must be before it is found:
// in which stage, in a window of how many steps, with the noise of this job.
//
// A recording of the job without a fault is split into what every rank does by
// itself and what it waits. With x[r] the time at which rank r comes to the
// stage where all ranks synchronise, counted from the synchronisation point before, and d[r] what it
// spends there,
//
//	own[r] = d[r] − (max_q x[q] − x[r])
//
// which is the frontier's own split of wait and work. A window that never was is
// then made from rounds (from a synchronisation point to the next) of that recording, with a
// delay δ of rank h in one stage:
//
//	x'[h] = x[h] + δ        d'[r] = max_q x'[q] − x'[r] + own[r]
//
// so that whoever arrives later makes the others wait longer, across the end of a
// step too, as in a real job. Without a delay, and in the order in which they
// were recorded, the rounds give back the recording to the nanosecond.
//
// Rounds are drawn in blocks (circular block resampling), which keeps what
// consecutive steps have in common; a round's rows stay together over ranks,
// which keeps what ranks have in common. Whether a window is answered rightly is
// decided by the frontier and the verdict themselves: this package knows nothing
// about their gates, but for a first guess at where to look. The rate over
// replicates has its exact interval (Clopper and Pearson 1934). The smallest
// delay that is found with the asked power is bisected; every delay is tried on
// the same draws, and a replicate has a stream of random numbers of its own, so
// that the result is the same on any number of threads.
//
// That interval is about windows drawn from this recording, not about how well
// the recording stands for the job, and at a threshold it does not know of the
// search.
//
// Assumptions: the recording holds no fault; the delay adds to the work of its
// stage and changes nothing else; ranks leave a synchronisation point as in the recorded
// round. The work inside the synchronising stage is seen only through the last rank to
// finish it, so a late rank is charged the slowest work of the round on top: its
// step is too long by at most what ranks differ there (about 2 % of a step on
// the simulator's default job, measured in the tests).
//
// The package stands beside overhead, not among the engines, because it asks
// the verdict, which composes them. Times are nanoseconds.
package detectability

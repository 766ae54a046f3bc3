// Package whatif asks what a worker, a stage or a kind of operator costs: it
// replays the recorded steps with chosen durations made ideal and says how
// long they would have taken.
//
// A graph is the program of one step: which operators wait for which, and
// which transfer together. An operator starts when all that it waits for has
// ended, and, in nanoseconds,
//
//	start(v) = max over u before v of end(u), or the start of the step
//	end(v)   = start(v) + duration(v)                          ordinary
//	end(v)   = max over the group's starts + transfer(v)       in a group
//
// where the transfer of a member is its recorded end minus the last recorded
// start of its group: what it waited for the others is not its own. Launch
// delay is what a recorded start comes after its time; replays leave it out.
// The ideal duration of a kind of operator is its mean over all replicas,
// stages and steps, and for communication its median. Then, as means over the
// steps, with T(X) the step time when the operators X are as recorded and all
// others ideal,
//
//	S    = T(all) / T(none)                       slowdown by uneven work
//	S_X  = T(X) / T(none)                         what X alone causes
//	M_X  = (T(all) − T(all but X)) / (T(all) − T(none))
//
// M_X is the share of the excess that fixing X would save: M_W for the worst
// 3 % of the workers, M_S for the last stage. Method: What-if analysis,
// OSDI'25; docs/method-operators.md has the rules that build the graph of a
// hybrid-parallel step and what differs from the reference.
//
// Assumptions: all replicas run the same program in every step, and durations
// do not depend on when an operator runs. The package is pure; results do not
// depend on the number of processors.
package whatif

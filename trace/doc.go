// Package trace is the data model that every reader fills and every engine
// reads: what a training job's artifacts say, as values, and the invariants
// those values keep.
//
// It imports the standard library and what lies below it, does no I/O and
// computes no statistics. The model in one paragraph:
//
//   - a [Window] is consecutive steps of one run with one [Schema] (the same
//     ordered stages), one world size and one accumulation factor, as a dense
//     matrix of durations;
//   - a [Part] is one rank's share of a window, as a recorder writes it;
//     readers join parts into windows;
//   - a [Rank] carries its [Role], the coordinates (dp, pp, tp, ep, cp) that
//     decide which ranks are peers;
//   - what else a run leaves behind has a package of its own below: operators
//     one by one or summed (operator), profiles before they become windows and
//     operators, the time of devices (profile), communication
//     (comms), and what monitoring saw of hosts (health);
//   - where in an input something was found, and what is wrong or incomplete
//     there, is in package input; what the name of a stage tells, in stagename.
//
// Durations are whole nanoseconds in int64. Integers are a promise, not a
// convenience: sums of them have no rounding, so the frontier's telescoping
// identity holds exactly.
//
// Validation happens once, at the boundary: [Window.Validate] and
// [Part.Validate] refuse what is invalid. What is merely incomplete (a rank
// that never reported, a stage list that changed) is kept, and said in
// [Window.Notes].
package trace

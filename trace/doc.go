// Package trace is the data model that every reader fills and every engine
// reads: what a training job's artifacts say, as values, and the invariants
// those values keep.
//
// It is a leaf: it imports the standard library only, does no I/O and computes
// no statistics. The model in one paragraph:
//
//   - a [Window] is consecutive steps of one run with one [Schema] (the same
//     ordered stages), one world size and one accumulation factor, as a dense
//     matrix of durations;
//   - a [Part] is one rank's share of a window, as a recorder writes it;
//     readers join parts into windows;
//   - a [Rank] carries its [Role], the coordinates (dp, pp, tp, ep, cp) that
//     decide which ranks are peers;
//   - a profile of a rank (package profile, below) is what a profiler recorded of
//     it, before it becomes windows and operator traces;
//   - a [Pos] says where in an input something was found, and a [RecordError]
//     says what was wrong there.
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

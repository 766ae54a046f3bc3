// Package profiler reduces what a profiler recorded of one rank to a
// [profile.Rank], whatever the profiler was: steps and their stages on the host,
// device time by category, collectives, operators.
//
// A reader feeds a [Builder] with ranges of host time, launches and device
// work, in any order. Which step and stage launched a piece of work may stand at
// the very end of a recording, so device work is kept until then: packed, in runs
// by start, beyond 1 MB in a temporary file. Memory does not grow with it, and
// nothing is lost but, on request only, the list of single operators where there
// are more than it may hold.
//
// # Stages on the host
//
// Within a step, on the thread that marks steps, every moment belongs to the
// outermost range that [stagemap] maps to a stage; ranges nested in it count
// nothing, but for what runs inside an optimizer's closure. Ranges of another
// thread that work for the main one (the autograd engine) fill the time
// between the first and the last of them that nothing else has. A step with a
// backward pass and no forward one has its forward pass in the time before.
// What is left is the residual.
//
// # Stages on the device
//
// A host that runs ahead of its device says little about who is slow: its
// stages all look alike while it queues work. So the time of a step on the
// device is divided too, completely: with the work that a stage launched,
//
//	D(t)  = max(start of step t on the host, end of what earlier steps launched)
//	a moment of D(t) … D(t+1) in which other than communication runs: the stage that launched it
//	… in which communication alone runs: exposed communication of the stage that launched it
//	… in which nothing runs, before the next work was launched: the stage that the host is in
//	… in which nothing runs, after it was: the stage of the next work
//
// All times are nanoseconds.
package profiler

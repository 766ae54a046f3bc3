// Package stages divides the profiles of a run into stages. [Divide] returns
// a job: windows of stages, device times, when hosts entered collectives, and operators.
// Before that, [Jobs] sorts profiles into jobs: which rank each one is, which
// recordings are of one rank, which numbers of steps are alike.
//
// Exposed communication of a stage on the device is divided further where the
// same collective is found on the other members. With s(r) the start of a
// collective on rank r, all starts on one clock, and e its end,
//
//	transfer(r) = what would be exposed had all members entered when r did: up to e − (max s − s(r))
//	wait(r)     = the rest
//
// since a collective takes as long from any moment as it took once the last
// member had entered. Clocks are brought together by engine/clock: by the ends
// of collectives, else by sends and receives.
//
// Collectives are one across ranks by group and sequence number, or else by
// step, group, operation and order. Where ranks differ in how often they call in a
// step, nothing of that step and group is matched.
//
// Assumptions: a collective on the device ends on all its members at once;
// ranks of one step do the same work in the same order.
package stages

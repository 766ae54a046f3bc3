package answer

// Limit is what a delay of one rank has to be to be seen in a stage. Of a stage in which
// ranks synchronise all ranks record the same time, so that it may hide a delay.
type Limit struct {
	Stage    string // stage of the delay; empty: before any collective
	Reported int64  // least delay in every step that would have been reported, ns a step; absent: none would have been, or the stage hides it
	MayHide  int64  // largest delay that may hide in it, ns a step; absent: it hides none
}

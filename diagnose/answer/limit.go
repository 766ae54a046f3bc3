package answer

// Limit is what a delay of one rank has to be to be seen in a stage. Of a stage in which
// ranks synchronise all ranks record the same time, so that it may hide a delay.
type Limit struct {
	Stage    string // stage of the delay; empty: before any collective
	Reported int64  // least delay in every step that would have been reported, ns a step; absent: none would have been, or the stage hides it
	MayHide  int64  // largest delay that may hide in it, ns a step; absent: it hides none
}

// Coverage is what the recording shows of a place of a step: whether a delay of one rank there that is worth acting
// on would have been found, or how large one may be without being seen.
type Coverage struct {
	Stage  string // place of the delay; empty: anywhere in a step
	Seen   bool   // a delay worth acting on is found there
	Hides  int64  // largest delay of one rank that the recording does not show, ns a step; 0: none, or not known
	Least  int64  // least delay that is found, ns a step; 0: none is
	Reason Reason // why it is not seen; "" where it is
	Needs  Source // what would show it; "" where it is seen
}

// Reason is why a place is not seen.
type Reason string

// The reasons why a recording does not show a delay.
const (
	RanksWait     Reason = "ranks_wait"     // all ranks wait there for the last one, and record the same time
	RanksMayWait  Reason = "ranks_may_wait" // the times there neither show that ranks wait nor exclude it
	NoMeeting     Reason = "no_meeting"     // where the ranks wait for each other is not shown by the times
	TooNoisy      Reason = "too_noisy"      // only a larger delay than is worth acting on stands out of the noise
	Spread        Reason = "spread"         // a rank is late by a little in each of several stages, and in none for certain
	Uneven        Reason = "uneven"         // most ranks take longer than another one, perhaps by design
	TooCoarse     Reason = "too_coarse"     // times are rounded to more than the ranks' arrivals differ by
	Rounded       Reason = "rounded"        // rounding of the times there hides as much
	NotRecorded   Reason = "not_recorded"   // time in no stage, without the length of steps
	RanksUnknown  Reason = "ranks_unknown"  // ranks that others wait for left no recording
	NoPeers       Reason = "no_peers"       // no other rank does the same work
	MessagesBlind Reason = "messages"       // waits in sends and receives were not recorded
)

var reasons = []Reason{RanksWait, RanksMayWait, NoMeeting, TooNoisy, Spread, Uneven, TooCoarse, Rounded, NotRecorded, RanksUnknown, NoPeers, MessagesBlind}

// Names returns all reasons.
func (Reason) Names() []string { return namesOf(reasons) }

package evidence

// The evidence that entries of collectives, sends and receives give, as Flight
// Recorder dumps hold them. Times are nanoseconds.

// EnteredLast: a rank enters a collective last because of its own work; what it
// inherits from other synchronisation points is left out.
type EnteredLast struct {
	Rank    int         `json:"rank"`
	N       int         `json:"n"`  // points that it entered last
	Of      int         `json:"of"` // points
	Op      string      `json:"op"`
	Group   string      `json:"group"`
	Delay   int64       `json:"delay_ns"` // own, median of the points that it delayed
	Strikes int         `json:"strikes"`  // points that it delayed
	P       float64     `json:"p"`        // were all ranks alike; corrected for ranks and places
	Source  *SourceLine `json:"source_line,omitempty"`
}

// ArrivalsAgree: arrivals find a rank late that stage times find late too.
type ArrivalsAgree struct {
	EnteredLast
	Raised bool `json:"raised"` // from less certain by stage times alone
}

// NeverEntered: a rank is missing from a call in which others wait.
type NeverEntered struct {
	Rank    int         `json:"rank"`
	Op      string      `json:"op"`
	N       int64       `json:"n"` // of the call in its group
	Group   string      `json:"group"`
	Waiting []int       `json:"waiting"`
	Since   int64       `json:"since_ns"`    // when the first of them entered, since 1970
	AtLeast int64       `json:"at_least_ns"` // until the latest time in any dump
	At      *SourceLine `json:"at,omitempty"`
	LastOp  string      `json:"last_op,omitempty"` // that the missing rank entered in the group
	LastN   int64       `json:"last_n"`            // −1: none
	Last    *SourceLine `json:"last,omitempty"`
	In      string      `json:"waits_in,omitempty"` // the group that it waits in instead
	NoDump  bool        `json:"no_dump,omitempty"`  // all others wait, and of this rank there is no dump
}

// EnteredDifferently: ranks of a group disagree on a call.
type EnteredDifferently struct {
	Difference  string      `json:"difference"` // operation, sizes or types
	Group       string      `json:"group"`
	N           int64       `json:"n"`
	Ranks       []int       `json:"ranks"`
	Op          string      `json:"op"`
	Sizes       string      `json:"sizes,omitempty"`
	Types       string      `json:"types,omitempty"`
	Others      []int       `json:"others"`
	OthersOp    string      `json:"others_op"`
	OthersSizes string      `json:"others_sizes,omitempty"`
	OthersTypes string      `json:"others_types,omitempty"`
	Source      *SourceLine `json:"source_line,omitempty"`
}

// LateBehindMessages: ranks are late together, after sends and receives that are
// counted and not recorded: which of them is the cause cannot be told.
type LateBehindMessages struct {
	Ranks []int `json:"ranks"`
	Delay int64 `json:"delay_ns"`
}

func (EnteredLast) Kind() Kind        { return "last_in_collective" }
func (ArrivalsAgree) Kind() Kind      { return "arrivals_agree" }
func (NeverEntered) Kind() Kind       { return "never_entered" }
func (EnteredDifferently) Kind() Kind { return "entered_differently" }
func (LateBehindMessages) Kind() Kind { return "late_behind_messages" }

// Why a finding of arrivals is not more certain.
const (
	ReasonFewPoints Reason = "few_points"            // N strikes, P
	ReasonClock     Reason = "clock_not_excluded"    // the delay is below what is known of the clock
	ReasonDumpTime  Reason = "dump_time_unknown"     // the wait may be of a job that goes on
	ReasonNoDump    Reason = "no_dump"               // nothing of it was recorded: it may have failed, or its dump was lost
	ReasonMessages  Reason = "messages_not_recorded" // what it waits for in sends and receives is not known
	ReasonInherited Reason = "delay_inherited"       // it waited for another that is late
)

package evidence

// The evidence that entries of collectives, sends and receives give, as Flight
// Recorder dumps hold them. Times are nanoseconds.

// LastToEnter: a rank enters collectives last because of its own work; what it
// inherits from other synchronisation points is left out. Entries come from dumps
// (FromArrivals) or from calls with their kernels (FromNCCL).
type LastToEnter struct {
	Source Source `json:"source" doc:"recording of the entries: arrivals or nccl"`
	Rank   int    `json:"rank" doc:"the rank"`
	N      int    `json:"n" doc:"collectives that it entered last"`
	Of     int    `json:"of" doc:"collectives that it took part in"`
	Delay  int64  `json:"delay_ns" doc:"its own delay, median over those that it delayed"`

	P     float64 `json:"p" doc:"chance of it if all ranks were alike; corrected for ranks and places"`
	Among int     `json:"among,omitempty" doc:"ranks that were compared"`

	Strikes int         `json:"strikes,omitempty" doc:"collectives that it delayed"`
	Op      string      `json:"op,omitempty" doc:"operation of the collectives"`
	Group   string      `json:"group,omitempty" doc:"process group of the collectives"`
	Line    *SourceLine `json:"source_line,omitempty" doc:"where the program enters them"`
	After   *SourceLine `json:"after_line,omitempty" doc:"where it entered the call before them, if that is another line"`

	Share    float64 `json:"share,omitempty" doc:"its own delay in all, as a fraction of the recording"`
	Own      int64   `json:"own_delay_ns,omitempty" doc:"its own delay in all, beyond the median rank's"`
	Waited   int64   `json:"waited_ns,omitempty" doc:"what it waited for others in all"`
	Transfer int64   `json:"transfer_ns,omitempty" doc:"time of its collectives in all, with all ranks there"`
}

// EntersLast returns the evidence that a rank enters collectives last, by a recording.
func EntersLast(list []Observation, source Source) (LastToEnter, bool) {
	return FindIf(list, func(e LastToEnter) bool { return e.Source == source })
}

// NeverEntered: a rank is missing from a call in which others wait.
type NeverEntered struct {
	Rank    int         `json:"rank" doc:"the rank that is missing; -1: the dumps do not tell which"`
	Op      string      `json:"op" doc:"operation of the call"`
	N       int64       `json:"n" doc:"number of the call in its group"`
	Group   string      `json:"group" doc:"process group of the call"`
	Waiting []int       `json:"waiting" doc:"ranks that wait in it"`
	Since   int64       `json:"since_ns" doc:"when the first of them entered, since 1970"`
	AtLeast int64       `json:"at_least_ns" doc:"time from then until the latest time in any dump"`
	At      *SourceLine `json:"at,omitempty" doc:"where the others entered from"`
	LastOp  string      `json:"last_op,omitempty" doc:"operation that the missing rank entered last in the group"`
	LastN   int64       `json:"last_n" doc:"number of that call; -1: none"`
	Last    *SourceLine `json:"last,omitempty" doc:"where it entered that call from"`
	In      string      `json:"waits_in,omitempty" doc:"group in which it waits instead"`
	NoDump  bool        `json:"no_dump,omitempty" doc:"all others wait, and this rank left no dump"`
	Dump    string      `json:"dump,omitempty" doc:"what its dump is that does not show whether it entered: cut, damaged, empty, overwritten or older"`
	Unknown []int       `json:"unknown,omitempty" doc:"ranks whose dumps are missing or do not show whether they entered"`
	GaveUp  bool        `json:"gave_up,omitempty" doc:"the ranks that wait gave up, as their logs say; how far others got is known as far as they report"`
	Stack   *SourceLine `json:"stack,omitempty" doc:"line that its main thread is in by py-spy"`
}

// EnteredDifferently: ranks of a group disagree on a call.
type EnteredDifferently struct {
	Difference  string      `json:"difference" doc:"what differs: operation, sizes or types"`
	Group       string      `json:"group" doc:"process group of the call"`
	N           int64       `json:"n" doc:"number of the call in its group"`
	Ranks       []int       `json:"ranks" doc:"ranks that differ from the others"`
	Op          string      `json:"op" doc:"operation that they entered"`
	Sizes       string      `json:"sizes,omitempty" doc:"sizes that they entered it with"`
	Types       string      `json:"types,omitempty" doc:"types that they entered it with"`
	Others      []int       `json:"others" doc:"the other ranks"`
	OthersOp    string      `json:"others_op" doc:"operation that the others entered"`
	OthersSizes string      `json:"others_sizes,omitempty" doc:"sizes that the others entered it with"`
	OthersTypes string      `json:"others_types,omitempty" doc:"types that the others entered it with"`
	Source      *SourceLine `json:"source_line,omitempty" doc:"where the ranks entered it from"`
}

// LateBehindMessages: ranks are late together, after sends and receives that are
// counted and not recorded: which of them is the cause cannot be known.
type LateBehindMessages struct {
	Ranks []int `json:"ranks" doc:"ranks that are late together"`
	Delay int64 `json:"delay_ns" doc:"how much later than the others they arrive"`
}

func (LastToEnter) Kind() Kind        { return "last_to_enter" }
func (NeverEntered) Kind() Kind       { return "never_entered" }
func (EnteredDifferently) Kind() Kind { return "entered_differently" }
func (LateBehindMessages) Kind() Kind { return "late_behind_messages" }

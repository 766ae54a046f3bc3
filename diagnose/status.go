package diagnose

// Status is the answer to a run in one word.
type Status uint8

const (
	TooLittleData  Status = iota
	NoStraggler           // nothing of the least gain or more can hide in this data
	UndecidedRun          // something that large may hide; Undecided says where
	SlowEverywhere        // all ranks alike are slower: than a baseline, or in some steps than in others
	ImbalanceRun          // work is uneven by design: a stage, sequence lengths
	Straggler             // a rank, host or group delays the others
	Hang                  // a rank never entered a collective that others wait in
)

var statusNames = [...]string{"too_little_data", "no_straggler", "undecided", "slow_everywhere", "imbalance", "straggler", "hang"}

func (s Status) String() string { return nameOf(statusNames[:], int(s), "status") }

// Undecided is a question that the data leave open.
type Undecided struct {
	Question Question `json:"question"`
	Stage    string   `json:"stage,omitempty"`
	// Hides is the largest delay that may hide there, ns a step; 0: not known.
	Hides int64  `json:"hides_ns,omitempty"`
	N     int    `json:"n,omitempty"` // what the question counts
	Needs Source `json:"needs,omitempty"`
	// Name is that of what the question is about, where it is no stage.
	Name  string  `json:"name,omitempty"`
	Share float64 `json:"share,omitempty"` // of the step
	// About are links and communicators that the question is about; N of them.
	About []Subject `json:"about,omitempty"`
}

// Question is what cannot be told. It is a name, in the JSON too; package
// report has a sentence for each.
type Question string

// Source is what would answer a question, or what to turn on.
type Source string

// Action is something to do next.
type Action struct {
	Action ActionKind `json:"action"`
	Host   string     `json:"host,omitempty"`
	Ranks  []int      `json:"ranks,omitempty"` // the suspects first
	Stages []string   `json:"stages,omitempty"`
	Steps  *[2]int64  `json:"steps,omitempty"` // first and last, as recorded
	Window *int64     `json:"window,omitempty"`
	With   Source     `json:"with,omitempty"`
}

// ActionKind is what to do.
type ActionKind string

const (
	InspectHost ActionKind = "inspect_host" // drain it, or look at its clocks, throttling, temperature
	Profile     ActionKind = "profile"      // ranks in steps, with a kernel profiler
	SampleStack ActionKind = "sample_stack" // py-spy on ranks
	CheckLoader ActionKind = "check_loader" // the data loader's own metrics
	TurnOn      ActionKind = "turn_on"      // a source that would decide
	TestLink    ActionKind = "test_link"    // nccl-tests between ranks
	Compare     ActionKind = "compare"      // with a healthy run, or another job
)

// Problem is something that was lost, skipped or refused.
type Problem struct {
	Problem ProblemKind `json:"problem"`
	Path    string      `json:"path,omitempty"`
	Window  *int64      `json:"window,omitempty"`
	Ranks   []int       `json:"ranks,omitempty"`
	Steps   *[2]int64   `json:"steps,omitempty"`
	N       int         `json:"n,omitempty"`
	Of      int         `json:"of,omitempty"`
}

// ProblemKind is what happened.
type ProblemKind string

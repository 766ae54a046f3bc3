package detectability

import (
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Limits on what may be asked.
const (
	MostReplicates = 100_000
	MostSteps      = 100_000
)

// confidence is that of every interval of a rate.
const confidence = 0.95

// Answer is a right answer to a window with a delay.
type Answer uint8

const (
	RoutedFirst  Answer = iota // the delayed stage has the largest share, by the automatic cut
	RoutedSecond               // … or the second largest
	PaperFirst                 // the same by the paper's cut
	PaperSecond
	Called // the verdict names rank and stage first, and is supported or strong
	answerCount
)

var answerNames = [...]string{"top-1", "top-2", "paper_top-1", "paper_top-2", "called"}

func (a Answer) String() string { return enum.Name(answerNames[:], a) }

// Options of an examination. Start from DefaultOptions.
type Options struct {
	Power      float64 // the rate at which a delay counts as found, in (0, 1)
	Steps      []int   // lengths of windows to ask about; empty: that of the recording
	Asked      int64   // a delay to answer for besides, ns; 0: none
	Replicates int     // windows for each rate
	Block      int     // consecutive rounds that are drawn together; 0: the root of their number
	Seed       uint64
	Most       float64 // the largest delay that is tried, in step times
	Frontier   frontier.Options

	// Progress is told the part that is done, in [0, 1]; may be nil.
	Progress func(part float64)
}

// DefaultOptions take seconds for 8 ranks and 120 steps.
func DefaultOptions() Options { return Options{Power: 0.8, Replicates: 100, Seed: 1, Most: 2} }

// Validate refuses what cannot be asked, naming the option.
func (o *Options) Validate() error {
	switch {
	case !(o.Power > 0 && o.Power < 1):
		return fmt.Errorf("a power of %v, expected above 0 and below 1", o.Power)
	case o.Replicates < 1 || o.Replicates > MostReplicates:
		return fmt.Errorf("%d replicates, expected 1 to %d", o.Replicates, MostReplicates)
	case o.Block < 0 || o.Asked < 0:
		return fmt.Errorf("block %d and delay %d ns, expected 0 or more", o.Block, o.Asked)
	case !(o.Most > 0 && o.Most <= 100):
		return fmt.Errorf("a largest delay of %v steps, expected above 0 and at most 100", o.Most)
	}
	for _, n := range o.Steps {
		if n < 2 || n > MostSteps {
			return fmt.Errorf("a window of %d steps, expected 2 to %d", n, MostSteps)
		}
	}
	return nil
}

// Account is what delays are found in windows of a job.
type Account struct {
	Run        string
	Ranks      int
	Rounds     int     // whole steps of the recording that were resampled
	StepTime   int64   // ns, median
	SyncPoint  string  // stage at whose end all ranks have met
	Power      float64 // asked for
	Asked      int64   // ns; 0: none
	Most       int64   // the largest delay that was tried, ns
	Replicates int
	Block      int
	Seed       uint64
	// Suspect is the verdict that flags something in the recording itself, which should
	// hold no fault; nil is nothing.
	Suspect *diagnose.RunVerdict
	Windows []Window // by Options.Steps
}

// Window is what is found in windows of one length.
type Window struct {
	Steps      int
	FalseCalls bootstrap.Rate // something is called though nothing is delayed
	Stages     []Stage        // in recorded order
}

// Stage is what delays of one rank in one stage are found.
type Stage struct {
	Name       string
	Syncs      bool // all ranks synchronise in it, so that its times do not show who was late
	AfterSync  bool // a delay comes after the last synchronisation point of a step: others wait in the next
	Thresholds [answerCount]Threshold
	Asked      *Tried // at the delay that was asked about
	// Astray is the delay that was answered wrongly most often, of all tried.
	Astray *Tried
}

// Tried is how windows with a delay were answered.
type Tried struct {
	Delay int64 // ns
	Rates [answerCount]bootstrap.Rate
	Wrong bootstrap.Rate // a stage or rank that is not delayed is called
}

// Threshold is the smallest delay that is answered rightly with the power.
type Threshold struct {
	State State
	Delay int64          // ns; 0 when Already, the largest tried when Beyond
	Below int64          // ns: the largest delay tried that was not
	Guess int64          // ns: where shares that are sums would put it; −1: no guess
	Rate  bootstrap.Rate // at Delay
}

// State is whether there is a threshold.
type State uint8

const (
	Found   State = iota
	Already       // it holds without any delay: a stage that leads leads
	Beyond        // not at the largest delay that was tried
)

var stateNames = [...]string{"found", "already", "beyond"}

func (s State) String() string { return enum.Name(stateNames[:], s) }

// Examine finds the thresholds of a job from a recording without a fault: the
// validated windows of one run, in order. O(replicates · stages · T·S·R) for
// each length, times some twenty delays.
func Examine(windows []*trace.Window, o Options) (*Account, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j, err := newJob(windows, o.Frontier)
	if err != nil {
		return nil, err
	}
	a := &Account{Run: windows[0].Run, Ranks: j.ranks(), Rounds: j.rounds(), StepTime: j.stepTime(),
		Power: o.Power, Asked: o.Asked, Replicates: o.Replicates, Block: o.Block, Seed: o.Seed}
	a.SyncPoint = stagename.Residual
	if j.at < len(j.like.Schema.Stages) {
		a.SyncPoint = j.like.Schema.Stages[j.at]
	}
	a.Most = int64(o.Most * float64(a.StepTime))
	if a.Block == 0 {
		a.Block = int(math.Ceil(math.Sqrt(float64(a.Rounds))))
	}
	a.Block = min(a.Block, a.Rounds)
	if a.Suspect, err = suspected(windows, o.Frontier); err != nil {
		return nil, err
	}
	lengths := o.Steps
	if len(lengths) == 0 {
		lengths = []int{windows[0].Steps()}
	}
	if longest := float64(slices.Max(lengths)+1) * j.longest(max(a.Most, a.Asked)); longest > float64(trace.MaxTotal/(len(j.rows)+1)) {
		return nil, input.Bad(input.ErrOverflow, "windows of %d steps with delays up to %d ns would sum past what a window holds: ask for fewer steps or smaller delays",
			slices.Max(lengths), max(a.Most, a.Asked))
	}
	for i, steps := range lengths {
		s := &search{job: j, o: o, account: a, steps: steps, tried: map[key]*Tried{}}
		if o.Progress != nil {
			s.progress = func(part float64) { o.Progress((float64(i) + part) / float64(len(lengths))) }
		}
		w, err := s.window()
		if err != nil {
			return nil, err
		}
		a.Windows = append(a.Windows, w)
	}
	return a, nil
}

// suspected is the verdict on the recording, if something is flagged in it.
func suspected(windows []*trace.Window, o frontier.Options) (*diagnose.RunVerdict, error) {
	s := diagnose.New(diagnose.Options{Frontier: o})
	for _, w := range windows {
		if err := s.Add(w); err != nil {
			return nil, err
		}
	}
	v := s.Verdict()
	if slices.ContainsFunc(v.Findings, callable) {
		return &v.RunVerdict, nil
	}
	return nil, nil
}

// callable reports whether a suspect is sure enough to act on.
func callable(s diagnose.Finding) bool { return s.Flagged() }

package frontier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Baseline is what a stage is clipped to when its gain is computed.
type Baseline uint8

const (
	CohortMedian Baseline = iota // median over ranks of the ranks' window medians
	RankMedian                   // each rank's own window median; blind to persistent faults
	Reference                    // Options.Reference
)

// UnknownStageError is that of [Options.SyncAfter] where it names no stage of the window.
type UnknownStageError struct {
	Name   string
	Stages []string
}

func (e *UnknownStageError) Error() string {
	return fmt.Sprintf("no stage is called %q, the stages are %s", e.Name, strings.Join(e.Stages, ", "))
}

// Options of an analysis. The zero value is usable: automatic cut, model fit
// from the data, cohort median, default gates.
type Options struct {
	Cut      Cut
	ModelFit FitMode
	Baseline Baseline
	// Reference is a no-stall duration in nanoseconds for every stage of the
	// window's schema (and, last, the residual when there is one).
	Reference []int64
	// SyncAfter names the stage at whose end the ranks synchronise; "" detects it.
	SyncAfter string
	// Gates; nil means gates.Default.
	Gates *gates.Gates
	// Brief leaves out what no finding rests on: the paper's account beside an automatic cut; how far the
	// ranks' clocks differ; the comparison methods; gains, unless they are against another run, and the model fit; who
	// is late and who leads; how far ranks lag, but where they arrive at their synchronisation
	// point; and strong labels, CoCritical, and the reasons that rest on these.
	Brief bool
}

// Result is the account of one window over one set of ranks. Times are sums
// over the window's steps in nanoseconds unless said otherwise. Stages are
// semantic groups: accumulation-indexed stages are put together only after
// the frontier was taken.
type Result struct {
	Run       string // identity of the run
	Window    int64  // number of the window in its run
	Cut       Cut    // where steps begin
	CutReason CutReason
	Group     string // role group of these ranks; "" for all ranks
	WorldSize int    // ranks of the job
	Ranks     []int  // IDs of the ranks in this account, ascending
	// Steps are one less than the window has in a sync cut, unless it follows another or the ranks synchronise at
	// the end of the step.
	Steps     int          // steps of the cut; a sync cut has one less than was recorded
	FirstStep int64        // index of the first step
	Every     int64        // by how much the indices of successive steps differ; 0: 1
	Members   []trace.Rank // the same ranks with hosts and roles

	Makespan  int64   // Σ_t F[t,S]; equals the sum of the stages' advances exactly
	Stages    []Stage // the stages, in the order of the cut
	Substages []Stage // the stages as recorded where accumulation expands them, else empty

	labels.Decision
	Leader    Leader
	Baselines []Ordering
	Quality   Quality   // how complete and how closed the input is
	SyncPoint SyncPoint // where the ranks synchronise
	ModelFit  Fit
	// Culprits are claims about one rank that others waited for because of one stage, by what they charge. Their ranks are IDs,
	// and the stage of their part is an index in Stages.
	Culprits []claim.Claim
	Saves    *float64 // part of the makespan that goes if no rank is late; nil below the floor or without model fit
	Work     []int64  // time that each rank of ranks does not wait where ranks synchronise
	Device   *Device  // device timers of a stage; nil: none were recorded

	evidence labels.Evidence // what the decision was made from
	slip     []float64       // [stage] as Slack says
}

// StepAt returns the index of step t of the account.
func (r *Result) StepAt(t int) int64 { return r.FirstStep + int64(t)*max(1, r.Every) }

// LastStep returns the index of the last step; without any, that of the first.
func (r *Result) LastStep() int64 { return r.StepAt(max(1, r.Steps) - 1) }

// Stage is the account of one stage.
type Stage struct {
	Name        string   // name of the stage; accumulation-indexed stages are grouped under their common name, except in substages
	Advance     int64    // exposed time: how far the stage moves the frontier, summed over steps. The advances of the stages add up to Makespan exactly
	Share       *float64 // Advance over the makespan, 0 to 1; nil where the makespan is at or below the denominator floor
	Gain        *float64 // part of the makespan saved if the stage were clipped to its baseline and nothing else changed, 0 to 1; nil as Share, or without a baseline
	SyncGain    *float64 // the same when the waits that the stage induces in others go with it; nil without model-fit evidence
	MaxShare    *float64 // the share that sums of the largest duration over ranks would give; nil as Share
	MeanShare   *float64 // the share that sums of the mean duration over ranks would give; nil as Share
	Latest      []int    // IDs of the ranks that are latest at the end of the stage over the window, within the leader tolerance
	Lag         int64    // sum over steps of the latest arrival less the median arrival at the end of the stage
	LagIncrease int64    // sum over steps of what this stage adds to that lag, where it adds
	Gap         int64    // sum over steps of the latest arrival less the second latest; 0 for one rank
	Syncs       bool     // the ranks synchronise in this stage: a rank that arrives later waits less
	Wait        int64    // mean time that ranks wait in this stage for the last one, summed over steps; 0 where they do not synchronise
}

// Leader is who is latest at the end of the leading stage.
type Leader struct {
	Stage     int  // index in Stages; −1 when nothing leads
	Rank      *int // ID of the rank that leads most confident steps; nil when none does
	Steps     int  // confident steps that this rank leads
	Confident int  // steps with one rank surely latest
	Switches  int  // changes between consecutive confident leaders
	Rate      *float64
}

// Quality says how complete and how closed the input is.
type Quality struct {
	// Residual and overlap are sums over the steps, over the sum of the wall time.
	ClosureResidual float64       // part of the wall time that no stage covers, on the worst rank, 0 to 1
	OverlapError    float64       // part by which stages exceed the wall time, on the worst rank
	Missing         trace.RankSet // ranks that should have reported and did not
	GatherOK        bool          // the recorder gathered the window from all ranks
	SchemaOK        bool          // all ranks recorded the same stages
	Wall            bool          // wall time was recorded
	Notes           []input.Note  // of the window
}

// Texts returns the notes in the words of the readers and recorders that wrote them.
func (q Quality) Texts() (texts []string) {
	for _, n := range q.Notes {
		texts = append(texts, n.Text)
	}
	return texts
}

// Boundary is a stage at whose end the ranks may synchronise, and the evidence.
type Boundary struct {
	Name         string // name of the stage
	points.Point        // its Stage is in the order in which the step records them
	Syncs        bool   // all ranks synchronise here, by that interval
	Within       string // axes of the layout along which sets of ranks synchronise here among themselves, such as tp; empty otherwise

	sets [][]int // columns, with Within
}

// SyncPoint is where the ranks synchronise.
type SyncPoint struct {
	At          int             // stage, in recorded order, at whose end the sync cut begins; −1: unknown
	Name        string          // the stage at whose end the sync cut cuts; "" when none is clear
	Evidence    points.Evidence // how it is known: by the slope (shown), by the name of the stage (likely), by the caller (named), or not (unknown)
	Meetings    string          // the stage in which ranks synchronise in one step of several, where they do not in each; "": none
	Every       int             // of how many; 0: none
	WithinPeers bool            // ranks of equal role synchronise, ranks of different roles do not
	Skew        int64           // how far apart the ranks' clocks or starts are at the first step
	Drift       float64         // largest drift between two ranks, parts per million
	Boundaries  []Boundary      // the evidence for every recorded stage; empty with too few steps or ranks
}

// Stages returns the recorded stages in which all ranks synchronise.
func (m SyncPoint) Stages() []string {
	var names []string
	for i, b := range m.Boundaries {
		if b.Syncs || i == m.At {
			names = append(names, b.Name)
		}
	}
	return names
}

// Device is what a device-event channel says about the stage that it times.
type Device struct {
	Channel string   // name of the channel
	Stages  []int    // indices in Stages that it times
	Names   []string // the stages that it times
	labels.Events
	Rank   int     // ID of the rank with the longest stage
	Time   float64 // its mean device time
	Wall   float64 // its mean host wall time over the same steps
	Peers  float64 // median over the other ranks of their mean device time
	Excess float64 // Time less Peers
	// PeerWall is the median over the other ranks of their mean host wall time, nanoseconds; 0 without any.
	PeerWall float64
	// PerStep estimates the excess of all steps from that of the sampled ones and
	// the lengths of both, nanoseconds.
	PerStep float64
	// P bounds the chance of so long times beside its peers' in the same step if all
	// ranks were alike, by Student's t and by size, for all ranks. 1 where fewer than
	// three steps have times of it and of others.
	P float64
}

// BelowFloor reports whether the window is too short for shares to mean anything.
func (r *Result) BelowFloor() bool {
	return len(r.Stages) > 0 && !slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Share != nil })
}

// Slack returns how long a rank may be delayed in a stage, ns a step, before others wait for it longer than they wait for the
// last of the others: the mean over ranks and steps, where the ranks synchronise next. 0 where nothing is known of when ranks
// arrive: of one rank, below the denominator floor.
func (r *Result) Slack(stage int) float64 {
	if stage >= len(r.slip) {
		return 0
	}
	return r.slip[stage]
}

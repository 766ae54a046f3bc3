package frontier

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/enum"
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
	Depth Depth
}

// Depth is how much of an account is asked for.
type Depth uint8

const (
	WholeAccount Depth = iota
	// FindingsOnly leaves out what no finding rests on: the paper's account beside
	// an automatic cut; how far the ranks' clocks differ; the comparison methods; gains with
	// induced waits and the model fit; how far ranks lag, but where they arrive at their
	// synchronisation point and in a leading stage that one rank leads; and strong labels, CoCritical, and the reasons that rest on these.
	FindingsOnly
)

// Result is the account of one window over one set of ranks. Times are sums
// over the window's steps in nanoseconds unless said otherwise. Stages are
// semantic groups: accumulation-indexed stages are put together only after
// the frontier was taken.
type Result struct {
	Run       string
	Window    int64
	FirstStep int64
	Steps     int // steps of the cut; a sync cut has one less than the window, unless it follows another or the ranks synchronise at the end of the step
	// LeftOut are the recorded steps that end after the last synchronisation
	// point of their stretch of steps, and are in no account of a sync cut.
	LeftOut   []int64
	WorldSize int
	Ranks     []int        // IDs of the ranks in this frontier, ascending
	Members   []trace.Rank // the same ranks with hosts and roles
	Work      []int64      // per rank of Ranks: Σ_t time not spent waiting at a synchronisation point
	Group     string       // role group of these ranks, "" for all

	Cut       Cut
	CutReason CutReason

	Makespan  int64 // Σ_t F[t,S]; equals the sum of the stages' advances exactly
	Stages    []Stage
	Substages []Stage // the stages as recorded, when accumulation expands them; else nil

	labels.Decision
	Leader    Leader
	Baselines []Ordering
	Quality   Quality
	SyncPoint SyncPoint
	ModelFit  Fit
	Culprits  []Culprit // ranks that others waited for because of one stage, by descending Explained
	Saves     *float64  // part of the makespan that goes if no rank is late; nil below the floor
	Device    *Device   // nil without a device-event channel

	evidence labels.Evidence // what the decision was made from
	slip     []float64       // [stage] how far ranks are behind the last other where they next synchronise, ns
}

// Stage is the account of one stage.
type Stage struct {
	Name        string   `json:"name" doc:"name of the stage; accumulation-indexed stages are grouped under their common name, except in substages"`
	Advance     int64    `json:"advance_ns" doc:"exposed time: how far the stage moves the frontier, summed over steps. The advances of the stages add up to makespan_ns exactly"`
	Share       *float64 `json:"share" doc:"advance_ns ÷ makespan_ns, 0 to 1; null where the makespan is at or below the denominator floor"`
	Gain        *float64 `json:"gain" doc:"part of the makespan saved if the stage were clipped to its baseline and nothing else changed, 0 to 1; null as share, or without a baseline"`
	SyncGain    *float64 `json:"sync_gain" doc:"the same when the waits that the stage induces in others go with it; null without model-fit evidence"`
	MaxShare    *float64 `json:"max_share" doc:"the share that sums of the largest duration over ranks would give; null as share"`
	MeanShare   *float64 `json:"mean_share" doc:"the share that sums of the mean duration over ranks would give; null as share"`
	Latest      []int    `json:"latest_ranks" doc:"IDs of the ranks that are latest at the end of the stage over the window, within the leader tolerance"`
	Lag         int64    `json:"lag_ns" doc:"sum over steps of the latest arrival less the median arrival at the end of the stage"`
	LagIncrease int64    `json:"lag_increase_ns" doc:"sum over steps of what this stage adds to that lag, where it adds"`
	Gap         int64    `json:"gap_ns" doc:"sum over steps of the latest arrival less the second latest; 0 for one rank"`
	Syncs       bool     `json:"synchronises" doc:"the ranks synchronise in this stage: a rank that arrives later waits less"`
	Wait        int64    `json:"wait_ns" doc:"mean time that ranks wait in this stage for the last one, summed over steps; 0 where they do not synchronise"`
	Saves       *float64 `json:"saves" doc:"part of the makespan that goes if no rank is late because of this stage; null below the floor or without model fit"`
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

// leads reports whether one rank is surely the latest in most steps.
func (r *Result) leads() bool { return r.Leader.Rank != nil && 10*r.Leader.Steps >= 8*r.Steps }

// Quality says how complete and how closed the input is.
type Quality struct {
	ClosureResidual float64 // largest over ranks of Σ residual ÷ Σ wall
	OverlapError    float64 // largest over ranks of Σ overlap ÷ Σ wall
	Wall            bool    // wall time was recorded
	Missing         []int   // IDs of ranks that did not report
	GatherOK        bool
	SchemaOK        bool
	Notes           []input.Note // of the window
}

// Boundary is a stage at whose end the ranks may synchronise, and the evidence.
type Boundary struct {
	Stage int    `json:"-"` // index in the order in which the step records its stages
	Name  string `json:"stage" doc:"name of the stage"`
	// Slope of the stage's duration on the rank's arrival, both as deviations
	// from the other ranks and from the rank's own trend: −1 where a rank that
	// arrives later waits less by as much, 0 where ranks run on freely. Low and
	// High bound its median over steps at the gate's confidence.
	Slope  float64 `json:"slope" doc:"slope of the stage's duration on the rank's arrival: -1 where a rank that arrives later waits less by as much, 0 where ranks run on freely"`
	Low    float64 `json:"slope_low" doc:"lower end of its interval"`
	High   float64 `json:"slope_high" doc:"upper end of its interval"`
	Syncs  bool    `json:"synchronises" doc:"all ranks synchronise here, by that interval"`
	Within string  `json:"within" doc:"axes of the layout along which sets of ranks synchronise here among themselves, such as tp; empty otherwise"`
	// Before and After are the medians over steps of the last rank's lead over
	// the median rank, in nanoseconds, when the stage begins and when it ends;
	// 0 in windows where a slope is certain.
	Before int64 `json:"spread_before_ns" doc:"median over steps of the lead of the last rank over the median rank when the stage begins; 0 where a slope is certain"`
	After  int64 `json:"spread_after_ns" doc:"the same when it ends"`

	sets   [][]int   // columns, with Within
	slopes []float64 // over all ranks
}

// SyncEvidence is how it is known where the ranks synchronise.
type SyncEvidence uint8

const (
	SyncUnknown SyncEvidence = iota
	// SyncLikely: no slope is certain (too few steps or ranks, or no noise),
	// but leads collapse in a stage in every step where a rank was surely late;
	// or, failing that, it is the stage that reduces gradients by its name, and
	// its slope does not exclude it.
	SyncLikely
	SyncShown // the slope is certain
	SyncNamed // by the caller
)

var syncEvidenceNames = [...]string{"unknown", "likely", "shown", "named"}

func (m SyncEvidence) String() string { return enum.Name(syncEvidenceNames[:], m) }

// Sure reports whether strong claims may rest on the synchronisation point.
func (m SyncEvidence) Sure() bool { return m == SyncShown || m == SyncNamed }

// SyncPoint is where the ranks synchronise.
type SyncPoint struct {
	At          int          `json:"-"` // stage, in recorded order, at whose end the sync cut begins; −1: unknown
	Name        string       `json:"at" null:"zero" doc:"the stage at whose end the sync cut cuts; null when none is clear"`
	Evidence    SyncEvidence `json:"evidence" doc:"how it is known: by the slope (shown), by leads that collapse (likely), by the caller (named), or not (unknown)"`
	WithinPeers bool         `json:"within_peers" doc:"ranks of equal role synchronise, ranks of different roles do not"`
	Skew        int64        `json:"skew_ns" doc:"how far apart the ranks' clocks or starts are at the first step"`
	Drift       float64      `json:"drift_ppm" doc:"largest drift between two ranks, parts per million"`
	Boundaries  []Boundary   `json:"boundaries" doc:"the evidence for every recorded stage; empty with too few steps or ranks"`
}

// Stages are the recorded stages in which all ranks synchronise.
func (m SyncPoint) Stages() []string {
	var names []string
	for i, b := range m.Boundaries {
		if b.Syncs || i == m.At {
			names = append(names, b.Name)
		}
	}
	return names
}

// Culprit is a rank that others waited for because of one stage.
type Culprit struct {
	Rank  int // ID
	Stage int // index in Stages
	// Explained is the exposed time charged to this rank and stage: each
	// nanosecond for which the group waited is charged once, shared between
	// ranks that were late together as the airport game shares a runway.
	Explained int64
	// Gain is the part of the makespan that goes if this rank's stage is
	// brought to its peers' median and nothing else changes.
	Gain float64
	// Excess is the mean over the synchronisation points at which it was late for this reason
	// of its duration over its peers' median, in nanoseconds.
	Excess int64
	Steps  int     // synchronisation points at which it was late, most of it because of this stage
	Of     int     // synchronisation points at which any rank was
	P      float64 // bound on the chance of being charged so much when all ranks are alike, corrected for ranks and stages
}

// Device is what a device-event channel says about the stage that it times.
type Device struct {
	Channel string   `json:"channel" doc:"name of the channel"`
	Stages  []int    `json:"-"` // indices in Stages that it times
	Names   []string `json:"stages" doc:"the stages that it times"`
	labels.Events
	Rank   int     `json:"rank" doc:"ID of the rank with the longest stage"`
	Time   float64 `json:"time_ns" doc:"its mean device time"`
	Wall   float64 `json:"wall_ns" doc:"its mean host wall time over the same steps"`
	Peers  float64 `json:"peers_ns" doc:"median over the other ranks of their mean device time"`
	Excess float64 `json:"excess_ns" doc:"time_ns less peers_ns"`
	// PeerWall is the median over the other ranks of their mean host wall time, nanoseconds; 0 without any.
	PeerWall float64 `json:"-"`
	// PerStep estimates the excess of all steps from that of the sampled ones and
	// the lengths of both, nanoseconds.
	PerStep float64 `json:"-"`
	// P bounds the chance of so long times beside its peers' in the same step if all
	// ranks were alike, by Student's t and by size, for all ranks. 1 where fewer than
	// three steps have times of it and of others.
	P float64 `json:"-"`
}

// BelowFloor reports whether the window is too short for shares to mean anything.
func (r *Result) BelowFloor() bool {
	return len(r.Stages) > 0 && !slices.ContainsFunc(r.Stages, func(s Stage) bool { return s.Share != nil })
}

package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

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

// leastTold is the fraction of a step from which on a certain straggler decides the
// status, however high the least gain is set. Healthy jobs have smaller delays.
const leastTold = 0.02

// decide gives a run the answer in one word: that of the findings which may be
// acted on, else of those which are large and uncertain, or certain and small; else
// what the data can exclude.
func (v *RunVerdict) decide(can exclusion) {
	best := TooLittleData
	for i := range v.Suspects {
		f := &v.Suspects[i]
		of := f.Cause.status()
		switch {
		case f.Flagged():
			best = max(best, of)
		case !f.BelowMinGain && f.Confidence == evidence.Ambiguous:
			// That time is lost is certain where ranks or roles differ; who loses
			// it is not.
			if of == Straggler {
				of = UndecidedRun
			}
			best = max(best, of)
		case f.Confidence == evidence.Strong && f.Score >= leastTold:
			best = max(best, of)
		}
	}
	hides := func(u Undecided) bool {
		return u.Hides > 0 && (u.Question != TransferHidden || float64(u.Hides) >= exposedTransfer*float64(u.Step))
	}
	switch {
	case best > UndecidedRun:
		v.Status = best
	case can == excludesNothing:
		v.Status = TooLittleData
	case best == UndecidedRun || can == excludesSome || slices.ContainsFunc(v.Undecided, hides):
		v.Status = UndecidedRun
	default:
		v.Status = NoStraggler
	}
}

// exclusion is what the data of a run can exclude.
type exclusion uint8

const (
	excludesNothing exclusion = iota // too few steps or ranks
	excludesSome                     // where the ranks synchronise is not known
	excludesAll
)

// excludes is what the windows can exclude.
func (j *judge) excludes() exclusion {
	switch {
	case j.entered != nil && nobodyLate(j.entered, j.minGain).Steps >= leastSteps:
		return excludesAll
	case j.operators != nil && len(j.windows) == 0:
		return excludesAll
	case j.traffic != nil && len(j.windows) == 0:
		return communications(j.traffic).excludes()
	case j.tooLittle():
		return excludesNothing
	case !j.synchronises():
		return excludesSome
	}
	return excludesAll
}

// synchronises reports whether some window shows where its ranks wait for each
// other. If none does, no rank can be shown to be late.
func (j *judge) synchronises() bool {
	return slices.ContainsFunc(j.windows, func(w Window) bool {
		return w.Main.SyncPoint.WithinPeers || w.Main.SyncPoint.Evidence != frontier.SyncUnknown
	}) || len(j.windows) == 0
}

// leastSteps is how many steps with two ranks or more are needed before the absence
// of findings is meaningful.
const leastSteps = 5

// tooLittle reports whether the data are too few to exclude a fault.
func (j *judge) tooLittle() bool {
	steps := 0
	for _, w := range j.windows {
		if m := w.Main; len(m.Ranks) >= 2 && m.Leader.Stage >= 0 && !incomplete(m) {
			steps += m.Steps
		}
	}
	return steps < leastSteps && (j.traffic == nil || len(j.windows) > 0)
}

// incomplete reports whether a window lacks ranks, or has times that cannot be
// trusted. Time in no stage withholds certainty and is no such lack: it is measured
// on every rank.
func incomplete(w *frontier.Result) bool {
	return slices.Contains(w.Labels, frontier.TelemetryLimited) && slices.ContainsFunc(w.Reasons, func(r frontier.Reason) bool {
		switch r {
		case frontier.GatherFailed, frontier.MissingRanks, frontier.SchemaMismatch, frontier.VectorUnusable, frontier.DataWaitUnassigned, frontier.OverlapError:
			return true
		}
		return false
	})
}

// status is what a finding with this cause makes of a run.
func (c Cause) status() Status {
	switch c {
	case CauseMissing, CauseDesync:
		return Hang
	case CauseGrowth, CauseSlowSteps, CauseHost, CauseIdle, CauseRandom:
		return SlowEverywhere
	case CauseMoreWork, CauseRotating, CauseHeavy, CauseUneven, CauseRotatingOps:
		return ImbalanceRun
	}
	return Straggler
}

// Undecided is a question that the data leave open.
type Undecided struct {
	Question Question `json:"question"`
	Stage    string   `json:"stage,omitempty"`
	// Hides is the largest delay that may hide there, ns a step; 0: not known.
	Hides int64  `json:"hides_ns,omitempty"`
	Time  int64  `json:"stage_ns,omitempty"` // of the stage, a step
	Step  int64  `json:"step_ns,omitempty"`
	N     int    `json:"n,omitempty"`     // what the question counts
	Ranks []int  `json:"ranks,omitempty"` // that the question is about
	Needs Source `json:"needs,omitempty"`
	// Name is that of what the question is about, where it is no stage.
	Name  string  `json:"name,omitempty"`
	Share float64 `json:"share,omitempty"` // of the step
	// About are links and communicators that the question is about; N of them.
	About []evidence.Subject `json:"about,omitempty"`
}

// Question is something that the data cannot answer. Its value is a name, in the
// JSON too; package report has a sentence for each.
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

	Line *evidence.SourceLine `json:"source_line,omitempty"` // to look at
	// What monitoring shows, of CheckMonitored: one of them.
	Monitored *evidence.Monitored `json:"monitored,omitempty"`
	Reported  *evidence.Reported  `json:"reported,omitempty"`
}

// ActionKind is what to do.
type ActionKind string

const (
	InspectHost    ActionKind = "inspect_host"     // drain it, or look at its clocks, throttling, temperature
	Profile        ActionKind = "profile"          // ranks in steps, with a kernel profiler
	SampleStack    ActionKind = "sample_stack"     // py-spy on ranks
	CheckLoader    ActionKind = "check_loader"     // the data loader's own metrics
	ReadLine       ActionKind = "read_line"        // of the program, that takes the rank longer than its peers
	DumpStack      ActionKind = "dump_stack"       // py-spy dump on ranks that stand still
	CheckKernelLog ActionKind = "check_kernel_log" // of a host, for Xid errors
	TurnOn         ActionKind = "turn_on"          // a source that would decide
	TestLink       ActionKind = "test_link"        // nccl-tests between ranks
	Compare        ActionKind = "compare"          // with a healthy run, or another job
	CheckMonitored ActionKind = "check_monitored"  // in what a GPU or host differed at the time
	FreeProcessor  ActionKind = "free_processor"   // that other work, or a CPU limit, keeps a rank's thread off
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
	// Times are, of readings, the first and last, then those of the run; ns since 1970.
	Times *[4]int64 `json:"times_ns,omitempty"`
	Text  string    `json:"text,omitempty"` // what the reader says
}

// ProblemKind is what happened: one of those below, or the name of a kind of note
// (package trace) of the reader, with its Text.
type ProblemKind string

// What may be lost of a run.
const (
	RanksMissing        ProblemKind = "ranks_missing"        // Ranks, N of Of, in Steps of Window
	DumpsMissing        ProblemKind = "dumps_missing"        // of N ranks Of
	StepsTwice          ProblemKind = "steps_recorded_twice" // Steps of Window are in another window too
	StepsDropped        ProblemKind = "steps_left_out"       // N steps, by the cut
	StagesChange        ProblemKind = "stages_change"        // from the window before
	WorldChanges        ProblemKind = "world_size_changes"
	AccumulationChanges ProblemKind = "accumulation_changes"
	BaselineTooShort    ProblemKind = "baseline_too_short"    // N steps, of Of at least
	CallsWithoutKernels ProblemKind = "calls_without_kernels" // N logs with Of calls, which do not tell times
	CallsRefused        ProblemKind = "calls_refused"
	MonitoringHost      ProblemKind = "monitoring_without_host" // N files do not tell of which host they are; Path is the first
	MonitoringTime      ProblemKind = "monitoring_outside_run"  // no reading is of the time of the run
	MonitoringZone      ProblemKind = "monitoring_zone_unknown" // the same, and some stamps name no time zone
)

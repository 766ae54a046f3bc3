package answer

import "github.com/sfstat/sfstat/trace"

// Problem is something that was lost, skipped or refused.
type Problem struct {
	Problem ProblemKind   // what happened: a name of sfstat, or of a reader's note
	Path    string        // the input
	Window  *int64        // number of the window
	Ranks   trace.RankSet // ranks
	Steps   *[2]int64     // first and last step it is about
	N       int           // how many it is about
	Of      int           // out of how many
	Times   *[4]int64     // first and last reading, then begin and end of the run; ns since 1970
	Text    string        // what the reader says
	Stage   string        // stage of a value that was set aside
	Size    int64         // by which that value is too large
}

// ProblemKind is what happened: one of those below, or the name of a kind of note
// (package input) of the reader, with its Text.
type ProblemKind string

// What may be lost of a run.
const (
	RanksMissing        ProblemKind = "ranks_missing"        // Ranks, N of Of, in Steps of Window
	DumpsMissing        ProblemKind = "dumps_missing"        // of N ranks Of
	StepsTwice          ProblemKind = "steps_recorded_twice" // Steps of Window are in another window too
	StepsDropped        ProblemKind = "steps_left_out"       // N steps, by the cut
	StagesChange        ProblemKind = "stages_change"        // from the window before
	StagesDiffer        ProblemKind = "stages_differ"        // between ranks, with Text: those of the smaller part are left out
	StageContains       ProblemKind = "stage_contains"       // others, which count twice, with Text
	StagesDisordered    ProblemKind = "stages_out_of_order"  // by their names no step runs them so, with Text
	WorldChanges        ProblemKind = "world_size_changes"
	AccumulationChanges ProblemKind = "accumulation_changes"
	RecordingError      ProblemKind = "recording_error"       // a value of Ranks in Stage of Steps that nobody waited for, by Size
	BaselineTooShort    ProblemKind = "baseline_too_short"    // N steps, of Of at least
	CallsWithoutKernels ProblemKind = "calls_without_kernels" // N logs with Of calls, which do not tell times
	CallsRefused        ProblemKind = "calls_refused"
	MonitoringHost      ProblemKind = "monitoring_without_host" // N files do not tell of which host they are; Path is the first
	MonitoringTime      ProblemKind = "monitoring_outside_run"  // no reading is of the time of the run
	MonitoringZone      ProblemKind = "monitoring_zone_unknown" // the same, and some stamps name no time zone
)

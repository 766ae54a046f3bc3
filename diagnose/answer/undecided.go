package answer

import "github.com/sfstat/sfstat/diagnose/evidence"

// Undecided is a question that the data leave open.
type Undecided struct {
	Question Question // the question
	Stage    string   // stage that it is about
	Hides    int64    // largest delay that may hide there, ns a step; absent: not known
	Unlikely bool     // the stage takes no longer than it needs, so that a delay in it is unlikely, not excluded
	Time     int64    // length of the stage, ns a step
	Step     int64    // length of a step, ns
	N        int      // what the question counts
	Ranks    []int    // ranks that the question is about
	Needs    Source   // what would answer it
	Name     string   // name of what the question is about, where it is no stage
	Share    float64  // part of the step, or of the other link's bandwidth

	About []evidence.Subject // links and communicators that the question is about
}

// Question is something that the data cannot answer. Its value is a name, in the
// JSON too; package report has a sentence for each.
type Question string

// The questions that data may leave open.
const (
	RankHidden          Question = "rank_hidden_in_stage"    // who is late inside Stage, in which ranks synchronise: Hides, Time, Step
	TransferHidden      Question = "transfer_hidden"         // whether a transfer is slow: Stage and Hides, or Share of the step
	RanksNotRecorded    Question = "ranks_not_recorded"      // what N ranks without a record did, and how long others may have waited for them: Hides
	MessagesNotRecorded Question = "messages_not_recorded"   // who waited for whom in sends and receives: Hides
	ClockOrDelay        Question = "clock_or_delay"          // whether a rank is late in every step, or its clock is off: Hides, Ranks; or N exports whose clocks cannot be aligned
	SyncPointUnknown    Question = "synchronisation_unknown" // where the ranks synchronise: N steps do not show it
	UnrecordedTime      Question = "unrecorded_time"         // between stages and steps
	RolesMixed          Question = "roles_mixed"             // one frontier over ranks of different work
	MicrostepOrder      Question = "microstep_order"         // summed in the stages
	DeviceOrHost        Question = "device_or_host"          // too few device events
	WhichOfFew          Question = "which_of_few"            // which of N replicas, or of About and the only other link like it, is unusual: Share of its bandwidth
	RankOfWorker        Question = "rank_of_worker"          // which of the N tensor-parallel ranks of a worker
	FewSteps            Question = "few_steps"               // N steps cannot exclude chance
	LinkNotCompared     Question = "link_not_compared"       // whether About, N links and communicators, are slow: nothing comparable was recorded
	MessageSpeed        Question = "message_speed"           // how fast N messages were
)

var questions = []Question{RankHidden, TransferHidden, RanksNotRecorded, MessagesNotRecorded, ClockOrDelay, SyncPointUnknown, UnrecordedTime, RolesMixed,
	MicrostepOrder, DeviceOrHost, WhichOfFew, RankOfWorker, FewSteps, LinkNotCompared, MessageSpeed}

// Names returns all questions.
func (Question) Names() []string { return namesOf(questions) }

func namesOf[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = string(x)
	}
	return names
}

// HidesRank reports whether the question is who is late inside a stage in which all
// ranks synchronise.
func (u *Undecided) HidesRank() bool { return u.Question == RankHidden }

// Source is what would answer a question, or what to turn on.
type Source string

// What answers questions, and what to look with.
const (
	SourceMessages   Source = "messages"        // sends and receives
	SourceArrivals   Source = "arrivals"        // who enters each collective when
	SourceRing       Source = "longer_ring"     // of the Flight Recorder: more arrivals
	SourceRoles      Source = "roles"           // of every rank
	SourceMicrosteps Source = "microsteps"      // stages with their accumulation index
	SourceEvents     Source = "device_events"   // more of them
	SourceAllRanks   Source = "all_ranks"       // of the group
	SourceSameStages Source = "same_stages"     // on all ranks
	SourceFlatStages Source = "separate_stages" // none inside of another
	SourceStageOrder Source = "stage_order"     // as a step runs them
	SourceUnits      Source = "units"           // of the columns of a table
	SourceMoreSteps  Source = "more_steps"      // or the name of the stage
	SourceSteps      Source = "steps"           // enough of them to exclude chance
	SourceWall       Source = "wall_time"       // of steps
	SourceOperators  Source = "operators"       // the recorded operators, compared
	SourceProfiler   Source = "profiler"        // torch.profiler or nsys
	SourceStacks     Source = "profiler_stacks" // torch.profiler with stacks, or py-spy, on the host
	SourcePySpy      Source = "py_spy"          // dump of the stacks
	SourceLoader     Source = "loader_metrics"  // of the data loader
	SourceDevice     Source = "device_counters" // clocks, throttle reasons, temperature
	SourceBaseline   Source = "baseline"        // a healthy run
	SourceHosts      Source = "hosts"           // of the ranks
	SourceClocks     Source = "finer_clocks"    // than those of the exports
	SourceDigits     Source = "finer_times"     // than those of the table
	SourceDumps      Source = "dumps"           // of the Flight Recorder, and the logs of all ranks
)

var sources = []Source{SourceMessages, SourceArrivals, SourceRing, SourceRoles, SourceMicrosteps, SourceEvents, SourceAllRanks, SourceSameStages, SourceFlatStages, SourceStageOrder, SourceUnits, SourceMoreSteps, SourceSteps,
	SourceWall, SourceOperators, SourceProfiler, SourceStacks, SourcePySpy, SourceLoader, SourceDevice, SourceBaseline, SourceHosts, SourceClocks, SourceDigits, SourceDumps}

// Names returns all sources.
func (Source) Names() []string { return namesOf(sources) }

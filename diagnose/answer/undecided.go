package answer

import "github.com/sfstat/sfstat/diagnose/evidence"

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

// The questions that data may leave open.
const (
	// Of windows.
	RankHidden       Question = "rank_hidden_in_stage"    // Stage, Hides
	RankHiddenUsual  Question = "rank_hidden_in_usual"    // as RankHidden, where the stage takes no longer than it usually does: unlikely
	RolesMixed       Question = "roles_mixed"             // one frontier over ranks of different work
	MicrostepOrder   Question = "microstep_order"         // summed in the stages
	DeviceOrHost     Question = "device_or_host"          // too few device events
	AcrossRanks      Question = "across_ranks"            // one rank reported
	SyncPointUnknown Question = "synchronisation_unknown" // where the ranks synchronise
	UnrecordedTime   Question = "unrecorded_time"         // between stages and steps

	// Of operator traces.
	WhichRankOfOne     Question = "which_rank_of_one_replica"
	WhichOfTwoReplicas Question = "which_of_two_replicas"
	WhatMissingRanksDo Question = "what_missing_ranks_do" // Name: which
	WhichStageHoldsUp  Question = "which_stage_holds_up"
	WhatIsChance       Question = "what_is_chance"             // N: steps
	WhichTensorRank    Question = "which_tensor_parallel_rank" // N: of a worker
	WhetherNetworkSlow Question = "whether_network_is_slow"    // Share: of the step

	// Of calls and kernels of communication.
	WhetherSlowUnmatched Question = "whether_slow_without_peers"
	WhetherSlowFewCalls  Question = "whether_slow_with_few_calls"
	WhetherSlowBlurred   Question = "whether_slow_below_clock_resolution"
	WhichOfTwoIsSlow     Question = "which_of_two_is_slow" // Share: of the other's bandwidth
	WhatAbsentRanksDid   Question = "what_absent_ranks_did"
	WhatUnalignedDid     Question = "what_unaligned_exports_did"
	HowFastShared        Question = "how_fast_messages_of_shared_kernels"
	HowFastLonely        Question = "how_fast_messages_with_one_end"

	// Of arrivals.
	BehindMessages Question = "late_behind_messages"     // who is late where sends and receives are not recorded
	TransferHidden Question = "transfer_hidden_in_stage" // is what follows a last entry slow: Stage, Hides
	LateUnrecorded Question = "late_without_record"      // is one of N ranks without a record late, nobody else is: Hides
	ClockOrDelay   Question = "clock_or_delay"           // is a rank late in every step, or its clock: Hides, Ranks
)

// HidesRank reports whether the question is who is late inside a stage in which all
// ranks synchronise.
func (u *Undecided) HidesRank() bool {
	return u.Question == RankHidden || u.Question == RankHiddenUsual
}

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
)

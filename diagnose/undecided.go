package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/engine/baseline"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace/stagename"
)

// The questions that data may leave open.
const (
	// Of windows.
	RankHidden       Question = "rank_hidden_in_stage"    // Stage, Hides
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

// What answers questions, and what to look with.
const (
	SourceMessages   Source = "messages"        // sends and receives
	SourceArrivals   Source = "arrivals"        // who enters each collective when
	SourceRoles      Source = "roles"           // of every rank
	SourceMicrosteps Source = "microsteps"      // stages with their accumulation index
	SourceEvents     Source = "device_events"   // more of them
	SourceAllRanks   Source = "all_ranks"       // of the group
	SourceMoreSteps  Source = "more_steps"      // or the name of the stage
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

// plainBackward is the cost of a backward pass in forward passes: twice the
// arithmetic, for gradients of activations and of weights (Narayanan et al. 2021,
// arXiv 2104.04473, app.). Time of a synchronising backward pass beyond that may be
// one rank's delay.
const plainBackward = 2

// hidden bounds how much of a stage in which all ranks synchronise may be the delay
// of one rank: all time beyond what the stage needs.
func (j *judge) hidden(m *frontier.Result) {
	if m.Steps == 0 || slices.Contains(m.Labels, frontier.RoleAwareNeeded) {
		return
	}
	step := m.Makespan / int64(m.Steps)
	for _, s := range m.Stages {
		if !s.Syncs && !maySynchronise(m, s.Name) || s.Share == nil {
			continue
		}
		hides := (s.Advance - needed(m, s.Name)) / int64(m.Steps)
		if more, ok := j.beyondBaseline(s.Name); ok {
			hides = min(hides, more)
		}
		if float64(hides) < j.minGain*float64(step) {
			continue
		}
		needs := SourceArrivals
		if len(j.launched) > 0 {
			needs = SourceOperators
		}
		j.ask(Undecided{Question: RankHidden, Stage: s.Name, Hides: hides, Time: s.Advance / int64(m.Steps), Step: step, Needs: needs})
	}
}

// beyondBaseline is the upper bound of how much longer a stage takes per step than
// in the baseline, ns. The baseline run is healthy, so a hidden delay cannot exceed
// it. ok is false without a baseline.
func (j *judge) beyondBaseline(stage string) (ns int64, ok bool) {
	i := slices.IndexFunc(j.differences, func(d baseline.Difference) bool { return d.Stage == stage })
	if i < 0 {
		return 0, false
	}
	return int64(max(0, j.differences[i].High)), true
}

// maySynchronise reports whether the times of a stage suggest, without certainty,
// that ranks synchronise in it: the interval of its slope contains −1 and not 0.
func maySynchronise(m *frontier.Result, stage string) bool {
	return slices.ContainsFunc(m.SyncPoint.Boundaries, func(b frontier.Boundary) bool {
		base, _ := stagename.Split(b.Name)
		return base == stage && b.Low <= -1 && b.High >= -1 && b.High < 0
	})
}

// needed is the least time that a stage needs in a window: for a backward pass,
// derived from the forward pass; 0 if unknown.
func needed(m *frontier.Result, stage string) int64 {
	if stagename.KindOf(stage) != stagename.Backward {
		return 0
	}
	i := slices.IndexFunc(m.Stages, func(s frontier.Stage) bool { return stagename.KindOf(s.Name) == stagename.Forward })
	if i < 0 {
		return 0
	}
	return plainBackward * m.Stages[i].Advance
}

// Hidden is the stage of the run that may hide the largest delay, of one rank or
// of a transfer.
func (v *RunVerdict) Hidden() (u Undecided, ok bool) {
	for _, o := range v.Undecided {
		if (o.Question == RankHidden || o.Question == TransferHidden) && o.Hides > 0 && (!ok || o.Hides > u.Hides) {
			u, ok = o, true
		}
	}
	return u, ok
}

// ask records an open question once; for a stage, with the largest delay that may
// hide in it.
func (j *judge) ask(u Undecided) {
	i := slices.IndexFunc(j.undecided, func(have Undecided) bool { return have.Question == u.Question && have.Stage == u.Stage })
	switch {
	case i < 0:
		j.undecided = append(j.undecided, u)
	case u.Hides > j.undecided[i].Hides:
		j.undecided[i] = u
	}
}

// questions are the open questions of the windows.
func (j *judge) questions() []Undecided {
	for _, w := range j.windows {
		m := w.Main
		for _, l := range m.Labels {
			switch l {
			case frontier.RoleAwareNeeded:
				j.ask(Undecided{Question: RolesMixed, Needs: SourceRoles})
			case frontier.GradientAccumulationAmbiguous:
				j.ask(Undecided{Question: MicrostepOrder, Needs: SourceMicrosteps})
			case frontier.ForwardEventScopeLimited:
				j.ask(Undecided{Question: DeviceOrHost, Needs: SourceEvents})
			}
		}
		if len(m.Ranks) < 2 {
			j.ask(Undecided{Question: AcrossRanks, Needs: SourceAllRanks})
			continue
		}
		if !m.SyncPoint.Evidence.Sure() && !m.SyncPoint.WithinPeers && m.Steps > 0 {
			j.ask(Undecided{Question: SyncPointUnknown, Needs: SourceMoreSteps, N: m.Steps})
		}
		if !m.Quality.Wall {
			j.ask(Undecided{Question: UnrecordedTime, Needs: SourceWall})
		}
	}
	return j.undecided
}

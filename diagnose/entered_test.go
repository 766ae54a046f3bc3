package diagnose

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// TestWindowsAndEntries: what stage times leave open entries of collectives decide, and what they hide entries show.
func TestWindowsAndEntries(t *testing.T) {
	slower := entering(40)
	slower.Work = []simulate.WorkFactor{{Ranks: []int{3}, Factor: 1.5}}
	unhosted := func(w *trace.Window) {
		for i := range w.Ranks {
			w.Ranks[i].Host = ""
		}
	}
	for _, c := range []struct {
		name    string
		job     simulate.Spec
		changes []func(w *trace.Window)
		want    string
	}{
		{"nobody is late", entering(40), nil, `
no_straggler, on no_straggler: of 5 stages, from 34 ms on, searched
known: nobody of 8 late in 39 steps of 218 ms`},
		{"late by both", entering(40, fault(simulate.ForwardHost, 80, 3)), nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, 80 ms, 26 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late where ranks wait", entering(40, fault(simulate.Backward, 80, 3)), nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 79 ms, 26 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
		{"little late where ranks wait", entering(40, fault(simulate.Backward, 12, 3)), nil, `
no_straggler, on no_straggler: of 5 stages, from 34 ms on, searched, small
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, small, 11 ms, 3 %; arrivals agrees true, raises false
known: nobody of 8 late in 39 steps of 222 ms`},
		{"a slow transfer", entering(40, fault(simulate.BackwardComm, 80, 3)), nil, `
undecided, on open_question: transfer_hidden
open: transfer_hidden in model.backward_cpu_wall, hides 95 of 298 ms
known: nobody of 8 late in 39 steps of 298 ms
next: turn_on baseline in model.backward_cpu_wall`},
		{"late where ranks wait, without a record", entering(40, fault(simulate.Backward, 80, 3)), []func(*trace.Window){unrecorded(3)}, `
undecided, on open_question: ranks_not_recorded
open: ranks_not_recorded in model.backward_cpu_wall, hides 70 of 292 ms
hides: 91 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 292 ms
lost: dumps_missing 3
next: turn_on all_ranks in model.backward_cpu_wall`},
		{"late elsewhere, without a record", entering(40, fault(simulate.ForwardHost, 80, 3)), []func(*trace.Window){unrecorded(3)}, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %
hides: 91 ms in model.backward_cpu_wall
lost: dumps_missing 3
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late, another without a record", entering(40, fault(simulate.ForwardHost, 80, 3)), []func(*trace.Window){unrecorded(5)}, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, 80 ms, 26 %; arrivals agrees true, raises false
hides: 16 ms in model.backward_cpu_wall
lost: dumps_missing 5
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"two, of which one hides", entering(40, fault(simulate.Backward, 80, 3), fault(simulate.ForwardHost, 80, 5)), nil, `
straggler, on finding: one_rank, saves little_alone and rank, 2 together 26 %; by evidence.LastToArrive
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, 79 ms, 1 %; arrivals agrees true, raises false
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 79 ms, 1 %; arrivals agrees true, raises false
next: profile profiler of 5 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
		{"two that are late alike", entering(40, fault(simulate.ForwardHost, 80, 3), fault(simulate.ForwardHost, 75, 5)), nil, `
straggler, on finding: one_rank, saves little_alone and rank, 2 together 26 %; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, 79 ms, 2 %; arrivals agrees true, raises false
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, 74 ms, 0 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in callbacks that end in a barrier", entering(40, fault(simulate.CallbackSync, 80, 3)), nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in callbacks.cpu_wall at all_reduce of default_pg, strong, 80 ms, 26 %; arrivals agrees true, raises false
next: sample_stack py_spy of 3 in callbacks.cpu_wall
next: profile profiler of 3 in callbacks.cpu_wall`},
		{"without a record and without a row", entering(40), []func(*trace.Window){unrecorded(7), unrowed(7)}, `
no_straggler, on no_straggler: of 4 stages, from 28 ms on, searched
hides: 16 ms in model.backward_cpu_wall
known: nobody of 7 late in 39 steps of 218 ms
lost: ranks_missing 7`},
		{"a row without a record", entering(40), []func(*trace.Window){unrecorded(6), unrowed(7)}, `
no_straggler, on no_straggler: of 4 stages, from 28 ms on, searched
hides: 16 ms in model.backward_cpu_wall
known: nobody of 7 late in 39 steps of 218 ms
lost: ranks_missing 7
lost: dumps_missing 6`},
		{"a ring of four calls", entering(40, fault(simulate.Backward, 80, 3)), []func(*trace.Window){lastCalls(4)}, `
unseen, on unseen: of 4 stages, from 38 ms on, searched and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 192 of 292 ms
hides: 192 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 292 ms
next: turn_on longer_ring in model.backward_cpu_wall`},
		{"late a little, and much where ranks wait", entering(40, fault(simulate.ForwardHost, 30, 3), fault(simulate.Backward, 100, 3)), nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 129 ms, 36 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
		{"slower all over", slower, nil, `
straggler, on finding: one_rank, saves every_step, at all_reduce; by evidence.LastToArrive
rank, late: rank 3 on node0 at all_reduce of default_pg, strong, 94 ms, 29 %; arrivals agrees true, raises false
next: inspect_host device_counters of 3
next: profile profiler of 3`},
		{"late, on no host", entering(40, fault(simulate.ForwardHost, 80, 3)), []func(*trace.Window){unhosted}, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, 80 ms, 26 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"six steps", entering(6, fault(simulate.Backward, 80, 3)), nil, `
unseen, on unseen: of 4 stages, from 33 ms on, searched and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 190 of 291 ms
hides: 190 ms in model.backward_cpu_wall
known: nobody of 8 late in 5 steps of 291 ms
next: turn_on longer_ring in model.backward_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, changed(t, c.job, c.changes...)...), c.want) })
	}
}

// unrowed removes the last rank, of that number, from a window.
func unrowed(last int) func(w *trace.Window) {
	return func(w *trace.Window) {
		rows := func(list []int64) (out []int64) {
			for i, x := range list {
				if i%(last+1) != last {
					out = append(out, x)
				}
			}
			return out
		}
		w.Ranks, w.Epochs, w.Side = w.Ranks[:last], w.Epochs[:last], nil
		w.Durations, w.Wall = rows(w.Durations), rows(w.Wall)
	}
}

// lastCalls leaves the last calls of each rank, as a ring does.
func lastCalls(n int) func(w *trace.Window) {
	return func(w *trace.Window) {
		for _, c := range w.Arrivals {
			c.Calls = c.Calls[len(c.Calls)-n:]
		}
	}
}

// TestSlowStepsAndEntries: steps that are slow on all ranks are what a late rank makes of them, as far as it is late.
func TestSlowStepsAndEntries(t *testing.T) {
	from := func(f simulate.Fault) simulate.Fault { f.From = 30; return f }
	now := func(f simulate.Fault) simulate.Fault { f.Every = 10; return f }
	thirdly := func(f simulate.Fault) simulate.Fault { f.Every = 3; return f }
	for _, c := range []struct {
		name string
		job  simulate.Spec
		want string
	}{
		{"from a step on", entering(60, from(fault(simulate.Backward, 80, 3))), `
straggler, on finding: one_rank, saves steps; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 81 ms, 14 %, window, 29 of 60 steps; arrivals agrees true, raises false
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
		{"from a step on, all ranks", entering(60, from(fault(simulate.BackwardComm, 80, 3))), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.Slower, not several_causes_fit
stage, regression: in model.backward_cpu_wall, supported, 79 ms, 15 %, window, 30 of 60 steps; several_causes_fit
open: transfer_hidden in model.backward_cpu_wall, hides 26 of 227 ms
known: nobody of 8 late in 59 steps of 227 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"from a step on, a quarter is a late rank's", entering(60, from(fault(simulate.BackwardComm, 80, 3)), from(fault(simulate.Backward, 30, 3))), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.Slower, not several_causes_fit
stage, regression: in model.backward_cpu_wall, supported, 79 ms, 15 %, window, 30 of 60 steps; several_causes_fit
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, small, 31 ms, 4 %, window, 29 of 60 steps; arrivals agrees true, raises false
open: transfer_hidden in model.backward_cpu_wall, hides 26 of 230 ms
known: nobody of 8 late in 59 steps of 230 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"from a step on, a rank is late elsewhere", entering(60, from(fault(simulate.BackwardComm, 80, 3)), from(fault(simulate.ForwardHost, 60, 3))), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.Slower, not several_causes_fit
stage, regression: in model.backward_cpu_wall, supported, 79 ms, 14 %, window, 30 of 60 steps; several_causes_fit
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of default_pg, strong, small, 60 ms, 9 %, window, 30 of 60 steps; arrivals agrees true, raises false
open: transfer_hidden in model.backward_cpu_wall, hides 26 of 230 ms
known: nobody of 8 late in 59 steps of 230 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"every tenth step", entering(60, now(fault(simulate.Backward, 400, 3))), `
straggler, on finding: one_rank, saves steps; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 399 ms, 15 %, periodic, 6 of 60 steps; arrivals agrees true, raises false
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
		{"every tenth step, all ranks", entering(60, now(fault(simulate.BackwardComm, 400, 3))), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, periodic: in model.backward_cpu_wall, supported, 400 ms, 15 %, periodic, 6 of 60 steps; several_causes_fit
known: nobody of 8 late in 59 steps of 219 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"every third step, all ranks", entering(60, thirdly(fault(simulate.BackwardComm, 90, 3))), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, periodic: in model.backward_cpu_wall, supported, 88 ms, 12 %, periodic, 20 of 60 steps; several_causes_fit
known: nobody of 8 late in 59 steps of 221 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"every tenth step, half is a late rank's", entering(60, now(fault(simulate.Backward, 400, 3)), now(fault(simulate.BackwardComm, 400, 2))), `
straggler, on finding: all, saves steps, only supported and rank; by evidence.SlowSteps, not several_causes_fit
stage, periodic: in model.backward_cpu_wall, supported, 400 ms, 13 %, periodic, 6 of 60 steps; several_causes_fit
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 399 ms, 13 %, periodic, 6 of 60 steps; arrivals agrees true, raises false
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"one step", entering(60, simulate.Fault{Family: simulate.Backward, Delay: 500, Ranks: []int{3}, When: simulate.When{From: 30, Until: 31}}), `
no_straggler, on no_straggler: of 5 stages, from 35 ms on, searched, once
rank, late: rank 3 on node0 in model.backward_cpu_wall, ambiguous, small, 483 ms, 4 %, intermittent, 1 of 60 steps; few_occurrences
known: nobody of 8 late in 59 steps of 218 ms`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, changed(t, c.job)...), c.want) })
	}
}

// TestBaselineAndEntries: whether a transfer is slow a healthy run tells, if it is long enough.
func TestBaselineAndEntries(t *testing.T) {
	for _, c := range []struct {
		name  string
		steps int // of the baseline
		want  string
	}{
		{"enough steps", 60, `
slow_everywhere, on finding: all, saves every_step, only supported; by evidence.Slower, not several_causes_fit
stage, regression: in model.backward_cpu_wall, supported, 78 ms, 27 %; several_causes_fit
known: nobody of 8 late in 39 steps of 298 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"too few steps", 4, `
undecided, on open_question: transfer_hidden
open: transfer_hidden in model.backward_cpu_wall, hides 95 of 298 ms
known: nobody of 8 late in 39 steps of 298 ms
lost: baseline_too_short
next: turn_on baseline in model.backward_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := entering(40, fault(simulate.BackwardComm, 80, 3))
			says(t, judged(t, Options{Baseline: healthy(t, c.steps)}, changed(t, job)...), c.want)
		})
	}
}

// TestHostsAndEntries: where each rank has a clock of its own that is off by tens of milliseconds, a delay may be a clock's; where four share
// one, it is not.
func TestHostsAndEntries(t *testing.T) {
	hosts := func(ranks int, s simulate.Spec) simulate.Spec {
		s.RanksPerHost, s.Clock.SkewSD = ranks, 60
		return s
	}
	for _, c := range []struct {
		name string
		job  simulate.Spec
		want string
	}{
		{"two hosts", hosts(4, entering(40)), `
no_straggler, on no_straggler: of 5 stages, from 33 ms on, searched
known: nobody of 8 late in 39 steps of 217 ms`},
		{"late on one of two hosts", hosts(4, entering(40, fault(simulate.Backward, 80, 3))), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 79 ms, 25 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
		{"eight hosts", hosts(1, entering(40)), `
undecided, on open_question: clock_or_delay
open: clock_or_delay, hides 98 of 217 ms
known: nobody of 8 late in 39 steps of 217 ms
next: turn_on baseline`},
		{"late on one of eight hosts", hosts(1, entering(40, fault(simulate.Backward, 80, 3))), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node3 in model.backward_cpu_wall, strong, 79 ms, 25 %
open: clock_or_delay, hides 162 of 292 ms
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, changed(t, c.job)...), c.want) })
	}
}

// TestInheritedDelays: ranks that wait in forward for one of their tensor-parallel group are late by stage times; where calls divide these, or
// by entries beside them, that one alone is.
func TestInheritedDelays(t *testing.T) {
	job := func(family simulate.Family) simulate.Spec {
		s := tensorParallel(2, 1, false, fault(family, 80, 3))
		s.Arrivals, s.Schedule.Steps = true, 60
		return s
	}
	for _, c := range []struct {
		name    string
		family  simulate.Family
		without []int
		want    string
	}{
		{"late in data", simulate.Data, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait at all_reduce of 1, strong, 80 ms, 23 %; arrivals agrees true, raises false
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"late in forward", simulate.ForwardHost, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of 1, strong, 79 ms, 23 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in forward, another without a record", simulate.ForwardHost, []int{5}, `
straggler, on finding: one_rank, saves every_step, only supported; by evidence.LastToArrive, not may_be_by_design
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at all_reduce of 1, supported, 80 ms, 23 %; may_be_by_design; arrivals agrees true, raises false
rank, late: rank 0 on node0 with 0-3 in model.fwd_loss_cpu_wall, insufficient, 78 ms, 23 %; may_be_by_design; delay_inherited
rank, late: rank 1 on node0 with 0-3 in model.fwd_loss_cpu_wall, insufficient, 78 ms, 23 %; may_be_by_design; delay_inherited
rank, late: rank 2 on node0 with 0-3 in model.fwd_loss_cpu_wall, insufficient, 78 ms, 23 %; may_be_by_design; delay_inherited
hides: 16 ms in model.backward_cpu_wall
lost: dumps_missing 5
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			says(t, judged(t, Options{}, changed(t, job(c.family), unroled, unrecorded(c.without...))...), c.want)
		})
	}
}

// TestInheritedFromUnrecorded: where the rank that it may have waited for has no record, that stays open.
func TestInheritedFromUnrecorded(t *testing.T) {
	s := tensorParallel(2, 1, false, fault(simulate.Data, 80, 3))
	s.Arrivals, s.Schedule.Steps = true, 60
	v := judged(t, Options{}, changed(t, s, unroled, unrecorded(0, 1, 2))...)
	if !slices.Contains(inShort(v), "open: ranks_not_recorded in data.next_wait, hides 80 of 313 ms") {
		t.Errorf("%q", inShort(v))
	}
}

// unroled removes the roles of ranks, which make groups of them.
func unroled(w *trace.Window) {
	for i := range w.Ranks {
		w.Ranks[i].Role = nil
	}
}

// TestUnrecordedMessages: where messages are counted and not recorded, a rank that stage times find late may have waited for another.
func TestUnrecordedMessages(t *testing.T) {
	counted := func(w *trace.Window) {
		for _, c := range w.Arrivals {
			c.Groups[0].Silent = true
		}
	}
	for _, c := range []struct {
		name string
		job  simulate.Spec
		want string
	}{
		{"nobody is late", entering(40), `
undecided, on open_question: messages_not_recorded
open: messages_not_recorded, hides 217 of 217 ms
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
next: turn_on messages`},
		{"late in forward", entering(40, fault(simulate.ForwardHost, 80, 3)), `
undecided, on finding: some_ranks, saves every_step, only insufficient; by evidence.LateBehindMessages
group, late: with 3 in model.backward_cpu_wall at all_reduce of default_pg, ambiguous, 77 ms, 26 %
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, insufficient, 80 ms, 26 %; wait_not_recorded
open: messages_not_recorded, hides 292 of 292 ms
hides: 114 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 292 ms
next: turn_on messages
next: profile profiler of 3 in model.backward_cpu_wall`},
		{"late where ranks wait", entering(40, fault(simulate.Backward, 80, 3)), `
undecided, on finding: some_ranks, saves every_step, only insufficient; by evidence.LateBehindMessages
group, late: with 3 in model.backward_cpu_wall at all_reduce of default_pg, ambiguous, 77 ms, 26 %
open: messages_not_recorded, hides 292 of 292 ms
hides: 192 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 292 ms
next: turn_on messages
next: profile profiler of 3 in model.backward_cpu_wall`},
		{"little late where ranks wait", entering(40, fault(simulate.Backward, 15, 3)), `
undecided, on open_question: messages_not_recorded
open: messages_not_recorded, hides 227 of 227 ms
hides: 127 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 227 ms
next: turn_on messages`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, changed(t, c.job, counted)...), c.want) })
	}
}

// TestWindowsAndMessages: ranks that meet in messages alone do not compare; one that waits for a message there is not blamed.
func TestWindowsAndMessages(t *testing.T) {
	for _, c := range []struct {
		name string
		job  simulate.Spec
		want string
	}{
		{"nobody is late", spec(8, 40, 1), `
undecided, on open_question: roles_mixed
open: roles_mixed, hides 19 of 19 ms
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
next: turn_on baseline`},
		{"little late", spec(8, 40, 1, fault(simulate.ForwardHost, 12, 3)), `
undecided, on open_question: roles_mixed
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, insufficient, small, 12 ms, 4 %; delay_inherited
open: roles_mixed, hides 18 of 18 ms
hides: 114 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 224 ms
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall
next: turn_on baseline`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, c.job)
			for _, r := range chain(8, 3, false, false).records {
				r.Run = all[0].RunName()
				all = append(all, r)
			}
			says(t, judged(t, Options{}, all...), c.want)
		})
	}
}

// TestMessagesAndCollective: where all ranks left records, a delay that stage times show and entries do not asks for none.
func TestMessagesAndCollective(t *testing.T) {
	all := changed(t, spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)))
	for _, r := range chain(8, -1, true, false).records {
		r.Run = all[0].RunName()
		all = append(all, r)
	}
	for _, line := range inShort(judged(t, Options{}, all...)) {
		if strings.HasPrefix(line, "open: ranks_not_recorded") {
			t.Errorf("%s, and all ranks left records", line)
		}
	}
}

// TestEntriesAlone: without stage times entries say who is late, where in the program, and from how many steps on they know.
func TestEntriesAlone(t *testing.T) {
	some := func(ms float64, steps ...int) func(r, step int) float64 {
		return func(r, step int) float64 {
			if r == 2 && slices.Contains(steps, step) {
				return ms
			}
			return 0
		}
	}
	for _, c := range []struct {
		name string
		job  []trace.Recording
		want string
	}{
		{"nobody is late", replicas(4, 40, atTrain, always(2, 0)).left(), `
no_straggler, on no_straggler: of 1 stages, from 11 ms on, searched
open: transfer_hidden
known: nobody of 4 late in 39 steps of 86 ms`},
		{"late", replicas(4, 40, atTrain, always(2, 40)).left(), `
straggler, on finding: one_rank, saves every_step, before it, at all_reduce; by evidence.LastToEnter
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, strong, 39 ms, 31 %
known: nobody of 4 late in 39 steps of 125 ms
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"little late", replicas(4, 40, atTrain, always(2, 4)).left(), `
no_straggler, on no_straggler: of 1 stages, from 11 ms on, searched, small
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, strong, small, 3 ms, 4 %
known: nobody of 4 late in 39 steps of 89 ms`},
		{"late in backward", replicas(4, 40, atBackward, always(2, 40)).left(), `
straggler, on finding: one_rank, saves every_step, before it, at all_reduce; by evidence.LastToEnter
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:70, strong, 39 ms, 31 %
known: nobody of 4 late in 39 steps of 125 ms
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"late in data", replicas(4, 40, atData, always(2, 40)).left(), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToEnter
rank, late: rank 2 on node0 in data at all_reduce of 0 from data.py:25, strong, 39 ms, 31 %
known: nobody of 4 late in 39 steps of 125 ms
next: sample_stack py_spy of 2 in data
next: check_loader loader_metrics of 2 in data`},
		{"late in the optimizer", replicas(4, 40, atClip, always(2, 40)).left(), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToEnter
rank, late: rank 2 on node0 in optimizer at all_reduce of 0 from train.py:72, strong, 39 ms, 31 %
known: nobody of 4 late in 39 steps of 125 ms
next: sample_stack py_spy of 2 in optimizer
next: profile profiler of 2 in optimizer`},
		{"late in forward", replicas(4, 40, atForward, always(2, 40)).left(), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToEnter
rank, late: rank 2 on node0 in forward at all_reduce of 0 from model.py:12, strong, 39 ms, 31 %
known: nobody of 4 late in 39 steps of 125 ms
next: profile profiler of 2 in forward
next: inspect_host device_counters of 2 in forward`},
		{"all take longer from the middle on", replicas(4, 60, atTrain, func(_, step int) float64 { return 40 * float64(step/30) }).left(), `
slow_everywhere, on finding: all, saves steps, at all_reduce, only supported; by evidence.Slower, not several_causes_fit
workload, regression: at all_reduce of 0 from train.py:66, supported, 40 ms, 19 %, window, 30 of 59 steps; several_causes_fit
open: transfer_hidden
known: nobody of 4 late in 50 steps of 125 ms`},
		{"all take ever longer", replicas(4, 60, atTrain, func(_, step int) float64 { return float64(step) }).left(), `
slow_everywhere, on finding: all, saves steps, at all_reduce, only supported; by evidence.Slower, not several_causes_fit
workload, regression: at all_reduce of 0 from train.py:66, supported, 29 ms, 25 %, window, 59 of 59 steps; several_causes_fit
open: transfer_hidden
known: nobody of 4 late in 58 steps of 116 ms`},
		{"late in three steps", replicas(4, 40, atTrain, some(800, 20, 30, 35)).left(), `
undecided, on finding: one_rank, saves steps, before it, at all_reduce, only insufficient; by evidence.LastToEnter, not chance_not_excluded
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, ambiguous, 799 ms, 42 %, intermittent, 3 of 39 steps; chance_not_excluded
open: transfer_hidden
known: nobody of 4 late in 39 steps of 86 ms
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"late in two steps", replicas(4, 40, atTrain, some(800, 20, 30)).left(), `
undecided, on finding: one_rank, saves steps, before it, at all_reduce, only insufficient; by evidence.LastToEnter, not chance_not_excluded
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, ambiguous, 798 ms, 32 %, intermittent, 2 of 39 steps; chance_not_excluded
open: transfer_hidden
known: nobody of 4 late in 39 steps of 86 ms
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"late in one step", replicas(4, 40, atTrain, some(800, 20)).left(), `
no_straggler, on no_straggler: of 1 stages, from 14 ms on, searched
open: transfer_hidden
known: nobody of 4 late in 39 steps of 86 ms`},
		{"late, of six steps", replicas(4, 6, atTrain, always(2, 40)).left(), `
undecided, on open_question: synchronisation_unknown
open: transfer_hidden
known: nobody of 4 late in 5 steps of 126 ms`},
		{"late, of five steps", replicas(4, 5, atTrain, always(2, 40)).left(), `
too_little_data, on too_little: no_steps, 0 ranks, 0 steps, 0 of 0 missing
open: transfer_hidden
known: nobody of 4 late in 4 steps of 126 ms`},
		{"a rank without a record", replicas(4, 40, atTrain, always(2, 0)).left(1), `
undecided, on open_question: ranks_not_recorded
open: ranks_not_recorded, hides 86 of 86 ms
open: transfer_hidden
known: nobody of 3 late in 39 steps of 86 ms
lost: dumps_missing 1
next: turn_on all_ranks`},
		{"late, and a rank without a record", replicas(4, 40, atTrain, always(2, 40)).left(1), `
straggler, on finding: one_rank, saves every_step, before it, at all_reduce; by evidence.LastToEnter
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, strong, 40 ms, 31 %
known: nobody of 3 late in 39 steps of 125 ms
lost: dumps_missing 1
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"late before the second of two calls in backward", buckets(atBackward).left(), `
straggler, on finding: one_rank, saves every_step, before it, at all_reduce; by evidence.LastToEnter
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:70, strong, 40 ms, 30 %
known: nobody of 4 late in 39 steps of 132 ms
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"late before a call behind backward", buckets(atTrain).left(), `
straggler, on finding: one_rank, saves every_step, before it, at all_reduce; by evidence.LastToEnter
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, strong, 40 ms, 30 %
known: nobody of 4 late in 39 steps of 132 ms
next: profile profiler of 2
next: inspect_host device_counters of 2`},
		{"late before data behind backward", buckets(atData).left(), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToEnter
rank, late: rank 2 on node0 in data at all_reduce of 0 from data.py:25, strong, 40 ms, 30 %
known: nobody of 4 late in 39 steps of 132 ms
next: sample_stack py_spy of 2 in data
next: check_loader loader_metrics of 2 in data`},
		{"messages, nobody is late", chain(4, -1, true, false).left(), `
no_straggler, on no_straggler: of 1 stages, from 3 ms on, searched
open: transfer_hidden
known: nobody of 4 late in 39 steps of 66 ms`},
		{"messages, late", chain(4, 1, true, false).left(), `
straggler, on finding: one_rank, saves every_step, before it, at send, only supported; by evidence.LastToEnter, not unconfirmed
rank, late: rank 1 on node0 at send of 0 from train.py:66, supported, 40 ms, 38 %; unconfirmed
known: nobody of 4 late in 39 steps of 107 ms
next: profile profiler of 1
next: inspect_host device_counters of 1`},
		{"messages counted, nobody is late", chain(4, -1, true, true).left(), `
undecided, on open_question: messages_not_recorded
open: messages_not_recorded, hides 66 of 66 ms
known: nobody of 4 late in 39 steps of 66 ms
next: turn_on messages`},
		{"messages counted, late", chain(4, 1, true, true).left(), `
undecided, on finding: some_ranks, saves every_step, before it, at all_reduce, only insufficient; by evidence.LateBehindMessages
group, late: with 1-3 at all_reduce of 0 from train.py:66, ambiguous, 40 ms, 38 %
open: messages_not_recorded, hides 107 of 107 ms
known: nobody of 4 late in 39 steps of 107 ms
next: turn_on messages
next: profile profiler of 1-3`},
		{"messages and no collective, nobody is late", chain(4, -1, false, false).left(), `
undecided, on open_question: roles_mixed
open: transfer_hidden
open: roles_mixed, hides 18 of 18 ms
known: nobody of 4 late in 40 steps of 18 ms
next: turn_on baseline`},
		{"messages and no collective, late", chain(4, 1, false, false).left(), `
undecided, on open_question: roles_mixed
open: transfer_hidden
open: roles_mixed, hides 59 of 59 ms
known: nobody of 4 late in 40 steps of 59 ms
next: turn_on baseline`},
		{"stages that nothing connects, late before its messages", stagesApart(false).left(), `
undecided, on finding: some_ranks, saves every_step, before it, at all_reduce, only insufficient; by evidence.LateBehindMessages
group, late: with 1,3 at all_reduce of 1 from train.py:66, ambiguous, 40 ms, 50 %
open: messages_not_recorded, hides 81 of 81 ms
known: nobody of 4 late in 39 steps of 81 ms
next: turn_on messages
next: profile profiler of 1,3`},
		{"stages that nothing connects, late behind its messages", stagesApart(true).left(), `
straggler, on finding: one_rank, saves nothing, before it, at all_reduce, only supported; by evidence.LastToEnter, not unconfirmed
rank, late: rank 1 on node0 at all_reduce of 1 from train.py:66, supported, 40 ms, 0 %; unconfirmed; wait_not_recorded
known: nobody of 4 late in 39 steps of 81 ms
next: profile profiler of 1
next: inspect_host device_counters of 1`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, c.job...), c.want) })
	}
}

// buckets returns dumps of two calls a step, before the second of which rank 2 is late.
func buckets(second int) *dumps {
	d := newDumps(4)
	for range 40 {
		for r := range 4 {
			d.work(r, 60)
		}
		d.reduce(0, atBackward, 0, 1, 2, 3)
		for r := range 4 {
			if d.work(r, 20); r == 2 {
				d.work(r, 40)
			}
		}
		d.reduce(0, second, 0, 1, 2, 3)
		for r := range 4 {
			d.work(r, 10)
		}
	}
	return d
}

// stagesApart returns dumps of two replicas of two pipeline stages, which reduce gradients each among themselves; messages between stages are not
// recorded. Rank 1 is late before or behind them.
func stagesApart(behind bool) *dumps {
	d := newDumps(4)
	for _, c := range d.records {
		c.Groups = nil
	}
	d.group("1", 0, 1)
	d.group("2", 2, 3)
	for range 40 {
		for first := range 2 {
			second := first + 2
			if d.work(first, 20); first == 1 && !behind {
				d.work(first, 40)
			}
			d.now[second] = max(d.now[first], d.now[second])
			d.work(second, 20)
			if d.now[first] = max(d.now[first], d.now[second]); first == 1 && behind {
				d.work(first, 40)
			}
		}
		d.reduce(0, atTrain, 0, 1)
		d.reduce(0, atTrain, 2, 3)
	}
	return d
}

// TestHangs: who never entered the call that the others wait in comes before everything.
func TestHangs(t *testing.T) {
	differentSizes := func(d *dumps) {
		for r, c := range d.records {
			c.Calls[10].Tensors = &comms.Tensors{InSizes: [][]int64{{int64(8 + r/3)}}}
		}
	}
	goesOn := replicas(4, 40, atTrain, always(2, 0))
	differentSizes(goesOn)
	stack := &comms.Record{Run: "job", Sources: make([]comms.Source, 1), Processes: []comms.Process{{Rank: 2, Stack: []comms.Frame{{Function: "fetch", File: "/job/data.py", Line: 9}}}}}
	for _, c := range []struct {
		name string
		job  []trace.Recording
		want string
	}{
		{"five steps ago", hung(5, nil).left(), `
no_straggler, on no_straggler: of 1 stages, from 11 ms on, searched
open: transfer_hidden
known: nobody of 4 late in 18 steps of 86 ms`},
		{"fifteen steps ago", hung(15, nil).left(), `
hang, on finding: one_rank, saves nothing, at all_reduce; by evidence.NeverEntered
rank, missing: rank 2 on node0 at all_reduce of 0 from train.py:70, strong, 0 ms, 0 %
known: nobody of 4 late in 18 steps of 86 ms
next: dump_stack py_spy of 2
next: check_kernel_log of 2`},
		{"it has no dump", hung(15, nil).left(2), `
hang, on finding: one_rank, saves nothing, at all_reduce, only insufficient; by evidence.NeverEntered, not dump_incomplete
rank, missing: rank 2 at all_reduce of 0, ambiguous, 0 ms, 0 %; dump_incomplete
known: nobody of 3 late in 19 steps of 86 ms
lost: dumps_missing 2
next: dump_stack py_spy of 2
next: check_kernel_log of 2`},
		{"it was looked at", append(hung(15, nil).left(), stack), `
hang, on finding: one_rank, saves nothing, at all_reduce; by evidence.NeverEntered
rank, missing: rank 2 on node0 at all_reduce of 0 from train.py:70, strong, 0 ms, 0 %
known: nobody of 4 late in 18 steps of 86 ms
next: check_kernel_log of 2`},
		{"two are missing", hung(15, func(d *dumps) { d.records[3].Calls = d.records[3].Calls[:19] }).left(), `
hang, on finding: some_ranks, saves nothing, at all_reduce; by evidence.NeverEntered
rank, missing: rank 2 on node0 with 2-3 at all_reduce of 0 from train.py:70, strong, 0 ms, 0 %
rank, missing: rank 3 on node0 with 2-3 at all_reduce of 0 from train.py:70, strong, 0 ms, 0 %
known: nobody of 4 late in 18 steps of 86 ms
next: dump_stack py_spy of 2-3
next: check_kernel_log of 2-3`},
		{"sizes differ", hung(15, differentSizes).left(), `
hang, on finding: one_rank, saves nothing, at all_reduce; by evidence.NeverEntered
rank, missing: rank 2 on node0 at all_reduce of 0 from train.py:70, strong, 0 ms, 0 %
rank, desync: rank 3 with 3 at all_reduce of 0 from train.py:70, strong, 0 ms, 0 %
known: nobody of 4 late in 0 steps of 0 ms
next: dump_stack py_spy of 2
next: check_kernel_log of 2`},
		{"sizes differ, and it goes on", goesOn.left(), `
no_straggler, on no_straggler: of 1 stages, from 12 ms on, searched
open: transfer_hidden
known: nobody of 4 late in 37 steps of 86 ms`},
		{"it is in another call", hung(15, func(d *dumps) {
			c := d.records[2]
			x := c.Calls[18]
			x.Enter, x.State, x.Op, x.Name = x.Enter+100e6, comms.Started, nccl.Broadcast, "gloo:broadcast"
			c.Calls = append(c.Calls, x)
		}).left(), `
hang, on finding: one_rank, saves nothing, at broadcast; by evidence.EnteredDifferently
rank, desync: rank 2 with 2 at broadcast of 0 from train.py:70, strong, 0 ms, 0 %
open: transfer_hidden
known: nobody of 4 late in 19 steps of 86 ms
next: dump_stack py_spy of 2`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, c.job...), c.want) })
	}
}

// hung returns dumps of a job in which rank 2 never enters the twentieth call, and ranks 0 and 1 go on in another group for some steps.
func hung(steps int, change func(d *dumps)) *dumps {
	d := replicas(4, 20, atBackward, always(2, 0))
	d.group("1", 0, 1)
	for r, c := range d.records {
		if c.Calls[19].State = comms.Started; r == 2 {
			c.Calls = c.Calls[:19]
		}
	}
	for range steps {
		d.work(0, 86)
		d.work(1, 86)
		d.reduce(1, atTrain, 0, 1)
	}
	for r, c := range d.records {
		c.Processes[0].Written = 1767225600e9 + int64(d.now[0]*1e6) + int64(r)
	}
	if change != nil {
		change(d)
	}
	return d
}

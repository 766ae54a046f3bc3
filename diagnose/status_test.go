package diagnose

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// TestStatusOfWindows: what windows alone show makes a run late, slow, undecided or healthy.
func TestStatusOfWindows(t *testing.T) {
	when := func(f simulate.Fault, w simulate.When) simulate.Fault { f.When = w; return f }
	hosts := func(s simulate.Spec) simulate.Spec { s.RanksPerHost = 2; return s }
	loading := spec(8, 40, 1)
	loading.Stages[0].Work.Mean = 300
	overhead, overheadOfOne := deviceJob, spec(1, 40, 1)
	overhead.Stages = slices.Clone(overhead.Stages)
	overhead.Stages[1].Work.Mean, overhead.Stages[1].Device.Mean = 200, 60
	overheadOfOne.Stages, overheadOfOne.Side.Every = overhead.Stages, 1
	micro := spec(4, 40, 1, fault(simulate.ForwardHost, 80, 3))
	micro.Accumulation = 2
	for _, c := range []struct {
		name    string
		job     simulate.Spec
		changes []func(w *trace.Window)
		want    string
	}{
		{"late once, for long", spec(8, 60, 1, when(fault(simulate.Data, 3000, 3), simulate.When{From: 30, Until: 31})), nil, `
unseen, on unseen: of 4 stages, from 35 ms on, searched, once, perhaps inside and in model.backward_cpu_wall
rank, late: rank 3 on node0 in data.next_wait, ambiguous, 2999 ms, 19 %, intermittent, 1 of 60 steps; few_occurrences
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 118 of 218 ms, unlikely
hides: 118 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"all ranks once, for long", spec(8, 60, 1, when(fault(simulate.BackwardComm, 3000, 3), simulate.When{From: 30, Until: 31})), nil, `
unseen, on unseen: of 4 stages, from 35 ms on, searched, once and in model.backward_cpu_wall
stage, slow_steps: in model.backward_cpu_wall, ambiguous, 2996 ms, 19 %, intermittent, 1 of 60 steps; several_causes_fit
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 168 of 218 ms
hides: 168 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"late in the first steps", spec(8, 60, 1, when(fault(simulate.Data, 900, 3), simulate.When{Until: 2})), nil, `
unseen, on unseen: of 4 stages, from 29 ms on, searched, start, perhaps inside and in model.backward_cpu_wall
rank, start_up: rank 3 on node0 in data.next_wait, supported, small, 901 ms, 0 %, window, 2 of 60 steps
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 118 of 218 ms, unlikely
hides: 118 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"all ranks in the first steps", spec(8, 60, 1, when(fault(simulate.BackwardComm, 900, 3), simulate.When{Until: 2})), nil, `
unseen, on unseen: of 4 stages, from 29 ms on, searched, start, perhaps inside and in model.backward_cpu_wall
stage, start_up: in model.backward_cpu_wall, supported, small, 897 ms, 0 %, window, 2 of 60 steps
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 118 of 218 ms, unlikely
hides: 118 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"late in a stretch", spec(8, 60, 1, when(fault(simulate.Data, 200, 3), simulate.When{From: 20, Until: 40})), nil, `
straggler, on finding: one_rank, saves steps; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait, strong, 200 ms, 23 %, window, 20 of 60 steps
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 221 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"late from a step on", spec(8, 60, 1, when(fault(simulate.ForwardHost, 100, 3), simulate.When{From: 30})), nil, `
straggler, on finding: one_rank, saves steps; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 100 ms, 18 %, window, 30 of 60 steps
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 116 of 233 ms, unlikely
hides: 116 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"all ranks every fifth step", spec(8, 60, 1, when(fault(simulate.BackwardComm, 200, 3), simulate.When{Every: 5})), nil, `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, periodic: in model.backward_cpu_wall, supported, 201 ms, 16 %, periodic, 12 of 60 steps; several_causes_fit
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 158 of 219 ms
hides: 158 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 219 ms
next: profile profiler of 0,2,4,6 in model.backward_cpu_wall`},
		{"all ranks every fifth step, a little", spec(8, 60, 1, when(fault(simulate.BackwardComm, 60, 3), simulate.When{Every: 5})), nil, `
unseen, on unseen: of 4 stages, from 30 ms on, searched, perhaps inside and in model.backward_cpu_wall
stage, slow_steps: in model.backward_cpu_wall, supported, small, 63 ms, 4 %, intermittent, 9 of 60 steps; several_causes_fit
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 130 of 219 ms, unlikely
hides: 130 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 219 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"two ranks of a host", hosts(spec(8, 40, 1, fault(simulate.Data, 80, 2, 3))), nil, `
straggler, on finding: host_ranks, saves every_step; by evidence.LastToArrive
host, late: on node1 with 2-3 in data.next_wait, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 293 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: inspect_host device_counters in data.next_wait
next: profile profiler of 2 in data.next_wait`},
		{"two ranks of two hosts", hosts(spec(8, 40, 1, fault(simulate.Data, 80, 2, 5))), nil, `
straggler, on finding: one_rank, saves little_alone and rank, 2 together 27 %; by evidence.LastToArrive
rank, late: rank 2 on node1 in data.next_wait, strong, 79 ms, 1 %
rank, late: rank 5 on node2 in data.next_wait, strong, 79 ms, 0 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 115 of 294 ms, unlikely
hides: 115 ms in model.backward_cpu_wall
next: sample_stack py_spy of 2 in data.next_wait
next: check_loader loader_metrics of 2 in data.next_wait`},
		{"most of the step is loading", loading, nil, `
unseen, on unseen: of 4 stages, from 64 ms on, searched, perhaps inside and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 502 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 502 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"microsteps", micro, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 25 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 130 of 307 ms, unlikely
hides: 130 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"in the optimizer", spec(8, 40, 1, fault(simulate.OptimizerHost, 80, 3)), nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in optim.step_cpu_wall, strong, 79 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: sample_stack py_spy of 3 in optim.step_cpu_wall
next: profile profiler of 3 in optim.step_cpu_wall`},
		{"in callbacks", spec(8, 40, 1, fault(simulate.CallbackHost, 80, 3)), nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in callbacks.cpu_wall, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: sample_stack py_spy of 3 in callbacks.cpu_wall
next: profile profiler of 3 in callbacks.cpu_wall`},
		{"long on the device", deviceJob, []func(*trace.Window){longerDevice(3, 40)}, `
straggler, on finding: one_rank, saves every_step, on the device, only supported; by evidence.DeviceTime, not unconfirmed
rank, device: rank 3 on node0 in model.fwd_loss_cpu_wall, supported, 38 ms, 18 %; unconfirmed
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall`},
		{"long on the device, a rank is missing", deviceJob, []func(*trace.Window){longerDevice(3, 40), missing}, `
straggler, on finding: one_rank, saves every_step, on the device, only supported; by evidence.DeviceTime, not unconfirmed
rank, device: rank 3 on node0 in model.fwd_loss_cpu_wall, supported, 38 ms, 18 %; unconfirmed
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
lost: ranks_missing 8
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall`},
		{"three steps", spec(8, 3, 1, fault(simulate.Data, 80, 3)), nil, `
too_little_data, on too_little: few_steps, 8 ranks, 2 steps, 0 of 0 missing
rank, late: rank 3 on node0 in data.next_wait, ambiguous, 74 ms, 26 %; few_occurrences; synchronisation_likely
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 113 of 278 ms, unlikely
hides: 113 ms in model.backward_cpu_wall
known: nobody of 8 late in 2 steps of 278 ms
next: turn_on steps
next: turn_on arrivals in model.backward_cpu_wall`},
		{"three steps of two ranks", spec(2, 3, 1, fault(simulate.Data, 80, 1)), nil, `
too_little_data, on too_little: few_steps, 2 ranks, 2 steps, 0 of 0 missing
rank, late: rank 1 on node0 in data.next_wait, ambiguous, 74 ms, 26 %; few_occurrences; synchronisation_likely
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 280 ms, unlikely
open: device_or_host
hides: 114 ms in model.backward_cpu_wall
known: nobody of 2 late in 2 steps of 280 ms
next: turn_on steps
next: turn_on arrivals in model.backward_cpu_wall
next: turn_on device_events`},
		{"three steps, a rank is missing", spec(8, 3, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){missing}, `
too_little_data, on too_little: ranks_missing, 8 ranks, 2 steps, 1 of 9 missing
rank, late: rank 3 on node0 in data.next_wait, ambiguous, 74 ms, 26 %; few_occurrences; synchronisation_likely; telemetry_limited
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 113 of 278 ms, unlikely
hides: 113 ms in model.backward_cpu_wall
known: nobody of 8 late in 2 steps of 278 ms
lost: ranks_missing 8
next: turn_on all_ranks of 8`},
		{"a rank is missing", spec(8, 40, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){missing}, `
straggler, on finding: one_rank, saves every_step, only supported; by evidence.LastToArrive, not telemetry_limited
rank, late: rank 3 on node0 in data.next_wait, supported, 80 ms, 26 %; telemetry_limited
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
lost: ranks_missing 8
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"one rank", spec(1, 40, 1), nil, `
too_little_data, on too_little: no_peers, 1 ranks, 40 steps, 0 of 0 missing
open: ranks_not_recorded
known: model.backward_cpu_wall takes 98 of 195 ms
next: profile profiler of 0
next: turn_on all_ranks`},
		{"stages out of order", spec(8, 40, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){disorderly}, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms
hides: 114 ms in model.backward_cpu_wall
lost: stages_out_of_order
next: turn_on stage_order
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"units in doubt", spec(8, 40, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){doubtfulUnits}, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
lost: unit_doubt
next: turn_on units
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"a gather that failed", spec(8, 40, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){failedGather}, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
lost: gather_failed
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"a gather that failed, three steps", spec(8, 3, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){failedGather}, `
too_little_data, on too_little: few_steps, 8 ranks, 2 steps, 0 of 0 missing
rank, late: rank 3 on node0 in data.next_wait, ambiguous, 74 ms, 26 %; few_occurrences; synchronisation_likely
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 113 of 278 ms, unlikely
hides: 113 ms in model.backward_cpu_wall
known: nobody of 8 late in 2 steps of 278 ms
lost: gather_failed
next: turn_on steps
next: turn_on arrivals in model.backward_cpu_wall`},
		{"hosts are slower than devices", overhead, nil, `
slow_everywhere, on finding: all, saves at_most, only supported; by evidence.DeviceTime, not unconfirmed
stage, forward_host_overhead: in model.fwd_loss_cpu_wall, supported, 140 ms, 39 %; unconfirmed
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 357 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 357 ms
next: profile profiler_stacks of 0 in model.fwd_loss_cpu_wall`},
		{"the host of one is slower than devices", overheadOfOne, nil, `
too_little_data, on too_little: no_peers, 1 ranks, 40 steps, 0 of 0 missing
open: ranks_not_recorded
known: model.fwd_loss_cpu_wall takes 199 of 334 ms
next: profile profiler of 0
next: turn_on all_ranks`},
		{"without wall times", spec(8, 40, 1, fault(simulate.Data, 80, 3)), []func(*trace.Window){func(w *trace.Window) { w.Wall = nil }}, `
straggler, on finding: one_rank, saves every_step, only supported; by evidence.LastToArrive, not no_wall_time
rank, late: rank 3 on node0 in data.next_wait, supported, 80 ms, 26 %; no_wall_time
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
open: unrecorded_time
hides: 114 ms in model.backward_cpu_wall
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{}, changed(t, c.job, c.changes...)...), c.want) })
	}
}

// missing says that a rank more is in the job.
func missing(w *trace.Window) { w.WorldSize++ }

// disorderly exchanges the names of forward and optimizer.
func disorderly(w *trace.Window) {
	w.Schema.Stages, w.Side = slices.Clone(w.Schema.Stages), nil
	w.Schema.Stages[1], w.Schema.Stages[4] = w.Schema.Stages[4], w.Schema.Stages[1]
}

func doubtfulUnits(w *trace.Window) {
	w.Notes = append(w.Notes, input.Note{Kind: input.NoteUnitDoubt, Text: "times may be milliseconds"})
}

func failedGather(w *trace.Window) {
	w.Notes = append(w.Notes, input.Note{Kind: input.NoteGatherFailed, Text: "the gather failed"})
}

// TestStatusByMinGain: what is smaller than the least gain decides nothing.
func TestStatusByMinGain(t *testing.T) {
	for _, c := range []struct {
		name string
		job  []trace.Recording
		want string
	}{
		{"late by stage times", changed(t, spec(8, 40, 1, fault(simulate.Data, 80, 3))), `
no_straggler, on no_straggler: of 4 stages, from 241 ms on, searched, small
rank, late: rank 3 on node0 in data.next_wait, strong, small, 80 ms, 26 %
hides: 114 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 292 ms`},
		{"late by entries", changed(t, entering(40, fault(simulate.Backward, 80, 3))), `
no_straggler, on no_straggler: of 5 stages, from 256 ms on, searched, small
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, small, 79 ms, 26 %; arrivals agrees true, raises false
known: nobody of 8 late in 39 steps of 290 ms`},
		{"a transfer", changed(t, entering(40, fault(simulate.BackwardComm, 80, 3))), `
no_straggler, on no_straggler: of 5 stages, from 348 ms on, searched
known: nobody of 8 late in 39 steps of 298 ms`},
		{"entries alone", replicas(4, 40, atTrain, always(2, 40)).left(), `
no_straggler, on no_straggler: of 1 stages, from 99 ms on, searched, small
rank, late: rank 2 on node0 at all_reduce of 0 from train.py:66, strong, small, 39 ms, 31 %
known: nobody of 4 late in 39 steps of 125 ms`},
		{"kernels alone", []trace.Recording{kernels(t, "late-rank")}, `
no_straggler, on communication: one_rank, saves steps, only insufficient; by evidence.LastToEnter
rank, late: rank 5 on node1 with 5, strong, small, 0 ms, 19 %
next: profile of 5`},
		{"operators alone", []trace.Recording{workers(t, 8, slowed(5, "", 1.5))}, `
no_straggler, on operators; by evidence.PassTimes
rank, compute: rank 5 in pp=0, strong, small, 580 ms, 26 %
open: transfer_hidden
next: profile of 5 in pp=0`},
	} {
		t.Run(c.name, func(t *testing.T) { says(t, judged(t, Options{MinGain: 0.5}, c.job...), c.want) })
	}
}

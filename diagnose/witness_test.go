package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// workers returns the operators of a job of so many data-parallel ranks, of the run of the windows of spec.
func workers(t *testing.T, ranks int, faults ...pipeline.Fault) *operator.Trace {
	t.Helper()
	return made(t, job(func(s *pipeline.Spec) {
		s.Layout = pipeline.Layout{DP: ranks, PP: 1, TP: 1, Chunks: 1, Microbatches: 2, Buckets: 1}
		s.SpeedSD, s.Faults = 0, faults
	}))
}

// slowed makes the passes of a worker longer by a factor.
func slowed(rank int, op string, factor float64) pipeline.Fault {
	return pipeline.Fault{Kind: pipeline.SlowWorker, Where: pipeline.Where{DP: at(rank), Op: op}, Size: pipeline.Size{Factor: factor}}
}

// TestWindowsAndOperatorTraces: stage times are of every step, an operator trace of some, and says who computes longer.
func TestWindowsAndOperatorTraces(t *testing.T) {
	for _, c := range []struct {
		name string
		job  simulate.Spec
		ops  *operator.Trace
		want string
	}{
		{"nobody is late, and by operators", spec(8, 40, 1), workers(t, 8), `
unseen, on unseen: of 4 stages, from 28 ms on, searched, perhaps inside and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
open: transfer_hidden
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
known: operator_trace finds nobody
next: turn_on arrivals in model.backward_cpu_wall`},
		{"nobody is late, by operators a rank", spec(8, 40, 1), workers(t, 8, slowed(5, "", 1.5)), `
straggler, on operators: one_rank, saves every_step, only supported; by evidence.PassTimes, not sources_disagree
rank, compute: rank 5 in pp=0, supported, 580 ms, 26 %; sources_disagree
open: transfer_hidden
hides: 117 ms in model.backward_cpu_wall
next: profile of 5 in pp=0`},
		{"late by both", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), workers(t, 8, slowed(3, "forward-compute", 1.5)), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive and operator_trace
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall at forward-compute, strong, 80 ms, 26 %; operator_trace agrees true, raises false
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"little late by both", spec(8, 40, 1, fault(simulate.ForwardHost, 12, 3)), workers(t, 8, slowed(3, "forward-compute", 1.04)), `
unseen, on unseen: of 4 stages, from 28 ms on, searched, small, perhaps inside and in model.backward_cpu_wall
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, small, 12 ms, 4 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 224 ms, unlikely
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 224 ms
known: operator_trace finds nobody
next: turn_on arrivals in model.backward_cpu_wall`},
		{"little late, by operators much", spec(8, 40, 1, fault(simulate.ForwardHost, 12, 3)), workers(t, 8, slowed(3, "", 1.5)), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive and operator_trace
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 571 ms, 26 %; operator_trace agrees true, raises true
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in forward, by operators nobody", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), workers(t, 8), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %; operator_trace agrees false, raises false
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
known: operator_trace finds nobody
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in forward, by operators another", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), workers(t, 8, slowed(5, "", 1.5)), `
straggler, on finding: one_rank, saves every_step, only supported; by evidence.LastToArrive, not sources_disagree
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, supported, 80 ms, 26 %; sources_disagree 5
rank, compute: rank 5 in pp=0, supported, 580 ms, 26 %; sources_disagree
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in data, by operators another", spec(8, 40, 1, fault(simulate.Data, 80, 3)), workers(t, 8, slowed(5, "", 1.5)), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait, strong, 80 ms, 26 %
rank, compute: rank 5 in pp=0, supported, 580 ms, 26 %; sources_disagree
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
next: sample_stack py_spy of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"late in forward, of no worker", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 6)), workers(t, 4, slowed(2, "", 1.5)), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 6 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 26 %
rank, compute: rank 2 in pp=0, supported, 582 ms, 27 %; sources_disagree
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 290 ms, unlikely
open: transfer_hidden
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 6 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 6 in model.fwd_loss_cpu_wall`},
		{"late in forward, by operators passes are uneven", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), workers(t, 8, pipeline.Fault{Kind: pipeline.Workload, Size: pipeline.Size{Factor: 1.8}}), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %; operator_trace agrees false, raises false
workload, turns:, supported, 2259 ms, 47 %; several_causes_fit
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"a delay may hide, by operators nobody", spec(8, 40, 1, fault(simulate.Backward, 120, 5)), workers(t, 8), `
unseen, on unseen: of 4 stages, from 43 ms on, searched and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 233 of 332 ms
open: transfer_hidden
hides: 233 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 332 ms
known: operator_trace finds nobody
next: turn_on arrivals in model.backward_cpu_wall`},
		{"a delay may hide, by operators a rank", spec(8, 40, 1, fault(simulate.Backward, 120, 5)), workers(t, 8, slowed(5, "backward-compute", 1.5)), `
straggler, on operators: one_rank, saves every_step, at backward-compute; by evidence.PassTimes
rank, compute: rank 5 in pp=0 at backward-compute, strong, 363 ms, 18 %
open: transfer_hidden
hides: 233 ms in model.backward_cpu_wall
next: profile of 5 in pp=0`},
		{"some steps are slow, by operators a rank", spec(8, 60, 1, simulate.Fault{Family: simulate.BackwardComm, Delay: 200, Ranks: []int{5}, When: simulate.When{Every: 5}}), workers(t, 8, slowed(5, "", 1.5)), `
straggler, on operators: one_rank, saves every_step; by evidence.PassTimes
rank, compute: rank 5 in pp=0, strong, 580 ms, 26 %
stage, periodic: in model.backward_cpu_wall, supported, 201 ms, 16 %, periodic, 12 of 60 steps; several_causes_fit
open: transfer_hidden
hides: 158 ms in model.backward_cpu_wall
next: profile of 5 in pp=0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, c.job)
			c.ops.Run = all[0].RunName()
			says(t, judged(t, Options{}, append(all, c.ops)...), c.want)
		})
	}
}

// TestWindowsAndProfiles: windows that a profiler's traces come down to speak for a rank, or against it.
func TestWindowsAndProfiles(t *testing.T) {
	host := spec(8, 12, 2, fault(simulate.ForwardHost, 80, 4, 5))
	host.RanksPerHost = 2
	for _, c := range []struct {
		name          string
		job, profiled simulate.Spec
		changes       []func(w *trace.Window) // of the windows
		traced        func(w *trace.Window)   // change of the traces; nil: none
		want          string
	}{
		{"nobody is late, and in traces", spec(8, 40, 1), spec(8, 12, 2), nil, nil, `
unseen, on unseen: of 4 stages, from 28 ms on, searched, perhaps inside and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"nobody is late, in traces a rank", spec(8, 40, 1), spec(8, 12, 2, fault(simulate.ForwardHost, 80, 5)), nil, nil, `
straggler, on finding: one_rank, saves every_step, only supported; by evidence.LastToArrive, not sources_disagree
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, supported, 79 ms, 26 %; sources_disagree
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
		{"nobody is late, in traces a rank in data", spec(8, 40, 1), spec(8, 12, 2, fault(simulate.Data, 80, 5)), nil, nil, `
straggler, on finding: one_rank, saves every_step, only supported; by evidence.LastToArrive, not sources_disagree
rank, late: rank 5 on node0 in data.next_wait, supported, 80 ms, 26 %; sources_disagree
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
next: sample_stack py_spy of 5 in data.next_wait
next: check_loader loader_metrics of 5 in data.next_wait`},
		{"nobody is late, in traces the ranks of a host", spec(8, 40, 1), host, nil, nil, `
unseen, on unseen: of 4 stages, from 28 ms on, searched, perhaps inside and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"nobody is late, in traces a rank's device", spec(8, 40, 1), spec(8, 40, 2), nil, longerDevice(5, 40), `
unseen, on unseen: of 4 stages, from 28 ms on, searched, perhaps inside and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"late by both", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), spec(8, 12, 2, fault(simulate.ForwardHost, 80, 3)), nil, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive and profiler
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %; profiler agrees true, raises false
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late by both, elsewhere in the step", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), spec(8, 12, 2, fault(simulate.Data, 80, 3)), nil, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive and profiler
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %; profiler agrees true, raises false
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"little late by both", spec(8, 40, 1, fault(simulate.ForwardHost, 12, 3)), spec(8, 12, 2, fault(simulate.ForwardHost, 12, 3)), nil, nil, `
unseen, on unseen: of 4 stages, from 28 ms on, searched, small, perhaps inside and in model.backward_cpu_wall
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, small, 12 ms, 4 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 224 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 224 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"little late, in traces much", spec(8, 40, 1, fault(simulate.ForwardHost, 12, 3)), spec(8, 12, 2, fault(simulate.ForwardHost, 80, 3)), nil, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive and profiler
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 26 %; profiler agrees true, raises true
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 224 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late, in traces nobody", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), spec(8, 12, 2), nil, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late, in traces another", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), spec(8, 12, 2, fault(simulate.ForwardHost, 80, 5)), nil, nil, `
straggler, on finding: one_rank, saves every_step, only supported and rank; by evidence.LastToArrive, not sources_disagree
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, supported, 80 ms, 26 %; sources_disagree 5
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, supported, 79 ms, 26 %; sources_disagree
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in few steps, in traces more", spec(8, 4, 1, fault(simulate.ForwardHost, 80, 3)), spec(8, 30, 2, fault(simulate.ForwardHost, 80, 3)), nil, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive and profiler
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 27 %; profiler agrees true, raises true
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 113 of 291 ms, unlikely
hides: 113 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"where ranks wait is not known, in traces a rank", spec(8, 6, 1), spec(8, 12, 2, fault(simulate.ForwardHost, 80, 5)), []func(*trace.Window){unnamed}, nil, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 26 %
open: synchronisation_unknown
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, c.job, c.changes...)
			for _, w := range windows(t, c.profiled) {
				if w.Run = all[0].RunName(); c.traced != nil {
					c.traced(w)
				}
				all = append(all, trace.ProfiledWindow{Window: w})
			}
			says(t, judged(t, Options{}, all...), c.want)
		})
	}
}

// TestShownBesideProfiles: what a profiler's traces alone show is in no window, so that the longest is shown.
func TestShownBesideProfiles(t *testing.T) {
	first, second := windows(t, spec(8, 12, 1))[0], windows(t, spec(8, 40, 1))[0]
	second.Index, second.FirstStep, second.Side = 1, first.FirstStep+12, nil
	traces := windows(t, spec(8, 12, 2, fault(simulate.ForwardHost, 80, 5)))[0]
	traces.Run = first.Run
	v := judged(t, Options{}, first, second, trace.ProfiledWindow{Window: traces})
	if len(v.Findings) == 0 || *v.Findings[0].Rank != 5 || v.MainWindow().Main.Steps < 30 {
		t.Errorf("a window of %d steps is shown of %q, want that of 40", v.MainWindow().Main.Steps, inShort(v))
	}
}

// TestWorkersThatLack: a trace of fewer pipeline stages than its layout has asks for the others; the ranks that a worker stands for are told.
func TestWorkersThatLack(t *testing.T) {
	o := workers(t, 8, slowed(5, "", 1.5))
	o.Layout.PP, o.Layout.TP = 2, 2
	says(t, judged(t, Options{}, o), `
straggler, on operators: one_rank, saves every_step; by evidence.PassTimes
rank, compute: rank 5 for 10-11 in pp=0, strong, 580 ms, 26 %
open: ranks_not_recorded
open: rank_of_worker
next: profile of 5 in pp=0`)
}

// unnamed gives the stages of a window names that say nothing.
func unnamed(w *trace.Window) {
	w.Schema.Stages, w.Side = []string{"a", "b", "c", "d", "e"}, nil
}

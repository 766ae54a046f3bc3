package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/fixtures/comm/commtest"
	jobs "github.com/sfstat/sfstat/fixtures/comm/job"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// kernels returns the calls and kernels of NCCL of an invented job of eight ranks, by scenario; healthy for "".
func kernels(t *testing.T, name string) *comms.Record {
	t.Helper()
	s, err := jobs.Scenario(name, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Steps = 4
	return commtest.ScenarioRecord(t, s, nil)
}

// TestWindowsAndKernels: stage times say who is late and where, calls and kernels of NCCL who enters last and which link is slow.
func TestWindowsAndKernels(t *testing.T) {
	traffic := map[string]*comms.Record{}
	for _, name := range []string{"healthy", "slow-card", "late-rank", "slow-card-late-rank"} {
		traffic[name] = kernels(t, name)
	}
	inStage := func(name string, f simulate.Fault) simulate.Spec {
		s := spec(8, 60, 1)
		s.Stages[2].Name = name
		f.Stage = name
		s.Faults = []simulate.Fault{f}
		return s
	}
	every := func(f simulate.Fault) simulate.Fault { f.Every = 5; return f }
	for _, c := range []struct {
		name, traffic string
		job           simulate.Spec
		want          string
	}{
		{"nobody is late, and by kernels", "healthy", spec(8, 40, 1), `
no_straggler, on no_straggler: of 5 stages, from 28 ms on, searched
known: nobody of 8 late in 39 steps of 218 ms
known: nccl finds nobody`},
		{"nobody is late, a link is slow", "slow-card", spec(8, 40, 1), `
straggler, on communication: all, saves steps, at AllReduce; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 35 %
hides: 117 ms in model.backward_cpu_wall
next: test_link of 1,5`},
		{"nobody is late, by kernels a rank", "late-rank", spec(8, 40, 1), `
straggler, on communication: one_rank, saves steps; by evidence.LastToEnter
rank, late: rank 5 on node1 with 5, strong, 0 ms, 19 %
hides: 117 ms in model.backward_cpu_wall
next: profile of 5`},
		{"nobody is late, a link is slow and a rank late", "slow-card-late-rank", spec(8, 40, 1), `
straggler, on communication: all, saves steps, at AllReduce and rank; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 30 %
rank, late: rank 2 on node0 with 2, strong, 0 ms, 13 %
hides: 117 ms in model.backward_cpu_wall
next: test_link of 1,5`},
		{"late by both", "late-rank", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 5)), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 26 %; nccl agrees true, raises false
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 115 of 292 ms, unlikely
hides: 115 ms in model.backward_cpu_wall
next: profile profiler of 5 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
		{"late, by kernels nobody", "healthy", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 5)), `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 26 %
known: nccl finds nobody
next: profile profiler of 5 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
		{"late, by kernels another", "late-rank", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 2)), `
straggler, on finding: one_rank, saves every_step and rank; by evidence.LastToArrive
rank, late: rank 2 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %
rank, late: rank 5 on node1 with 5, strong, 0 ms, 19 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 112 of 290 ms, unlikely
hides: 112 ms in model.backward_cpu_wall
next: profile profiler of 2 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 2 in model.fwd_loss_cpu_wall`},
		{"late, a link is slow", "slow-card", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 2)), `
straggler, on communication: all, saves steps, at AllReduce; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 35 %
rank, late: rank 2 on node0 in model.fwd_loss_cpu_wall, insufficient, 80 ms, 26 %
hides: 112 ms in model.backward_cpu_wall
next: test_link of 1,5`},
		{"late by both, a link is slow", "slow-card-late-rank", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 2)), `
straggler, on communication: all, saves steps, at AllReduce and rank; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 30 %
rank, late: rank 2 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %; nccl agrees true, raises false
hides: 112 ms in model.backward_cpu_wall
next: test_link of 1,5`},
		{"late beside the rank that is, a link is slow", "slow-card-late-rank", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), `
straggler, on communication: all, saves steps, at AllReduce and rank; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 30 %
rank, late: rank 2 on node0 with 2, strong, 0 ms, 13 %
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, insufficient, 80 ms, 26 %
hides: 114 ms in model.backward_cpu_wall
next: test_link of 1,5`},
		{"little late by both", "late-rank", spec(8, 40, 1, fault(simulate.ForwardHost, 12, 5)), `
straggler, on finding: one_rank, saves steps; by evidence.LastToArrive
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, strong, 0 ms, 19 %; nccl agrees true, raises true
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 115 of 224 ms, unlikely
hides: 115 ms in model.backward_cpu_wall
next: profile profiler of 5 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
		{"a delay may hide, by kernels nobody", "healthy", spec(8, 40, 1, fault(simulate.Backward, 120, 5)), `
no_straggler, on no_straggler: of 5 stages, from 43 ms on, searched
known: nobody of 8 late in 39 steps of 332 ms
known: nccl finds nobody`},
		{"a delay may hide, by kernels a rank", "late-rank", spec(8, 40, 1, fault(simulate.Backward, 120, 5)), `
straggler, on communication: one_rank, saves steps; by evidence.LastToEnter
rank, late: rank 5 on node1 with 5, strong, 0 ms, 19 %
hides: 233 ms in model.backward_cpu_wall
next: profile of 5`},
		{"waits in some steps, a link is slow", "slow-card", inStage("comm.all", every(fault(simulate.BackwardComm, 200, 5))), `
straggler, on communication: all, saves steps, at AllReduce; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 35 %
stage, periodic: in comm.all, insufficient, 201 ms, 16 %, periodic, 12 of 60 steps; several_causes_fit
hides: 158 ms in comm.all
next: test_link of 1,5`},
		{"backward in some steps, a link is slow", "slow-card", inStage(simulate.StageBackward, every(fault(simulate.BackwardComm, 200, 5))), `
straggler, on communication: all, saves steps, at AllReduce; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 35 %
stage, periodic: in model.backward_cpu_wall, supported, 201 ms, 16 %, periodic, 12 of 60 steps; several_causes_fit
hides: 158 ms in model.backward_cpu_wall
next: test_link of 1,5`},
		{"waits in some steps, by kernels nobody", "healthy", inStage("comm.all", every(fault(simulate.BackwardComm, 200, 5))), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, periodic: in comm.all, supported, 201 ms, 16 %, periodic, 12 of 60 steps; several_causes_fit
known: nobody of 8 late in 59 steps of 219 ms
known: nccl finds nobody
next: profile profiler of 0,2,4,6 in comm.all`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, c.job)
			heard := *traffic[c.traffic]
			heard.Run = all[0].RunName()
			says(t, judged(t, Options{}, append(all, &heard)...), c.want)
		})
	}
}

// TestKernelsAlone: without windows calls and kernels are the whole verdict.
func TestKernelsAlone(t *testing.T) {
	for _, c := range []struct {
		name, traffic string
		change        func(c *comms.Record)
		want          string
	}{
		{"nothing is wrong", "healthy", nil, `
no_straggler, on calls`},
		{"a link is slow", "slow-card", nil, `
straggler, on communication: all, saves steps, at AllReduce; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 35 %
next: test_link of 1,5`},
		{"a rank is late", "late-rank", nil, `
straggler, on communication: one_rank, saves steps; by evidence.LastToEnter
rank, late: rank 5 on node1 with 5, strong, 0 ms, 19 %
next: profile of 5`},
		{"both", "slow-card-late-rank", nil, `
straggler, on communication: all, saves steps, at AllReduce and rank; by evidence.SlowLink
edge, link: with 1,5 at AllReduce, strong, 0 ms, 30 %
rank, late: rank 2 on node0 with 2, strong, 0 ms, 13 %
next: test_link of 1,5`},
		{"without kernels", "late-rank", withoutKernels, `
too_little_data, on too_little: no_steps, 0 ranks, 0 steps, 0 of 0 missing
lost: calls_without_kernels`},
		{"without kernels and calls", "late-rank", func(c *comms.Record) { withoutKernels(c); c.Calls = nil }, `
too_little_data, on too_little: no_steps, 0 ranks, 0 steps, 0 of 0 missing
lost: calls_without_kernels`},
		{"without calls", "late-rank", func(c *comms.Record) { c.Calls = nil }, `
too_little_data, on calls`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := kernels(t, c.traffic)
			if c.change != nil {
				c.change(r)
			}
			says(t, judged(t, Options{}, trace.Recording(r)), c.want)
		})
	}
}

func withoutKernels(c *comms.Record) {
	for i := range c.Processes {
		c.Processes[i].Kernels = nil
	}
}

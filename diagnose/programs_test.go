package diagnose

import (
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// lines returns functions of the ranks of a window in a stage: rank 3 spends so much longer in one, in which a line of the program is.
func lines(w *trace.Window, stage string, longer int64, steps int) *operator.Totals {
	t := &operator.Totals{Run: w.Run, Stages: []string{stage}, Names: []string{"sleep at train.py:14", "wait at torch/graph.py:1100", "nn.Module: x"}, Functions: true, Ranks: w.Ranks}
	for step := range steps {
		t.Steps = append(t.Steps, w.FirstStep+int64(step))
		for r := range w.Ranks {
			for name := range t.Names {
				row := operator.Total{Rank: int32(r), Step: int32(step), Name: int32(name), Count: 1, Dur: 1e6 + int64(step*r)}
				if r == 3 && name == 0 || r != 3 && name == 1 {
					row.Dur += longer
				}
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

// TestWindowsAndFunctions: the line in which a late rank spends its delay is what to read; nobody is suspected because of a line.
func TestWindowsAndFunctions(t *testing.T) {
	host := spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3, 2))
	host.RanksPerHost = 2
	for _, c := range []struct {
		name   string
		job    simulate.Spec
		stage  string
		longer int64
		want   string
	}{
		{"nobody is late", spec(8, 40, 1), simulate.StageForward, 80e6, `
unseen, on unseen: of 4 stages, from 28 ms on, searched, perhaps inside and in model.backward_cpu_wall
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
known: nobody of 8 late in 39 steps of 218 ms
next: turn_on arrivals in model.backward_cpu_wall`},
		{"late", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), simulate.StageForward, 80e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall from train.py:14, strong, 80 ms, 26 %; 81 instead of 1 ms at train.py:14
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: read_line of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late in data", spec(8, 40, 1, fault(simulate.Data, 80, 3)), simulate.StageData, 80e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in data.next_wait from train.py:14, strong, 80 ms, 26 %; 81 instead of 1 ms at train.py:14
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: read_line of 3 in data.next_wait
next: check_loader loader_metrics of 3 in data.next_wait`},
		{"late, six tenths in a line", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), simulate.StageForward, 48e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall from train.py:14, strong, 80 ms, 26 %; 49 instead of 1 ms at train.py:14
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: read_line of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late, four tenths in a line", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), simulate.StageForward, 32e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late, a line elsewhere", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 3)), simulate.StageData, 80e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 292 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall`},
		{"late, a line of another rank", spec(8, 40, 1, fault(simulate.ForwardHost, 80, 5)), simulate.StageForward, 80e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 5 on node0 in model.fwd_loss_cpu_wall, strong, 79 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 115 of 292 ms, unlikely
hides: 115 ms in model.backward_cpu_wall
next: profile profiler of 5 in model.fwd_loss_cpu_wall
next: inspect_host device_counters of 5 in model.fwd_loss_cpu_wall`},
		{"the ranks of a host are late", host, simulate.StageForward, 80e6, `
straggler, on finding: host_ranks, saves every_step; by evidence.LastToArrive
host, late: on node1 with 2-3 in model.fwd_loss_cpu_wall, strong, 80 ms, 26 %
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 114 of 293 ms, unlikely
hides: 114 ms in model.backward_cpu_wall
next: inspect_host device_counters in model.fwd_loss_cpu_wall
next: profile profiler of 2 in model.fwd_loss_cpu_wall`},
		{"long on the device", deviceJob, simulate.StageForward, 80e6, `
straggler, on finding: one_rank, saves every_step, on the device, only supported; by evidence.DeviceTime, not unconfirmed
rank, device: rank 3 on node0 in model.fwd_loss_cpu_wall, supported, 38 ms, 18 %; unconfirmed
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 117 of 218 ms, unlikely
hides: 117 ms in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.fwd_loss_cpu_wall
next: profile profiler of 3 in model.fwd_loss_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var changes []func(*trace.Window)
			if c.name == "long on the device" {
				changes = append(changes, longerDevice(3, 40))
			}
			all := changed(t, c.job, changes...)
			says(t, judged(t, Options{}, append(all, lines(all[0].(*trace.Window), c.stage, c.longer, 20))...), c.want)
		})
	}
}

// deviceJob has device times of all steps.
var deviceJob = func() simulate.Spec {
	s := spec(8, 40, 1)
	s.Side.Every = 1
	return s
}()

// longerDevice makes a rank's device work some milliseconds longer than its host shows.
func longerDevice(rank int, ms float64) func(w *trace.Window) {
	return func(w *trace.Window) {
		for i := range w.Side[0].Samples {
			if s := &w.Side[0].Samples[i]; s.Rank == rank {
				s.Value += ms
			}
		}
	}
}

// TestEntriesAndFunctions: of a delay that entries alone show the line is found too.
func TestEntriesAndFunctions(t *testing.T) {
	for _, c := range []struct {
		name   string
		stage  string
		longer int64
		want   string
	}{
		{"in the stage", simulate.StageBackward, 80e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg from train.py:14, strong, 79 ms, 26 %; 81 instead of 1 ms at train.py:14; arrivals agrees true, raises false
next: read_line of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
		{"in another stage", simulate.StageForward, 80e6, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 79 ms, 26 %; arrivals agrees true, raises false
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, entering(40, fault(simulate.Backward, 80, 3)))
			says(t, judged(t, Options{}, append(all, lines(all[0].(*trace.Window), c.stage, c.longer, 20))...), c.want)
		})
	}
}

// TestEntriesAndOperators: of a rank that entries alone find late its operators are told, and its stacks are what to record.
func TestEntriesAndOperators(t *testing.T) {
	for _, c := range []struct {
		name string
		slow int // whose operators take longer; −1: nobody's
		want string
	}{
		{"its operators take longer", 3, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 79 ms, 26 %; 1 of 4 operators longer; arrivals agrees true, raises false
op, operator: rank 3 in model.backward_cpu_wall at void ns::kernel_0<float, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, >(int), strong, 79 ms, 26 %
next: inspect_host device_counters of 3 in model.backward_cpu_wall
next: profile profiler of 3 in model.backward_cpu_wall`},
		{"its operators take as long as others", -1, `
straggler, on finding: one_rank, saves every_step; by evidence.LastToArrive
rank, late: rank 3 on node0 in model.backward_cpu_wall at all_reduce of default_pg, strong, 79 ms, 26 %; 0 of 4 operators longer; arrivals agrees true, raises false
next: sample_stack profiler_stacks of 3 in model.backward_cpu_wall
next: profile profiler of 3 in model.backward_cpu_wall
next: inspect_host device_counters of 3 in model.backward_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, entering(40, fault(simulate.Backward, 80, 3)))
			ops := launched(all[0].(*trace.Window), c.slow, 4, 1, 80e6)
			ops.Stages[0] = simulate.StageBackward
			says(t, judged(t, Options{}, append(all, ops)...), c.want)
		})
	}
}

// TestPeriodsAndOperators: where operators are recorded, steps that are slow on all ranks are to be compared with those of another run.
func TestPeriodsAndOperators(t *testing.T) {
	all := changed(t, spec(8, 60, 1, simulate.Fault{Family: simulate.BackwardComm, Delay: 200, Ranks: []int{5}, When: simulate.When{Every: 5}}))
	says(t, judged(t, Options{}, append(all, launched(all[0].(*trace.Window), -1, 4, 1, 20e6))...), `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, periodic: in model.backward_cpu_wall, supported, 201 ms, 16 %, periodic, 12 of 60 steps; several_causes_fit
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 158 of 219 ms
hides: 158 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 219 ms
next: compare operators in model.backward_cpu_wall`)
}

// TestSlowStepsAndOperators: of steps that are slow on all ranks the ranks whose operators take longer are told, and not blamed.
func TestSlowStepsAndOperators(t *testing.T) {
	for _, c := range []struct {
		name string
		slow int
		want string
	}{
		{"a rank's operators take longer", 3, `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, slow_steps: in model.backward_cpu_wall, supported, 397 ms, 25 %, intermittent, 11 of 60 steps; several_causes_fit; 1 of 4 operators longer
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 191 of 220 ms
hides: 191 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 220 ms
next: sample_stack py_spy of 0,4 in model.backward_cpu_wall`},
		{"nobody's operators take longer", -1, `
slow_everywhere, on finding: all, saves steps, only supported; by evidence.SlowSteps, not several_causes_fit
stage, slow_steps: in model.backward_cpu_wall, supported, 397 ms, 25 %, intermittent, 11 of 60 steps; several_causes_fit
open: rank_hidden_in_stage in model.backward_cpu_wall, hides 191 of 220 ms
hides: 191 ms in model.backward_cpu_wall
known: nobody of 8 late in 59 steps of 220 ms
next: sample_stack py_spy of 0,4 in model.backward_cpu_wall`},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := changed(t, spec(8, 60, 1, simulate.Fault{Family: simulate.BackwardComm, Delay: 400, Ranks: []int{5}, When: simulate.When{From: 10, Until: 40, Probability: 0.3}}))
			says(t, judged(t, Options{}, append(all, launched(all[0].(*trace.Window), c.slow, 4, 1, 20e6))...), c.want)
		})
	}
}

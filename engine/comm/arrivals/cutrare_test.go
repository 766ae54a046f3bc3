package arrivals

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// withBarriers returns a window of 60 steps of four ranks that wait in an all-reduce at the end of backward, and in some steps in a
// barrier at the end of the optimizer step, to which rank 1 comes later by so many ms.
func withBarriers(lost int64, in func(step int) bool) *trace.Window {
	rng := rand.New(rand.NewPCG(3, 3))
	w := &trace.Window{Run: "job", WorldSize: 4, Schema: trace.Schema{Stages: []string{"forward", "backward", "optim"}}, Epochs: []int64{1e18, 1e18, 1e18, 1e18}}
	now, seq := [4]int64{1e18, 1e18, 1e18, 1e18}, int64(0)
	for r := range 4 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
		w.Arrivals = append(w.Arrivals, &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}},
			Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: []comms.Group{{Name: "0", Size: 4, Members: []int{0, 1, 2, 3}}}})
	}
	meet := func(op nccl.Op, name, stage string, step int) {
		released := int64(0)
		seq++
		for r, c := range w.Arrivals {
			x := comms.UnknownCall(0)
			x.Group, x.Op, x.Name, x.Seq, x.Step, x.Stage, x.Enter, x.HasEnter = 0, op, name, seq, int64(step), stage, now[r], true
			c.Calls = append(c.Calls, x)
			released = max(released, now[r])
		}
		now = [4]int64{released, released, released, released}
	}
	for step := range 60 {
		for k, usual := range []float64{30, 60, 20} {
			begun := now
			for r := range now {
				now[r] += int64(ms * (usual + rng.Float64()))
			}
			switch {
			case k == 1:
				meet(nccl.AllReduce, "gloo:all_reduce", "backward", step)
			case k == 2 && in(step):
				now[1] += lost * ms
				meet(nccl.Barrier, "gloo:barrier", "optim", step)
				for r := range now {
					now[r] += ms
				}
			}
			for r := range now {
				w.Durations = append(w.Durations, now[r]-begun[r])
			}
		}
	}
	return w
}

// TestCutsRareBarrier: a barrier in every twelfth step, too rare to show by itself that ranks wait for the all-reduce before it and for the barrier,
// leaves no step unknown, and what rank 1 works before it is told from what the others wait.
func TestCutsRareBarrier(t *testing.T) {
	c := cutsOf(withBarriers(400, func(step int) bool { return step%12 == 5 }))
	if c == nil {
		t.Fatal("nothing is cut")
	}
	for step := range 59 { // nothing follows the last
		if !c.Known[step] {
			t.Errorf("step %d is not known", step)
		}
		works, waits := c.timesOf(step, StepPart{"optim", 1, Works}), c.timesOf(step, StepPart{"optim", 1, Waits})
		if held := step%12 == 5; held && (works[1] < 400*ms || works[0] > 23*ms || waits[0] < 398*ms || waits[1] > 2*ms) || !held && works[1] > 22*ms {
			t.Errorf("step %d: ranks work %v, wait %v", step, works, waits)
		}
	}
}

// TestCutsLackingPoint: a step in which nobody passes a point that all pass in the others is not known.
func TestCutsLackingPoint(t *testing.T) {
	c := cutsOf(withBarriers(0, func(step int) bool { return step != 20 }))
	if c == nil || !c.Known[19] || c.Known[20] || !c.Known[21] {
		t.Fatalf("cut %v", c != nil)
	}
}

// ringWindow returns the steps of ring with stage times: all work is in forward, and what follows in exchange.
func ringWindow(late int) *trace.Window {
	const ranks, steps = 6, 50
	j := ring(1, late, false)
	w := &trace.Window{Run: "job", WorldSize: ranks, Schema: trace.Schema{Stages: []string{"forward", "exchange"}}}
	var members []int
	for r := range ranks {
		members = append(members, r)
	}
	at := func(r, step, i int) int64 { return 1e18 + j.Program.Ranks[r].Calls[2*step+i].Enter }
	for r := range ranks {
		w.Ranks, w.Epochs = append(w.Ranks, trace.Rank{ID: r, Host: "n0"}), append(w.Epochs, 1e18)
		c := &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}}, Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: []comms.Group{{Name: "0", Size: ranks, Members: members}}}
		for i, made := range j.Program.Ranks[r].Calls {
			k := j.Program.Kinds[made.Kind]
			x := comms.UnknownCall(0)
			x.Group, x.Op, x.Name, x.Seq, x.Peer, x.Step, x.Stage, x.Enter, x.HasEnter = 0, k.Op, k.Name, made.Seq, int(made.Peer), int64(i/2), "exchange", made.Enter+1e18, true
			c.Calls = append(c.Calls, x)
		}
		w.Arrivals = append(w.Arrivals, c)
	}
	released := func(r, step int) int64 { // when the last of the messages of a step is done
		a, b := at(r, step, 1), int64(0)
		peer := int(j.Program.Ranks[r].Calls[2*step+1].Peer)
		for i := range 2 {
			if int(j.Program.Ranks[peer].Calls[2*step+i].Peer) == r {
				b = max(b, at(peer, step, i))
			}
		}
		return max(a, b) + ms/10
	}
	begun := make([]int64, ranks)
	for r := range begun {
		begun[r] = 1e18
	}
	for step := range steps {
		row := make([]int64, 2*ranks)
		for r := range ranks {
			done := released(r, step)
			row[r], row[ranks+r] = at(r, step, 0)-begun[r], done-at(r, step, 0)
			begun[r] = done
		}
		w.Durations = append(w.Durations, row...)
	}
	return w
}

// TestCutsNeighbours: of ranks that exchange messages with their neighbours alone each step is divided into what each works in each stage, and
// what it waits in all, for whichever of them: that is its one point.
func TestCutsNeighbours(t *testing.T) {
	w := ringWindow(2)
	c := cutsOf(w)
	if c == nil || c.Columns[len(c.Columns)-1].Kind != Points || !c.Clocked {
		t.Fatalf("cut %v", c != nil)
	}
	points := c.Columns[len(c.Columns)-1].StepPart
	for step := 1; step < 49; step++ {
		works, waits := c.timesOf(step, StepPart{"forward", 0, Works}), c.timesOf(step, points)
		if !c.Known[step] || works[2] < 65*ms || works[0] > 45*ms || waits[2] > 6*ms || waits[1] < 20*ms || waits[3] < 20*ms {
			t.Errorf("step %d: known %v, ranks work %v in forward, and wait %v", step, c.Known[step], works, waits)
		}
		for r := range 6 {
			whole := int64(0)
			for i := range c.Columns {
				whole += c.Columns[i].Times[step*6+r]
			}
			if want := w.Step(step)[r] + w.Step(step)[6+r]; whole != want {
				t.Errorf("step %d, rank %d: the parts take %d ns, the stages %d", step, r, whole, want)
			}
		}
	}
}

// TestCutsNeighboursOutside: where the exchange is in no stage, and no recorded call says in which it was, ranks wait there, and work in forward all that
// it takes; where that takes longer the more they wait, they wait in it.
func TestCutsNeighboursOutside(t *testing.T) {
	w := ringWindow(2)
	out := &trace.Window{Run: w.Run, WorldSize: 6, Schema: trace.Schema{Stages: []string{"forward"}}, Ranks: w.Ranks, Epochs: w.Epochs, Arrivals: w.Arrivals}
	for step := range w.Steps() {
		row := w.Step(step)
		out.Durations = append(out.Durations, row[:6]...)
		for r := range 6 {
			out.Wall = append(out.Wall, row[r]+row[6+r])
		}
	}
	for _, a := range out.Arrivals {
		for i := range a.Calls {
			a.Calls[i].Stage = ""
		}
	}
	c := cutsOf(out)
	if c == nil || c.Columns[len(c.Columns)-1].StepPart != (StepPart{"", 0, Points}) {
		t.Fatalf("cut %v", c != nil)
	}
	for step := 1; step < 49; step++ {
		for r, works := range c.timesOf(step, StepPart{"forward", 0, Works}) {
			if works != out.Step(step)[r] {
				t.Errorf("step %d, rank %d works %d ns in forward, want %d, all that it takes", step, r, works, out.Step(step)[r])
			}
		}
	}
	for i := range out.Durations { // the stage goes on to the end of the step
		out.Durations[i] = out.Wall[i]
	}
	if c = cutsOf(out); c == nil || c.Columns[len(c.Columns)-1].Stage != "forward" {
		t.Errorf("cut %v, ranks wait elsewhere than in forward", c != nil)
	}
}

// TestAddMicrostep: columns of a stage in several micro-batches are one, others stay.
func TestAddMicrostep(t *testing.T) {
	var all []Column
	for i, stage := range []string{"forward@0", "backward@0", "forward@1", "optim", "forward_device@1", "optim"} {
		all = addMicrostep(all, Column{StepPart{Stage: stage, Kind: Works}, []int64{1, int64(10 * i)}})
	}
	if len(all) != 5 || !slices.Equal(all[0].Times, []int64{2, 20}) || all[0].Stage != "forward@0" {
		t.Errorf("%+v", all)
	}
}

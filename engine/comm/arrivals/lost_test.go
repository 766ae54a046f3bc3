package arrivals

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// losing is a window of four ranks with an all-reduce at the end of backward that
// all wait in. Rank 1 takes longer in each stage by what lost says, ms.
func losing(lost [4]float64, epochs bool) *trace.Window {
	rng := rand.New(rand.NewPCG(2, 2))
	w := &trace.Window{Run: "job", WorldSize: 4, Schema: trace.Schema{Stages: []string{"data", "forward", "backward", "optim"}}}
	now := [4]int64{1e18, 1e18, 1e18, 1e18}
	for r := range 4 {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: "n0"})
		w.Arrivals = append(w.Arrivals, &comms.Record{Sources: []comms.Source{{Kind: comms.SourcePacket}},
			Processes: []comms.Process{{Rank: r, Host: "n0"}}, Groups: []comms.Group{{Name: "0", Size: 4, Members: []int{0, 1, 2, 3}}}})
		if epochs {
			w.Epochs = append(w.Epochs, now[r])
		}
	}
	usual := [4]float64{10, 30, 60, 5}
	for step := range int64(30) {
		var took [4][4]int64 // [stage][rank]
		for k := range took {
			for r := range took[k] {
				took[k][r] = int64(ms * (usual[k] + rng.Float64()))
				if r == 1 {
					took[k][r] += int64(ms * lost[k])
				}
			}
		}
		release := int64(0)
		var enter [4]int64
		for r, c := range w.Arrivals {
			x := comms.UnknownCall(0)
			x.Group, x.Op, x.Name, x.Seq, x.Step, x.Stage = 0, nccl.AllReduce, "gloo:all_reduce", step+1, step, "backward"
			enter[r] = now[r] + took[0][r] + took[1][r] + took[2][r]
			x.Enter, x.HasEnter = enter[r], true
			release = max(release, enter[r])
			c.Calls = append(c.Calls, x)
		}
		for r := range enter {
			took[2][r] += release - enter[r]
			now[r] = release + took[3][r]
		}
		for k := range took {
			w.Durations = append(w.Durations, took[k][:]...)
		}
	}
	return w
}

// A rank that arrives late at a collective inside backward may have lost its time in
// any stage since the one before.
func TestStageOfDelay(t *testing.T) {
	for name, c := range map[string]struct {
		lost    [4]float64
		stage   string
		divided bool
	}{
		"data":           {[4]float64{40, 0, 0, 0}, "data", true},
		"forward":        {[4]float64{0, 40, 0, 0}, "forward", true},
		"backward":       {[4]float64{0, 0, 40, 0}, "backward", true},
		"optimizer":      {[4]float64{0, 0, 0, 40}, "optim", true},
		"mostly forward": {[4]float64{10, 30, 5, 0}, "forward", true},
		"all over":       {[4]float64{12, 14, 0, 14}, "", true},
	} {
		for _, epochs := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				var j Job
				j.AddWindow(losing(c.lost, epochs))
				r := j.Analyze(Options{})
				if len(r.Late) != 1 || r.Late[0].Rank() != 1 {
					t.Fatalf("late: %+v", r.Late)
				}
				if l := r.Late[0]; l.Entered.Stage != c.stage || l.Entered.Divided != c.divided || r.Places[l.Entered.Place].Stage != "backward" {
					t.Errorf("loses its time in %q (divided: %v), enters late in %q", l.Entered.Stage, l.Entered.Divided, r.Places[l.Entered.Place].Stage)
				}
			})
		}
	}
	t.Run("of both micro-batches", func(t *testing.T) {
		var j Job
		w := losing([4]float64{20, 20, 5, 0}, true)
		w.Schema.Stages, w.Accumulation = []string{"work@0", "work@1", "backward", "optim"}, 2
		j.AddWindow(w)
		if r := j.Analyze(Options{}); len(r.Late) != 1 || r.Late[0].Entered.Stage != "work" {
			t.Errorf("%+v", r.Late)
		}
	})
	t.Run("summed over micro-batches", func(t *testing.T) {
		var j Job
		w := losing([4]float64{40, 0, 0, 0}, true)
		w.Accumulation = 4
		j.AddWindow(w)
		if r := j.Analyze(Options{}); len(r.Late) != 1 || r.Late[0].Entered.Divided {
			t.Errorf("stages do not follow each other there: %+v", r.Late)
		}
	})
}

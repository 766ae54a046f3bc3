package whatif_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/fixtures/optrace/pipesim"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

var (
	healthy = pipesim.Spec{DP: 4, PP: 4, Microbatches: 8, Steps: 6, Noise: 0.02, Seed: 1, FirstStep: 100, Every: 10}
	slow    = func(s pipesim.Spec) pipesim.Spec { s.Slow, s.SlowDP, s.SlowPP = 1.6, 2, 1; return s }(healthy)
)

func model(t *testing.T, o *operator.Trace, opts whatif.Options) *whatif.Model {
	t.Helper()
	m, err := whatif.New(o, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A worker that computes 1.6 times as long is the whole excess, in both ways of
// reducing gradients.
func TestSlowWorker(t *testing.T) {
	for _, early := range []bool{false, true} {
		spec := slow
		spec.EarlyReduce = early
		m := model(t, pipesim.Make(spec), whatif.Options{})
		r := m.Analyze()
		const rank = 2*4 + 1
		if r.Misfit != 0 {
			t.Errorf("early %v: a replay of everything misses by %v", early, r.Misfit)
		}
		if !slices.Equal(r.TopRanks, []int{rank}) {
			t.Errorf("early %v: the worst is %v, expected rank %d", early, r.TopRanks, rank)
		}
		if m := r.TopWorkers; !m.HasShare || m.Share < 0.9 || m.Share > 1.1 {
			t.Errorf("early %v: M_W = %v, expected about 1", early, m.Share)
		}
		if m := r.LastStage; math.Abs(m.Share) > 0.1 {
			t.Errorf("early %v: M_S = %v, expected about 0", early, m.Share)
		}
		// the slow worker's passes add 0.6 · 60 ms · 8 microbatches to its
		// stage, of which some fall into the pipeline's filling and emptying
		if excess := r.NoDelay.Mean - r.Ideal.Mean; excess < 0.6*0.6*60e6*8 || excess > 0.6*60e6*8 {
			t.Errorf("early %v: excess of %v ms", early, excess/1e6)
		}
		for _, w := range r.Workers {
			if w.Rank != w.DP*4+w.Stage {
				t.Errorf("rank %d is dp %d, stage %d", w.Rank, w.DP, w.Stage)
			}
			if is := w.Overall > 1.2; is != (w.Rank == rank) || is != (w.Score > 1.2) {
				t.Errorf("early %v: rank %d has score %v, alone %v", early, w.Rank, w.Score, w.Overall)
			}
		}
		s := m.Suspects(r, 3)
		if len(s) != 12 || s[0].Share < 0.9 {
			t.Fatalf("%d suspects, the first saves a share of %v", len(s), s[0].Share)
		}
		if worst := s[slices.IndexFunc(s, func(s whatif.Suspect) bool { return s.Kind == whatif.SuspectWorker })]; worst.Index != rank {
			t.Errorf("the worker suspected first is %v", worst)
		}
		for i := 1; i < len(s); i++ {
			if s[i].Saved > s[i-1].Saved {
				t.Errorf("%v saves more than %v before it", s[i], s[i-1])
			}
		}
	}
}

func TestHealthy(t *testing.T) {
	r := analyze(t, pipesim.Make(healthy))
	if r.Slowdown.Overall > 1.06 || r.Launch.Overall != 1 || r.LaunchByOp != nil {
		t.Errorf("S = %v, launch %v", r.Slowdown.Overall, r.Launch.Overall)
	}
	for _, w := range r.Workers {
		if w.Overall > 1.02 {
			t.Errorf("rank %d alone %v", w.Rank, w.Overall)
		}
	}
	if want := []int64{100, 110, 120, 130, 140, 150}; !slices.Equal(r.Steps, want) {
		t.Errorf("steps %v", r.Steps)
	}
}

// Without noise nothing is lost to uneven work, and there is no share of it.
func TestNoExcess(t *testing.T) {
	r := analyze(t, pipesim.Make(pipesim.Spec{DP: 2, PP: 2, Microbatches: 2, Steps: 2}))
	if r.Slowdown.Overall != 1 || r.LastStage.HasShare || r.LastStage.Share != 0 || r.LastStage.Saved != 0 {
		t.Errorf("S = %v, last stage %+v", r.Slowdown.Overall, r.LastStage)
	}
}

// A last stage that has more to do by design is slow by the paper's ideal, and
// not among its peers.
func TestIdealOverPeers(t *testing.T) {
	spec := healthy
	spec.Work = []float64{1, 1, 1, 1.5}
	o := pipesim.Make(spec)
	all := model(t, o, whatif.Options{}).Analyze()
	opts := whatif.Options{}
	opts.Ideal = whatif.IdealOverPeers
	peers := model(t, o, opts).Analyze()
	if all.ByStage[0].Index != 3 || all.ByStage[0].Overall < 1.2 || all.LastStage.Share < 0.8 {
		t.Errorf("over all: stage %d first with %v, M_S %v", all.ByStage[0].Index, all.ByStage[0].Overall, all.LastStage.Share)
	}
	if peers.ByStage[0].Overall > 1.03 || peers.Slowdown.Overall > 1.06 {
		t.Errorf("over peers: S_stage %v, S %v", peers.ByStage[0].Overall, peers.Slowdown.Overall)
	}
}

// Host time before the first pass is launch delay, of the first operators.
func TestLaunchDelay(t *testing.T) {
	spec := healthy
	spec.HostDelay = 80e6
	r := analyze(t, pipesim.Make(spec))
	for i, got := range r.Recorded.PerStep {
		if d := got - r.NoDelay.PerStep[i]; d < 70e6 || d > 80e6 {
			t.Errorf("step %d: %d ns of launch delay, expected 80 ms", r.Steps[i], d)
		}
	}
	if r.Misfit != 0 || len(r.LaunchByOp) == 0 || r.LaunchByOp[0].Name != whatif.FirstOp || r.LaunchByStage[0].Index != 0 || len(r.LaunchByDP) != 4 {
		t.Fatalf("launch parts %+v, misfit %v", r.LaunchByOp, r.Misfit)
	}
	if got := r.LaunchByOp[0].Overall; math.Abs(got-r.Launch.Overall) > 1e-9 {
		t.Errorf("the first operators' delays cost %v of %v", got, r.Launch.Overall)
	}
}

// clone copies a trace with its columns changed by fn.
func clone(o *operator.Trace, fn func(c *operator.Trace)) *operator.Trace {
	c := *o
	c.Start, c.Dur, c.Rank = slices.Clone(o.Start), slices.Clone(o.Dur), slices.Clone(o.Rank)
	fn(&c)
	if err := c.Arrange(nil); err != nil {
		panic(err)
	}
	return &c
}

// Times that are k times as long give step times that are, and the same
// ratios.
func TestScale(t *testing.T) {
	o := pipesim.Make(slow)
	const k = 7
	a := analyze(t, o)
	b := analyze(t, clone(o, func(c *operator.Trace) {
		for i := range c.Start {
			c.Start[i] *= k
			c.Dur[i] *= k
		}
	}))
	for i, s := range a.NoDelay.PerStep {
		if b.NoDelay.PerStep[i] != k*s {
			t.Errorf("step %d: %d, expected %d", a.Steps[i], b.NoDelay.PerStep[i], k*s)
		}
	}
	a.Recorded, a.NoDelay, a.Ideal = b.Recorded, b.NoDelay, b.Ideal
	a.LastStage.Now, a.LastStage.Ideal, a.LastStage.Saved, a.LastStage.Removed, a.LastStage.Added =
		b.LastStage.Now, b.LastStage.Ideal, b.LastStage.Saved, b.LastStage.Removed, b.LastStage.Added
	a.TopWorkers.Now, a.TopWorkers.Ideal, a.TopWorkers.Saved, a.TopWorkers.Removed, a.TopWorkers.Added =
		b.TopWorkers.Now, b.TopWorkers.Ideal, b.TopWorkers.Saved, b.TopWorkers.Removed, b.TopWorkers.Added
	ignore := cmpopts.IgnoreFields(whatif.Effect{}, "RemovedPerStep", "AddedPerStep")
	if d := cmp.Diff(a, b, ignore, cmpopts.EquateApprox(0, 1e-6)); d != "" {
		t.Error(d)
	}
}

// Another zero of the clock changes nothing.
func TestShift(t *testing.T) {
	o := pipesim.Make(slow)
	shifted := clone(o, func(c *operator.Trace) {
		for i := range c.Start {
			c.Start[i] += 1_719_870_000_000_000_000 + 60e9*int64(c.Step[i])
		}
	})
	if d := cmp.Diff(analyze(t, o), analyze(t, shifted)); d != "" {
		t.Error(d)
	}
}

// Replicas in another order have the same slowdowns, in that order.
func TestPermuteReplicas(t *testing.T) {
	o := pipesim.Make(slow)
	to := []int32{3, 0, 1, 2} // replica d becomes to[d]
	permuted := analyze(t, clone(o, func(c *operator.Trace) {
		for i, r := range c.Rank {
			c.Rank[i] = to[r/4]*4 + r%4
		}
	}))
	r := analyze(t, o)
	at := make(map[[2]int]whatif.Worker)
	for _, w := range permuted.Workers {
		at[[2]int{w.DP, w.Stage}] = w
	}
	for _, w := range r.Workers {
		moved := at[[2]int{int(to[w.DP]), w.Stage}]
		if moved.Score != w.Score || !slices.Equal(moved.PerStep, w.PerStep) {
			t.Errorf("rank %d: %v, moved to rank %d: %v", w.Rank, w, moved.Rank, moved)
		}
	}
	if r.Slowdown.Overall != permuted.Slowdown.Overall {
		t.Errorf("S %v, permuted %v", r.Slowdown.Overall, permuted.Slowdown.Overall)
	}
}

// Recorded ≥ no delay when delays are not negative; and fixing or adding all
// that there is ends on the other side.
func TestBounds(t *testing.T) {
	spec := slow
	spec.HostDelay, spec.Noise = 5e6, 0.3
	m := model(t, pipesim.Make(spec), whatif.Options{})
	r := m.Analyze()
	for i := range r.Steps {
		if r.NoDelay.PerStep[i] > r.Recorded.PerStep[i] {
			t.Errorf("step %d is longer without delays", r.Steps[i])
		}
	}
	e, err := m.Price(nil, whatif.Selection{{}}, whatif.Selection{{Stages: []int{0, 1}}, {Stages: []int{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if e[0].Removed != r.NoDelay.Mean || e[0].Added != r.Ideal.Mean || e[0].Share != 0 || e[0].AddedShare != 0 {
		t.Errorf("nothing fixed: %+v", e[0])
	}
	for _, all := range e[1:] {
		if all.Removed != r.Ideal.Mean || all.Added != r.NoDelay.Mean || all.Share != 1 || all.AddedShare != 1 {
			t.Errorf("everything fixed: %+v", all)
		}
	}
}

func TestPriceRefuses(t *testing.T) {
	m := model(t, pipesim.Make(healthy), whatif.Options{})
	for _, c := range []struct {
		w    whatif.Where
		want string
	}{
		{whatif.Where{Ops: []string{"matmul"}}, `no operator is called "matmul", there are `},
		{whatif.Where{Stages: []int{4}}, "no stage 4, there are 0 to 3"},
		{whatif.Where{DP: []int{-1}}, "no dp rank -1, there are 0 to 3"},
		{whatif.Where{Ranks: []int{16}}, "rank 16 recorded nothing, 16 ranks from 0 to 15 did"},
		{whatif.Where{Steps: []int64{101}}, "step 101 is not replayed, 6 steps from 100 to 150 are"},
	} {
		if _, err := m.Price(whatif.Selection{c.w}); !errors.Is(err, input.ErrMissing) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.w, err, c.want)
		}
	}
	if _, err := m.Price(whatif.Selection{{Ops: []string{whatif.ForwardTransfers, "gc"}}}); err != nil {
		t.Error(err)
	}
}

// without drops the rows of an operator.
func without(o *operator.Trace, name string) *operator.Trace {
	drop := int32(slices.Index(o.Names, name))
	c := *o
	keep := func(column []int32) []int32 {
		var out []int32
		for i, v := range column {
			if o.Name[i] != drop {
				out = append(out, v)
			}
		}
		return out
	}
	c.Rank, c.Step, c.Name, c.Lane, c.Seq = keep(o.Rank), keep(o.Step), keep(o.Name), keep(o.Lane), keep(o.Seq)
	c.Chunk, c.GlobalChunk, c.Microbatch, c.Group = keep(o.Chunk), keep(o.GlobalChunk), keep(o.Microbatch), keep(o.Group)
	c.Start, c.Dur = nil, nil
	for i := range o.Start {
		if o.Name[i] != drop {
			c.Start, c.Dur = append(c.Start, o.Start[i]), append(c.Dur, o.Dur[i])
		}
	}
	return &c
}

// What the schedule needs and the trace lacks is an error that names it.
func TestScheduleRefuses(t *testing.T) {
	o := pipesim.Make(pipesim.Spec{DP: 2, PP: 2, Microbatches: 3, Steps: 2})
	for name, want := range map[string]string{
		"gc":                         "stage 0 has no gc in step 0",
		"layernorm-grads-all-reduce": "stage 0 has no layernorm-grads-all-reduce",
		"embedding-grads-all-reduce": "stage 0 has no embedding-grads-all-reduce",
		"optimizer":                  "stage 0 has no optimizer",
		"optimizer-clip-main-grad":   "stage 0 has no optimizer-clip-main-grad",
		"forward-recv":               "stage 0 has 3 forward-send with a peer, stage 1 has 0 forward-recv",
		"backward-compute":           "stage 0 has no backward-compute in step 0",
	} {
		if _, err := whatif.New(without(o, name), whatif.Options{}); !errors.Is(err, input.ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v, expected %q", name, err, want)
		}
	}
	// collectives over replicas may be missing, as on one replica
	for _, name := range []string{"params-all-gather", "grads-reduce-scatter"} {
		if notes := model(t, without(o, name), whatif.Options{}).Notes(); len(notes) != 0 {
			t.Errorf("without %s: notes %v", name, notes)
		}
	}
}

// Operators that the schedule has no place for are left out and noted.
func TestUnknownOperators(t *testing.T) {
	o := pipesim.Make(pipesim.Spec{DP: 2, PP: 2, Microbatches: 3, Steps: 2})
	want := analyze(t, o)
	c := clone(o, func(c *operator.Trace) {
		c.Names = append(slices.Clone(c.Names), "data-load")
		c.Name, c.Seq, c.Lane, c.Step = slices.Clone(c.Name), slices.Clone(c.Seq), slices.Clone(c.Lane), slices.Clone(c.Step)
		c.Chunk, c.GlobalChunk, c.Microbatch, c.Group = slices.Clone(c.Chunk), slices.Clone(c.GlobalChunk), slices.Clone(c.Microbatch), slices.Clone(c.Group)
		for r := range int32(4) {
			for s := range int32(2) {
				c.Rank, c.Step, c.Name = append(c.Rank, r), append(c.Step, s), append(c.Name, int32(len(c.Names)-1))
				c.Seq, c.Lane, c.Start, c.Dur = append(c.Seq, 0), append(c.Lane, 9), append(c.Start, 0), append(c.Dur, 1e6)
				c.Chunk, c.GlobalChunk = append(c.Chunk, -1), append(c.GlobalChunk, -1)
				c.Microbatch, c.Group = append(c.Microbatch, -1), append(c.Group, -1)
			}
		}
	})
	m := model(t, c, whatif.Options{})
	if notes := m.Notes(); len(notes) != 1 || !strings.Contains(notes[0].Text, "2 data-load") {
		t.Errorf("notes %v", notes)
	}
	if d := cmp.Diff(want, m.Analyze(), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// Whatever a reader lets through is replayed or refused.
func FuzzAnalyze(f *testing.F) {
	for _, name := range []string{"trace-slow-worker.csv", "trace-late-start.csv"} {
		b, err := os.ReadFile("../../fixtures/optrace/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("dp_rank,stage,step,optype,start_ts,duration,seq_id\n0,0,0,forward-compute,0,5,0\n0,0,0,backward-compute,5,5,0\n" +
		"0,0,0,gc,10,1,0\n0,0,0,layernorm-grads-all-reduce,11,1,0\n0,0,0,embedding-grads-all-reduce,12,1,0\n" +
		"0,0,0,optimizer-clip-main-grad,13,1,0\n0,0,0,optimizer,14,1,0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := optrace.ReadCSV(bytes.NewReader(b), "fuzz", nil, ingest.Limits{Line: 1 << 16, Pending: 1 << 22})
		if err != nil {
			return
		}
		m, err := whatif.New(o, whatif.Options{})
		if err != nil {
			return
		}
		r := m.Analyze()
		for i := range r.Steps {
			if r.Recorded.PerStep[i] < 0 || len(r.Workers) != len(o.Ranks) {
				t.Errorf("step %d takes %d ns; %d workers of %d", r.Steps[i], r.Recorded.PerStep[i], len(r.Workers), len(o.Ranks))
			}
		}
		m.Suspects(r, 2)
	})
}

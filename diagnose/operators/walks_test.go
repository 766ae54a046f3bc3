package operators

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

func outliersOf(t *testing.T, v *View) (*zscore.Result, []zscore.Series, []Operator) {
	t.Helper()
	series, operators := v.Series()
	r, err := zscore.Analyze(series, zscore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r, series, operators
}

// TestWalk: the walks of all steps are those of the single steps put together,
// and the delay of the culprit is by how much its operators were too long.
func TestWalk(t *testing.T) {
	v := slow(t, nil)
	r, series, operators := outliersOf(t, v)
	flags := v.Flags(r, series, operators)
	o := blame.Options{Tie: v.Tie()}
	var steps []int
	symptoms, unexplained, ends := 0, 0, make(map[blame.Kind]int)
	for step := range v.Grid.Steps {
		steps = append(steps, step)
		one, err := flags.Walk([]int{step}, o)
		if err != nil {
			t.Fatal(err)
		}
		symptoms, unexplained = symptoms+one.Symptoms, unexplained+one.Unexplained
		for _, c := range one.Culprits {
			ends[c.Kind] += c.Symptoms
		}
	}
	all, err := flags.Walk(steps, o)
	if err != nil {
		t.Fatal(err)
	}
	if symptoms == 0 || all.Symptoms != symptoms || all.Unexplained != unexplained || !slices.Equal(all.Steps, v.Steps()) {
		t.Errorf("%d symptoms, %d unexplained in steps %v; step by step %d and %d", all.Symptoms, all.Unexplained, all.Steps, symptoms, unexplained)
	}
	for _, c := range all.Culprits {
		ends[c.Kind] -= c.Symptoms
	}
	for kind, left := range ends {
		if left != 0 {
			t.Errorf("%d symptoms of kind %v are lost", left, kind)
		}
	}
	c := all.Culprits[0]
	if c.Kind != blame.LongOp || c.Worker != 1*v.Grid.Replicas+2 || c.Pred != "" || c.PredWorker != -1 || !slices.IsSorted(c.Steps) || len(c.Victims) == 0 {
		t.Errorf("the first culprit is %+v", c)
	}
	if last := c.Path[len(c.Path)-1]; last.Rank != v.Rank(c.Worker).ID || last.Op != c.Op || !slices.Contains(c.Seqs, last.Seq) {
		t.Errorf("the path ends at %+v", last)
	}
	// Passes that take twice as long are too long by half of what they take.
	work, named := int64(0), 0
	for i, in := range v.Grid.Instances {
		for s := range v.Grid.Steps {
			if v.Trace.Names[in.Name] == c.Op && int(in.Stage) == v.Stage(c.Worker) && slices.Contains(c.Seqs, int(in.Seq)) {
				work += v.Trace.Dur[v.row(i, s, v.Replica(c.Worker))]
				named++
			}
		}
	}
	perOp := float64(work) / float64(named)
	if n := c.Delay / int64(perOp/2); n < 1 || int(n) > named {
		t.Errorf("the delay is %d ns in %d steps; an operator takes %.0f", c.Delay, len(c.Steps), perOp)
	}
	if _, err := flags.Walk(steps, blame.Options{Tie: -1}); err == nil {
		t.Error("a negative tie was taken")
	}
}

// TestSymptomsCountOnce: walks of the literal semantics end at many operators of a
// name; no culprit has more symptoms than there are.
func TestSymptomsCountOnce(t *testing.T) {
	v := slow(t, func(s *pipeline.Spec) {
		s.Faults = []pipeline.Fault{{Kind: pipeline.SlowWorker, Size: pipeline.Size{Factor: 1.6}}}
	})
	r, series, operators := outliersOf(t, v)
	w, err := v.Flags(r, series, operators).Walk([]int{0, 1, 2}, blame.Options{Tie: v.Tie(), Semantics: blame.Literal})
	if err != nil {
		t.Fatal(err)
	}
	several := false
	for _, c := range w.Culprits {
		several = several || c.Kind == blame.LongOp && len(c.Seqs) > 1
		if c.Symptoms < 1 || c.Symptoms > w.Symptoms {
			t.Errorf("%+v: %d of %d symptoms", c, c.Symptoms, w.Symptoms)
		}
	}
	if !several {
		t.Error("no culprit is several operators of a name: the test would pass on nothing")
	}
}

// TestEdges: an operator that a host starts late is an edge behind what was on
// time, and its delay is how long the edge lasted.
func TestEdges(t *testing.T) {
	v := slow(t, func(s *pipeline.Spec) {
		dp, pp := 2, 1
		s.Faults = []pipeline.Fault{{Kind: pipeline.LateStart, Where: pipeline.Where{DP: &dp, PP: &pp}, Size: pipeline.Size{Delay: 2000}}}
	})
	r, series, operators := outliersOf(t, v)
	steps := make([]int, len(v.Grid.Steps))
	for i := range steps {
		steps[i] = i
	}
	w, err := v.Flags(r, series, operators).Walk(steps, blame.Options{Tie: v.Tie()})
	if err != nil {
		t.Fatal(err)
	}
	c := w.Culprits[0]
	if c.Kind != blame.Gap || c.Worker != 1*v.Grid.Replicas+2 || c.Pred == "" || c.PredWorker < 0 {
		t.Fatalf("the first culprit is %+v, expected an edge on the late worker", c)
	}
	// The host is busy for 2 s; what ended last before may have run meanwhile.
	if perStep := c.Delay / int64(len(c.Steps)); perStep < 1.6e9 || perStep > 2.1e9 {
		t.Errorf("the edge lasts %d ns in a step, expected up to 2 s", perStep)
	}
}

// TestSuspects: a slow worker's excess is what its passes are longer than those
// of the median peer, and is counted once though passes have totals beside
// them.
func TestSuspects(t *testing.T) {
	v := slow(t, nil)
	r, series, operators := outliersOf(t, v)
	s := v.Suspects(r, series, operators)
	culprit := 1*v.Grid.Replicas + 2
	if s[0].Worker != culprit || len(s) != len(r.Workers) {
		t.Fatalf("most excess is on worker %d of %d", s[0].Worker, len(s))
	}
	work := make([]int64, v.Grid.Replicas)
	for i, in := range v.Grid.Instances {
		for at := range v.Grid.Lanes() {
			if in.Class.IsCompute() && int(in.Stage) == 1 {
				work[at%v.Grid.Replicas] += v.Trace.Dur[v.row(i, at/v.Grid.Replicas, at%v.Grid.Replicas)]
			}
		}
	}
	more := work[2] - work[1]
	if ratio := float64(s[0].Excess) / float64(more); ratio < 0.97 || ratio > 1.03 {
		t.Errorf("the excess is %d ns, its passes take %d ns more than a peer's", s[0].Excess, more)
	}
}

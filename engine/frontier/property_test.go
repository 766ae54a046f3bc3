package frontier

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// randomWindow draws a window whose durations have ties, zeros, spikes and
// several orders of magnitude, with wall time.
func randomWindow(rng *rand.Rand, T, S, R int) *trace.Window {
	w := &trace.Window{Run: "random", WorldSize: R, Accumulation: 1, Durations: make([]int64, T*S*R), Wall: make([]int64, T*R)}
	for s := range S {
		w.Schema.Stages = append(w.Schema.Stages, fmt.Sprintf("s%d", s))
	}
	for r := range R {
		w.Ranks = append(w.Ranks, trace.Rank{ID: r})
	}
	for i := range w.Durations {
		switch rng.IntN(6) {
		case 0:
		case 1:
			w.Durations[i] = int64(rng.IntN(4)) * 1_000_000
		default:
			w.Durations[i] = int64(math.Exp(rng.Float64() * 20))
		}
	}
	for t := range T {
		for r := range R {
			total := int64(0)
			for s := range S {
				total += w.Durations[(t*S+s)*R+r]
			}
			w.Wall[t*R+r] = max(0, total+int64(rng.IntN(2_000_000))-500_000)
		}
	}
	return w
}

// eachRandomWindow runs check on windows of many shapes.
func eachRandomWindow(t *testing.T, check func(t *testing.T, rng *rand.Rand, w *trace.Window)) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 17))
		w := randomWindow(rng, 1+rng.IntN(30), 1+rng.IntN(7), 1+rng.IntN(12))
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { check(t, rng, w) })
	}
}

// viewOf is a window alone in a cut that asks for no synchronisation point.
func viewOf(w *trace.Window, by Cut) *view {
	m := newRows(w, nil, nil)
	m.findMiddles()
	return newView(m, by, 0)
}

var everyCut = []Cut{CutAuto, CutStep, CutCarried, CutSync}

func mustAnalyze(t testing.TB, w *trace.Window, o Options) *Analysis {
	t.Helper()
	a, err := Analyze(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTelescoping: in every cut the advances sum to the makespan, to the
// nanosecond, and none is negative.
func TestTelescoping(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, rng *rand.Rand, w *trace.Window) {
		for _, by := range everyCut {
			o := Options{Cut: by}
			if by == CutSync {
				o.SyncAfter = w.Schema.Stages[rng.IntN(len(w.Schema.Stages))]
			}
			r := mustAnalyze(t, w, o).Main
			sum := int64(0)
			for _, s := range r.Stages {
				if s.Advance < 0 {
					t.Errorf("cut %v: stage %s has advance %d", r.Cut, s.Name, s.Advance)
				}
				sum += s.Advance
			}
			if sum != r.Makespan {
				t.Errorf("cut %v: advances sum to %d, the makespan is %d", r.Cut, sum, r.Makespan)
			}
		}
	})
}

// TestMakespanOfCuts: a step cut's makespan is the sum of the steps' longest
// ranks; a carried cut's that of the rank with the longest total, when all
// start together.
func TestMakespanOfCuts(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, _ *rand.Rand, w *trace.Window) {
		var steps int64
		totals := make([]int64, len(w.Ranks))
		v := viewOf(w, CutStep)
		for i := range v.steps {
			row := make([]int64, len(w.Ranks))
			for s := range v.order {
				for r, d := range v.row(i, s) {
					row[r] += d
					totals[r] += d
				}
			}
			steps += slices.Max(row)
		}
		g := gates.Default().Leader
		if got := scan(v, g, nil).makespan; got != steps {
			t.Errorf("step cut: makespan %d, want %d", got, steps)
		}
		if got := scan(viewOf(w, CutCarried), g, nil).makespan; got != slices.Max(totals) {
			t.Errorf("carried cut: makespan %d, want %d", got, slices.Max(totals))
		}
	})
}

// TestSlackIdentityAndBounds: a[s] = max_r d[r,s] − slack[r,s−1], and both bounds of
// the paper: F ≤ Σ max ≤ min(S,R)·F and F/R ≤ Σ mean ≤ F, per window.
func TestSlackIdentityAndBounds(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, _ *rand.Rand, w *trace.Window) {
		v := viewOf(w, CutStep)
		R, S := v.ranks(), len(v.order)
		slack := make([]int64, R)
		acc := scan(v, gates.Default().Leader, func(b boundary) {
			if b.row == 0 {
				clear(slack)
			}
			want := int64(math.MinInt64)
			for r, d := range v.row(b.step, b.row) {
				want = max(want, d-slack[r])
			}
			if b.advance != want {
				t.Fatalf("step %d row %d: advance %d, by slack %d", b.step, b.row, b.advance, want)
			}
			for r, p := range b.prefix {
				slack[r] = b.frontier - p
			}
		})
		var maxes, sums int64
		for _, k := range acc.rows {
			maxes += k.rowMax
			sums += k.rowSum
		}
		F := acc.makespan
		if !(F <= maxes && maxes <= int64(min(S, R))*F) {
			t.Errorf("Σ max = %d outside [%d, %d]", maxes, F, int64(min(S, R))*F)
		}
		if !(F <= sums && sums <= int64(R)*F) {
			t.Errorf("Σ mean = %d/%d outside [F/R, F], F = %d", sums, R, F)
		}
	})
}

func TestBoundsAreTight(t *testing.T) {
	cases := []struct {
		name      string
		d         [][][]float64 // [step][rank][stage]
		max, mean float64       // Σ max and Σ mean ÷ F
	}{
		{"one rank does all", [][][]float64{{{1, 1, 1}, {0, 0, 0}}}, 1, 0.5},
		{"all alike", [][][]float64{{{1, 2}, {1, 2}}}, 1, 1},
		{"each rank owns a stage", [][][]float64{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, 3, 1},
	}
	for _, c := range cases {
		acc := scan(viewOf(windowOf(t, c.d, 1e9), CutStep), gates.Default().Leader, nil)
		var maxes, sums int64
		for _, k := range acc.rows {
			maxes += k.rowMax
			sums += k.rowSum
		}
		F, R := float64(acc.makespan), float64(len(c.d[0]))
		if got := float64(maxes) / F; got != c.max {
			t.Errorf("%s: Σ max = %v F, want %v", c.name, got, c.max)
		}
		if got := float64(sums) / R / F; got != c.mean {
			t.Errorf("%s: Σ mean = %v F, want %v", c.name, got, c.mean)
		}
	}
}

// accountOf is what must not depend on how ranks are numbered.
func accountOf(r *Result, rename map[int]int) string {
	out := fmt.Sprint(r.Cut, r.Makespan, r.Labels, r.Reasons, r.Routing, r.CoCritical, r.Leader.Confident, r.Leader.Switches)
	for _, s := range r.Stages {
		latest := slices.Clone(s.Latest)
		for i, id := range latest {
			latest[i] = rename[id]
		}
		slices.Sort(latest)
		out += fmt.Sprintln(s.Name, s.Advance, s.Lag, s.LagIncrease, s.Gap, *s.Gain, latest, s.Syncs, s.Wait)
	}
	for _, c := range r.Culprits {
		out += fmt.Sprintln(rename[c.Rank()], c.Parts[0].Stage, c.Charged(), c.Steps.Count, c.Steps.Of)
	}
	return out
}

func TestRankOrderDoesNotMatter(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, rng *rand.Rand, w *trace.Window) {
		R := len(w.Ranks)
		perm := rng.Perm(R)
		shuffled := w.Select(perm)
		same, back := map[int]int{}, map[int]int{}
		for r := range R {
			shuffled.Ranks[r].ID = r
			same[r], back[r] = r, perm[r]
		}
		if R < 2 {
			return
		}
		for _, by := range []Cut{CutStep, CutCarried} {
			o := Options{Cut: by}
			a, b := mustAnalyze(t, w, o).Main, mustAnalyze(t, shuffled, o).Main
			if p, q := accountOf(a, same), accountOf(b, back); p != q && !tiedCulprits(a) {
				t.Fatalf("cut %v: accounts differ\n%s\n%s", by, p, q)
			}
		}
	})
}

func tiedCulprits(r *Result) bool {
	for i := 1; i < len(r.Culprits); i++ {
		if r.Culprits[i].Charged() == r.Culprits[i-1].Charged() {
			return true
		}
	}
	return false
}

// TestScaling: times k scale every time by exactly k and leave every share and
// label alone; in the step cut, when the absolute gates scale along.
func TestScaling(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, _ *rand.Rand, w *trace.Window) {
		const k = 7
		big := *w
		big.Durations, big.Wall = slices.Clone(w.Durations), slices.Clone(w.Wall)
		for i := range big.Durations {
			big.Durations[i] *= k
		}
		for i := range big.Wall {
			big.Wall[i] *= k
		}
		for _, by := range []Cut{CutStep, CutCarried} {
			g := gates.Default()
			if by == CutStep {
				g.Leader.GapAbs *= k
				g.DenominatorFloor *= k
			}
			a, b := mustAnalyze(t, w, Options{Cut: by}).Main, mustAnalyze(t, &big, Options{Cut: by, Gates: &g}).Main
			if b.Makespan != k*a.Makespan || !slices.Equal(a.Labels, b.Labels) || !slices.Equal(a.Routing, b.Routing) {
				t.Fatalf("cut %v: %d %v %v, scaled %d %v %v", by, a.Makespan, a.Labels, a.Routing, b.Makespan, b.Labels, b.Routing)
			}
			for s := range a.Stages {
				if b.Stages[s].Advance != k*a.Stages[s].Advance || b.Stages[s].Gap != k*a.Stages[s].Gap {
					t.Errorf("cut %v stage %d: advance %d gap %d, scaled %d %d", by, s, a.Stages[s].Advance, a.Stages[s].Gap, b.Stages[s].Advance, b.Stages[s].Gap)
				}
				if p, q := a.Stages[s].Share, b.Stages[s].Share; p != nil && math.Abs(*p-*q) > 1e-12 {
					t.Errorf("cut %v stage %d: share %v, scaled %v", by, s, *p, *q)
				}
			}
		}
	})
}

// TestAnswersScaleWithTheStep: the same job in steps from 2 µs to 200 s gets
// the same answer, whatever the unit of time resolves of it.
func TestAnswersScaleWithTheStep(t *testing.T) {
	w := simulated(t, func(s *simulate.Spec) {
		s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 40, Ranks: []int{3}}}
	})
	w.Side = nil // its values are milliseconds, and stay what they are
	want := mustAnalyze(t, w, Options{}).Main
	for _, factor := range []float64{1e-5, 1e-4, 1e-3, 0.0187, 0.1, 1, 10, 100, 1000} {
		t.Run(fmt.Sprintf("times %g", factor), func(t *testing.T) {
			scaled := *w
			scaled.Durations, scaled.Wall = slices.Clone(w.Durations), slices.Clone(w.Wall)
			for i, d := range scaled.Durations {
				scaled.Durations[i] = int64(math.Round(factor * float64(d)))
			}
			for i, d := range scaled.Wall {
				scaled.Wall[i] = int64(math.Round(factor * float64(d)))
			}
			got := mustAnalyze(t, &scaled, Options{}).Main
			if len(got.Culprits) == 0 || got.SyncPoint.Name != want.SyncPoint.Name || got.SyncPoint.Evidence != want.SyncPoint.Evidence || !slices.Equal(got.Labels, want.Labels) {
				t.Fatalf("synchronisation point %v %s labels %v culprits %v, want %v %s %v", got.SyncPoint.Evidence, got.SyncPoint.Name, got.Labels, got.Culprits, want.SyncPoint.Evidence, want.SyncPoint.Name, want.Labels)
			}
			a, b := got.Culprits[0], want.Culprits[0]
			part, expected := float64(a.Charged())/float64(got.Makespan), float64(b.Charged())/float64(want.Makespan)
			if a.Rank() != b.Rank() || a.Parts[0].Stage != b.Parts[0].Stage || a.Steps.Count != b.Steps.Count || math.Abs(part-expected) > 0.01 || math.Abs(a.Saves.Alone-b.Saves.Alone) > 0.01 {
				t.Errorf("culprit %+v with %.4f, want %+v with %.4f", a, part, b, expected)
			}
		})
	}
}

// TestDuplicateRankAndMergedStages: a copy of a rank changes no frontier; merging two
// neighbouring stages adds their advances.
func TestDuplicateRankAndMergedStages(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, rng *rand.Rand, w *trace.Window) {
		R, S := len(w.Ranks), len(w.Schema.Stages)
		columns := []int{rng.IntN(R)}
		for r := range R {
			columns = append(columns, r)
		}
		twice := w.Select(columns)
		for r := range twice.Ranks {
			twice.Ranks[r].ID = r
		}
		twice.WorldSize++
		g := gates.Default().Leader
		a, b := scan(viewOf(w, CutStep), g, nil), scan(viewOf(twice, CutStep), g, nil)
		for i := range a.rows {
			if a.rows[i].advance != b.rows[i].advance {
				t.Errorf("row %d: advance %d, with a duplicate rank %d", i, a.rows[i].advance, b.rows[i].advance)
			}
		}
		if S < 2 {
			return
		}
		k := rng.IntN(S - 1)
		merged := &trace.Window{Run: w.Run, WorldSize: w.WorldSize, Ranks: w.Ranks, Wall: w.Wall,
			Schema: trace.Schema{Stages: slices.Delete(slices.Clone(w.Schema.Stages), k+1, k+2)}}
		for step := range w.Steps() {
			for s := range S {
				row := w.Step(step)[s*R : (s+1)*R]
				if s == k+1 {
					last := merged.Durations[len(merged.Durations)-R:]
					for r, d := range row {
						last[r] += d
					}
					continue
				}
				merged.Durations = append(merged.Durations, row...)
			}
		}
		m := scan(viewOf(merged, CutStep), g, nil)
		if got, want := m.rows[k].advance, a.rows[k].advance+a.rows[k+1].advance; got != want {
			t.Errorf("merged stage has advance %d, want %d", got, want)
		}
	})
}

// TestGainBounds: 0 ≤ G[s] ≤ Σ_{u≥s} A[u] and G[s] ≤ Σ_t max_r (d−b)⁺ ÷ ΣF.
func TestGainBounds(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, _ *rand.Rand, w *trace.Window) {
		v := viewOf(w, CutStep)
		base := v.rankMedians()
		acc := scan(v, gates.Default().Leader, nil)
		saved := v.staticSavings(base)
		for s := range v.order {
			var later, worst int64
			for u := s; u < len(v.order); u++ {
				later += acc.rows[u].advance
			}
			for step := range v.steps {
				over := int64(0)
				for r, d := range v.row(step, s) {
					over = max(over, d-base[s][r])
				}
				worst += over
			}
			if got := saved[s]; got < 0 || got > later || got > worst {
				t.Errorf("stage %d: saves %d, bounds 0, %d, %d", s, got, later, worst)
			}
		}
	})
}

// TestMeasurementError: Proposition 3, |ΔF[s]| ≤ s·ε and |Δa[s]| ≤ (2s−1)·ε,
// on random errors and on the oracle's vectors, some of which reach the bound.
func TestMeasurementError(t *testing.T) {
	var file struct {
		Cases []struct {
			Note  string
			Input struct {
				D, Measured [][][]float64
				Eps         float64
			}
			Expect struct {
				ErrorF []float64 `json:"max_error_F"`
				BoundF []float64 `json:"bound_F"`
				ErrorA []float64 `json:"max_error_a"`
				BoundA []float64 `json:"bound_a"`
			}
		}
	}
	golden(t, "error_stability.json", &file)
	tight := 0
	for i, c := range file.Cases {
		w, m := windowOf(t, c.Input.D, ticks), windowOf(t, c.Input.Measured, ticks)
		type pair struct{ f, a int64 }
		recorded := map[[2]int]pair{}
		g := gates.Default().Leader
		scan(viewOf(w, CutStep), g, func(b boundary) { recorded[[2]int{b.step, b.row}] = pair{b.frontier, b.advance} })
		errF, errA := make([]float64, len(c.Expect.ErrorF)), make([]float64, len(c.Expect.ErrorF))
		scan(viewOf(m, CutStep), g, func(b boundary) {
			p := recorded[[2]int{b.step, b.row}]
			errF[b.row] = max(errF[b.row], math.Abs(float64(b.frontier-p.f))/ticks)
			errA[b.row] = max(errA[b.row], math.Abs(float64(b.advance-p.a))/ticks)
		})
		for s := range errF {
			boundF, boundA := float64(s+1)*c.Input.Eps, float64(2*s+1)*c.Input.Eps
			if math.Abs(boundF-c.Expect.BoundF[s]) > 1e-12 || math.Abs(boundA-c.Expect.BoundA[s]) > 1e-12 {
				t.Errorf("case %d stage %d: bounds %v %v, want %v %v", i, s, boundF, boundA, c.Expect.BoundF[s], c.Expect.BoundA[s])
			}
			if errF[s] > boundF+1e-12 || errA[s] > boundA+1e-12 {
				t.Errorf("case %d stage %d: errors %v %v over the bounds %v %v", i, s, errF[s], errA[s], boundF, boundA)
			}
			if math.Abs(errF[s]-c.Expect.ErrorF[s]) > 1e-12 || math.Abs(errA[s]-c.Expect.ErrorA[s]) > 1e-12 {
				t.Errorf("case %d stage %d: errors %v %v, want %v %v", i, s, errF[s], errA[s], c.Expect.ErrorF[s], c.Expect.ErrorA[s])
			}
			if s > 0 && errA[s] > boundA-1e-12 {
				tight++
			}
		}
	}
	if tight == 0 {
		t.Error("no vector reaches the bound of the advance")
	}
}

func TestAccumulationGroupsAfterTheFrontier(t *testing.T) {
	var file struct {
		Cases []struct {
			Input struct {
				D      [][][]float64
				Groups []string
			}
			Expect struct {
				Share map[string]float64 `json:"share_by_group"`
			}
		}
	}
	golden(t, "accumulation.json", &file)
	for i, c := range file.Cases {
		w := windowOf(t, c.Input.D, ticks)
		seen := map[string]int{}
		for s, g := range c.Input.Groups {
			w.Schema.Stages[s] = fmt.Sprintf("%s@%d", g, seen[g])
			seen[g]++
		}
		w.Accumulation = 4
		gates := gates.Default()
		gates.DenominatorFloor = 0
		r := mustAnalyze(t, w, Options{Cut: CutStep, Gates: &gates}).Main
		if len(r.Stages) != len(c.Expect.Share) {
			t.Fatalf("case %d: %d stages, want %d", i, len(r.Stages), len(c.Expect.Share))
		}
		for _, s := range r.Stages {
			if math.Abs(*s.Share-c.Expect.Share[s.Name]) > 1e-10 {
				t.Errorf("case %d: share of %s is %v, want %v", i, s.Name, *s.Share, c.Expect.Share[s.Name])
			}
		}
	}
}

func TestClosureAgainstOracle(t *testing.T) {
	var file struct {
		Cases []struct {
			Input struct {
				Explicit [][][]float64
				Wall     [][]float64
			}
			Expect struct {
				Residual *float64 `json:"residual_share"`
				Overlap  *float64 `json:"overlap_share"`
			}
		}
	}
	golden(t, "closure.json", &file)
	checked := 0
	for i, c := range file.Cases {
		if c.Expect.Residual == nil {
			continue
		}
		w := windowOf(t, c.Input.Explicit, ticks)
		for _, row := range c.Input.Wall {
			for _, x := range row {
				w.Wall = append(w.Wall, int64(math.Round(x*ticks)))
			}
		}
		q := newRows(w, nil, nil).quality
		if math.Abs(q.ClosureResidual-*c.Expect.Residual) > 1e-9 || math.Abs(q.OverlapError-*c.Expect.Overlap) > 1e-9 {
			t.Errorf("case %d: residual %v overlap %v, want %v %v", i, q.ClosureResidual, q.OverlapError, *c.Expect.Residual, *c.Expect.Overlap)
		}
		checked++
	}
	if checked < 10 {
		t.Errorf("only %d cases have shares", checked)
	}
}

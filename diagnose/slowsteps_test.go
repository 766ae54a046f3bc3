package diagnose

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
)

// judgeOf is a judge of one window with steps of some lengths, ns.
func judgeOf(lengths []int64) *judge {
	total := int64(0)
	for _, x := range lengths {
		total += x
	}
	w := Window{Main: &frontier.Result{Steps: len(lengths), Makespan: total}}
	return &judge{run: &run{windows: []Window{w}, lengths: [][]int64{lengths}, seen: []extent{{first: 100, end: 100 + int64(len(lengths))}}}, minGain: 0.1}
}

// slowIn reports what of the time slow steps take beyond the others.
func slowIn(lengths []int64) (part float64, slow *slowing) {
	j := judgeOf(lengths)
	if slow = j.slowing([]int{0}); slow == nil {
		return 0, nil
	}
	return slow.Excess * float64(slow.Struck) / float64(slow.makespan), slow
}

// TestSlowStepsOfNoise: the lengths of steps that are drawn from one distribution,
// or wander, are seldom said to have slow steps that cost the least gain.
func TestSlowStepsOfNoise(t *testing.T) {
	nulls := []struct {
		name string
		next func(rng *rand.Rand) func() float64
	}{
		{"normal, 5 %", func(rng *rand.Rand) func() float64 { return func() float64 { return 1 + 0.05*rng.NormFloat64() } }},
		{"normal, 20 %", func(rng *rand.Rand) func() float64 { return func() float64 { return 1 + 0.2*rng.NormFloat64() } }},
		{"lognormal, 10 %", func(rng *rand.Rand) func() float64 {
			return func() float64 { return math.Exp(0.1 * rng.NormFloat64()) }
		}},
		{"lognormal, 30 %", func(rng *rand.Rand) func() float64 {
			return func() float64 { return math.Exp(0.3 * rng.NormFloat64()) }
		}},
		{"exponential tail, 30 %", func(rng *rand.Rand) func() float64 { return func() float64 { return 0.7 + 0.3*rng.ExpFloat64() } }},
		{"wandering, 10 %", func(rng *rand.Rand) func() float64 {
			at := 0.0
			return func() float64 {
				at = 0.9*at + math.Sqrt(1-0.81)*rng.NormFloat64()
				return 1 + 0.1*at
			}
		}},
		{"spikes in 3 %", func(rng *rand.Rand) func() float64 {
			return func() float64 {
				x := 1 + 0.02*rng.NormFloat64()
				if rng.Float64() < 0.03 {
					x += 0.3 * rng.ExpFloat64()
				}
				return x
			}
		}},
	}
	const draws = 300
	for _, null := range nulls {
		for _, n := range []int{20, 60, 400} {
			wrong := 0
			for seed := range uint64(draws) {
				next := null.next(rand.New(rand.NewPCG(seed, uint64(n))))
				lengths := make([]int64, n)
				for i := range lengths {
					lengths[i] = int64(200e6 * max(0.1, next()))
				}
				if part, _ := slowIn(lengths); part >= 0.1 {
					wrong++
				}
			}
			if wrong > draws/50 {
				t.Errorf("%s, %d steps: %d of %d", null.name, n, wrong, draws)
			}
		}
	}
}

// TestSlowSteps: of steps of which some are longer, how many and by how much.
func TestSlowSteps(t *testing.T) {
	for _, c := range []struct {
		factor       float64
		every, first int
		n            int
	}{{1.5, 3, 0, 60}, {1.4, 4, 2, 60}, {2, 8, 5, 200}, {6, 50, 49, 400}} {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 9))
			lengths, want := make([]int64, c.n), 0
			for i := range lengths {
				x := 200e6 * (1 + 0.02*rng.NormFloat64())
				if i >= c.first && (i-c.first)%c.every == 0 {
					x *= c.factor
					want++
				}
				lengths[i] = int64(x)
			}
			_, slow := slowIn(lengths)
			if slow == nil || slow.Struck != want || math.Abs(slow.Excess/(c.factor-1)/200e6-1) > 0.1 || slow.steps[slow.First] != int64(100+c.first) {
				t.Errorf("%v × in every %d of %d steps, seed %d: %+v, want %d", c.factor, c.every, c.n, seed, slow, want)
			}
		}
	}
}

// TestSpikesOfOneRank: a rank that is late in every tenth step makes those steps slow on
// all ranks where they synchronise. With arrivals the rank is the answer.
func TestSpikesOfOneRank(t *testing.T) {
	for _, family := range []simulate.Family{simulate.CallbackSync, simulate.Backward} {
		for _, ranks := range []int{4, 8, 16} {
			for seed := range uint64(3) {
				slow := int(seed+1) % ranks
				s := spec(ranks, 120, seed, simulate.Fault{Family: family, Delay: 1000, Every: 10, Ranks: []int{slow}})
				s.Arrivals = true
				v := verdictOn(t, windows(t, s)...).Runs[0]
				f := v.Findings[0]
				if f.Kind != KindRank || *f.Rank != slow || f.Confidence != evidence.Strong || f.Struck.Count < 11 || f.Struck.Count > 12 || f.Gain < 0.7 || len(v.Findings) > 1 {
					t.Errorf("%v, %d ranks, seed %d: %s of %d", family, ranks, seed, show(f), len(v.Findings))
				}
			}
		}
	}
}

// TestStallsOfAnyRank: single steps in which some rank stalls, now this one and now
// another, accuse no rank.
func TestStallsOfAnyRank(t *testing.T) {
	for _, family := range []simulate.Family{simulate.CallbackSync, simulate.Backward} {
		for seed := range uint64(6) {
			s := spec(8, 100, seed)
			for r := range 8 {
				s.Faults = append(s.Faults, simulate.Fault{Family: family, Delay: 900, Probability: 0.02, Ranks: []int{r}})
			}
			s.Arrivals = true
			for _, f := range verdictOn(t, windows(t, s)...).Runs[0].Findings {
				if f.Kind == KindRank && f.Flagged() {
					t.Errorf("%v, seed %d: %s", family, seed, show(f))
				}
			}
		}
	}
}

// TestSlowStepsExplained: a late rank explains no more of slow steps than its own delay
// and the steps that it strikes.
func TestSlowStepsExplained(t *testing.T) {
	slow := Finding{Cause: CauseSlowSteps, Place: Place{Stage: "callbacks"}, Cost: Cost{Excess: 1000, Struck: Struck{Count: 20, Of: 200}}}
	late := func(stage string, excess int64, count int, sure evidence.Confidence) Finding {
		return Finding{Place: Place{Stage: stage}, Cost: Cost{Excess: excess, Struck: Struck{Count: count, Of: 100}}, Confidence: sure}
	}
	for _, c := range []struct {
		name string
		late []Finding
		want float64
	}{
		{"all of it, in a ring half as long", []Finding{late("callbacks", 1000, 10, evidence.Strong)}, 1},
		{"every other of them", []Finding{late("callbacks", 1200, 5, evidence.Strong)}, 0.5},
		{"a small delay in every step", []Finding{late("callbacks", 10, 100, evidence.Strong)}, 0.01},
		{"two ranks by turns", []Finding{late("callbacks", 1000, 5, evidence.Strong), late("callbacks", 1000, 5, evidence.Supported)}, 1},
		{"another stage", []Finding{late("data", 1000, 10, evidence.Strong)}, 0},
		{"uncertain", []Finding{late("callbacks", 1000, 10, evidence.Ambiguous)}, 0},
	} {
		if got := slow.slowedBy(c.late); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

package delay

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
)

// ramp returns n values that grow from one level by a size in all, with noise.
func ramp(n int, from, by, noise float64, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = from + by*float64(i)/float64(n-1) + noise*random.NormFloat64()
	}
	return out
}

// TestLineThrough: the least-squares line through a ramp, one value of which is far off.
func TestLineThrough(t *testing.T) {
	x := ramp(200, 1000, 199, 0, 1)
	x[70] += 1e6
	l, left, _ := lineThrough(x)
	if math.Abs(l.slope-1) > 0.5 || math.Abs(l.start-1000) > 40 || len(left) != 200 {
		t.Errorf("%+v", l)
	}
	if l, _, squares := lineThrough([]float64{3, 5, 7, 9}); math.Abs(l.slope-2) > 1e-4 || math.Abs(l.start-3) > 1e-4 || squares > 1e-8 {
		t.Errorf("%+v, %v left", l, squares)
	}
}

// grown returns what the judge of a row says of a step that takes as long as it.
func grown(x []float64) []claim.Claim {
	p := &places{}
	took := 0.0
	for i := range x {
		p.at, p.step = append(p.at, int32(i)), append(p.step, int32(i))
		took += x[i]
	}
	s := &trend{rows: []shared{{places: p, x: x}}, took: x, step: median(x), whole: took}
	return s.common(Options{}.fillDefaults())
}

// TestGrowth: a ramp is growth, and costs the half of it; a change of level is none, and neither is a ramp of less than 3 % of a
// step, one that falls, or one of too few independent values.
func TestGrowth(t *testing.T) {
	for seed := range uint64(5) {
		got := grown(ramp(100, 1000, 400, 20, seed))
		if len(got) != 1 || !got[0].Grows || got[0].Cause != claim.Regression || got[0].Certainty != claim.Supported {
			t.Fatalf("%+v", got)
		}
		if f := got[0]; math.Abs(float64(f.Before)-1000) > 30 || math.Abs(float64(f.From)-1400) > 30 || math.Abs(f.Saves.Alone-200./1200) > 0.02 {
			t.Errorf("%+v, want from 1000 to 1400, a sixth of the run", f)
		}
		changed := ramp(100, 1000, 0, 20, seed)
		for i := 50; i < 100; i++ {
			changed[i] += 400
		}
		if got := grown(changed); len(got) != 1 || got[0].Grows || got[0].Steps.First != 50 {
			t.Errorf("a change of level: %+v", got)
		}
		for name, x := range map[string][]float64{"2.5 %": ramp(100, 1000, 25, 1, seed), "falls": ramp(100, 1400, -400, 20, seed), "noise": ramp(100, 1000, 0, 100, seed), "four values": ramp(4, 1000, 400, 1, seed)} {
			for _, f := range grown(x) {
				if f.Grows {
					t.Errorf("%s: %+v", name, f)
				}
			}
		}
	}
}

// TestGrowthOfWalks: values that walk at random grow along a line no more often than the level says.
func TestGrowthOfWalks(t *testing.T) {
	grows := 0
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 7))
		x, state := make([]float64, 120), 0.0
		for i := range x {
			state = 0.95*state + math.Sqrt(1-0.95*0.95)*random.NormFloat64()
			x[i] = 1000 + 60*state
		}
		for _, f := range grown(x) {
			if f.Grows {
				grows++
			}
		}
	}
	if grows > 8 {
		t.Errorf("%d of 400 walks grow", grows)
	}
}

// TestRampOfFew: of eleven values, as of a rank at so many exchanges, a line is told from a level, wherever it changes, and from noise.
func TestRampOfFew(t *testing.T) {
	lines := 0
	for seed := range uint64(20) {
		if l, p := rise(ramp(11, 0, 1000, 20, seed)); p <= rampChance && math.Abs(l.slope-100) <= 10 {
			lines++
		}
		for at := 2; at <= 9; at++ {
			x := ramp(11, 0, 0, 20, seed)
			for i := at; i < len(x); i++ {
				x[i] += 1000
			}
			if _, p := rise(x); p <= rampChance {
				t.Errorf("a level from value %d on: P = %v of a line", at, p)
			}
		}
		if _, p := rise(ramp(11, 1000, 0, 100, seed)); p <= rampChance {
			t.Errorf("noise: P = %v of a line", p)
		}
	}
	if lines < 18 { // what is left of some looks correlated
		t.Errorf("%d of 20 lines are found", lines)
	}
	if _, p := rise(ramp(7, 0, 1000, 1, 1)); p != 1 {
		t.Errorf("seven values: P = %v of a line, want 1", p)
	}
}

// TestSlowStepsOfGrowth: slow steps on top of a growth are found beside it.
func TestSlowStepsOfGrowth(t *testing.T) {
	x := ramp(120, 1000, 400, 10, 3)
	for i := 9; i < 120; i += 10 {
		x[i] += 900
	}
	got := grown(x)
	if len(got) != 2 || !got[0].Grows || got[1].Cause != claim.SlowSteps || got[1].Steps.Period != 10 {
		t.Errorf("%+v", got)
	}
}

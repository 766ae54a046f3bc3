package delay_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/internal/draws"
)

func pick[T any](g *rand.Rand, v ...T) T { return v[g.IntN(len(v))] }

// healthy draws a job without faults.
func healthy(g *rand.Rand) job {
	j := job{seed: g.Uint64(), ranks: pick(g, 2, 3, 4, 8, 16, 32, 64, 128, 512), steps: pick(g, 12, 20, 40, 60, 100, 200, 500, 2000), noise: pick(g, 0.005, 0.02, 0.05), ar: pick(g, 0, 0.5, 0.9),
		spikes: pick(g, 0, 0.02, 0.1), bias: pick(g, 0, 0.005, 0.01, 0.02)}
	for j.ranks*j.steps > 32_000 {
		j.steps /= 2
	}
	return j
}

// TestHealthyJobs: nobody is named with savings to act on in jobs without a fault. SFSTAT_CALIBRATE=1
// makes 5,000 jobs of every kind of noise.
func TestHealthyJobs(t *testing.T) {
	n := draws.Of(t, 150, 5000)
	named, strong, alike := 0, 0, 0
	for i := range n {
		g := rand.New(rand.NewPCG(7, uint64(i)))
		j := healthy(g)
		run, _ := j.play()
		res := analyzed(run, delay.Options{})
		if f := actionable(res); len(f) > 0 {
			named++
			for _, x := range f {
				if x.Certainty == claim.Strong {
					strong++
				}
			}
			t.Logf("job %d %+v: %+v", i, j, res.Claims[0])
		}
		if common(res) > 0 {
			alike++
			t.Logf("job %d %+v: all ranks: %+v", i, j, res.Claims[0])
		}
	}
	rate, err := bootstrap.Binomial(named, n, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("ranks named in %d of %d healthy jobs (95 %% upper bound %.2f %%), %d strong; all ranks in %d", named, n, 100*rate.AtMost, strong, alike)
	if 1000*named > n+1000 || strong > 0 || 1000*alike > 3*n+1000 {
		t.Errorf("%d of %d healthy jobs have a rank to act on, %d strong; %d a finding on all ranks", named, n, strong, alike)
	}
}

// TestChanceStall: a chance stall of one step lends nothing to a small steady delay of the same
// rank, and takes nothing from a real straggler next to it.
func TestChanceStall(t *testing.T) {
	n := draws.Of(t, 40, 400)
	borrowed, found, wrong := 0, 0, 0
	for i := range n {
		g := rand.New(rand.NewPCG(8, uint64(i)))
		j := job{seed: g.Uint64(), ranks: pick(g, 2, 4, 8, 16, 32), steps: pick(g, 60, 100, 200), noise: pick(g, 0.005, 0.02), ar: pick(g, 0, 0.8)}
		at := g.IntN(j.steps - 1)
		stall := fault{ranks: []int{0}, stage: pick(g, 0, 1), ms: usualStep * float64(j.steps) * (0.15 + 0.3*g.Float64()), on: func(s int) bool { return s == at }}
		run, _ := j.play(stall, fault{ranks: []int{0}, stage: stall.stage, ms: usualStep * (0.005 + 0.005*g.Float64())})
		if len(actionable(analyzed(run, delay.Options{}))) > 0 {
			borrowed++
		}
		real := fault{ranks: []int{1}, stage: pick(g, 0, 1, 3), ms: usualStep * (0.3 + 0.3*g.Float64())}
		run, _ = j.play(stall, real)
		f := actionable(analyzed(run, delay.Options{}))
		if x, ok := f[1]; ok && x.Parts[0].Stage == real.stage {
			found++
		}
		if _, ok := f[0]; ok {
			wrong++
		}
	}
	t.Logf("%d jobs: the steady delay is named %d times; the straggler next to a stall %d times, the stalled rank %d", n, borrowed, found, wrong)
	if borrowed > 0 || wrong > 0 || 100*found < 97*n {
		t.Errorf("of %d jobs: borrowed %d, found %d, wrong %d", n, borrowed, found, wrong)
	}
}

// TestLimit: of delays as large as the limit that a healthy job states nine in ten are found, of
// delays half as large at most half.
func TestLimit(t *testing.T) {
	n := draws.Of(t, 60, 1000)
	found := map[float64]int{}
	tried := 0
	none := 0
	for i := range n {
		g := rand.New(rand.NewPCG(9, uint64(i)))
		j := job{seed: g.Uint64(), ranks: pick(g, 2, 4, 8, 32), steps: pick(g, 20, 40, 100, 200), noise: pick(g, 0.005, 0.02, 0.05), ar: pick(g, 0, 0.8), spikes: pick(g, 0, 0.02), bias: pick(g, 0, 0.003)}
		run, _ := j.play()
		stage, rank := pick(g, 0, 1, 3), g.IntN(j.ranks)
		var limit int64
		for _, l := range analyzed(run, delay.Options{}).Limits {
			if l.Stage == stage {
				limit = l.Reported
			}
		}
		if limit == 0 {
			none++
			continue
		}
		tried++
		for _, x := range []float64{0.5, 1} {
			run, _ := j.play(fault{ranks: []int{rank}, stage: stage, ms: x * float64(limit) / 1e6})
			if _, ok := actionable(analyzed(run, delay.Options{}))[rank]; ok {
				found[x]++
			}
		}
	}
	t.Logf("found at 0.5 × the limit %d, at 1 × %d of %d jobs; %d state none", found[0.5], found[1], tried, none)
	if 2*found[0.5] > tried || 100*found[1] < 90*tried-300 || 5*none > n {
		t.Errorf("found at 0.5 × %d, at 1 × %d of %d; %d without a limit", found[0.5], found[1], tried, none)
	}
}

// TestSavingInterval: the interval of a saving holds what the same job takes less without the fault.
func TestSavingInterval(t *testing.T) {
	n := draws.Of(t, 60, 1000)
	in, of, missed, wrong, wrongStrong, off := 0, 0, 0, 0, 0, 0
	for i := range n {
		g := rand.New(rand.NewPCG(10, uint64(i)))
		j := job{seed: g.Uint64(), ranks: pick(g, 2, 4, 8, 32), steps: pick(g, 40, 60, 100, 200), noise: pick(g, 0.005, 0.02, 0.05), ar: pick(g, 0, 0.5, 0.9), spikes: pick(g, 0, 0.02), bias: pick(g, 0, 0.003, 0.01), comm: pick(g, 20., 60, 100)}
		rank := g.IntN(j.ranks)
		f := fault{ranks: []int{rank}, stage: pick(g, 0, 1, 3), ms: usualStep * (0.1 + 0.5*g.Float64())}
		if g.IntN(3) == 0 {
			from := int(float64(j.steps) * (0.2 + 0.4*g.Float64()))
			f.on = func(s int) bool { return s >= from }
		}
		run, took := j.play(f)
		_, without := j.play()
		truth := 1 - without/took
		if truth < 0.05 {
			continue
		}
		res := analyzed(run, delay.Options{})
		var mine *claim.Claim
		for k := range res.Claims {
			x := &res.Claims[k]
			if x.Cause != claim.Late || x.Certainty == claim.Event {
				continue
			}
			if len(x.Ranks) == 1 && x.Ranks[0] == rank {
				mine = x
			} else if x.Saves.Largest() >= 0.10 {
				wrong++
				t.Logf("job %d %+v rank %d %+v, saves %.3f: %+v", i, j, rank, f, truth, x)
				if x.Certainty == claim.Strong {
					wrongStrong++
				}
			}
		}
		if mine == nil {
			missed++
			continue
		}
		of++
		if mine.Saves.Low-0.002 <= truth && truth <= mine.Saves.High+0.002 {
			in++
		}
		if d := mine.Saves.Alone - truth; d > max(0.03, 0.2*truth) || -d > max(0.03, 0.2*truth) {
			off++
		}
	}
	t.Logf("%d of %d intervals hold the saving; %d delays missed, %d other ranks named (%d strong), %d savings off by 3 points and a fifth", in, of, missed, wrong, wrongStrong, off)
	if 100*in < 88*of-200 || wrongStrong > 0 || wrong > n/200+1 {
		t.Errorf("%d of %d intervals hold the saving, %d others named, %d strong", in, of, wrong, wrongStrong)
	}
}

package microbatch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// model draws the passes of a job on logarithms: noise of each pass, length of
// each microbatch, speed of each worker, and what a test adds.
type model struct {
	stages, micro, steps, replicas int
	noise, length, speed           float64
	worker                         map[[2]int]float64 // (stage, replica): factor
	stage                          map[int]float64    // factor
	seed                           uint64
}

func (m model) draw() Input {
	in := Input{Stages: m.stages, Microbatches: m.micro, Steps: m.steps, Replicas: m.replicas,
		Forward: make([][]int64, m.stages*m.replicas), Backward: make([][]int64, m.stages*m.replicas)}
	random := rand.New(rand.NewPCG(m.seed, 1))
	speed := make([]float64, m.stages*m.replicas)
	for w := range speed {
		speed[w] = m.speed * random.NormFloat64()
	}
	length := make([]float64, m.micro*m.steps*m.replicas)
	for i := range length {
		length[i] = m.length * random.NormFloat64()
	}
	for _, passes := range [][][]int64{in.Forward, in.Backward} {
		for s := range m.stages {
			for micro := range m.micro {
				for t := range m.steps {
					for r := range m.replicas {
						x := 1e8 * math.Exp(m.noise*random.NormFloat64()+length[(micro*m.steps+t)*m.replicas+r]+speed[s*m.replicas+r])
						if f := m.worker[[2]int{s, r}]; f > 0 {
							x *= f
						}
						if f := m.stage[s]; f > 0 {
							x *= f
						}
						passes[s*m.replicas+r] = append(passes[s*m.replicas+r], int64(x))
					}
				}
			}
		}
	}
	return in
}

func analyze(in Input) *Result { return Analyze(in, 0.01) }

// change replaces every pass of a worker, microbatch and step.
func (in *Input) change(by func(worker, micro, step int, x int64) int64) {
	for _, passes := range [][][]int64{in.Forward, in.Backward} {
		for w, list := range passes {
			for i, x := range list {
				list[i] = by(w, i/in.Steps, i%in.Steps, x)
			}
		}
	}
}

func slow(levels []Level) []int {
	var out []int
	for i, l := range levels {
		if l.Slow {
			out = append(out, i)
		}
	}
	return out
}

// TestSlowWorker: a worker beyond what workers differ by is found, with its
// factor, and nobody else; also when another is slow too.
func TestSlowWorker(t *testing.T) {
	base := model{stages: 4, micro: 8, steps: 12, replicas: 4, noise: 0.02, speed: 0.004, length: 0.1, seed: 3}
	base.worker = map[[2]int]float64{{2, 1}: 1.2}
	r := analyze(base.draw())
	if got := slow(r.Workers); !slices.Equal(got, []int{9}) || math.Abs(r.Workers[9].Factor-1.2) > 0.05 {
		t.Errorf("slow %v, factor %.3f", got, r.Workers[9].Factor)
	}
	if got := slow(r.Stages); len(got) > 0 {
		t.Errorf("a straggler makes stages %v heavy", got)
	}
	base.worker[[2]int{2, 3}] = 1.2
	base.length = 0
	if got := slow(analyze(base.draw()).Workers); !slices.Equal(got, []int{9, 11}) {
		t.Errorf("two equal stragglers: slow %v", got)
	}
}

// TestHeavyStage: by its factor, also with two stages and with one straggler.
func TestHeavyStage(t *testing.T) {
	for _, stages := range []int{2, 4} {
		m := model{stages: stages, micro: 8, steps: 12, replicas: 8, noise: 0.02, speed: 0.004, seed: 5,
			stage: map[int]float64{stages - 1: 1.3}, worker: map[[2]int]float64{{0, 0}: 2}}
		r := analyze(m.draw())
		if got := slow(r.Stages); !slices.Equal(got, []int{stages - 1}) || math.Abs(r.Stages[stages-1].Factor-1.3) > 0.02 {
			t.Errorf("%d stages: slow %v, factor %.3f", stages, got, r.Stages[stages-1].Factor)
		}
		if got := slow(r.Workers); !slices.Equal(got, []int{0}) {
			t.Errorf("%d stages: slow workers %v", stages, got)
		}
	}
}

// TestFalseAlarms: at most alpha of healthy jobs have a slow worker, and as
// many a heavy stage, within the binomial error.
func TestFalseAlarms(t *testing.T) {
	const jobs = 400
	const alpha = 0.05
	for _, m := range []model{
		{stages: 1, micro: 4, steps: 8, replicas: 4},
		{stages: 2, micro: 4, steps: 8, replicas: 2},
		{stages: 4, micro: 4, steps: 6, replicas: 4},
		{stages: 4, micro: 4, steps: 8, replicas: 16},
		{stages: 2, micro: 4, steps: 8, replicas: 32},
	} {
		m.noise, m.speed, m.length = 0.02, 0.01, 0.05
		workers, stages := 0, 0
		for m.seed = range uint64(jobs) {
			in := m.draw() // as Analyze, without the correlations
			r := &Result{Workers: make([]Level, in.Stages*in.Replicas), Stages: make([]Level, in.Stages)}
			r.workers(&in, alpha)
			r.stages(&in, alpha)
			workers += min(1, len(slow(r.Workers)))
			stages += min(1, len(slow(r.Stages)))
		}
		// 33 of 400 is 3 deviations above 5 %.
		if workers > 33 || stages > 33 {
			t.Errorf("%d × %d workers: a slow worker in %d and a heavy stage in %d of %d healthy jobs, expected 5 %%",
				m.stages, m.replicas, workers, stages, jobs)
		}
		t.Logf("%d × %d: %d and %d of %d", m.stages, m.replicas, workers, stages, jobs)
	}
}

// TestSharedLength: only microbatches of uneven length relate directions and
// stages; noise does not, and neither does a slow worker.
func TestSharedLength(t *testing.T) {
	m := model{stages: 3, micro: 6, steps: 10, replicas: 4, noise: 0.05, seed: 9}
	m.worker = map[[2]int]float64{{1, 1}: 1.5}
	s := analyze(m.draw()).Shared
	if math.Abs(*s.Directions) > 0.2 || math.Abs(*s.Stages) > 0.2 || s.PDirections < 0.01 || s.PStages < 0.01 {
		t.Errorf("noise: correlations %.2f (P %.3f) and %.2f (P %.3f)", *s.Directions, s.PDirections, *s.Stages, s.PStages)
	}
	m.length = 0.2
	s = analyze(m.draw()).Shared
	if *s.Directions < 0.85 || *s.Stages < 0.85 || s.PDirections > 0.005 || s.PStages > 0.005 {
		t.Errorf("lengths: correlations %.2f (P %.3f) and %.2f (P %.3f)", *s.Directions, s.PDirections, *s.Stages, s.PStages)
	}
	if want := math.Expm1(math.Hypot(0.2, 0.05)); math.Abs(s.Spread-want) > 0.04 {
		t.Errorf("spread %.3f, expected %.3f", s.Spread, want)
	}
}

// TestSlowNowAndThen: a worker that is slow in some steps, or a replica that is,
// makes no microbatches uneven.
func TestSlowNowAndThen(t *testing.T) {
	for _, stages := range []int{1, 3} {
		for _, replicas := range []int{1, 2, 8} {
			in := model{stages: stages, micro: 8, steps: 12, replicas: replicas, noise: 0.02, seed: 4}.draw()
			in.change(func(w, _, step int, x int64) int64 {
				if step%6 == 0 && w%replicas == 0 {
					return 4 * x
				}
				return x
			})
			s := analyze(in).Shared
			if math.Abs(*s.Directions) > 0.3 || s.PDirections < 0.005 || s.Spread > 0.03 {
				t.Errorf("%d × %d: directions %.2f, P %.3f, spread %.3f", stages, replicas, *s.Directions, s.PDirections, s.Spread)
			}
		}
	}
}

// TestPlaces: passes that are longer at one place of every step are no uneven
// microbatches.
func TestPlaces(t *testing.T) {
	in := model{stages: 2, micro: 6, steps: 10, replicas: 4, noise: 0.02, seed: 6}.draw()
	in.change(func(_, micro, _ int, x int64) int64 {
		if micro == 0 {
			return x * 3 / 2
		}
		return x
	})
	if s := analyze(in).Shared; math.Abs(*s.Directions) > 0.3 || s.Spread > 0.03 {
		t.Errorf("directions %.2f, P %.3f, spread %.3f", *s.Directions, s.PDirections, s.Spread)
	}
}

// TestPermutedRanks: another order of the replicas changes the order of the
// levels and nothing else; times a hundred times as long change no factor.
func TestPermutedRanks(t *testing.T) {
	m := model{stages: 2, micro: 3, steps: 7, replicas: 5, noise: 0.05, speed: 0.02, length: 0.1, seed: 2}
	in := m.draw()
	a := analyze(in)
	order := []int{3, 0, 4, 1, 2}
	mixed, longer := in, m.draw()
	longer.change(func(_, _, _ int, x int64) int64 { return 100 * x })
	mixed.Forward, mixed.Backward = nil, nil
	for s := range in.Stages {
		for _, from := range order {
			mixed.Forward, mixed.Backward = append(mixed.Forward, in.Forward[s*in.Replicas+from]), append(mixed.Backward, in.Backward[s*in.Replicas+from])
		}
	}
	b, c := analyze(mixed), analyze(longer)
	for s := range in.Stages {
		for k, from := range order {
			x, y := a.Workers[s*in.Replicas+from], b.Workers[s*in.Replicas+k]
			if math.Abs(x.Factor-y.Factor) > 1e-12 || math.Abs(*x.Score-*y.Score) > 1e-9 {
				t.Errorf("stage %d, replica %d: %+v becomes %+v", s, from, x, y)
			}
		}
	}
	for w := range a.Workers {
		if x, y := a.Workers[w], c.Workers[w]; math.Abs(x.Factor-y.Factor) > 1e-9 || math.Abs(100*x.Time-y.Time) > 1e-6*y.Time {
			t.Errorf("worker %d: %+v becomes %+v", w, x, y)
		}
	}
}

// TestUndecided: what has nothing to compare with says so.
func TestUndecided(t *testing.T) {
	one := analyze(model{stages: 1, micro: 1, steps: 1, replicas: 1, noise: 0.1}.draw())
	if one.Workers[0].Score != nil || one.Stages[0].Score != nil || one.Shared.Directions != nil || one.Shared.Stages != nil {
		t.Errorf("one pass is judged: %+v", one)
	}
	pair := analyze(model{stages: 1, micro: 2, steps: 9, replicas: 2, noise: 0.1, worker: map[[2]int]float64{{0, 1}: 3}}.draw())
	if pair.Workers[1].Score != nil || pair.Workers[1].Factor < 2.5 {
		t.Errorf("of two workers one is judged: %+v", pair.Workers)
	}
	zero := model{stages: 2, micro: 2, steps: 3, replicas: 3}.draw()
	zero.change(func(_, _, _ int, _ int64) int64 { return 0 })
	for _, l := range analyze(zero).Workers {
		if l.Slow || l.Factor != 1 {
			t.Errorf("passes of no time: %+v", l)
		}
	}
}

func BenchmarkAnalyze(b *testing.B) {
	in := model{stages: 8, micro: 16, steps: 20, replicas: 64, noise: 0.02, length: 0.1}.draw()
	b.SetBytes(2 * 8 * 8 * 16 * 20 * 64)
	for b.Loop() {
		Analyze(in, 0.01)
	}
}

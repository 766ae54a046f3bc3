package delay_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
)

// queued is a job whose ranks take each batch out of a queue of one, which a producer of their own fills: it makes a
// batch in periods of its own, ms, and puts it there as soon as the batch before is taken. Ranks wait for one another
// in backward.
type queued struct {
	seed    uint64
	steps   int
	period  []float64 // [rank]
	phase   []float64 // [rank] ms by which the first batch is later; nil: none is
	jitter  float64   // of a period, ms
	noise   float64   // of stages, relative
	program int       // an evaluation of 80 ms on all ranks before the batch of every program-th step, and forward 40 ms shorter in the step before it; 0: none
	slow    float64   // ms that rank 1 takes longer for a batch by itself
}

func (q queued) play() *delay.Run {
	rng := rand.New(rand.NewPCG(q.seed, 7))
	R := len(q.period)
	run := &delay.Run{}
	run.Stages, run.Ranks = stages, R
	now, put, taken := make([]float64, R), make([]float64, R), make([]float64, R)
	copy(put, q.phase)
	for t := range q.steps {
		var own [4][]float64
		begin := slices.Clone(now)
		for k := range own {
			own[k] = make([]float64, R)
		}
		meet := 0.0
		for r := range R {
			made := put[r] + q.period[r] + q.jitter*rng.NormFloat64()
			put[r] = max(made, taken[r])
			arrive := now[r]
			if q.program > 0 && t%q.program == 0 {
				arrive += 80
			}
			if r == 1 {
				arrive += q.slow * (1 + 0.05*rng.NormFloat64())
			}
			taken[r] = max(arrive, put[r]) + 0.3
			own[0][r] = taken[r] - now[r]
			now[r] = taken[r]
			for k := 1; k < 3; k++ {
				own[k][r] = usual[k] * (1 + q.noise*rng.NormFloat64())
			}
			if q.program > 0 && (t+1)%q.program == 0 {
				own[1][r] -= 40
			}
			now[r] += own[1][r] + own[2][r]
			meet = max(meet, now[r])
		}
		for r := range R {
			own[2][r] += meet - now[r]
			own[3][r] = usual[3] * (1 + q.noise*rng.NormFloat64())
			now[r] = meet + own[3][r]
		}
		for k := range own {
			for _, x := range own[k] {
				run.Durations = append(run.Durations, int64(x*1e6))
			}
		}
		for r := range R {
			run.Wall = append(run.Wall, int64((now[r]-begin[r])*1e6))
		}
	}
	return run
}

// lateClaim returns what is claimed of a rank; nil: nothing is.
func lateClaim(t *testing.T, run *delay.Run, rank int) *claim.Claim {
	t.Helper()
	res, err := delay.Analyze(run, delay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Claims {
		if c := &res.Claims[i]; c.Cause == claim.Late && c.Rank() == rank {
			return c
		}
	}
	return nil
}

// TestPaceOfAll: batches come as slowly to all ranks, and to one a little later. It is last in every step, and without it the
// others would wait for their own batches.
func TestPaceOfAll(t *testing.T) {
	for seed := range uint64(20) {
		q := queued{seed: seed, steps: 80, period: []float64{240, 240, 240, 240}, phase: []float64{0, 30, 0, 0}, noise: 0.05}
		c := lateClaim(t, q.play(), 1)
		if c == nil {
			t.Fatalf("seed %d: nothing is claimed of the rank, which is last in every step", seed)
		}
		if c.Pace == nil || len(c.Pace.Peers) == 0 || c.Saves.Largest() != 0 || c.Saves.Low != 0 || c.Certainty > claim.Supported {
			t.Errorf("seed %d: pace %+v, saves %+v, %v; want peers that wait too, and nothing saved", seed, c.Pace, c.Saves, c.Certainty)
		}
	}
}

// TestPaceOfOne: batches come slowly to one rank alone. What it saves is an upper bound: how fast they come to the others is
// not seen, as their queues are never empty.
func TestPaceOfOne(t *testing.T) {
	for seed := range uint64(20) {
		q := queued{seed: seed, steps: 80, period: []float64{100, 280, 100, 100}, noise: 0.05, jitter: 2}
		c := lateClaim(t, q.play(), 1)
		if c == nil || c.Pace == nil {
			t.Fatalf("seed %d: %+v; want a rank that waits", seed, c)
		}
		if len(c.Pace.Peers) > 0 || c.Certainty != claim.Supported || c.Saves.Low != 0 || c.Saves.Alone < 0.15 || c.Saves.Alone > 0.35 {
			t.Errorf("seed %d: pace %+v, saves %+v, %v; want an upper bound of 25 %%, supported", seed, c.Pace, c.Saves, c.Certainty)
		}
		if p := c.Pace; p.Slope < -1.2 || p.Slope > -0.8 || p.Low > p.Slope || p.High < p.Slope {
			t.Errorf("seed %d: slope %.2f in [%.2f, %.2f], want about -1 within it", seed, p.Slope, p.Low, p.High)
		}
	}
}

// TestPaceOfOwnWork: a rank that takes longer by itself is no rank that waits, whatever the program does in every fourth step:
// at 99 %, one interval in two hundred lies below 0 by chance, and its median must lie below -1/2 besides.
func TestPaceOfOwnWork(t *testing.T) {
	const seeds, most = 200, 2
	for _, program := range []int{0, 4} {
		paced := 0
		for seed := range uint64(seeds) {
			q := queued{seed: seed, steps: 80, period: []float64{1, 1, 1, 1}, noise: 0.05, slow: 60, program: program}
			c := lateClaim(t, q.play(), 1)
			if c == nil || c.Certainty != claim.Strong && c.Pace == nil {
				t.Fatalf("program %d, seed %d: %+v; want a late rank", program, seed, c)
			}
			if c.Pace != nil {
				paced++
			}
		}
		if paced > most {
			t.Errorf("program of %d steps: %d of %d late ranks wait for something, want %d at most", program, paced, seeds, most)
		}
	}
}

package detectability

import (
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/trace"
)

// delay is the fault of a simulated window: one rank loses so much in one stage
// of every step. The zero delay is none.
type delay struct {
	rank  int // column
	stage int // in job.stages
	ns    int64
}

// run carries one round out with a delay. x is when each rank begins it and
// becomes when it is through; dst becomes the durations, [row][rank].
//
// A delay before the synchronising stage makes its rank arrive later, and the others
// wait. One inside the synchronising stage, before the ranks synchronise, keeps all of them
// there: stage times do not show who came first, so nothing is said to absorb
// it. A stage that runs in k microsteps is delayed by 1/k in each.
func (j *job) run(own []int64, d delay, x, dst []int64) {
	R := j.ranks()
	for n := range j.rows {
		i := (j.at + 1 + n) % len(j.rows)
		var last int64
		if j.rows[i].syncs {
			last = slices.Max(x)
		}
		more := j.part(i, d)
		for r := range R {
			spent := own[i*R+r]
			if j.rows[i].syncs {
				spent = max(0, last-x[r]+spent+more)
			} else if r == d.rank {
				spent += more
			}
			x[r] += spent
			dst[i*R+r] = spent
		}
	}
}

// part is the delay's part in a row: the rows of its stage share it, the last
// has the rounding.
func (j *job) part(i int, d delay) int64 {
	if d.ns == 0 || j.rows[i].stage != d.stage {
		return 0
	}
	parts, later := int64(0), false
	for k, r := range j.rows {
		if r.stage == d.stage {
			parts++
			later = later || k > i
		}
	}
	if later {
		return d.ns / parts
	}
	return d.ns - (parts-1)*(d.ns/parts)
}

// draw is what a replicate is made of, the same at every delay and for every
// stage (common random numbers), so that a search over delays sees the delay
// and not the noise.
type draw struct {
	rank   int   // column of the rank that is delayed
	rounds []int // one more than steps
}

// draws makes replicate number n: a rank, and blocks of consecutive rounds from
// random places, the recording being taken as a circle (Politis and Romano
// 1992, in Exploring the Limits of Bootstrap, 263–270). A block keeps what
// rounds share with the ones before them; its ends are joined by the model,
// since waits are worked out anew.
func (j *job) draw(seed uint64, n, steps, block int) draw {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	d := draw{rank: rng.IntN(j.ranks())}
	for len(d.rounds) < steps+1 {
		from := rng.IntN(j.rounds())
		for k := range min(block, steps+1-len(d.rounds)) {
			d.rounds = append(d.rounds, (from+k)%j.rounds())
		}
	}
	return d
}

// window is what recorders would have written: the rows up to the synchronisation point from
// the round that ends in the step, the rows after it from the next. O(T·S·R).
func (j *job) window(of draw, stage int, ns int64) *trace.Window {
	R, S, T := j.ranks(), len(j.like.Schema.Stages), len(of.rounds)-1
	w := j.like
	w.Run, w.Index, w.FirstStep, w.Side, w.Expected = "power", 0, 0, nil, slices.Clone(j.like.Expected)
	w.Durations = make([]int64, T*S*R)
	w.Wall = nil
	if j.wall {
		w.Wall = make([]int64, T*R)
	}
	x, times := make([]int64, R), make([]int64, len(j.rows)*R)
	begin := j.of(j.start, of.rounds[0])
	for k, round := range of.rounds {
		copy(x, begin)
		begin = j.of(j.exit, round)
		j.run(j.round(round), delay{of.rank, stage, ns}, x, times)
		for i := range j.rows {
			t := k
			if i > j.at {
				t--
			}
			if t < 0 || t >= T {
				continue
			}
			for r, spent := range times[i*R : (i+1)*R] {
				if i < S {
					w.Durations[(t*S+i)*R+r] = max(0, spent)
				}
				if j.wall {
					w.Wall[t*R+r] += spent
				}
			}
		}
	}
	for i, x := range w.Wall {
		w.Wall[i] = max(0, x)
	}
	return &w
}

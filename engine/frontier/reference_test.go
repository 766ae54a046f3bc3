package frontier

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// others returns the latest of all ranks but one.
func others(x []int64, r int) int64 {
	latest := int64(math.MinInt64)
	for q, v := range x {
		if q != r {
			latest = max(latest, v)
		}
	}
	return latest
}

// TestScanByDefinition: what one pass sums for each row is what its definition sums, step by step and rank by rank, of steps that begin together
// and of steps that go on.
func TestScanByDefinition(t *testing.T) {
	eachRandomWindow(t, func(t *testing.T, rng *rand.Rand, w *trace.Window) {
		g := gates.Default().Leader
		for _, cut := range []Cut{CutStep, CutCarried} {
			v := viewOf(w, cut)
			R, S := len(w.Ranks), len(v.order)
			if cut == CutCarried && rng.IntN(2) == 0 {
				v.start = make([]int64, R)
				for r := range v.start {
					v.start[r] = rng.Int64N(1_000_000)
				}
			}
			synced := -1
			if rng.IntN(2) == 0 {
				synced = rng.IntN(S)
				v.syncs[synced] = [][]int{{0}}
			}
			want := make([]tally, S)
			for i := range want {
				want[i] = tally{last: -1, leads: make([]int, R), slack: make([]int64, R)}
			}
			reached, makespan, ends := make([]int64, R), int64(0), 0.0
			copy(reached, v.start)
			frontier := slices.Max(reached)
			begun := frontier
			slip := func() (mean float64) {
				for r := range reached {
					if R > 1 {
						mean += float64(others(reached, r)-reached[r]) / float64(R)
					}
				}
				return mean
			}
			for step := range v.steps {
				if cut == CutStep {
					clear(reached)
					frontier, begun = 0, 0
				}
				lag := frontier - robust.MedianTime(slices.Clone(reached))
				before := slices.Clone(reached)
				for i := range S {
					k, row := &want[i], v.row(step, i)
					if i == synced {
						k.slip += slip()
					}
					for r, d := range row {
						reached[r] += d
					}
					now := slices.Max(reached)
					leader := slices.Index(reached, now)
					second := others(reached, leader)
					if R == 1 {
						second = now
					}
					l := now - robust.MedianTime(slices.Clone(reached))
					k.advance, k.frontier, k.reached = k.advance+now-frontier, k.frontier+now-begun, k.reached+now
					k.lag, k.gap, k.lagIncrease = k.lag+l, k.gap+now-second, k.lagIncrease+max(0, l-lag)
					for r, x := range reached {
						k.slack[r] += now - x
					}
					k.rowMax, k.first = k.rowMax+slices.Max(row), k.first+row[0]
					for _, d := range row {
						k.rowSum += d
					}
					k.spread += slices.Max(row) - robust.MedianTime(slices.Clone(row))
					if R > 1 && now-second > max(int64(g.GapAbs), int64(g.GapRel*float64(now-begun))) {
						k.confident++
						k.leads[leader]++
						if k.last >= 0 && k.last != leader {
							k.switches++
						}
						k.last = leader
					}
					frontier, lag = now, l
				}
				slow := 0
				for r := range reached {
					if reached[r]-before[r] > reached[slow]-before[slow] {
						slow = r
					}
				}
				for i := range S {
					want[i].slowest += v.row(step, i)[slow]
				}
				if synced < 0 && (cut == CutStep || step == v.steps-1) {
					ends += slip()
				}
				makespan += frontier - begun
				begun = frontier
			}
			got := scan(v, g, nil)
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }
			if got.makespan != makespan || !near(got.slip, ends) || cut == CutCarried && !slices.Equal(got.last, reached) {
				t.Errorf("%v: makespan %d, slip %v, want %d, %v", cut, got.makespan, got.slip, makespan, ends)
			}
			for i := range want {
				a, b := got.rows[i], want[i]
				if !near(a.slip, b.slip) || !slices.Equal(a.leads, b.leads) || !slices.Equal(a.slack, b.slack) {
					t.Errorf("%v, row %d: slip %v, leads %v, slack %v, want %v, %v, %v", cut, i, a.slip, a.leads, a.slack, b.slip, b.leads, b.slack)
				}
				a.slip, a.leads, a.slack, b.slip, b.leads, b.slack = 0, nil, nil, 0, nil, nil
				if sums := func(k tally) [14]int64 {
					return [14]int64{k.advance, k.rowMax, k.rowSum, k.spread, k.slowest, k.first, k.frontier, k.reached, k.lag, k.lagIncrease, k.gap, int64(k.confident), int64(k.switches), int64(k.last)}
				}; sums(a) != sums(b) {
					t.Errorf("%v, row %d: %v, want %v", cut, i, sums(a), sums(b))
				}
			}
		}
	})
}

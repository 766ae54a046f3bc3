package selfcheck

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryCheckPasses(t *testing.T) {
	rows := Run(Options{Seed: 7, Trials: 200, Simulated: 40, Healthy: 110})
	for _, r := range rows {
		if !r.Pass {
			t.Errorf("%s: %s", r.Check, r.Found)
		}
	}
}

func TestPassed(t *testing.T) {
	for _, test := range []struct {
		rows []Row
		want bool
	}{
		{[]Row{{Pass: true}, {Pass: true}}, true},
		{[]Row{{Pass: true}, {Pass: false}}, false},
		{[]Row{{Pass: false}, {Pass: true}}, false},
	} {
		if got := Passed(test.rows); got != test.want {
			t.Errorf("%v: %v, want %v", test.rows, got, test.want)
		}
	}
}

// TestDeterminism: the seed, the check and the number of the trial decide what
// is drawn, not the number of processors.
func TestDeterminism(t *testing.T) {
	draw := func(seed, use uint64) []uint64 {
		out, err := repeat(&sampler{Options: Options{Seed: seed}, use: use}, 50, func(rng *rand.Rand) (uint64, error) { return rng.Uint64(), nil })
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := draw(3, 1)
	all := slices.Concat(want, draw(4, 1), draw(3, 2))
	slices.Sort(all)
	if len(slices.Compact(all)) != 150 {
		t.Error("trials, seeds or checks share their random numbers")
	}
	o := Options{Seed: 3, Trials: 60, Simulated: 6, Healthy: 6}
	rows := Run(o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(want, draw(3, 1)); diff != "" {
		t.Errorf("one processor draws otherwise (-many +one):\n%s", diff)
	}
	if diff := cmp.Diff(rows, Run(o)); diff != "" {
		t.Errorf("one processor finds otherwise (-many +one):\n%s", diff)
	}
}

// TestUpperBound: at the bound, x or fewer of n are seen with probability 1−c.
func TestUpperBound(t *testing.T) {
	for _, test := range []struct{ x, n int }{{0, 1}, {0, 105}, {0, 300}, {1, 300}, {3, 100}, {9, 10}} {
		p := upperBound(test.x, test.n, 0.95)
		tail, choose := 0.0, 1.0
		for k := range test.x + 1 {
			tail += choose * math.Pow(p, float64(k)) * math.Pow(1-p, float64(test.n-k))
			choose *= float64(test.n-k) / float64(k+1)
		}
		if math.Abs(tail-0.05) > 1e-9 {
			t.Errorf("%d of %d: at the bound %.6f the chance of so few is %.6f, want 0.05", test.x, test.n, p, tail)
		}
	}
	if got := upperBound(10, 10, 0.95); got != 1 {
		t.Errorf("all of 10: %v, want 1", got)
	}
}

// TestReference: the frontier of two ranks and two stages, by hand.
func TestReference(t *testing.T) {
	w := newWindow(1, 2, "a", "b")
	copy(w.Durations, []int64{5, 1, 1, 7}) // rank 0: 5 then 1, rank 1: 1 then 7
	want := reference{frontier: []int64{5, 8}, advance: []int64{5, 3}, slack: [][]int64{{0, 4}, {2, 0}}, maxima: 12, sums: 14}
	if diff := cmp.Diff(want, referenceOf(w), cmp.AllowUnexported(reference{})); diff != "" {
		t.Error(diff)
	}
}

// TestNoTrialsFail: nothing tried is nothing shown.
func TestNoTrialsFail(t *testing.T) {
	for _, r := range Run(Options{}) {
		if r.Pass {
			t.Errorf("%s passes on no trial at all: %s", r.Check, r.Found)
		}
	}
}

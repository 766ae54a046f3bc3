package selfcheck

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryCheckPasses(t *testing.T) {
	rows := Run(Options{Seed: 7, Trials: 200})
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
		if got := AllPassed(test.rows); got != test.want {
			t.Errorf("%v: %v, want %v", test.rows, got, test.want)
		}
	}
}

// TestDeterminism: the seed, the check and the number of the trial decide what
// is drawn, not the number of processors.
func TestDeterminism(t *testing.T) {
	draw := func(seed, use uint64) []uint64 {
		return repeat(&sampler{Options{seed, 50}, use}, func(rng *rand.Rand) uint64 { return rng.Uint64() })
	}
	want := draw(3, 1)
	all := slices.Concat(want, draw(4, 1), draw(3, 2))
	slices.Sort(all)
	if len(slices.Compact(all)) != 150 {
		t.Error("trials, seeds or checks share their random numbers")
	}
	o := Options{Seed: 3, Trials: 60}
	rows := Run(o)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(want, draw(3, 1)); diff != "" {
		t.Errorf("one processor draws otherwise (-many +one):\n%s", diff)
	}
	if diff := cmp.Diff(rows, Run(o)); diff != "" {
		t.Errorf("one processor finds otherwise (-many +one):\n%s", diff)
	}
}

// TestSums: those of two ranks and two stages, by hand.
func TestSums(t *testing.T) {
	w := newWindow(1, 2, "a", "b")
	copy(w.Durations, []int64{5, 1, 1, 7}) // rank 0: 5 then 1, rank 1: 1 then 7
	if got, want := sumsOf(w), (sums{maxima: 12, all: 14}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

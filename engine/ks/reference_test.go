package ks

import (
	"math"
	"slices"
	"testing"
)

// upTo returns the part of completions that have come up to a time.
func upTo(done []int64, t int64) float64 {
	n := 0
	for _, d := range done {
		if d <= t {
			n++
		}
	}
	return float64(n) / float64(len(done))
}

// TestDepartures: a tested worker's departure is the largest distance of its F from the lower median of its group's, at any time at which
// one completes; P is its place among as many departures as were drawn.
func TestDepartures(t *testing.T) {
	tested := 0
	for seed := range uint64(60) {
		g := source(seed)
		workers := ragged(g, 3+g.IntN(10))
		for i := range workers { // steps enough for a test
			for range 2 + g.IntN(2) {
				start := g.Int64N(1000)
				workers[i].Steps = append(workers[i].Steps, Step{Start: start, Done: []int64{start + g.Int64N(60), start + g.Int64N(60)}})
			}
		}
		r := analyze(t, workers, Options{Window: 1, Replicates: 200, Discovery: 0.5})
		for w, s := range r.Scores {
			if s.Test == nil {
				continue
			}
			tested++
			var group [][]int64
			var all []int64
			for _, other := range workers {
				if done := folded(other, 1); other.Peers == workers[w].Peers && len(done) > 0 {
					group, all = append(group, done), append(all, done...)
				}
			}
			own, want := folded(workers[w], 1), 0.0
			for _, at := range all {
				var f []float64
				for _, done := range group {
					f = append(f, upTo(done, at))
				}
				slices.Sort(f)
				want = max(want, math.Abs(upTo(own, at)-f[(len(f)-1)/2]))
			}
			if len(all) <= testPoints && math.Abs(s.Test.Departure-want) > 1e-8 {
				t.Errorf("seed %d, worker %d: departs by %v, want %v", seed, w, s.Test.Departure, want)
			}
			if places := s.Test.P * float64(s.Test.Draws); s.Test.Draws%len(group) != 0 || math.Abs(places-math.Round(places)) > 1e-6 || s.Test.Draws > 201*len(group) {
				t.Errorf("seed %d, worker %d: P %v of %d draws of %d workers", seed, w, s.Test.P, s.Test.Draws, len(group))
			}
		}
	}
	if tested < 100 {
		t.Errorf("%d workers were tested, too few", tested)
	}
}

// TestManyWindows: of more than 256 completions departures are taken at quantiles, of which a shift by half shows all.
func TestManyWindows(t *testing.T) {
	workers := make([]Worker, 5)
	for step := range 20 {
		for w := range workers {
			s := Step{Start: int64(step) * 1000}
			for k := range int64(40) {
				done := s.Start + 2*k + int64((step+w)%2)
				if w == 3 {
					done += 40
				}
				s.Done = append(s.Done, done)
			}
			workers[w].Steps = append(workers[w].Steps, s)
		}
	}
	r := analyze(t, workers, Options{Window: 1})
	// Half of the others' 40 completions in a step come before the first of worker 3.
	if got := r.Scores[3].Test; math.Abs(got.Departure-0.5) > 0.02 || !got.Flagged || !slices.Equal(r.Ranking[:1], []int{3}) || r.Scores[3].Later != 40 {
		t.Errorf("%+v, %+v, ranking %v", r.Scores[3], got, r.Ranking)
	}
	for w, s := range r.Scores {
		if w != 3 && (s.Test.Departure > 0.05 || s.Test.Flagged) {
			t.Errorf("worker %d: %+v", w, s.Test)
		}
	}
}

// TestAlone: who has no peer of its kind is not tested, though it is compared with everyone.
func TestAlone(t *testing.T) {
	workers := job{workers: 4, steps: 10, ops: 5}.run(source(1))
	workers[3].Peers = 1
	r := analyze(t, workers, Options{Against: Everyone})
	if s := r.Scores[3]; s.Undecided != NoPeer || s.Peers != 3 || s.Test != nil || s.Later != 0 {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(r.Doubts, []Doubt{NoPeer}) || r.Scores[0].Test == nil {
		t.Errorf("doubts %v, %+v", r.Doubts, r.Scores[0])
	}
	workers[0].Steps[2].Done = workers[0].Steps[2].Done[:3]
	if r := analyze(t, workers, Options{}); !slices.Equal(r.Doubts, []Doubt{NoPeer, UnequalCounts}) {
		t.Errorf("of unequal counts: doubts %v", r.Doubts)
	}
	if r := analyze(t, workers, Options{Replicates: 5}); !slices.Contains(r.Doubts, FewReplicates) {
		t.Errorf("of five permutations: doubts %v", r.Doubts)
	}
}

// TestWords: every clock, doubt and choice of peers has a word of its own, by which it is published.
func TestWords(t *testing.T) {
	for kind, words := range map[string][2][]string{
		"clocks":  {Clock(0).Names(), {Folded.String(), Wall.String()}},
		"against": {Against(0).Names(), {Peers.String(), Everyone.String()}},
		"doubts": {Doubt(0).Names(), {NoOperators.String(), NoPeer.String(), TwoWorkers.String(), FewSteps.String(), RunningClock.String(), NotTested.String(),
			FewReplicates.String(), UnequalCounts.String(), FewBlocks.String()}},
	} {
		if !slices.Equal(words[0], words[1]) {
			t.Errorf("%s: %q, want %q", kind, words[0], words[1])
		}
	}
	if a, b, c := Wall.String(), Everyone.String(), FewReplicates.String(); a != "wall" || b != "everyone" || c != "few_replicates" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
}

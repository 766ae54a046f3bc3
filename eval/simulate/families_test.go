package simulate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFamilies checks what each fault looks like on the hidden rank and on the
// others, step by step, against durations worked out by hand from quiet: the
// pattern that the real runs of each family show.
func TestFamilies(t *testing.T) {
	type pattern struct{ data, forward, backward, callbacks, optimizer int64 } // ms
	healthy := pattern{16, 60, 112, 6, 14}
	tests := []struct {
		family         Family
		hidden, others pattern
		first          pattern // of the others in the step of the first strike
		barrier        bool
		event          float64 // device time of the hidden rank's forward, ms
	}{
		{family: NoFault, hidden: healthy, others: healthy, first: healthy, event: 60},
		{family: Data, event: 60,
			hidden: pattern{136, 60, 112, 6, 14}, others: pattern{16, 60, 232, 6, 14}, first: pattern{16, 60, 232, 6, 14}},
		{family: Backward, event: 60, // looks alike on every rank
			hidden: pattern{16, 60, 232, 6, 14}, others: pattern{16, 60, 232, 6, 14}, first: pattern{16, 60, 232, 6, 14}},
		{family: BackwardComm, event: 60,
			hidden: pattern{16, 60, 232, 6, 14}, others: pattern{16, 60, 232, 6, 14}, first: pattern{16, 60, 232, 6, 14}},
		{family: ForwardDevice, event: 180, // the host of the hidden rank waits in backward, as all do
			hidden: pattern{16, 60, 232, 6, 14}, others: pattern{16, 60, 232, 6, 14}, first: pattern{16, 60, 232, 6, 14}},
		{family: ForwardHost, event: 60,
			hidden: pattern{16, 180, 112, 6, 14}, others: pattern{16, 60, 232, 6, 14}, first: pattern{16, 60, 232, 6, 14}},
		{family: CallbackSync, event: 60, barrier: true,
			hidden: pattern{16, 60, 112, 128, 14}, others: pattern{16, 60, 112, 128, 14}, first: pattern{16, 60, 112, 128, 14}},
		{family: CallbackHost, event: 60, // the others wait in the backward of the next step
			hidden: pattern{16, 60, 112, 126, 14}, others: pattern{16, 60, 232, 6, 14}, first: healthy},
		{family: OptimizerHost, event: 60,
			hidden: pattern{16, 60, 112, 6, 134}, others: pattern{16, 60, 232, 6, 14}, first: healthy},
	}
	for _, test := range tests {
		for _, ranks := range []int{2, 4, 8, 32} {
			t.Run(fmt.Sprintf("family=%v/ranks=%d", test.family, ranks), func(t *testing.T) {
				s := quiet(ranks)
				if test.barrier {
					s = withBarrier(s)
				}
				const hidden = 1
				s.Faults = []Fault{{Family: test.family, Ranks: []int{hidden}, Delay: 120}}
				w := one(t, s)
				for step := range w.Steps() {
					for r := range ranks {
						want := test.others
						switch {
						case r == hidden:
							want = test.hidden
						case step == 0:
							want = test.first
						}
						got := pattern{at(w, step, StageData, r), at(w, step, StageForward, r), at(w, step, StageBackward, r),
							at(w, step, StageCallbacks, r), at(w, step, StageOptimizer, r)}
						if scaled := (pattern{want.data * ms, want.forward * ms, want.backward * ms, want.callbacks * ms, want.optimizer * ms}); got != scaled {
							t.Fatalf("step %d, rank %d: %v ns, want %v ms", step, r, got, want)
						}
					}
				}
				for _, sample := range w.Side[0].Samples {
					want := 60.0
					if sample.Rank == hidden {
						want = test.event
					}
					if sample.Value != want || !sample.Ready {
						t.Errorf("step %d, rank %d: forward took %v ms on the device (ready %v), want %v", sample.Step, sample.Rank, sample.Value, sample.Ready, want)
					}
				}
			})
		}
	}
}

// TestDelayIsExact: without noise each strike costs the whole group exactly
// its delay, in every family, whatever its size and wherever it is lost.
func TestDelayIsExact(t *testing.T) {
	for family := Data; family <= OptimizerHost; family++ {
		for _, delay := range []Millis{0.001, 12, 60, 120.000001, 5000} {
			t.Run(fmt.Sprintf("family=%v/delay=%v", family, delay), func(t *testing.T) {
				s := withBarrier(quiet(8))
				s.Faults = []Fault{{Family: family, Ranks: []int{5}, Delay: delay}}
				w := one(t, s)
				for step := range w.Steps() {
					slowest := slices.Max(w.WallOf(step))
					if want := 210*ms + delay.ns(); slowest != want {
						t.Errorf("step %d took %d ns, want %d", step, slowest, want)
					}
				}
			})
		}
	}
}

// TestFewRanks: a world of one has nobody to wait for and does not
// communicate, yet it loses what its fault takes.
func TestFewRanks(t *testing.T) {
	for family := Data; family <= OptimizerHost; family++ {
		s := quiet(1)
		s.Faults = []Fault{{Family: family, Delay: 120}}
		if family == BackwardComm {
			if _, err := New(s); err == nil {
				t.Error("a fault in communication that does not happen was accepted")
			}
			continue
		}
		w := one(t, s)
		if got, want := w.WallOf(3)[0], (16+60+98+6+14+120)*ms; got != want {
			t.Errorf("%v: one rank takes %d ns, want %d", family, got, want)
		}
	}
}

func TestHiddenRankBySeed(t *testing.T) {
	chosen := make(map[int]int)
	for seed := range uint64(200) {
		s := quiet(8)
		s.Seed, s.Schedule.Steps = seed, 1
		s.Faults = []Fault{{Family: Data, Delay: 120}}
		w, truth := generate(t, s)
		hidden := truth.Faults[0].HiddenRanks
		if len(hidden) != 1 || at(w[0], 0, StageData, hidden[0]) != 136*ms {
			t.Fatalf("seed %d: truth says rank %v, data waits are %v", seed, hidden, w[0].Step(0)[:8])
		}
		chosen[hidden[0]]++
	}
	// 200 draws of 8: each is expected 25 times, deviation 4.7.
	for r := range 8 {
		if n := chosen[r]; n < 5 || n > 45 {
			t.Errorf("rank %d was chosen %d times in 200 seeds", r, n)
		}
	}
}

// struck lists the steps in which the data stage of a rank is delayed.
func struck(t *testing.T, s Spec, rank int) (steps []int64, truth []stepRange) {
	t.Helper()
	windows, all := generate(t, s)
	for _, w := range windows {
		for step := range w.Steps() {
			if at(w, step, StageData, rank) > 16*ms {
				steps = append(steps, w.FirstStep+int64(step))
			}
		}
	}
	return steps, all.Faults[0].Steps
}

// flat lists the steps of ranges.
func flat(ranges []stepRange) (steps []int64) {
	for _, r := range ranges {
		for step := r.First; step <= r.Last; step++ {
			steps = append(steps, step)
		}
	}
	return steps
}

func TestWhenFaultsStrike(t *testing.T) {
	tests := []struct {
		name  string
		fault Fault
		want  []int64 // absolute: windows hold 4–9, 13–18 and 22–27
	}{
		{"always", Fault{}, []int64{4, 5, 6, 7, 8, 9, 13, 14, 15, 16, 17, 18, 22, 23, 24, 25, 26, 27}},
		{"A/B/A", Fault{Windows: []int{1}}, []int64{13, 14, 15, 16, 17, 18}},
		{"every fourth", Fault{When: When{Every: 4}}, []int64{4, 8, 15, 22, 26}},
		{"from the third", Fault{When: When{From: 2, Every: 5}}, []int64{6, 14, 22, 27}},
		{"from and until", Fault{When: When{From: 4, Until: 8}}, []int64{8, 9, 13, 14}},
		{"every other in the last window", Fault{Windows: []int{2}, When: When{Every: 2}}, []int64{22, 24, 26}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := quiet(4)
			s.Schedule = Schedule{Windows: 3, Steps: 6, Warmup: 4, Gap: 3}
			test.fault.Family, test.fault.Ranks, test.fault.Delay = Data, []int{3}, 120
			s.Faults = []Fault{test.fault}
			got, truth := struck(t, s, 3)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("struck steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, flat(truth)); diff != "" {
				t.Errorf("the truth differs from what happened (-happened +truth):\n%s", diff)
			}
		})
	}
}

func TestRandomStrikes(t *testing.T) {
	s := quiet(4)
	s.Schedule.Steps = 2000
	s.Faults = []Fault{{Family: Data, Ranks: []int{3}, Delay: 120, When: When{Probability: 0.1}}}
	got, truth := struck(t, s, 3)
	if diff := cmp.Diff(got, flat(truth)); diff != "" {
		t.Errorf("the truth differs from what happened (-happened +truth):\n%s", diff)
	}
	// Binomial(2000, 0.1): mean 200, deviation 13.4; five of them.
	if n := len(got); n < 133 || n > 267 {
		t.Errorf("%d strikes in 2000 steps of probability 0.1", n)
	}
}

// TestSeveralFaults: hidden ranks and faults add up, each where it is.
func TestSeveralFaults(t *testing.T) {
	s := quiet(8)
	s.Faults = []Fault{
		{Family: Data, Ranks: []int{6, 2}, Delay: 120},
		{Family: ForwardHost, Ranks: []int{5}, Delay: 100},
	}
	windows, truth := generate(t, s)
	w := windows[0]
	for r, want := range []int64{232, 232, 112, 232, 232, 132, 112, 232} {
		if got := at(w, 4, StageBackward, r); got != want*ms {
			t.Errorf("backward of rank %d takes %d ns, want %d ms", r, got, want)
		}
	}
	var hidden []int
	for _, row := range truth.Rows() {
		hidden = append(hidden, row.HiddenRank)
	}
	if want := []int{2, 6, 5}; !slices.Equal(hidden, want) {
		t.Errorf("truth rows name ranks %v, want %v", hidden, want)
	}
}

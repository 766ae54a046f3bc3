package delay

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/internal/robust"
)

// TestMostTerms: of 280 delays, of four ranks among nine in seventy pieces, 256 are found.
func TestMostTerms(t *testing.T) {
	var work [][][]int64
	for range 70 {
		work = append(work, repeated(24, 300, 0, 300, 0, 300, 0, 300, 0, 0))
	}
	if got := len(newSeries(division(0, work...), nil).peel(0.05)); got != 256 {
		t.Errorf("%d terms, want 256", got)
	}
}

// TestNoiseOfLongRuns: of more than twice 16,384 values every second step says what the noise is. The excess of five of ten ranks changes by 1 µs to each odd
// step and by 2 µs to each even one, but for the last steps.
func TestNoiseOfLongRuns(t *testing.T) {
	for steps, want := range map[int]float64{3000: 2000, 3276: 2000, 3278: 1000, 3800: 1000} {
		rows, at := make([][]int64, steps), int64(3000)
		for n := range rows {
			by := []int64{-2000, 1000, 2000, -1000}[n%4]
			if n > steps-20 { // so that the even ones are more
				by *= 2 / (max(by, -by) / 1000)
			}
			at += by
			rows[n] = slices.Repeat([]int64{at, 3000}, 5)
		}
		s := newSeries(division(0, rows), nil)
		if got := (s.noise[0] - 1) / robust.SigmaOfDifference; math.Abs(got-want) > 1 {
			t.Errorf("%d steps: %v, want %v", steps, got, want)
		}
	}
}

// TestSampledSteps: of more than 4096 steps every second one says how long the others waited, and of a fourth of that what a stage usually takes.
func TestSampledSteps(t *testing.T) {
	for steps, want := range map[int]float64{3500: 0.5, 4090: 0.5, 4100: 1, 4800: 1} {
		s := newSeries(division(0, repeated(steps, 1500, 1000, 1000)), nil)
		for n := 0; n < steps; n += 2 {
			copy(s.Spent[0][3*n:], []int64{0, 0, 0}) // nobody waits
		}
		if got := s.waitShare(cause{ranks: []int{0}, terms: []*term{{}}}, slices.Repeat([]bool{true}, steps)); math.Abs(got-want) > 1e-3 {
			t.Errorf("%d steps: waited %v, want %v", steps, got, want)
		}
	}
	for steps, want := range map[int]float64{900: 1250, 1020: 1250, 1030: 1000, 1200: 1000} {
		rows := repeated(steps, 1000, 1000, 1000)
		for n := 1; n < steps; n += 2 {
			rows[n][0] = 1500
		}
		all := newSeries(division(0, rows), nil)
		if own, peers := all.typical(0, 0, everywhere(all)); own != want || peers != 1000 {
			t.Errorf("%d steps: %v, peers %v, want %v and 1000", steps, own, peers, want)
		}
	}
}

// TestMostOfOne: one rank may have 22 of 40 turns, and not 26: of turns in every step, of stalls, and of what is uneven.
func TestMostOfOne(t *testing.T) {
	for most, want := range map[int]int{20: 1, 22: 1, 26: 0, 28: 0} {
		whose := make([]int, 40)
		for i := range whose {
			if whose[i] = 0; i*most%40 >= most {
				whose[i] = 1 + i%3
			}
		}
		if found := turning(200, whose).turns(&Run{}, Options{}.fillDefaults()); len(found) != want {
			t.Errorf("one has %d of 40 turns: %+v, want %d", most, found, want)
		}
		some := slices.Repeat([]int{-1}, 160)
		for i, r := range whose {
			some[4*i] = r
		}
		if found := turning(900, some).turns(&Run{}, Options{}.fillDefaults()); len(found) != want {
			t.Errorf("one has %d of 40 stalls: %+v, want %d", most, found, want)
		}
	}
}

// TestStallsOfOneSize: stalls are of one size up to half as much again as the middle one.
func TestStallsOfOneSize(t *testing.T) {
	for size, want := range map[int64]int{540: 0, 640: 1, 1300: 1, 1500: 0} {
		rows := repeated(40, 1000, 1000, 1000, 1000)
		for i := range 10 {
			if rows[4*i][i%4] += 900; i >= 7 {
				rows[4*i][i%4] += size - 900
			}
		}
		if found := newSeries(division(0, rows), nil).turns(&Run{}, Options{}.fillDefaults()); len(found) != want {
			t.Errorf("three of ten stalls take %d, the others 900: %+v, want %d", size, found, want)
		}
	}
}

// TestLeastStall: what is less than 3 % of a step is no stall: three of 26 ns beside eight of 900 leave these of one size.
func TestLeastStall(t *testing.T) {
	for small, want := range map[int64]int{28: 1, 36: 0} { // of which 2 are noise
		rows := repeated(44, 1000, 1000, 1000, 1000)
		for i := range 11 {
			if rows[4*i][i%4] += 900; i >= 8 {
				rows[4*i][i%4] += small - 900
			}
		}
		if found := newSeries(division(0, rows), nil).turns(&Run{}, Options{}.fillDefaults()); len(found) != want {
			t.Errorf("three of %d: %+v, want %d", small, found, want)
		}
	}
}

// TestMostTimes: a rank that is late in one of two steps is not late in most.
func TestMostTimes(t *testing.T) {
	if found := jobOf([]int64{900, 0}).unsure(nil, Options{}.fillDefaults()); len(found) != 0 {
		t.Errorf("one of two: %+v, want nothing", found)
	}
	if found := jobOf([]int64{900, 900, 0}).unsure(nil, Options{}.fillDefaults()); len(found) != 1 {
		t.Errorf("two of three: %+v, want one", found)
	}
}

// TestSetsOfRanks: three ranks late for one reason are several if they are more than one in eight.
func TestSetsOfRanks(t *testing.T) {
	for ranks, want := range map[int]int{20: 1, 23: 1, 24: 3, 28: 3} {
		var terms []*term
		for r := range 3 {
			terms = append(terms, &term{rank: r, claim: 100, charged: 5, d: columnOf(4, 100, always)})
		}
		if got := newSeries(division(0, repeated(4, make([]int64, ranks)...)), nil).causes(terms, &Run{}); len(got) != want {
			t.Errorf("three of %d ranks: %d causes, want %d", ranks, len(got), want)
		}
	}
}

// TestFactorSavesAtMost: what a factor may hide makes a saving 95 % at most.
func TestFactorSavesAtMost(t *testing.T) {
	s := newSeries(division(45_000, repeated(20, 25_000, 1000, 1000), repeated(20, 25_000, 1000, 1000)), nil)
	f := s.termFindings([]*term{{rank: 0, d: columnOf(20, 24_000, always), claim: 24_000, charged: 480_000, chance: chance{block: 1}}}, &Run{}, Options{}.fillDefaults())
	if len(f) != 1 || f[0].Saves.AtMost != 0.95 {
		t.Errorf("%+v, want 0.95 at most", f)
	}
}

// TestSpreadOver: what other stages take longer in slow steps belongs to these from a tenth of what the first takes, and from 1 % of the run.
func TestSpreadOver(t *testing.T) {
	for other, want := range map[int64]int{90: 1, 110: 2} {
		var rows [2][][]int64
		for k, size := range []int64{1000, other} {
			rows[k] = repeated(40, 100, 100, 100)
			for n := 5; n < 40; n += 10 {
				for r := range 3 {
					rows[k][n][r] += size
				}
			}
		}
		found := Common(division(0, rows[0], rows[1]), Options{})
		if len(found) == 0 || len(found[0].Parts) != want {
			t.Errorf("another stage takes %d longer, the first 1000: %+v, want %d parts", other, found, want)
		}
	}
}

// TestStartUpIsOver: of the ten steps after a start-up the mean decides, which an eleventh has no part in.
func TestStartUpIsOver(t *testing.T) {
	for longer, want := range map[int]int{2: 1, 4: 0} { // 1.2 and 1.4 times the middle step
		took := append([]int64{5000}, slices.Repeat([]int64{1000}, 40)...)
		for i := range longer {
			took[10-i] = 2000
		}
		if got := startUp(lengthsOf(took...)); got != want {
			t.Errorf("%d of ten are twice as long: %d steps, want %d", longer, got, want)
		}
	}
}

// TestEventsAreTold: a rank that keeps the others waiting in two steps, which no test takes for certain, is told of as an event.
func TestEventsAreTold(t *testing.T) {
	rows := repeated(40, 1000, 1000, 1000, 1000)
	rows[15][0], rows[29][0] = 2000, 2000
	got := AnalyzeDivision(division(0, rows), &Run{}, Options{}).Claims
	if len(got) != 1 || got[0].Certainty != claim.Event || !slices.Equal(got[0].Ranks, []int{0}) || got[0].Steps.Count != 2 {
		t.Errorf("%+v, want an event of rank 0 in two steps", got)
	}
}

// TestBlocksOfChanges: a change of level is tested in blocks no shorter than what is left of the values stays correlated. Twenty values that are
// correlated over 1.6 are ten blocks, of which five and five have a chance of 2 in 252 by row; twenty that are not are twenty blocks.
func TestBlocksOfChanges(t *testing.T) {
	at := func(i int) float64 { return float64((3*i*i + 7*i) % 101) }
	for part, want := range map[float64]int{0: 1, 0.5: 0} { // of the value that follows
		x := make([]float64, 20)
		for i := range x {
			if x[i] = 1000 + at(i) + part*at(i+1); i >= 10 {
				x[i] += 400
			}
		}
		if got := trendOf(x).common(Options{}.fillDefaults()); len(got) != want {
			t.Errorf("with %v of the next: %+v, want %d", part, got, want)
		}
	}
}

// TestTurnsOfFewRanks: it takes three ranks for turns, stalls and uneven work: of two each is the other's only peer.
func TestTurnsOfFewRanks(t *testing.T) {
	of := func(ranks, every int) *series {
		rows := repeated(48, slices.Repeat([]int64{1000}, ranks)...)
		for n := 0; n < 48; n += every {
			rows[n][n/every%ranks] += 900
		}
		return newSeries(division(0, rows), nil)
	}
	o := Options{}.fillDefaults()
	for ranks, want := range map[int]bool{2: false, 3: true, 4: true} {
		if f, ok := of(ranks, 1).turnsIn(0, o); ok != want || ok && f.P > 1e-10 {
			t.Errorf("turns of %d ranks: %v, %+v, want %v", ranks, ok, f, want)
		}
		whole := repeated(48, slices.Repeat([]int64{1000}, ranks)...)
		for n := range whole {
			whole[n][n/4%ranks] += 900
		}
		if f, ok := newSeries(division(0, whole), nil).turnsIn(0, o); ok != want {
			t.Errorf("turns of four steps of %d ranks: %v, %+v, want %v", ranks, ok, f, want)
		}
		if f, ok := of(ranks, 4).stalls(0); ok != want {
			t.Errorf("stalls of %d ranks: %v, %+v, want %v", ranks, ok, f, want)
		}
		rows := repeated(40, slices.Repeat([]int64{1000}, ranks)...)
		for n := range rows {
			for r := range rows[n] {
				m := (n + 20*r/ranks) % 20
				rows[n][r] += int64(20 * min(m, 20-m))
			}
		}
		if f, ok := newSeries(division(0, rows), nil).imbalance(0, Options{MinGain: 0.005}.fillDefaults()); ok != want {
			t.Errorf("uneven work of %d ranks: %v, %+v, want %v", ranks, ok, f, want)
		}
	}
}

package delay

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/points"
)

// TestCosting: the delay d for which Σ max(0, d − lack) is the cost, by hand.
func TestCosting(t *testing.T) {
	for _, c := range []struct {
		lack       []float64
		cost, want float64
	}{
		{[]float64{0, 0, 0, 0}, 40, 10},
		{[]float64{100, 0, 50}, 30, 30},       // of the one that lacks nothing
		{[]float64{100, 0, 50}, 60, 55},       // 55 + 5
		{[]float64{100, 0, 50}, 50, 50},       // exactly to the second
		{[]float64{100, 0, 50}, 300, 150},     // 150 + 100 + 50
		{[]float64{20, 20, 20, 20}, 400, 120}, //
		{nil, 7, 7},
	} {
		lack := slices.Clone(c.lack)
		got := delayOfCost(lack, c.cost)
		if got != c.want || !slices.Equal(lack, c.lack) {
			t.Errorf("lacking %v, a cost of %v: %v, want %v", c.lack, c.cost, got, c.want)
		}
	}
}

// TestLimitsByHand: four ranks that take 900 alike. A tenth of what a step then takes is a ninth of the 900: 100, which is
// reported with a margin of 15 %.
func TestLimitsByHand(t *testing.T) {
	d := division(0, repeated(40, 900, 900, 900, 900))
	limits := newSeries(d, nil).limits(Options{}.fillDefaults())
	if len(limits) != 2 || limits[0] != (Limit{Stage: 0, Reported: 115, Known: true, Seen: true}) || limits[1] != (Limit{Stage: 1, Known: true}) {
		t.Errorf("%+v, want 115 in the work, nothing hidden", limits)
	}
	limits = newSeries(d, nil).limits(Options{MinGain: 0.25}.fillDefaults())
	if limits[0].Reported != 345 {
		t.Errorf("to save a quarter %d, want 1.15 · 900/3", limits[0].Reported)
	}

	// Where others arrive later than the rank, it must make up for that first. Ranks by arrival: 600, 700, 800, 900. A cost of
	// 900/9 = 100 a step takes 400, 300, 200 of the first three; of the last, which is 100 ahead, 100. The second, third and
	// fourth of the four are asked, and the middle of them tells.
	d = division(0, repeated(40, 900, 600, 800, 700))
	s := newSeries(d, nil)
	o := Options{}.fillDefaults()
	for r, want := range []float64{100, 400, 200, 300} {
		if got, _ := s.detectableDelayOf(0, r, 100*40, o); !near(got, want) {
			t.Errorf("rank %d: %v, want %v", r, got, want)
		}
	}
	if got, _ := s.detectableDelay(0, 100*40, o); !near(got, 200) {
		t.Errorf("the middle rank: %v, want 200", got)
	}

	// Six steps of one rank of four have P = 3·4·4⁻⁶ = 0.003: certain at 0.05, and at 1e-4 nothing is.
	short := newSeries(division(0, repeated(6, 900, 900, 900, 900)), nil)
	if got, _ := short.detectableDelayOf(0, 0, 600, o); !near(got, 100) {
		t.Errorf("six steps: %v, want 100", got)
	}
	if got, _ := short.detectableDelayOf(0, 0, 600, Options{Level: 1e-4}.fillDefaults()); !math.IsInf(got, 1) {
		t.Errorf("six steps at a level of 1e-4: %v, want none", got)
	}
	if got, _ := short.detectableDelay(0, 600, Options{Level: 1e-4}.fillDefaults()); got != 0 {
		t.Errorf("six steps at a level of 1e-4: a limit of %v, want none", got)
	}
	if got, _ := newSeries(d, []int{0, 1, 1, 1}).detectableDelayOf(0, 0, 4000, o); !math.IsInf(got, 1) {
		t.Errorf("of a rank without peers: %v", got)
	}
}

// TestLimitAmongStrikes: a delay is tried twelve times, each 15 % larger than before. In every second of 24 steps of 100 µs one of four ranks takes 10 µs
// longer, each in turn; a delay has P = 3·4·4⁻²⁴ = 4e-14 if it is larger, and more than 1e-11 if not. What saves MinGain is the first
// that is tried: it goes into the 15 steps in which no other rank is late.
func TestLimitAmongStrikes(t *testing.T) {
	rows := repeated(24, 100_000, 100_000, 100_000, 100_000)
	for i := range 12 {
		rows[2*i][i%4] += 10_000
	}
	for first, want := range map[float64]float64{8000: 8000 * math.Pow(1.15, 3), 2300: 2300 * math.Pow(1.15, 12), 2000: 0} { // 2000·1.15¹¹ is 9305
		saved := 15 * first / (24*100_000 + 12*10_000) // of what is left
		limits := LookAt(division(0, rows), &Run{}, Options{MinGain: saved / (1 + saved), Level: 1e-12, Strong: 1e-12}).Limits()
		if got := float64(limits[0].Reported); math.Abs(got-want) > 2 {
			t.Errorf("from %v on: %v, want %v", first, got, want)
		}
	}
}

// TestHiddenLimit: in a stage in which ranks wait, a rank may be at work as long as the one that stays shortest, step by step; in
// one in which they may wait, as long as it takes, or, should they not, as one takes longer than the others. Of stages that are nothing but waiting nothing hides.
func TestHiddenLimit(t *testing.T) {
	d := division(70, [][]int64{{900, 850}, {800, 840}, {700, 900}})
	d.Spent[0] = []int64{70, 120, 110, 90, 200, 50} // the shortest: 70, 90, 50
	d.Perhaps = []int{0}
	s := newSeries(d, nil)
	limits := s.limits(Options{}.fillDefaults())
	if limits[1].MayHide != 70 || limits[0] != (Limit{Stage: 0, MayHide: (850 + 800 + 700) / 3, Known: true}) {
		t.Errorf("%+v, want 70 hidden where they wait, 783 where they may", limits)
	}
	uneven := division(70, [][]int64{{900, 50}, {800, 40}, {700, 60}})
	uneven.Spent[0], uneven.Perhaps = d.Spent[0], []int{0}
	if got := newSeries(uneven, nil).limits(Options{}.fillDefaults())[0].MayHide; got != (850+760+640)/3 {
		t.Errorf("one takes 750 longer where ranks may not wait either: %d hidden", got)
	}
	d.Head[2] = -1 // the last was not recorded
	if got := s.meanMinWait(0); got != 80 {
		t.Errorf("of two steps %d, want 80", got)
	}
	if got := s.meanMinWork(0); got != 825 {
		t.Errorf("of two steps %d, want 825", got)
	}
	d.Stages[1].Role = points.Wait
	if got := s.limits(Options{}.fillDefaults())[1].MayHide; got != 0 {
		t.Errorf("in a stage that only waits %d", got)
	}
}

// TestSeen: a stage shows a delay where one that saves the least gain, or little more, is found; what is found at twice
// as much is reported, and not seen. Asked for that alone, of each stage is known whether it is seen.
func TestSeen(t *testing.T) {
	s := newSeries(division(0, repeated(40, 900, 900, 900, 900), repeated(40, 100, 100, 100, 100)), nil)
	for k, l := range s.limits(Options{Limits: SeenLimits}.fillDefaults())[:2] {
		if all := s.limits(Options{}.fillDefaults())[k]; !all.Seen || !l.Seen || !l.Known {
			t.Errorf("piece %d: %+v, all %+v", k, l, all)
		}
	}
	var turns [][]int64 // five of ten ranks are late in every second step, which is noise to the test
	for range 8 {
		turns = append(turns, slices.Repeat([]int64{1400, 900}, 5), slices.Repeat([]int64{900}, 10))
	}
	drowned := newSeries(division(0, turns, repeated(16, slices.Repeat([]int64{100}, 10)...)), nil)
	all, seen := drowned.limits(Options{}.fillDefaults())[0], drowned.limits(Options{Limits: SeenLimits}.fillDefaults())[0]
	if all.Seen || seen.Seen || !all.Known || !seen.Known {
		t.Errorf("in noise: %+v, all %+v", seen, all)
	}
}

// TestPlanted: a delay that is put in is charged as if it had been there: less the slack, no more than the lead, in order.
func TestPlanted(t *testing.T) {
	s := newSeries(division(0, [][]int64{{100, 100, 300}, {100, 100, 100}, {100, 160, 100}}), nil)
	s.noise[0] = 5 // a slack of 10
	s.recharge(0)
	equal(t, "before", s.charge[0].entries, []entry{{0, 2, 190}, {2, 1, 50}})
	at := planting{series: s, piece: 0, rank: 1, e: s.column(s.excess[0], 1), lead: s.column(s.lead[0], 1), delay: 200}
	// Its excess is −100, 0 and 60, which is its lead too.
	c := at.addCharges(s.charge[0])
	equal(t, "after", c.entries, []entry{{0, 1, 90}, {0, 2, 190}, {1, 1, 190}, {2, 1, 250}})
	if c.sum != 90+190+190+250 {
		t.Errorf("sum %v, want 720", c.sum)
	}
	equal(t, "as it was", s.charge[0].entries, []entry{{0, 2, 190}, {2, 1, 50}})
}

// TestFewestIntervals: of n intervals a third is struck, rounded up; k strikes on one of R ranks have P = 3·R·R⁻ᵏ where the three forms share alike,
// which is to be a fourth at most: k = 5 of two ranks, 4 of three, 3 of four or more.
func TestFewestIntervals(t *testing.T) {
	for ranks, want := range map[int]int{1: 6, 2: 13, 3: 10, 4: 7, 64: 7} {
		if got := FewestIntervals(ranks); got != want {
			t.Errorf("%d ranks: %d intervals, want %d", ranks, got, want)
		}
	}
}

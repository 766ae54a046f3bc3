package delay

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
)

// columnOf returns n values, v where at says so and 0 elsewhere.
func columnOf(n int, v float64, at func(n int) bool) []float64 {
	out := make([]float64, n)
	for i := range out {
		if at(i) {
			out[i] = v
		}
	}
	return out
}

func always(int) bool { return true }

// TestChanceOfStrikes: n blocks in which one of R ranks alone exceeds fall on that rank with a chance of R⁻ⁿ.
func TestChanceOfStrikes(t *testing.T) {
	for _, R := range []int{2, 3, 8, 128} {
		for n := 1; n <= 12; n++ {
			y := make([][]float64, n)
			for b := range y {
				y[b] = []float64{3}
			}
			want, _ := new(big.Rat).SetFrac64(1, 1).Float64()
			for range n {
				q, _ := new(big.Rat).SetFrac64(1, int64(R)).Float64()
				want *= q
			}
			if got := Chance(y, R, 3*float64(n)); math.Abs(got-want) > 1e-2*want {
				t.Errorf("%d strikes on one of %d ranks: %v, want %v", n, R, got, want)
			}
		}
	}
}

// TestChance: the least over λ of exp(−λ·own) Π_b mean_q exp(λ y[b, q]), by NumPy on a grid of two million λ:
//
//	min(exp(-lam*own) * prod((n - len(row) + sum(exp(lam*v) for v in row)) / n for row in y))
func TestChance(t *testing.T) {
	for _, c := range []struct {
		y    [][]float64
		n    int
		own  float64
		want float64
	}{
		{[][]float64{{1, 2}, {2}, {0.5, 2}, {2, 2}}, 4, 6.5, 0.1309438587},
		{[][]float64{{1, 3}, {2, 3}, {3}, {1, 1, 3}, {2, 3}, {3}}, 3, 15, 0.0908162289},
		{[][]float64{{1}, {1}}, 4, 0.5, 1}, // the mean is charged: no λ above 0 does better
		{[][]float64{{1}}, 4, 0, 1},
		{nil, 4, 1, 1},
	} {
		if got := Chance(c.y, c.n, c.own); math.Abs(got-c.want) > 2e-3*c.want {
			t.Errorf("%v over %d ranks, %v on one: %.10f, want %v", c.y, c.n, c.own, got, c.want)
		}
		for _, row := range c.y { // in another unit it is the same
			for i := range row {
				row[i] *= 1e9
			}
		}
		if got := Chance(c.y, c.n, 1e9*c.own); math.Abs(got-c.want) > 2e-3*c.want {
			t.Errorf("%v over %d ranks, in another unit: %.10f, want %v", c.y, c.n, got, c.want)
		}
	}
}

// strikes returns a series of a piece in which rank 0 of R takes 10 µs longer than the others in n of its 40 steps, every
// fourth from the first on, with other pieces that all take alike.
func strikes(R, n, pieces int) *series {
	rows := repeated(40, slices.Repeat([]int64{100_000}, R)...)
	for i := range n {
		rows[4*i][0] += 10_000
	}
	work := [][][]int64{rows}
	for range pieces - 1 {
		work = append(work, repeated(40, slices.Repeat([]int64{50_000}, R)...))
	}
	return newSeries(division(0, work...), nil)
}

// TestP: n strikes in forty steps on one rank of R have P = R/(w·v)·R⁻ⁿ. R pays for the ranks, w for the pieces: a tenth of an even share, and
// nine tenths of the share of charges, here all. v pays for the forms: a level has the n/40 of the steps that are charged, but a tenth at
// least, and what strikes half of the rest.
func TestP(t *testing.T) {
	for _, c := range []struct{ ranks, strikes, pieces int }{{4, 5, 1}, {4, 5, 2}, {4, 5, 8}, {4, 7, 2}, {8, 4, 3}, {32, 4, 1}} {
		s := strikes(c.ranks, c.strikes, c.pieces)
		w := big.NewRat(int64(9*c.pieces+1), int64(10*c.pieces)) // 0.1/K + 0.9
		w.Mul(w, big.NewRat(int64(40-max(4, c.strikes)), 80))
		p := new(big.Rat).Quo(big.NewRat(int64(c.ranks), 1), w)
		for range c.strikes {
			p.Quo(p, big.NewRat(int64(c.ranks), 1))
		}
		want, _ := p.Float64()
		own := s.ownDelay(cell{0, 0})
		got := s.test(cell{0, 0}, shape{claim: 10_000, strikes: true}, own, make([]float64, 40))
		if math.Abs(got.p-min(1, want)) > 1e-2*want || got.struck != c.strikes || got.block != 1 || got.blocks != 40 {
			t.Errorf("%+v: %+v, want P %v, %d of 40 blocks of one step", c, got, want, c.strikes)
		}
	}
}

// TestPOfLittleEvidence: of fewer than six blocks, of two strikes, and of ranks without a peer nothing is certain; a
// piece of few ranks has these alone as peers.
func TestPOfLittleEvidence(t *testing.T) {
	s := strikes(32, 2, 1)
	if got := s.test(cell{0, 0}, shape{claim: 10_000, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, 40)); got.p != 1 || got.struck != 2 {
		t.Errorf("two strikes: %+v, want P = 1", got)
	}
	s = strikes(32, 3, 1)
	if got := s.test(cell{0, 0}, shape{claim: 10_000, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, 40)); got.p > 0.004 {
		t.Errorf("three strikes: %+v, want P = 2/32²", got)
	}
	if got := s.test(cell{0, 0}, shape{claim: 0, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, 40)); got.p != 1 {
		t.Errorf("a claim of nothing: %+v", got)
	}
	for steps, certain := range map[int]bool{5: false, 6: true} {
		s := newSeries(division(0, repeated(steps, append([]int64{200}, slices.Repeat([]int64{100}, 63)...)...)), nil)
		got := s.test(cell{0, 0}, shape{claim: 100, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, steps))
		if (got.p < 1e-3) != certain || got.blocks != steps {
			t.Errorf("%d blocks: %+v, want certain: %v", steps, got, certain)
		}
	}
	s = strikes(8, 5, 1)
	s.Pieces[0].Ranks = []int{0}
	if got := s.test(cell{0, 0}, shape{claim: 10_000, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, 40)); got.p != 1 {
		t.Errorf("a piece of one rank: %+v", got)
	}
	s.Pieces[0].Ranks = []int{0, 1, 2, 3}
	want := 8 / (0.5 - 2.5/40) * math.Pow(4, -5)
	if got := s.test(cell{0, 0}, shape{claim: 10_000, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, 40)); math.Abs(got.p-want) > 1e-2*want {
		t.Errorf("a piece of four of eight ranks: %+v, want P = 8/v·4⁻⁵ = %v", got, want)
	}
}

// TestWeight: 0.1/K + 0.9 · the share of charges.
func TestWeight(t *testing.T) {
	s := strikes(4, 4, 4)
	for k, sum := range []float64{30, 10, 0, 0} {
		s.charge[k].sum = sum
	}
	for k, want := range []float64{0.025 + 0.675, 0.025 + 0.225, 0.025, 0.025} {
		if got := s.weight(k); math.Abs(got-want) > 1e-12 {
			t.Errorf("piece %d: %v, want %v", k, got, want)
		}
	}
	s.charge[0].sum, s.charge[1].sum = 0, 0
	if got := s.weight(0); got != 0.025 {
		t.Errorf("nothing is charged: %v, want 0.1/4", got)
	}
}

// TestFormWeight: a level has the part of a piece's level over which charges are spread, from a tenth to a third, and what strikes half of
// the rest, whichever rank is charged. Steps in which nothing was recorded are no steps without a charge. Of few steps a level has all: strikes
// are fewer than 0.8 of them, and n on one of three ranks have P = 3·3⁻ⁿ at least, which of 6 steps is above 0.05/3, and of 7 is not.
func TestFormWeight(t *testing.T) {
	for name, c := range map[string]struct {
		charged []int64 // by the step
		absent  bool    // where nothing is charged, nothing is recorded
		want    float64
	}{
		"every step":                {[]int64{9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, false, 1. / 3},
		"one in five":               {[]int64{9, 0, 0, 0, 0, 9, 0, 0, 0, 0}, false, 0.2},
		"one in two, of those kept": {[]int64{9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0}, true, 1. / 3},
		"six steps":                 {[]int64{9, 0, 0, 0, 0, 0}, false, 1},
		"seven steps":               {[]int64{9, 0, 0, 0, 0, 0, 0}, false, 1. / 7},
		"six, of those kept":        {[]int64{9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0}, true, 1},
		"one in twenty":             {append([]int64{9}, make([]int64, 19)...), false, 0.1},
		"one far larger":            {[]int64{190, 10, 10, 10, 10, 10, 10, 10, 10, 10}, false, 280. * 280 / (10 * (36100 + 900))},
		"nothing":                   {make([]int64, 10), false, 1. / 3},
	} {
		for _, turn := range []int{1, 3} { // one rank is charged, or each in its turn
			rows := repeated(len(c.charged), 1000, 1000, 1000)
			absent := make([]bool, len(rows))
			for n, x := range c.charged {
				rows[n][n%turn] += 100 * x
				absent[n] = c.absent && x == 0
			}
			d := division(0, rows)
			d.Absent = [][]bool{absent}
			s := newSeries(d, nil)
			want := max(0.1, c.want)
			if level, strikes := s.formWeight(0, 3, false), s.formWeight(0, 3, true); math.Abs(level-want) > 1e-6 || math.Abs(level+2*strikes-1) > 1e-9 {
				t.Errorf("%s, by %d: a level has %v, strikes %v each; want %v, and all that is left", name, turn, level, strikes, want)
			}
		}
	}
}

// TestBeyond: what exceeds half of the claim, up to the claim: clip(x − d/2, 0, d/2).
func TestBeyond(t *testing.T) {
	s := newSeries(division(0, repeated(4, 100, 100, 100)), []int{0, 0, 1})
	s.noise[0] = 10
	s.charge[0].entries = []entry{{0, 0, 99}, {0, 1, 70}, {1, 0, 50}, {1, 1, 51}, {2, 0, 400}, {3, 2, 90}}
	// Beyond the slack of 2·10 by far (100 ≥ 4·10): of what is charged, to ranks of the set.
	equal(t, "large", s.timesAboveHalf(0, 0, 100, nil), []entry{{0, 0, 49}, {0, 1, 20}, {1, 1, 1}, {2, 0, 50}})
	// Half of it within the slack (d < 2·20): of excess and lead with their noise, of the rank what it is given.
	s.excess[0] = []int64{0, 30, 0, 0, 18, 0, 0, 40, 0, 0, 0, 99}
	s.lead[0] = []int64{0, 50, 0, 0, 50, 0, 0, 25, 0, 0, 0, 99}
	equal(t, "small", s.timesAboveHalf(0, 0, 36, []float64{20, 0, 17, 19}), []entry{{0, 0, 2}, {0, 1, 12}, {2, 1, 7}, {3, 0, 1}})
	s.Head[0] = -1
	equal(t, "small, of a step not recorded", s.timesAboveHalf(0, 0, 36, []float64{20, 0, 17, 19}), []entry{{2, 1, 7}, {3, 0, 1}})
	if got := len(s.timesAboveHalf(0, 0, 40, []float64{99, 99, 99, 99})); got != 5 {
		t.Errorf("%d entries at 4 times the noise, want the charges", got)
	}
}

// TestBlockSums: of two intervals each, counted by hand.
func TestBlockSums(t *testing.T) {
	s := &series{Division: division(0, repeated(8, 0, 0, 0)), of: nil}
	x := []entry{{0, 1, 5}, {1, 0, 1}, {1, 1, 2}, {2, 2, 9}, {5, 1, 4}, {7, 0, 3}, {7, 1, 1}}
	y, struck := s.blockSums(x, 2, 1)
	want := [][]float64{{1, 7}, {9}, {4}, {1, 3}}
	if struck != 3 || !slices.EqualFunc(y, want, slices.Equal) {
		t.Errorf("sums %v, rank 1 in %d blocks, want %v, 3", y, struck, want)
	}
	y, struck = s.blockSums(x, 8, 2)
	if want := [][]float64{{4, 9, 12}}; struck != 1 || !slices.EqualFunc(y, want, slices.Equal) {
		t.Errorf("one block: %v, %d, want %v, 1", y, struck, want)
	}
}

var (
	wave = []float64{0, 0, 1, 2, 3, 3, 2, 1, 0, 0, -1, -2, -3, -3, -2, -1, 0, 0, 1, 2, 3, 3, 2, 1}
	flip = []float64{1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1}
	peak = columnOf(24, 50, func(n int) bool { return n == 10 })
)

// sums returns n sums of so many values that follow one another, whose autocorrelation falls to 0 over as many lags.
func sums(n, of int) []float64 {
	out := make([]float64, n)
	for i := range out {
		for j := i; j < i+of; j++ {
			out[i] += float64((3*j*j + 7*j) % 101)
		}
	}
	return out
}

// rising returns 0, 1, … to n − 1.
func rising(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

func times(x float64, v []float64) (out []float64) {
	for _, y := range v {
		out = append(out, x*y)
	}
	return out
}

// TestTau: 1 + 2Σc of columns that are centred, clipped at three deviations and weighed by min(1, 2·middle variance ÷ own),
// each c with τ/T of what the mean took off put back, until c < 0.1 or below its standard error; by NumPy, of
//
//	wave = [0, 0, 1, 2, 3, 3, 2, 1, 0, 0, -1, -2, -3, -3, -2, -1, 0, 0, 1, 2, 3, 3, 2, 1]
//	flip = [1, -1] * 12; peak = [0] * 10 + [50] + [0] * 13
//	z = [(3*i*i + 7*i) % 101 for i in range(308)]; sums = [sum(z[i:i+8]) for i in range(300)]
func TestTau(t *testing.T) {
	for name, c := range map[string]struct {
		columns [][]float64
		without []int
		want    float64
	}{
		"wave":               {[][]float64{wave}, nil, 5.379015684723563},
		"flip":               {[][]float64{flip}, nil, 1},
		"both":               {[][]float64{wave, flip}, nil, 3.690713733267961},
		"both but flip":      {[][]float64{wave, flip}, []int{1}, 5.379015684723563},
		"all but two":        {[][]float64{wave, flip, flip}, []int{1, 2}, 5.379015684723563},
		"a large one":        {[][]float64{wave, times(5, wave), flip}, nil, 5.665840674682207},
		"a peak":             {[][]float64{wave, wave, peak}, nil, 3.3715767157895535},
		"short":              {[][]float64{wave[:7]}, nil, 1},
		"eight":              {[][]float64{wave[:8]}, nil, 2.607142857142857},
		"ramp":               {[][]float64{rising(300)}, nil, 158.70288558761766}, // up to a third of it, half of what the mean took off
		"settles":            {[][]float64{sums(16, 7)}, nil, 5.136198382740529},  // from 4.04 on by 0.55 and by 0.54
		"settled":            {[][]float64{sums(20, 6)}, nil, 4.156685356456159},
		"constant":           {[][]float64{columnOf(24, 7, always)}, nil, 1},
		"none":               {nil, nil, 1},
		"falls slowly":       {[][]float64{sums(300, 8)}, nil, 9.004435858147607},
		"constant, and wave": {[][]float64{columnOf(24, 7, always), wave}, nil, 5.379015684723563},
	} {
		var copies [][]float64
		for _, v := range c.columns {
			copies = append(copies, slices.Clone(v))
		}
		if got := newAutocovariance(copies).tau(c.without...); !near(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestBlockLength: of four ranks and more the longest correlation of the others' excess, or of their excursions; where the
// others differ by a quarter of the claim at most, of their excursions alone. Of two or three ranks that of what is left.
func TestBlockLength(t *testing.T) {
	waves := func(ranks int, size int64) *series {
		rows := repeated(24, slices.Repeat([]int64{1000}, ranks)...)
		for n, x := range wave {
			rows[n][ranks-1] += size * int64(x)
		}
		return newSeries(division(0, rows), nil)
	}
	// Rank 3 moves as the wave, and the others are alike: they differ by 30 at most, which is a quarter of a claim of 120.
	for d, want := range map[float64]int{1000: 1, 120: 1, 119: 6} {
		if got := waves(4, 10).blockLength(0, 0, d, nil, nil, 1); got != want {
			t.Errorf("claim %v: blocks of %d steps, want %d", d, got, want)
		}
	}
	// A rank's own wave does not count, and neither do excursions of one that has 0.8 of the rank's.
	if got := waves(4, 10).blockLength(0, 3, 10, nil, nil, 1); got != 1 {
		t.Errorf("its own wave: blocks of %d steps, want 1", got)
	}
	var x []entry
	sum := 0.0
	for n, v := range wave {
		if v > 0 {
			x, sum = append(x, entry{int32(n), 1, v}), sum+v
		}
	}
	for share, counts := range map[float64]bool{0.81: false, 0.79: true} {
		if got := waves(4, 0).blockLength(0, 0, 1e6, nil, x, sum/share); (got > 1) != counts {
			t.Errorf("excursions of %v of the rank's: blocks of %d steps, want that they count: %v", share, got, counts)
		}
	}
	// Of three ranks the others are too few for one to be left out.
	if got := waves(3, 0).blockLength(0, 0, 1e6, make([]float64, 24), x, sum/0.81); got == 1 {
		t.Errorf("excursions of one of two others: blocks of %d steps, want that they count", got)
	}
	for ranks := 2; ranks <= 3; ranks++ {
		few := waves(ranks, 0)
		// Of few ranks excursions count as well, either way, that last six steps here while their sizes do not.
		excursions := slices.Repeat(slices.Concat([]float64{2, 60, 2, 60, 2, 60}, make([]float64, 6)), 2)
		for _, left := range [][]float64{excursions, times(-1, excursions)} {
			if got := few.blockLength(0, 0, 2, left, nil, 1); got != 4 {
				t.Errorf("%d ranks, excursions are left: blocks of %d steps, want 4", ranks, got)
			}
		}
		// A hump of six steps, of which two reach beyond a quarter of the claim, is in no tenth of 24 steps; where four do it is.
		for claim, counts := range map[float64]bool{100: false, 54: true} {
			hump := slices.Concat(make([]float64, 9), []float64{8, 14, 26, 26, 14, 8}, make([]float64, 9))
			if got := few.blockLength(0, 0, claim, hump, nil, 1); (got > 1) != counts {
				t.Errorf("%d ranks, a hump is left beside %v: blocks of %d steps, want that it counts: %v", ranks, claim, got, counts)
			}
		}
		if got := few.blockLength(0, 0, 1000, times(10, wave), nil, 1); got != 1 {
			t.Errorf("%d ranks, a small wave is left: blocks of %d steps, want 1", ranks, got)
		}
		if got := few.blockLength(0, 0, 100, times(10, wave), nil, 1); got != 6 {
			t.Errorf("%d ranks, a wave is left: blocks of %d steps, want 6", ranks, got)
		}
	}
}

// TestPInBlocks: where the others' noise stays the same for six steps, 24 steps are four observations, of which nothing is
// certain; were they 24, the same delay would be.
func TestPInBlocks(t *testing.T) {
	for size, want := range map[int64]chance{10: {p: 1, block: 6, blocks: 4, struck: 4}, 8: {p: 0, block: 1, blocks: 24, struck: 24}} {
		rows := repeated(24, 1100, 1000, 1000, 1000, 1000, 1000)
		for n, x := range wave {
			rows[n][5] += size * int64(x)
		}
		s := newSeries(division(0, rows), nil)
		got := s.test(cell{0, 0}, shape{claim: 100, strikes: true}, s.ownDelay(cell{0, 0}), make([]float64, 24))
		if got.p > want.p+1e-10 || got.p < want.p-1e-10 || got.block != want.block || got.blocks != want.blocks {
			t.Errorf("noise of ±%d: %+v, want %+v", 3*size, got, want)
		}
	}
}

// TestLateSet: ranks that end a piece together, as those of a tensor-parallel group do, are late from some step on as one of them is. What one of them is late by says
// nothing of how long chance lasts for another; of ranks that end it apart it does.
func TestLateSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const ranks, steps = 6, 60
	var rows [][]int64
	for n := range steps {
		row := make([]int64, ranks)
		for r := range row {
			row[r] = 1000 + int64(3*rng.NormFloat64())
			if n >= steps/2 && (r == 2 || r == 3) {
				row[r] += 400
			}
		}
		rows = append(rows, row)
	}
	for _, within := range []bool{true, false} {
		d := division(500, rows)
		if within {
			d.Within = []points.Within{{Stage: 0, Sets: [][]int{{0, 1}, {2, 3}, {4, 5}}}}
		}
		var late []int
		for _, found := range newSeries(d, nil).peel(gates.Supported) {
			late = append(late, found.rank)
		}
		slices.Sort(late)
		if want := []int{2, 3}; within != slices.Equal(late, want) {
			t.Errorf("sets end it together %v: late are %v, want %v of those", within, late, want)
		}
	}
}

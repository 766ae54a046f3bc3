package delay

import (
	"github.com/sfstat/sfstat/engine/claim"
	"math"
	"math/big"
	"slices"
	"testing"
)

// TestBinomialTail: Σ C(n, i) pⁱ (1 − p)ⁿ⁻ⁱ from k on, in exact rationals.
func TestBinomialTail(t *testing.T) {
	p := big.NewRat(3, 8)
	for _, c := range []struct{ n, k int }{{5, 0}, {5, 3}, {20, 12}, {20, 20}, {60, 45}} {
		sum := new(big.Rat)
		for i := c.k; i <= c.n; i++ {
			x := new(big.Rat).SetInt(new(big.Int).Binomial(int64(c.n), int64(i)))
			for j := range c.n {
				if j < i {
					x.Mul(x, p)
				} else {
					x.Mul(x, new(big.Rat).Sub(big.NewRat(1, 1), p))
				}
			}
			sum.Add(sum, x)
		}
		want, _ := sum.Float64()
		if got := binomialTail(c.n, c.k, 0.375); math.Abs(got-want) > 1e-12*want {
			t.Errorf("%d or more of %d: %v, want %v", c.k, c.n, got, want)
		}
	}
}

// turning returns steps of four ranks that take 1000, of which whose[n] takes size longer in step n; −1: none.
func turning(size int64, whose []int) *series {
	rows := repeated(len(whose), 1000, 1000, 1000, 1000)
	for n, r := range whose {
		if r >= 0 {
			rows[n][r] += size
		}
	}
	return newSeries(division(0, rows), nil)
}

// TestTurns: one rank after another is late in each step. Were ranks late independently, exactly one of four would be in
// 27/64 of the steps at most.
func TestTurns(t *testing.T) {
	whose := make([]int, 40)
	for n := range whose {
		whose[n] = n * 7 % 4
	}
	found := turning(200, whose).turns(&Run{}, Options{}.fillDefaults())
	if len(found) != 1 {
		t.Fatalf("%+v, want one", found)
	}
	f := found[0]
	want := math.Pow(27./64, 40) // all of 40 steps
	if f.Kind != claim.Everyone || f.Cause != claim.Turns || f.Size != 198 || !near(f.Saves.Alone, 198./1200) || f.Steps.Count != 40 || f.Ranks != nil || math.Abs(f.P-want) > 1e-6*want {
		t.Errorf("%+v, want 198 ns in all steps, P %v", f, want)
	}

	// Long turns: five steps and more each, the ranks in their order.
	for n := range whose {
		whose[n] = []int{2, 0, 3, 1}[n/10]
	}
	if got := turnOrder(whose); !slices.Equal(got, []int{2, 0, 3, 1}) {
		t.Errorf("turns of ten steps: %v", got)
	}
	if got := turnOrder([]int{1, 1, 1, 1, 1, 2, 2, 2, 2}); got != nil {
		t.Errorf("turns of 4.5 steps: %v", got)
	}
	if got := turnOrder([]int{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("turns of five steps: %v", got)
	}

	// One rank has 62 % of the strikes: it is late, and takes no turns.
	for n := range whose {
		whose[n] = max(0, n%8-4)
	}
	if found := turning(200, whose).turns(&Run{}, Options{}.fillDefaults()); len(found) != 0 {
		t.Errorf("25 of 40 are one rank's: %+v", found)
	}
	// 30 of 1030 are less than 3 % of the run.
	for n := range whose {
		whose[n] = n * 7 % 4
	}
	if found := turning(30, whose).turns(&Run{}, Options{}.fillDefaults()); len(found) != 0 {
		t.Errorf("28 ns of 1030 are charged: %+v", found)
	}
	if found := turning(36, whose).turns(&Run{}, Options{}.fillDefaults()); len(found) != 1 {
		t.Errorf("34 ns of 1036 are charged: %+v", found)
	}
}

// TestStalls: eight or more delays of one size, that strike several ranks in few steps.
func TestStalls(t *testing.T) {
	struck := func(n int, size int64) *series {
		whose := slices.Repeat([]int{-1}, 40)
		for i := range n {
			whose[4*i+1] = i % 4
		}
		return turning(size, whose)
	}
	for n, want := range map[int]int{7: 0, 8: 1} {
		found := struck(n, 900).turns(&Run{}, Options{}.fillDefaults())
		if len(found) != want {
			t.Errorf("%d stalls: %+v, want %d", n, found, want)
		}
		for _, f := range found {
			if f.Size != 898 || f.P != 1 || f.Steps.Count != 8 || !near(f.Saves.Alone, 8*898./(40_000+8*900)) {
				t.Errorf("%+v, want 8 of 898", f)
			}
		}
	}
	if found := struck(8, 150).turns(&Run{}, Options{}.fillDefaults()); len(found) != 0 { // 1184 of 41,200: 2.9 %
		t.Errorf("small stalls: %+v", found)
	}
	if found := struck(8, 170).turns(&Run{}, Options{}.fillDefaults()); len(found) != 1 { // 1344 of 41,360: 3.2 %
		t.Errorf("stalls of 3 %% of the run: %+v", found)
	}
	// Of ten stalls three are of another size: less than four in five are alike.
	for other, want := range map[int]int{2: 1, 3: 0} {
		whose, rows := slices.Repeat([]int{-1}, 40), repeated(40, 1000, 1000, 1000, 1000)
		for i := range 10 {
			whose[4*i] = i % 4
			rows[4*i][i%4] += 900
			if i < other {
				rows[4*i][i%4] += 900 // twice as long: beyond half as much again
			}
		}
		if found := newSeries(division(0, rows), nil).turns(&Run{}, Options{}.fillDefaults()); len(found) != want {
			t.Errorf("%d of ten are twice as long: %+v, want %d", other, found, want)
		}
	}
}

// TestLongest: in how many steps each rank takes longest, of those that were recorded; where one does in more than six of ten the
// piece is that rank's, and not uneven.
func TestLongest(t *testing.T) {
	s := turning(100, []int{1, 1, 3, 2, 1, 3})
	s.Head[5] = -1
	if got, of := s.longest(0); !slices.Equal(got, []int{0, 3, 1, 1}) || of != 5 {
		t.Errorf("%v of %d, want 3 of rank 1, 1 of ranks 2 and 3, of 5", got, of)
	}
}

// TestUneven: half of the ranks take longer in one step and the other half in the next, so that evening it out saves what they take
// longer; it is told of if that is the least gain.
func TestUneven(t *testing.T) {
	for size, want := range map[int64]int{105: 0, 120: 1, 200: 1} { // 105 of 1105 are 9.5 %, 120 of 1120 are 10.7 %
		rows := repeated(40, slices.Repeat([]int64{1000}, 10)...)
		for n := range rows {
			for r := n % 2; r < 10; r += 2 {
				rows[n][r] += size
			}
		}
		found := newSeries(division(0, rows), nil).turns(&Run{}, Options{}.fillDefaults())
		if len(found) != want {
			t.Errorf("%d ns: %+v, want %d", size, found, want)
			continue
		}
		for _, f := range found {
			if f.Cause != claim.Turns || f.Size > size || f.Size < size-1 || !near(f.Saves.Alone, float64(size)/float64(1000+size)) || f.P != 1 || f.Steps.Count != 40 {
				t.Errorf("%d ns: %+v", size, f)
			}
		}
	}
}

// triangles returns 40 steps of four ranks, in which times of 1000 are longer by triangles up to 200 that follow each other.
func triangles() [][]int64 {
	rows := repeated(40, 1000, 1000, 1000, 1000)
	for n := range rows {
		for r := range rows[n] {
			m := (n + 5*r) % 20
			rows[n][r] += int64(20 * min(m, 20-m))
		}
	}
	return rows
}

// TestUnevenWithoutSpikes: what lies beyond twice the noise, 1.0484 · 20 + 1, is not evened out: of triangles up to 200 that follow each other
// on four ranks 43 at most are taken off, which saves 0.0366 (numpy.minimum(numpy.maximum(excess, 0), 43)).
func TestUnevenWithoutSpikes(t *testing.T) {
	f, ok := newSeries(division(0, triangles()), nil).imbalance(0, Options{MinGain: 0.01}.fillDefaults())
	if !ok || math.Abs(f.Saves.Alone-0.03656462585034015) > 1e-12 {
		t.Errorf("%v, %+v; want 0.0366", ok, f)
	}
}

// TestTurnsOfNoLike: where no rank's work is like another's nobody takes turns.
func TestTurnsOfNoLike(t *testing.T) {
	for classes, want := range map[int]int{0: 1, 1: 0} {
		d := division(0, triangles())
		d.Classes = [][]int{{0, 1, 2, 3}}[:classes]
		if classes == 0 {
			d.Classes = nil
		}
		if out := newSeries(d, nil).turns(&Run{}, Options{MinGain: 0.01}.fillDefaults()); len(out) != want {
			t.Errorf("%d sets of like work: %+v, want %d", classes, out, want)
		}
	}
}

package changepoint

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/draws"
)

// Annual flow of the Nile at Aswan, 10⁸ m³, 1871–1970 (Cobb 1978, Biometrika
// 65:243–251): the textbook change is between 1898 and 1899.
var nile = []float64{1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
	1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
	831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
	781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
	744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740}

func TestNile(t *testing.T) {
	got, err := Find(nile, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].At != 28 {
		t.Fatalf("%+v, want one change before value 28, 1899", got)
	}
	c := got[0]
	// Python: statistics.median(nile[:28]), (nile[28:]); Cobb's interval is 1896 to 1900.
	if c.Before != 1130 || c.After != 842.5 || c.P > 0.001 || c.Low < 24 || c.High > 32 {
		t.Errorf("%+v", c)
	}
}

func series(rng *rand.Rand, levels ...float64) []float64 {
	out := make([]float64, len(levels))
	for i, l := range levels {
		out[i] = l + rng.NormFloat64()
	}
	return out
}

// steps are n values of each level.
func steps(n int, levels ...float64) (out []float64) {
	for _, l := range levels {
		for range n {
			out = append(out, l)
		}
	}
	return out
}

func TestFind(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	stalls := series(rng, steps(10, 0, 0)...)
	stalls[7] = 1e6
	for _, c := range []struct {
		name   string
		values []float64
		want   []int
	}{
		{"nothing", nil, nil},
		{"too few", series(rng, 0, 0, 9, 9), nil},
		{"all the same", steps(20, 5), nil},
		{"one run that stalled", stalls, nil},
		{"up", series(rng, steps(12, 0, 8)...), []int{12}},
		{"down", series(rng, steps(12, 8, 0)...), []int{12}},
		{"up and down", series(rng, steps(15, 0, 9, 0)...), []int{15, 30}},
		{"stairs", series(rng, steps(15, 0, 9, 18)...), []int{15, 30}},
	} {
		got, err := Find(c.values, Options{Level: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		var at []int
		for _, x := range got {
			at = append(at, x.At)
			if x.Low > x.At || x.High < x.At {
				t.Errorf("%s: the interval does not hold the estimate: %+v", c.name, x)
			}
		}
		if !slices.Equal(at, c.want) {
			t.Errorf("%s: changes before %v, want %v", c.name, at, c.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	if _, err := Find([]float64{1, math.NaN()}, Options{}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	for _, o := range []Options{{Level: 2}, {Tests: -1}} {
		if _, err := Find(nil, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// Of 2·3 values in 20 orders of which side is which, two are the extreme ones:
// 2/20 is above the level, 2/70 of 2·4 is below.
func TestShows(t *testing.T) {
	for n, want := range map[int]bool{4: false, 6: false, 8: true, 20: true} {
		if got := Shows(n, Options{}); got != want {
			t.Errorf("%d values: %v", n, got)
		}
	}
	if Shows(8, Options{Tests: 10}) {
		t.Error("eight values show a change in one of ten rows")
	}
}

// TestLevel: changes found where there is none, with tails that are heavy too, and
// beside one change; and how often the interval holds its place.
func TestLevel(t *testing.T) {
	n := draws.Of(t, 40, 1000)
	heavy := func(rng *rand.Rand) float64 { return math.Exp(1.5 * rng.NormFloat64()) }
	none, beside, held, found := 0, 0, 0, 0
	for k := range n {
		rng := rand.New(rand.NewPCG(9, uint64(k)))
		flat := make([]float64, 30)
		for i := range flat {
			flat[i] = heavy(rng)
		}
		if got, _ := Find(flat, Options{Seed: uint64(k)}); len(got) > 0 {
			none++
		}
		got, _ := Find(series(rng, steps(14, 0, 2)...), Options{Seed: uint64(k)})
		if len(got) > 1 {
			beside++
		}
		for _, c := range got[:min(1, len(got))] {
			found++
			if c.Low <= 14 && 14 <= c.High {
				held++
			}
		}
	}
	slack := func(p float64, of int) float64 { return 4 * math.Sqrt(p*(1-p)/float64(of)) }
	t.Logf("of %d: %d without a change, %d more beside one, %d found, of which %d intervals hold", n, none, beside, found, held)
	if r := float64(none) / float64(n); r > 0.05+slack(0.05, n) {
		t.Errorf("a change is found in %.3f of series that have none", r)
	}
	if r := float64(beside) / float64(n); r > 0.05+slack(0.05, n) {
		t.Errorf("another change is found in %.3f of series that have one", r)
	}
	if r := float64(held) / float64(found); found < n*8/10 || r < 0.93-slack(0.05, found) {
		t.Errorf("%d of %d found, intervals hold in %.3f", found, n, r)
	}
}

func ExampleFind() {
	week := []float64{220, 221, 219, 220, 222, 221, 220, 231, 230, 232, 231, 229, 231, 232} // ms a step, a day each
	changes, err := Find(week, Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range changes {
		fmt.Printf("before day %d (%d to %d): %v to %v ms\n", c.At, c.Low, c.High, c.Before, c.After)
	}
	// Output: before day 7 (7 to 7): 220 to 231 ms
}

// TestPermuted holds the bound of a statistic's chance against permutations, which must not reach it more often.
func TestPermuted(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, draws = 400, 4000
	ranks := meanRanks(series(rng, steps(n, 0)...))
	var tops []float64
	for range draws {
		rng.Shuffle(n, func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		tops = append(tops, oneChange.of(ranks), oneStretch.of(ranks))
	}
	slices.Sort(tops)
	for i, top := range tops {
		if reached := float64(len(tops)-i) / float64(len(tops)); reached > permutationBound(top, n) {
			t.Fatalf("%v is reached by %v of the permutations, bounded by %v", top, reached, permutationBound(top, n))
		}
	}
	// A shift that all values show is beyond all draws, one that few show is not.
	clear, faint := meanRanks(steps(n, 0, 1)), meanRanks(append(steps(n, 0), series(rng, 0, 0, 9, 9, 9)...))
	if p := permutationBound(oneChange.of(clear), 2*n); p*permutations >= never {
		t.Errorf("a clear change may be reached with chance %v", p)
	}
	if p := permutationBound(oneChange.of(faint), n+5); p*permutations < never {
		t.Errorf("a faint change may be reached with chance %v", p)
	}
}

// TestUndrawn finds the chance of what no draw can reach as draws do.
func TestUndrawn(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	values := series(rng, steps(200, 0, 3)...)
	s := &search{values: values, o: Options{Level: 0.05, Tests: 1}}
	ranks := meanRanks(values)
	shuffled := slices.Clone(ranks)
	drawn := s.shareReaching(oneChange.of(ranks), 1/oneChange.part, func() float64 {
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		return oneChange.of(shuffled)
	})
	if got := s.chance(0, len(values), oneChange); got != drawn {
		t.Errorf("chance %v, by draws %v", got, drawn)
	}
}

// TestBlockSums adds as many ranks each as leave no more blocks than are permuted.
func TestBlockSums(t *testing.T) {
	few := make([]float64, mostPermuted)
	if got := blockSums(few); &got[0] != &few[0] {
		t.Error("ranks that are few are added")
	}
	many := make([]float64, 2*mostPermuted+3)
	for i := range many {
		many[i] = float64(i)
	}
	got := blockSums(many)
	if len(got) != (2*mostPermuted+3)/3 || got[1]-got[0] != 9 || math.Abs(got[0]+got[len(got)-1]) > 1e-6 {
		t.Errorf("%d sums, from %v, %v to %v", len(got), got[0], got[1], got[len(got)-1])
	}
}

// TestManyValues finds small changes of many values, and none where there is none.
func TestManyValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	n := mostPermuted
	if got, err := Find(series(rng, steps(2*n, 0)...), Options{Level: 0.01, Points: true}); err != nil || len(got) > 0 {
		t.Errorf("%+v, %v where nothing changes", got, err)
	}
	got, err := Find(series(rng, append(steps(n, 0), steps(2*n, 0.06)...)...), Options{Level: 0.01, Points: true})
	if err != nil || len(got) != 1 || got[0].At < n/2 || got[0].At > 3*n/2 || got[0].P > 0.01 {
		t.Fatalf("%+v, %v, expected a change near %d", got, err, n)
	}
	if got[0].Low != got[0].At || got[0].High != got[0].At {
		t.Errorf("%+v has an interval that was not asked for", got[0])
	}
}

package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sfstat/sfstat/internal/draws"
)

// Hours of extra sleep under two drugs, ten people (Student 1908, Biometrika
// 6:20), R's data set sleep.
var sleep = Row{
	Base: []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
	New:  []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4},
}

// TestSleep: R 4.3, t.test(extra ~ group, sleep) and the same with paired = TRUE.
func TestSleep(t *testing.T) {
	for _, c := range []struct {
		name         string
		design       Design
		low, high, p float64
		verdict      Verdict
	}{
		{"Welch", Unpaired, -0.2054832, 3.3654832, 0.07939414, NoneShown},
		{"paired", Paired, 0.7001142, 2.4598858, 0.00283289, Regression},
	} {
		got, err := Compare([]Row{sleep}, Options{Design: c.design})
		if err != nil {
			t.Fatal(err)
		}
		want := []Difference{{Base: 0.75, New: 2.33, Units: [2]int{10, 10}, Change: 1.58, Low: c.low, High: c.high, P: c.p, Verdict: c.verdict}}
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, 0), cmpopts.IgnoreFields(Difference{}, "Shows")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// Rows that are one measure are one test; rows of nothing in common are not.
func TestCorrection(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	long := Row{normals(rng, 200, 1), normals(rng, 200, 1)}
	alone, _ := Compare([]Row{long}, Options{Design: Paired})
	same, _ := Compare([]Row{long, long, long}, Options{Design: Paired})
	if r := (same[0].High - same[0].Low) / (alone[0].High - alone[0].Low); math.Abs(r-1) > 0.06 {
		t.Errorf("three times the same row: intervals are %v times as wide, want 1", r)
	}
	one, _ := Compare([]Row{sleep}, Options{Design: Paired})
	rows := []Row{sleep}
	for range 7 {
		rows = append(rows, Row{Base: normals(rng, 10, 1), New: normals(rng, 10, 1)})
	}
	many, _ := Compare(rows, Options{Design: Paired})
	// Student's t with 9 degrees of freedom at 0.975 and, Bonferroni's bound, at
	// 1 − 0.05/16: 2.262157 and 3.491 (R: qt).
	if r := (many[0].High - many[0].Low) / (one[0].High - one[0].Low); r < 1.35 || r > 3.491/2.262157+1e-3 {
		t.Errorf("eight unlike rows: intervals are %v times as wide", r)
	}
	if many[0].P < one[0].P || many[0].P > 8*one[0].P {
		t.Errorf("p %v of eight rows, %v of one", many[0].P, one[0].P)
	}
	// Half of the level: 2.685011 (R: qt(1 - 0.05/4, 9)).
	first, _ := Compare(rows, Options{Design: Paired, Primary: true})
	if r := (first[0].High - first[0].Low) / (one[0].High - one[0].Low); math.Abs(r-2.685011/2.262157) > 1e-6 || math.Abs(first[0].P-2*one[0].P) > 1e-12 {
		t.Errorf("the primary row of eight: an interval %v times as wide, p %v of %v", r, first[0].P, one[0].P)
	}
	if first[1].High-first[1].Low < many[1].High-many[1].Low {
		t.Error("the other rows gain by the first")
	}
}

func TestUnits(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name    string
		row     Row
		design  Design
		units   [2]int
		verdict Verdict
	}{
		{"one each", Row{[]float64{1, nan}, []float64{2, nan}}, Unpaired, [2]int{1, 1}, Untested},
		{"one against three, far", Row{[]float64{1, nan, nan}, []float64{9, 9.1, 9.2}}, Unpaired, [2]int{1, 3}, Regression},
		{"one against three, near", Row{[]float64{9.3, nan, nan}, []float64{9, 9.1, 9.2}}, Unpaired, [2]int{1, 3}, NoneShown},
		{"one side lacks it", Row{[]float64{nan, nan}, []float64{2, 3}}, Unpaired, [2]int{0, 2}, Untested},
		{"half a pair", Row{[]float64{1, nan, 3}, []float64{2, 3, nan}}, Paired, [2]int{1, 1}, Untested},
		{"always the same", Row{[]float64{3, 3, 3}, []float64{2, 2, 2}}, Unpaired, [2]int{3, 3}, Improvement},
		{"no change at all", Row{[]float64{0, 0, 0}, []float64{0, 0, 0}}, Paired, [2]int{3, 3}, NoneShown},
	} {
		got, err := Compare([]Row{c.row, c.row}, Options{Design: c.design})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got[0].Units != c.units || got[0].Verdict != c.verdict {
			t.Errorf("%s: units %v, %v, want %v, %v", c.name, got[0].Units, got[0].Verdict, c.units, c.verdict)
		}
	}
	if _, err := Compare([]Row{sleep, {Base: []float64{1}}}, Options{}); err == nil {
		t.Error("rows of different lengths are compared")
	}
	if _, err := Compare([]Row{sleep}, Options{Confidence: 95}); err == nil {
		t.Error("a confidence of 95 is one")
	}
	if got, err := Compare(nil, Options{}); len(got) != 0 || err != nil {
		t.Errorf("no rows: %v, %v", got, err)
	}
}

func normals(rng *rand.Rand, n int, sd float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = sd * rng.NormFloat64()
	}
	return out
}

// jobs are eight measures that share half of their variance, as stages of a step
// do, of n units; tails is how noise is drawn.
func jobs(rng *rand.Rand, n int, tails func(*rand.Rand) float64) [][]float64 {
	out := make([][]float64, 8)
	common := make([]float64, n)
	for i := range common {
		common[i] = tails(rng)
	}
	for j := range out {
		for i := range n {
			out[j] = append(out[j], (common[i]+tails(rng))/math.Sqrt2)
		}
	}
	return out
}

// TestLevel: how often any of eight rows is called though none differs, and how
// often all intervals hold, with a change in one of them.
func TestLevel(t *testing.T) {
	tails := map[string]func(*rand.Rand) float64{
		"normal":    (*rand.Rand).NormFloat64,
		"lognormal": func(rng *rand.Rand) float64 { return (math.Exp(rng.NormFloat64()) - math.Exp(0.5)) / 2.16 },
	}
	n := draws.Of(t, 200, 4000)
	for _, c := range []struct {
		units  int
		design Design
		tails  string
	}{
		{3, Unpaired, "normal"}, {5, Unpaired, "normal"}, {16, Unpaired, "normal"}, {3, Paired, "normal"}, {8, Paired, "normal"},
		{5, Unpaired, "lognormal"}, {8, Paired, "lognormal"},
	} {
		t.Run(fmt.Sprint(c.units, c.design, c.tails), func(t *testing.T) {
			t.Parallel()
			called, held := 0, 0
			for k := range n {
				rng := rand.New(rand.NewPCG(7, uint64(k)))
				x, y := jobs(rng, c.units, tails[c.tails]), jobs(rng, c.units, tails[c.tails])
				rows := make([]Row, len(x))
				for j := range rows {
					rows[j] = Row{x[j], y[j]}
				}
				const change = 3.0
				for i := range rows[0].New {
					rows[0].New[i] += change
				}
				got, err := Compare(rows, Options{Design: c.design, Primary: k%2 == 0, Seed: uint64(k)})
				if err != nil {
					t.Fatal(err)
				}
				all := got[0].Low <= change && change <= got[0].High
				for _, d := range got[1:] {
					all = all && d.Verdict == NoneShown
				}
				if all {
					held++
				}
				if got[0].Verdict == Regression {
					called++
				}
			}
			rate := func(k int) float64 { return float64(k) / float64(n) }
			t.Logf("all intervals hold in %.3f, the change is called in %.3f", rate(held), rate(called))
			if slack := 4 * math.Sqrt(0.05*0.95/float64(n)); rate(held) < 0.95-slack {
				t.Errorf("intervals hold in %.3f of comparisons, want 0.95", rate(held))
			}
		})
	}
}

// TestShows: of changes of the size that a comparison says it shows, four in
// five are called.
func TestShows(t *testing.T) {
	n := draws.Of(t, 500, 4000)
	called := 0
	for k := range n {
		rng := rand.New(rand.NewPCG(11, uint64(k)))
		r := Row{normals(rng, 8, 1), normals(rng, 8, 1)}
		// Of two sides of eight units with a deviation of 1, one row: the standard
		// error is 1/2, and 14 degrees of freedom give (2.144787 + 0.868055)/2 (R: qt).
		for i := range r.New {
			r.New[i] += (2.144787 + 0.868055) / 2
		}
		got, _ := Compare([]Row{r}, Options{})
		if got[0].Verdict == Regression {
			called++
		}
	}
	if got, slack := float64(called)/float64(n), 4*math.Sqrt(0.2*0.8/float64(n)); math.Abs(got-0.8) > slack+0.02 {
		t.Errorf("%.3f of changes are called, want 0.8", got)
	}
}

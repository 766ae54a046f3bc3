package changepoint

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/draws"
)

// TestOracle compares φ, the statistic and its chance with those of fixtures/oracle/changepoint.py.
func TestOracle(t *testing.T) {
	raw, err := os.ReadFile("../../fixtures/oracle/changepoint.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Values      []float64
		At, Draws   int
		Phi, Top, P float64
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for i, c := range cases {
		ranks := meanRanks(c.Values)
		at, top := largest(ranks)
		if phi := correlation(c.Values, oneChange.cuts(ranks)); at != c.At || math.Abs(top-c.Top) > 1e-9*c.Top || math.Abs(phi-c.Phi) > 1e-9 {
			t.Errorf("series %d: cut at %d, T² %v, φ %v, want %d, %v, %v", i, at, top, phi, c.At, c.Top, c.Phi)
		}
		// A level above any p: the draws do not stop early. What a statistic spends of the level is taken out.
		s := &search{values: c.Values, o: Options{Level: 10, Tests: 1, Null: Autoregressive}}
		d, rng := newRegression(c.Values, oneChange.cuts(ranks)), rand.New(rand.NewPCG(1, 2))
		p := s.shareReaching(top, 1, func() float64 { _, t := largest(meanRanks(d.draw(rng))); return t })
		if slack := 4 * math.Sqrt(c.P*(1-c.P)*(1/float64(c.Draws)+1.0/permutations)); math.Abs(p-c.P) > slack+1e-3 {
			t.Errorf("series %d: p %v, want %v ± %v", i, p, c.P, slack)
		}
	}
}

// days returns n values of which each depends on the one before it, with standard deviation 1.
func days(rng *rand.Rand, n int, phi float64) []float64 {
	out, x := make([]float64, n), rng.NormFloat64()
	for i := range out {
		if i > 0 {
			x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		}
		out[i] = x
	}
	return out
}

// TestCorrelatedDays: how often a change is found in days that have none, by how much a day depends on the one
// before, and how often one of 2.7 standard deviations half-way, or of 30.
func TestCorrelatedDays(t *testing.T) {
	n := draws.Of(t, 20, 150)
	for _, c := range []struct {
		days         int
		phi          float64
		none, change float64 // at most, at least
	}{
		{28, 0, 0.05, 0.9}, {28, 0.5, 0.05, 0.4}, {28, 0.8, 0.05, 0.1}, {28, 0.95, 0.11, 0.5},
		{90, 0, 0.05, 0.99}, {90, 0.5, 0.05, 0.95}, {90, 0.8, 0.05, 0.5}, {90, 0.95, 0.11, 0.5},
	} {
		if c.days == 90 && n < 150 && c.phi != 0.8 {
			continue
		}
		none, found, far := 0, 0, 0
		for k := range n {
			x := days(rand.New(rand.NewPCG(11, uint64(k))), c.days, c.phi)
			o := Options{Null: Autoregressive, Seed: uint64(k)}
			if got, _ := Find(x, o); len(got) > 0 {
				none++
			}
			for i := range x[c.days/2:] {
				x[c.days/2+i] += 2.7
			}
			if got, _ := Find(x, o); len(got) > 0 {
				found++
			}
			for i := range x[c.days/2:] {
				x[c.days/2+i] += 27.3
			}
			if got, _ := Find(x, o); len(got) > 0 {
				far++
			}
		}
		t.Logf("%d days, AR %v: a change in %.1f %% without one, in %.1f %% with one, in %.1f %% with one of 30 deviations", c.days, c.phi,
			100*float64(none)/float64(n), 100*float64(found)/float64(n), 100*float64(far)/float64(n))
		slack := func(p float64) float64 { return 3 * math.Sqrt(p*(1-p)/float64(n)) }
		if r := float64(none) / float64(n); r > c.none+slack(c.none) {
			t.Errorf("%d days, AR %v: a change is found in %.3f of series that have none", c.days, c.phi, r)
		}
		if r := float64(far) / float64(n); r < 0.98-slack(0.02) {
			t.Errorf("%d days, AR %v: a change of 30 deviations is found in %.3f of series that have one", c.days, c.phi, r)
		}
		if r := float64(found) / float64(n); r < c.change-slack(c.change) {
			t.Errorf("%d days, AR %v: a change is found in %.3f of series that have one", c.days, c.phi, r)
		}
	}
}

// TestComesAndGoes: a stretch and stairs are found though one cut leaves a level in the series, which would
// look like days that depend on one another.
func TestComesAndGoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, levels := range [][]float64{steps(15, 0, 9, 0), steps(15, 0, 9, 18)} {
		x := series(rng, levels...)
		got, err := Find(x, Options{Null: Autoregressive})
		if err != nil || len(got) != 2 || got[0].At != 15 || got[1].At != 30 {
			t.Errorf("%+v, %v, want changes before 15 and 30", got, err)
		}
	}
}

// TestSmoothDays: in two weeks of days that hardly differ from the day before, a change of 150 deviations is found where it is,
// and a single day that is 150 deviations away is no change.
func TestSmoothDays(t *testing.T) {
	for seed := range uint64(5) {
		x := days(rand.New(rand.NewPCG(31, seed)), 14, 0.95)
		spike := slices.Clone(x)
		spike[6] += 150
		for i := range x[8:] {
			x[8+i] += 150
		}
		o := Options{Null: Autoregressive, Seed: seed}
		if got, err := Find(x, o); err != nil || len(got) != 1 || got[0].At != 8 {
			t.Errorf("seed %d: %+v, %v, want a change before 8", seed, got, err)
		}
		if got, err := Find(spike, o); err != nil || len(got) > 0 {
			t.Errorf("seed %d: %+v, %v, want none of one day", seed, got, err)
		}
	}
}

package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/input"
)

// TestMoments: whatever the shape, draws have the mean and the deviation that
// the Dist names, and no draw is negative.
func TestMoments(t *testing.T) {
	const n = 400_000
	for _, d := range []Dist{
		{5, 0, Constant}, {100, 3, Normal}, {10, 5, LogNormal}, {0.65, 0.4, LogNormal}, {14.5, 5.5, Gamma},
		{1.3, 1.7, Gamma}, {9, 4, Exponential}, {9, 9, Exponential},
	} {
		for _, parts := range []int{1, 4} {
			t.Run(fmt.Sprintf("%v/mean=%v/sd=%v/parts=%d", d.Shape, d.Mean, d.SD, parts), func(t *testing.T) {
				rng := streams.New().Restart(1, forRank, 0, 0)
				s := d.law(parts)
				var sum, square float64
				for range n {
					x := s.Draw(rng.Rand) / NsPerMilli * float64(parts)
					if x < 0 {
						t.Fatalf("drew %v", x)
					}
					sum += x
					square += x * x
				}
				mean := sum / n
				sd := math.Sqrt(max(0, square/n-mean*mean))
				// Five deviations of the mean; 3 % for the deviation, whose own
				// error depends on the fourth moment.
				if limit := 5*float64(d.SD)/math.Sqrt(n) + 1e-9; math.Abs(mean-float64(d.Mean)) > limit {
					t.Errorf("mean is %.4f, want %v ± %.4f", mean, d.Mean, limit)
				}
				if math.Abs(sd-float64(d.SD)) > 0.03*float64(d.SD)+1e-6 {
					t.Errorf("deviation is %.4f, want %v", sd, d.SD)
				}
			})
		}
	}
}

// TestQuantiles against closed forms: the median of a lognormal is e^μ, that
// of an exponential tail of mean 4 after 5 is 5 + 4·ln 2, and a gamma of
// deviation = mean is exponential.
func TestQuantiles(t *testing.T) {
	const n = 200_000
	tests := []struct {
		dist   Dist
		median float64
	}{
		{Dist{10, 5, LogNormal}, 10 / math.Sqrt(1.25)},
		{Dist{9, 4, Exponential}, 5 + 4*math.Ln2},
		{Dist{3, 3, Gamma}, 3 * math.Ln2},
		{Dist{100, 3, Normal}, 100},
	}
	for _, test := range tests {
		rng := streams.New().Restart(2, forRank, 0, 0)
		s := test.dist.law(1)
		below := 0
		for range n {
			if s.Draw(rng.Rand) < test.median*NsPerMilli {
				below++
			}
		}
		// Binomial(n, 1/2): deviation √n/2.
		if math.Abs(float64(below)-n/2) > 2.5*math.Sqrt(n) {
			t.Errorf("%+v: %d of %d draws lie under the median %.4f", test.dist, below, n, test.median)
		}
	}
}

func TestDistValidate(t *testing.T) {
	tests := []struct {
		dist Dist
		want error // nil: valid
	}{
		{Dist{}, nil},
		{Dist{3, 1, Normal}, nil},
		{Dist{0, 1, Normal}, nil},
		{Dist{4, 4, Exponential}, nil},
		{Dist{-1, 0, Constant}, input.ErrRange},
		{Dist{1, -1, Normal}, input.ErrRange},
		{Dist{Millis(math.NaN()), 0, Constant}, input.ErrRange},
		{Dist{1, Millis(math.NaN()), Normal}, input.ErrRange},
		{Dist{Millis(math.Inf(1)), 0, Constant}, input.ErrRange},
		{Dist{1, 1, Constant}, input.ErrFormat},
		{Dist{4, 5, Exponential}, input.ErrFormat},
		{Dist{0, 1, Gamma}, input.ErrFormat},
		{Dist{1, 1, Shape(9)}, input.ErrType},
	}
	for _, test := range tests {
		if err := test.dist.validate(); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, want %v", test.dist, err, test.want)
		}
	}
}

func TestNames(t *testing.T) {
	for shape := Constant; shape <= Exponential; shape++ {
		text, err := json.Marshal(shape)
		if err != nil {
			t.Fatal(err)
		}
		var back Shape
		if err := json.Unmarshal(text, &back); err != nil || back != shape {
			t.Errorf("%s reads as %v, %v", text, back, err)
		}
	}
	for family := NoFault; family <= OptimizerHost; family++ {
		if back, err := ParseFamily(family.String()); err != nil || back != family {
			t.Errorf("%v reads as %v, %v", family, back, err)
		}
	}
	if f, err := ParseFamily("none"); err != nil || f != NoFault {
		t.Errorf("none reads as %v, %v", f, err)
	}
	if _, err := ParseFamily("gremlins"); !errors.Is(err, input.ErrType) {
		t.Errorf("gremlins: %v", err)
	}
	var s Shape
	if err := s.UnmarshalText([]byte("pareto")); !errors.Is(err, input.ErrType) {
		t.Errorf("pareto: %v", err)
	}
}

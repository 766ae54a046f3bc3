package bootstrap

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// number reads JSON numbers and the string "NaN".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*n = number(v)
	return err
}

func readOracle(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "oracle", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// want is an interval of the reference; null is no bound.
type want struct {
	Lower, Upper, Upper1 *float64
}

type bootstrapCase struct {
	Case  string
	Input struct {
		On         []number `json:"t_on"`
		Off        []number `json:"t_off"`
		Block      []int
		Alpha      float64
		Resampling string
		Indices    [][]int32
		Seed       uint64
		B          int
	}
	Expect struct {
		X           []float64
		Mean        float64
		Median      float64
		SE          float64 `json:"block_se"`
		Percentile  want    `json:"mean_percentile"`
		Studentised want    `json:"mean_studentised"`
		MedianPct   want    `json:"median_percentile"`
		Order       *want   `json:"median_order"`
	}
}

// indices are the resamples that the reference drew.
func (c *bootstrapCase) indices(blocks int) [][]int32 {
	switch c.Input.Resampling {
	case "explicit":
		return c.Input.Indices
	case "enumerate":
		return everyResample(blocks)
	}
	draw := splitMix(c.Input.Seed)
	out := make([][]int32, c.Input.B)
	for b := range out {
		for range blocks {
			out[b] = append(out[b], int32(float64(draw()>>11)*0x1p-53*float64(blocks)))
		}
	}
	return out
}

// everyResample is all Gᴳ of them.
func everyResample(blocks int) [][]int32 {
	out := [][]int32{{}}
	for range blocks {
		var longer [][]int32
		for _, index := range out {
			for g := range blocks {
				longer = append(longer, append(index[:len(index):len(index)], int32(g)))
			}
		}
		out = longer
	}
	return out
}

// splitMix is Vigna's generator, which the reference draws with.
func splitMix(state uint64) func() uint64 {
	return func() uint64 {
		state += 0x9E3779B97F4A7C15
		z := state
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		return z ^ z>>31
	}
}

func pairsOf(on, off []number, block []int) []Pair {
	pairs := make([]Pair, len(on))
	for i := range pairs {
		pairs[i] = Pair{Block: i, Base: float64(off[i]), With: float64(on[i])}
		if block != nil {
			pairs[i].Block = block[i]
		}
	}
	return pairs
}

// TestOracle compares mean and median and all their intervals with a reference
// that was written from the definitions, on the same resamples.
func TestOracle(t *testing.T) {
	var file struct {
		Tol struct {
			Abs float64
			BCa float64 `json:"bca_abs"`
		}
		Cases    []bootstrapCase
		Rejected []struct {
			On  []number `json:"t_on"`
			Off []number `json:"t_off"`
		}
	}
	readOracle(t, "bootstrap.json", &file)
	if len(file.Cases) == 0 || len(file.Rejected) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Case, func(t *testing.T) {
			check := func(what string, got, want, tol float64) {
				t.Helper()
				if got != want && !(math.Abs(got-want) <= tol) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			orInfinite := func(v *float64, sign int) float64 {
				if v == nil {
					return math.Inf(sign)
				}
				return *v
			}
			s := newSample(pairsOf(c.Input.On, c.Input.Off, c.Input.Block))
			indices := c.indices(s.blocks())
			o := Options{Confidence: 1 - c.Input.Alpha, Replicates: len(indices), Statistics: []Statistic{Mean, Median}}
			r := analyze(s, o, func(b int, index []int32, _ int) { copy(index, indices[b]) })
			intervals := func(of Statistic, m Method, w want, tol float64) {
				t.Helper()
				got := r.EstimateOf(of).IntervalOf(m)
				if got == nil {
					t.Fatalf("no %v interval of the %v", m, of)
				}
				name := of.String() + " " + m.String()
				check(name+" lower", got.Lower, orInfinite(w.Lower, -1), tol)
				check(name+" upper", got.Upper, orInfinite(w.Upper, 1), tol)
				check(name+" at most", got.AtMost, orInfinite(w.Upper1, 1), tol)
			}
			for i, x := range c.Expect.X {
				check("x", r.Overheads[i], x, file.Tol.Abs)
			}
			check("mean", r.EstimateOf(Mean).Value, c.Expect.Mean, file.Tol.Abs)
			check("median", r.EstimateOf(Median).Value, c.Expect.Median, file.Tol.Abs)
			check("standard error", *r.EstimateOf(Mean).SE, c.Expect.SE, file.Tol.Abs)
			intervals(Mean, Percentile, c.Expect.Percentile, file.Tol.Abs)
			intervals(Mean, Studentised, c.Expect.Studentised, file.Tol.Abs)
			intervals(Median, Percentile, c.Expect.MedianPct, file.Tol.Abs)
			if c.Expect.Order != nil {
				intervals(Median, Order, *c.Expect.Order, file.Tol.Abs)
			} else if r.EstimateOf(Median).IntervalOf(Order) != nil {
				t.Error("an order interval of pairs that are not independent")
			}
		})
	}
	for _, c := range file.Rejected {
		if len(c.On) != len(c.Off) {
			continue // a Pair has both
		}
		_, err := Analyze(pairsOf(c.On, c.Off, nil), Options{})
		if !errors.Is(err, ErrNoPairs) && !errors.Is(err, ErrTime) {
			t.Errorf("%v and %v: %v", c.On, c.Off, err)
		}
	}
}

func TestBinomialOracle(t *testing.T) {
	var file struct {
		Tol   struct{ Rel float64 }
		Cases []struct {
			K, N           int
			Alpha          float64
			Upper1, Lower1 float64
			TwoSided       [2]float64 `json:"two_sided"`
		}
		Rejected [][2]int
	}
	readOracle(t, "binomial.json", &file)
	if len(file.Cases) == 0 || len(file.Rejected) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		got, err := Binomial(c.K, c.N, 1-c.Alpha)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got-want) <= file.Tol.Rel*want) {
				t.Errorf("%d of %d, %s at %v: %v, want %v", c.K, c.N, what, c.Alpha, got, want)
			}
		}
		check("at most", got.AtMost, c.Upper1)
		check("at least", got.AtLeast, c.Lower1)
		check("lower", got.Lower, c.TwoSided[0])
		check("upper", got.Upper, c.TwoSided[1])
	}
	for _, c := range file.Rejected {
		if _, err := Binomial(c[0], c[1], 0.95); err == nil {
			t.Errorf("%d of %d was accepted", c[0], c[1])
		}
	}
}

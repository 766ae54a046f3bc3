package zscore

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/internal/student"
)

// number reads JSON numbers and the strings "NaN", "+Inf", "-Inf".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*n = number(v)
	return err
}

type scores struct{ Start, Dur, Anomaly []*number }

// TestOracle compares every method that sees one step with the reference, which
// computes in exact fractions.
func TestOracle(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "oracle", "zscore.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tol   struct{ Rel, Abs float64 }
		Cases []struct {
			Case  string
			Input struct {
				Start []int64 `json:"start_ns"`
				Dur   []int64 `json:"dur_ns"`
			}
			Expect struct {
				Population  scores   `json:"z_population"`
				LeaveOneOut scores   `json:"t_loo"`
				MaxPop      number   `json:"max_z_population"`
				Flags       []bool   `json:"kair_flag_gt3"`
				Critical    *float64 `json:"t_critical_fwer_1pct"`
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		t.Run(c.Case, func(t *testing.T) {
			check := func(what string, got, want float64) {
				t.Helper()
				if got != want && !(math.Abs(got-want) <= file.Tol.Abs+file.Tol.Rel*math.Abs(want)) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			compare := func(m Method, want scores) {
				t.Helper()
				if want.Start[0] == nil {
					if _, err := scoresOf(m, c.Input.Start); err == nil {
						t.Errorf("%s: scored, want none", m)
					}
					return
				}
				start, err := scoresOf(m, c.Input.Start)
				if err != nil {
					t.Fatal(err)
				}
				dur, err := scoresOf(m, c.Input.Dur)
				if err != nil {
					t.Fatal(err)
				}
				for i := range start {
					check(m.String()+" start", start[i], float64(*want.Start[i]))
					check(m.String()+" dur", dur[i], float64(*want.Dur[i]))
					check(m.String()+" anomaly", max(math.Abs(start[i]), math.Abs(dur[i])), float64(*want.Anomaly[i]))
				}
			}
			compare(Population, c.Expect.Population)
			compare(LeaveOneOut, c.Expect.LeaveOneOut)
			n := len(c.Input.Start)
			check("ceiling", ceiling(n), float64(c.Expect.MaxPop))
			if c.Expect.Critical != nil {
				check("critical t", student.Upper(0.01/float64(2*n), float64(n-2)), *c.Expect.Critical)
			}
			start, _ := scoresOf(Population, c.Input.Start)
			dur, _ := scoresOf(Population, c.Input.Dur)
			for i, want := range c.Expect.Flags {
				if got := math.Abs(start[i]) > 3 || math.Abs(dur[i]) > 3; got != want {
					t.Errorf("worker %d: flagged %v, want %v", i, got, want)
				}
			}
		})
	}
}

package frontier

import (
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

func window(t testing.TB, change func(*simulate.Spec)) *trace.Window {
	t.Helper()
	s := simulate.DefaultSpec()
	s.Schedule.Steps = 60
	change(&s)
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := g.Next()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sample(t testing.TB, windows ...*trace.Window) *Sample {
	t.Helper()
	var s Sample
	for _, w := range windows {
		if err := s.Add(w, []string{simulate.StageBackward}); err != nil {
			t.Fatal(err)
		}
	}
	return &s
}

func TestReference(t *testing.T) {
	w := window(t, func(*simulate.Spec) {})
	s := sample(t, w, w)
	if got, want := s.Stages(), append(slices.Clone(w.Schema.Stages), stagename.Residual); !slices.Equal(got, want) {
		t.Errorf("stages %v, want %v", got, want)
	}
	if r := s.Reference(); len(r) != 6 || math.Abs(float64(r[1])-60.9e6) > 2e6 || s.Steps() != 120 {
		t.Errorf("reference %v of %d steps", r, s.Steps())
	}
}

func TestRefused(t *testing.T) {
	w := window(t, func(*simulate.Spec) {})
	s := sample(t, w)
	other := *w
	other.Schema.Stages = slices.Clone(w.Schema.Stages)
	other.Schema.Stages[0] = "loader"
	if err := s.Add(&other, nil); err == nil {
		t.Error("other stages: no error")
	}
}

package baseline

import (
	"fmt"
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

// slower are the stages that surely take longer by more than a millisecond.
func slower(t testing.TB, before, now *Sample) map[string]float64 {
	t.Helper()
	differences, err := Compare(before, now)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, d := range differences {
		if d.Slower() && d.Now-d.Before > 1e6 {
			out[d.Stage] = d.Now - d.Before
		}
		if d.Low > d.Now-d.Before || d.High < d.Now-d.Before {
			t.Errorf("%+v does not hold its difference", d)
		}
	}
	return out
}

// TestSlowOnAllRanks: a stage that has become longer on all ranks is found, with
// by how much; a rank that others wait for is not.
func TestSlowOnAllRanks(t *testing.T) {
	for seed := range uint64(20) {
		before := sample(t, window(t, func(s *simulate.Spec) { s.Seed = seed }))
		longer := window(t, func(s *simulate.Spec) {
			s.Seed = 100 + seed
			s.Stages[1].Work.Mean *= 1.5
		})
		got := slower(t, before, sample(t, longer))
		if d := got[simulate.StageForward]; math.Abs(d-30e6) > 2e6 || math.Abs(got[""]-30e6) > 4e6 || len(got) != 2 {
			t.Errorf("seed %d: forward 30 ms longer is %v", seed, got)
		}
		late := window(t, func(s *simulate.Spec) {
			s.Seed = 100 + seed
			s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 60, Ranks: []int{2}}}
		})
		got = slower(t, before, sample(t, late))
		if d := got[""]; math.Abs(d-55e6) > 6e6 || len(got) != 1 {
			t.Errorf("seed %d: one rank late by 60 ms is %v", seed, got)
		}
		if got := slower(t, before, sample(t, window(t, func(s *simulate.Spec) { s.Seed = 100 + seed }))); len(got) > 0 {
			t.Errorf("seed %d: another healthy run is %v", seed, got)
		}
	}
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
	if _, err := Compare(s, sample(t, &other)); err == nil {
		t.Error("runs with other stages: no error")
	}
	if _, err := Compare(s, &Sample{}); err == nil {
		t.Error("no steps: no error")
	}
}

func ExampleCompare() {
	run := func(forward int64) *Sample {
		w := &trace.Window{WorldSize: 2, Ranks: []trace.Rank{{ID: 0}, {ID: 1}}, Schema: trace.Schema{Stages: []string{"data", "forward"}}}
		for t := range int64(100) {
			w.Durations = append(w.Durations, 15e6, 15e6, forward+t%7*1e5, forward+t%5*1e5)
		}
		var s Sample
		if err := s.Add(w, nil); err != nil {
			panic(err)
		}
		return &s
	}
	differences, err := Compare(run(60e6), run(70e6))
	if err != nil {
		panic(err)
	}
	for _, d := range differences[:2] {
		fmt.Printf("%s %+.0f ms, slower: %v\n", d.Stage, (d.Now-d.Before)/1e6, d.Slower())
	}
	// Output:
	// data +0 ms, slower: false
	// forward +10 ms, slower: true
}

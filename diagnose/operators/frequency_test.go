package operators

import (
	"math"
	"slices"
	"testing"
)

// TestFrequency: rates add up to the completions of every worker, and a worker
// that takes twice as long has half the rate of its peers while it runs.
func TestFrequency(t *testing.T) {
	v := slow(t, nil)
	const bins = 400
	f := v.Frequency("backward-compute", bins)
	if f == nil || len(f.Workers) != v.Workers() || len(f.Rates[0]) != bins {
		t.Fatalf("frequency is %+v", f)
	}
	busiest := make([]float64, len(f.Workers))
	for k, rates := range f.Rates {
		sum := 0.0
		for _, r := range rates {
			sum += r * float64(f.Bin) / 1e9
		}
		if want := 8.0 * 12; math.Abs(sum-want) > 1e-6 {
			t.Errorf("worker %d completes %v, expected %v: 8 microbatches in 12 steps", f.Workers[k], sum, want)
		}
		busy := slices.DeleteFunc(slices.Clone(rates), func(r float64) bool { return r == 0 })
		slices.Sort(busy)
		busiest[k] = busy[len(busy)*3/4]
	}
	culprit := 1*v.Grid.Replicas + 2
	if ratio := busiest[culprit] / busiest[culprit-1]; ratio < 0.4 || ratio > 0.65 {
		t.Errorf("the slow worker runs at %.2f of its neighbour's rate, expected about half", ratio)
	}
	if len(f.Steps) != 12 || f.Steps[0] != 0 {
		t.Errorf("steps begin at %v", f.Steps)
	}
	for s, begin := range f.Steps[1:] {
		if length := begin - f.Steps[s]; length < 1e9 || length > 100e9 {
			t.Errorf("step %d takes %d ns, expected seconds", s, length)
		}
	}
}

// TestFrequencySubset: workers without the operator are left out; nobody has a
// name that is none.
func TestFrequencySubset(t *testing.T) {
	v := slow(t, nil)
	f := v.Frequency("forward-send", 10)
	if f == nil || slices.ContainsFunc(f.Workers, func(w int) bool { return v.Stage(w) == v.Grid.Stages-1 }) {
		t.Fatalf("the last stage sends nothing forward: %+v", f)
	}
	if v.Frequency("none", 10) != nil || v.Frequency("forward-send", 0) != nil {
		t.Error("something of nothing")
	}
}

package campaign

import (
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// TestNoise: with noise, work varies so much as it says, and a step as much on the one before; its mean stays.
func TestNoise(t *testing.T) {
	for _, ar := range []float64{0, 0.8} {
		g := Group{Name: "a", Ranks: []int{2}, Seeds: []uint64{1}, Families: []simulate.Family{simulate.NoFault}, Steps: 4000}
		g.Noise = &jitter{SD: 0.02, AR: ar}
		tasks, err := g.tasks()
		if err != nil {
			t.Fatal(err)
		}
		made, err := simulate.New(tasks[0].Spec)
		if err != nil {
			t.Fatal(err)
		}
		var x []float64
		if err := made.Each(func(w *trace.Window) error {
			for n := range w.Steps() {
				x = append(x, float64(w.Step(n)[2])) // forward of rank 0: nobody waits there
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		sum, squares, products := 0.0, 0.0, 0.0
		for _, v := range x {
			sum += v
		}
		mean := sum / float64(len(x))
		for i, v := range x {
			squares += (v - mean) * (v - mean)
			if i > 0 {
				products += (v - mean) * (x[i-1] - mean)
			}
		}
		sd, correlation := math.Sqrt(squares/float64(len(x)))/mean, products/squares
		if math.Abs(mean/60.85e6-1) > 0.005 || math.Abs(sd-0.02) > 0.002 || math.Abs(correlation-ar) > 0.05 {
			t.Errorf("ar %v: mean %.3g ns, deviation %.4f, correlation %.3f", ar, mean, sd, correlation)
		}
	}
}

// TestNoiseRefused: noise that is none is said to be.
func TestNoiseRefused(t *testing.T) {
	for noise, want := range map[string]string{"{sd: 0, ar: 0}": "noise has sd 0", "{sd: 0.1, ar: 1}": "and ar 1", "{sd: .nan}": "noise has sd NaN", "{sigma: 1}": "sigma"} {
		_, err := ParseSpec("c.yaml", []byte("name: c\ngroups: [{name: g, families: [nofault], ranks: [2], seeds: [0], noise: "+noise+"}]\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", noise, err, want)
		}
	}
}

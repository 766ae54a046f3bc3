package delay_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/delay"
)

// TestRefused: what does not fit is refused by field, and nothing panics.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(r *delay.Run, o *delay.Options){
		"Durations has 1919 values, expected a multiple of 16": func(r *delay.Run, o *delay.Options) { r.Durations = r.Durations[:1919] },
		"Wall has 479 values, expected 480":                    func(r *delay.Run, o *delay.Options) { r.Wall = r.Wall[:479] },
		"Peers has 3 values, expected the set of each of 4 ranks": func(r *delay.Run, o *delay.Options) {
			r.Peers = []int{0, 0, 1}
		},
		"Peers of rank 2 is -1, expected a set from 0 to 3":            func(r *delay.Run, o *delay.Options) { r.Peers = []int{0, 0, -1, 0} },
		"Peers of rank 1 is 4":                                         func(r *delay.Run, o *delay.Options) { r.Peers = []int{0, 4, 0, 0} },
		"Hosts has 5 values, expected the host of each of 4":           func(r *delay.Run, o *delay.Options) { r.Hosts = make([]int, 5) },
		"Hosts of rank 3 is -2":                                        func(r *delay.Run, o *delay.Options) { r.Hosts = []int{0, 0, 0, -2} },
		"Options.Level is 7, expected above 0 and below 1":             func(r *delay.Run, o *delay.Options) { o.Level = 7 },
		"Options.Strong is NaN":                                        func(r *delay.Run, o *delay.Options) { o.Strong = math.NaN() },
		"Options.Strong is 0.2, expected at most Level, which is 0.05": func(r *delay.Run, o *delay.Options) { o.Strong = 0.2 },
		"Options.MinGain is -0.1":                                      func(r *delay.Run, o *delay.Options) { o.MinGain = -0.1 },
		"Options.Limits is 3":                                          func(r *delay.Run, o *delay.Options) { o.Limits = 3 },
		"Gates.Slope is 1":                                             func(r *delay.Run, o *delay.Options) { o.Points.Slope = 1 },
	} {
		run, _ := job{seed: 1, ranks: 4, steps: 120, noise: 0.02}.play()
		o := delay.Options{}
		change(run, &o)
		if r, err := delay.Analyze(run, o); err == nil || r != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := delay.Analyze(&delay.Run{}, delay.Options{}); err == nil {
		t.Error("nothing is analysed")
	}
	run, _ := job{seed: 1, ranks: 4, steps: 12, noise: 0.02}.play()
	run.Peers, run.Hosts = []int{0, 0, 3, 3}, []int{-1, 0, 0, 7}
	if _, err := delay.Analyze(run, delay.Options{Level: 0.1, Strong: 0.1, MinGain: 0.5}); err != nil {
		t.Error(err)
	}
}

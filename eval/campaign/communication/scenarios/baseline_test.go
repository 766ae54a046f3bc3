package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/internal/largedata"
)

// byThesis scores the thesis's alignment.
func byThesis(t testing.TB, sn *scenario) (s score) {
	for i := range sn.ranks {
		r := &sn.ranks[i]
		pairs, err := align.ByThesis(r.process)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			s.found++
			s.right += count(r.truth[[2]int{p.Column, p.Row}])
		}
		s.truth += r.pairs
	}
	return s
}

// The whole scoring of the thesis on the four scenarios that it has too, beside what a second implementation of it, in Python, gives on them.
func TestThesisScoring(t *testing.T) {
	root := largedata.Need(t, "data/nccl/dev")
	for name, want := range map[string]float64{"easy": 1, "nsys_drop20": 0.762, "nccl_drop20": 0.808, "both_drop20": 0.597} {
		sn := loadScenario(t, filepath.Join(root, name))
		s := byThesis(t, &sn)
		t.Logf("%s: F1 %.3f", name, s.f1())
		if math.Abs(s.f1()-want) > 0.01 {
			t.Errorf("%s: F1 %.3f, want %.3f", name, s.f1(), want)
		}
	}
}

// bySliding scores what scripts do.
func bySliding(sn *scenario, window int) (s score) {
	for i := range sn.ranks {
		r := &sn.ranks[i]
		for _, p := range align.BySliding(r.process, window) {
			s.found++
			s.right += count(r.truth[[2]int{p.Column, p.Row}])
		}
		s.truth += r.pairs
	}
	return s
}

package main

import (
	"testing"

	"github.com/sfstat/sfstat/engine/comm/align"
)

// byThesis scores the alignment by operation names alone.
func byThesis(t testing.TB, sn *scenario) (s score) {
	for i := range sn.ranks {
		r := &sn.ranks[i]
		pairs, err := align.ByName(r.process)
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

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// TestParseOpsFault: what is typed is what a specification would say.
func TestParseOpsFault(t *testing.T) {
	for typed, spec := range map[string]string{
		"slow-worker,dp=1,pp=2,factor=1.5": "{kind: slow-worker, dp: 1, pp: 2, factor: 1.5}",
		"slow-stage":                       "{kind: slow-stage, factor: 1.5}",
		"late-start,probability=0.25":      "{kind: late-start, delay_ms: 120, probability: 0.25}",
		"slow-op,op=gc,seq=0,sigma=8,from=1,until=9,every=2,pp=0": "{kind: slow-op, op: gc, seq: 0, sigma: 8, from: 1, until: 9, every: 2, pp: 0}",
		"workload,factor=1.2,shared=0.5":                          "{kind: workload, factor: 1.2, shared: 0.5}",
		"late-start,delay_ms=3":                                   "{kind: late-start, delay_ms: 3}",
	} {
		got, err := parseOpsFault(typed)
		if err != nil {
			t.Errorf("%s: %v", typed, err)
			continue
		}
		want, err := pipeline.ParseSpec("spec.yaml", []byte("faults: ["+spec+"]"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Faults[0], got); diff != "" {
			t.Errorf("%s (-specification +typed):\n%s", typed, diff)
		}
	}
	for _, typed := range []string{"", ",dp=1", "slow", "slow-worker,", "slow-worker,dp", "slow-worker,factor=fast", "slow-worker,kind=none"} {
		if f, err := parseOpsFault(typed); err == nil {
			t.Errorf("%q gives %+v", typed, f)
		}
	}
}

func TestParseLayout(t *testing.T) {
	for text, want := range map[string][3]int{"4x2x8": {4, 2, 8}, "4x2": {4, 2, 1}, "4 × 2 × 8": {4, 2, 8}} {
		l := pipeline.DefaultSpec().Layout
		if err := parseLayout(text, &l); err != nil || [3]int{l.DP, l.PP, l.TP} != want || l.Microbatches != 32 {
			t.Errorf("%s: %+v, %v", text, l, err)
		}
	}
	for _, text := range []string{"", "4", "4x", "4x2x1x1", "ax2", "4x0x1", "-1x2x2", "99999999999999999999x1x1"} {
		l := pipeline.DefaultSpec().Layout
		if err := parseLayout(text, &l); err == nil || l != pipeline.DefaultSpec().Layout {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

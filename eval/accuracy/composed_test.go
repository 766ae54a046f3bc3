package main

import (
	"testing"

	"github.com/sfstat/sfstat/eval/simulate/composed"
)

// TestComposedTruth: what jobs of families ask for.
func TestComposedTruth(t *testing.T) {
	for family, want := range map[string]struct {
		kind   kind
		ranks  int // that have to be named
		priced bool
	}{
		"two_const": {late, 1, true}, "alternate_pair": {late, 2, false}, "killed": {late, 1, false}, "drift_all": {everyone, 0, true}, "absorbed": {healthy, 0, false},
		"asynchronous": {free, 1, true}, "two_const_healthy": {healthy, 0, false}, "gc_healthy": {uneven, 0, false}, "few_steps_healthy": {quiet, 0, false},
	} {
		j, err := composed.New(family, 3)
		if err != nil {
			t.Fatal(err)
		}
		got := composedTruth(j)
		named := 0
		for _, f := range got.due() {
			named += len(f.ranks)
		}
		if priced := len(got.faults) > 0 && got.faults[0].saves != nil; got.kind != want.kind || named != want.ranks || priced != want.priced {
			t.Errorf("%s: %s, %d ranks to be named, priced %v, want %+v", family, got.kind, named, priced, want)
		}
	}
	for _, c := range []struct {
		family string
		kinds  []kind
	}{{"quantised_10ms", []kind{late, coarse}}, {"quantised_10ms_healthy", []kind{healthy, quiet}}} {
		seen := map[kind]bool{}
		for seed := range uint64(20) {
			j, err := composed.New(c.family, seed)
			if err != nil {
				t.Fatal(err)
			}
			seen[composedTruth(j).kind] = true
		}
		if len(seen) != 2 || !seen[c.kinds[0]] || !seen[c.kinds[1]] {
			t.Errorf("%s: %v, want %v", c.family, seen, c.kinds)
		}
	}
}

// TestComposedJobs: jobs of all families, or of some.
func TestComposedJobs(t *testing.T) {
	for value, want := range map[string]int{"2": 2 * len(composed.Families()), "3 two_const killed": 6, "0": -1, "": -1} {
		tasks, err := composedJobs(value)
		if got := len(tasks); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d jobs, %v, want %d", value, got, err, want)
		}
	}
	tasks, err := composedJobs("1 two_const")
	rows := scored(t, "engine", tasks, err)
	if len(rows) != 1 || rows[0].Job != "two_const-0" || !rows[0].Right || rows[0].Due != 1 {
		t.Errorf("%+v", rows)
	}
	if tasks, err := composedJobs("1 nothing"); err != nil || len(tasks) != 1 {
		t.Error(err)
	} else if _, err := tasks[0]("sfstat"); err == nil {
		t.Error("a family that there is none of is scored")
	}
}

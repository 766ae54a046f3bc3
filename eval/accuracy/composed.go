package main

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate/composed"
)

// Composed jobs differ in where ranks wait for one another, in how faults come and go, and in what recorders leave out.
// What fixing a fault saves is known by replaying the same draws without it.

// composedKinds are the families in which not some ranks are late.
var composedKinds = map[string]kind{
	"drift_all": everyone, "absorbed": healthy, "asynchronous": free, "asynchronous_healthy": free, "hidden_backward": hidden, "pipeline": hidden, "pipeline_healthy": uneven, "unclosed_nowall": hidden,
	"lognormal_healthy": uneven, "gc_healthy": uneven, "sequence_lengths_healthy": uneven, "pareto_healthy": uneven, "few_steps_healthy": quiet,
}

// together are the families whose faults are by turns of one another: each has to be named where all of them cost enough.
var together = map[string]bool{"alternate_pair": true, "hand_over": true}

// unpriced are the families whose recordings do not have the whole run.
var unpriced = map[string]bool{"killed": true, "unclosed_nowall": true}

// composedJobs returns so many jobs of each family, or, "N FAMILY …", of some.
func composedJobs(value string) ([]task, error) {
	count, names, _ := strings.Cut(value, " ")
	families := strings.Fields(names)
	if len(families) == 0 {
		families = composed.Families()
	}
	return countSource(func(n int) (list []task) {
		for _, family := range families {
			for seed := range n {
				list = append(list, func(p program) ([]row, error) { return composedRows(p, family, uint64(seed)) })
			}
		}
		return list
	})(count)
}

// composedRows scores a job.
func composedRows(p program, family string, seed uint64) ([]row, error) {
	c, err := composed.New(family, seed)
	if err != nil {
		return nil, err
	}
	as := row{Source: "composed", Family: c.Family, Job: fmt.Sprintf("%s-%d", c.Family, seed)}
	return []row{p.score(job{as: as, truth: composedTruth(c), packets: c.Recording()})}, nil
}

func composedTruth(c *composed.Job) truth {
	t := truth{kind: late}
	if k, ok := composedKinds[c.Family]; ok {
		t.kind = k
	} else if len(c.Faults) == 0 {
		t.kind = healthy
	}
	switch {
	case c.Coarse() && t.kind == late:
		t.kind = coarse
	case c.Coarse() && t.kind == healthy:
		t.kind = quiet
	}
	if t.kind == healthy {
		return t
	}
	for _, from := range c.Faults {
		saves := from.Saves
		f := fault{ranks: from.Ranks, stages: from.Stages, saves: &saves, hides: from.Hides, from: -1}
		if together[c.Family] {
			saves = c.Saves
		}
		f.due = len(f.ranks) > 0 && saves >= leastDue
		if together[c.Family] || unpriced[c.Family] {
			f.saves = nil
		}
		t.faults = append(t.faults, f)
	}
	return t
}

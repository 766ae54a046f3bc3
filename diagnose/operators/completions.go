package operators

import (
	"slices"

	"github.com/sfstat/sfstat/engine/ks"
)

// Completions returns the completion times of every worker's operators, by worker. Replicas of one pipeline stage are peers.
// Steps begin where the first operator of the job starts.
func (v *View) Completions() []ks.Worker {
	g, t := v.Grid, v.Trace
	perStage := make([]int, g.Stages)
	for _, in := range g.Instances {
		perStage[in.Stage]++
	}
	workers := make([]ks.Worker, v.Workers())
	for w := range workers {
		n, steps := perStage[v.Stage(w)], make([]ks.Step, len(g.Steps))
		done := make([]int64, 0, n*len(g.Steps))
		for s := range steps {
			steps[s] = ks.Step{Start: v.origins[s], Done: done[s*n : s*n : (s+1)*n]}
		}
		workers[w] = ks.Worker{Peers: v.Stage(w), Steps: steps}
	}
	for i, in := range g.Instances {
		for s := range g.Steps {
			for d := range g.Replicas {
				row := v.row(i, s, d)
				step := &workers[int(in.Stage)*g.Replicas+d].Steps[s]
				step.Done = append(step.Done, t.Start[row]+t.Dur[row])
			}
		}
	}
	return workers
}

// Origin returns the first start on any rank in any step, ns.
func (v *View) Origin() int64 { return slices.Min(v.origins) }

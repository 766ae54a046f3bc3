package diagnose

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/operator"
)

// partners are the stages at the other end of transfers, by instance.
func (j *opJudge) partners() map[int]int {
	out := make(map[int]int)
	instances := j.v.Model.Instances()
	for _, g := range j.v.Model.Groups() {
		if len(g.Members) != 2 {
			continue
		}
		a, b := int(instances[g.Members[0]]), int(instances[g.Members[1]])
		out[a], out[b] = int(j.v.Grid.Instances[b].Stage), int(j.v.Grid.Instances[a].Stage)
	}
	return out
}

// collectives finds stages whose collectives over the replicas move data
// more slowly than those of the other stages.
func (j *opJudge) collectives() {
	if j.v.Grid.Stages < 2 || j.Replicas < 2 {
		return
	}
	levels := j.levels(func(n int) bool { return j.class[n].AcrossReplicas() && j.class[n] != operator.OptimizerClip })
	for stage := range j.v.Grid.Stages {
		over := levels.overOthers(stage)
		for _, op := range slices.Sorted(maps.Keys(over)) {
			f := levels.mean(op, stage) / others(j.v.Grid.Stages, stage, func(s int) float64 { return levels.mean(op, s) })
			if f < heavierSize {
				continue
			}
			change := j.scaled(stage, map[string][]float64{op: over[op]})
			if !((j.now-j.step(change))/j.now >= trivial) {
				continue
			}
			name := j.stageName(stage)
			j.add(&theory{fix: change, Finding: Finding{Kind: KindGroup, Cause: CauseCollective, Place: Place{Group: name, Stage: name, Op: op},
				Evidence: []evidence.Observation{evidence.TransferTimes{Op: op, Stage: name, Factor: f}}}})
		}
	}
}

// links finds two stages between which data moves more slowly than between
// the others, in all replicas.
func (j *opJudge) links() {
	partner := j.partners()
	ways := make(map[string]map[int]*way) // by name of the send and stage
	levels := j.levels(func(n int) bool {
		i := int(j.v.Model.Instances()[n])
		node := j.v.Model.Nodes()[n]
		behind, ok := partner[i]
		if !ok || j.class[n].IsReceive() {
			return false
		}
		if ways[node.Op] == nil {
			ways[node.Op] = make(map[int]*way)
		}
		w := ways[node.Op][node.Stage]
		if w == nil {
			w = &way{to: behind}
			ways[node.Op][node.Stage] = w
		}
		w.transfers++
		return true
	})
	for _, op := range slices.Sorted(maps.Keys(ways)) {
		for _, from := range slices.Sorted(maps.Keys(ways[op])) {
			j.link(levels, op, from, ways[op])
		}
	}
}

// way is the transfers of one kind from a stage, in a step of one replica.
// Interleaved schedules have more of them between some stages than others.
type way struct{ to, transfers int }

// link suspects the transfers of one kind from a stage to the one behind it.
func (j *opJudge) link(l levels, op string, from int, ways map[int]*way) {
	each := func(stage int) float64 { return l.mean(op, stage) / float64(ways[stage].transfers) }
	var rest []float64
	for stage := range ways {
		if stage != from {
			rest = append(rest, each(stage))
		}
	}
	usual := robust.Lower(rest)
	if !(each(from) >= slowerTransfers*usual) || usual <= 0 {
		return
	}
	f, to := each(from)/usual, ways[from].to
	send := operator.ParseClass(op)
	factor := slices.Repeat([]float64{f}, len(j.Steps))
	sends, receives := j.scaled(from, map[string][]float64{op: factor}), j.scaled(to, map[string][]float64{(send + 1).String(): factor})
	change := func(cost []int64) {
		sends(cost)
		receives(cost)
	}
	if !((j.now-j.step(change))/j.now >= trivial) {
		return
	}
	j.add(&theory{fix: change, Finding: Finding{Kind: KindEdge, Cause: CauseLink, Place: Place{Stage: j.stageName(from), Op: op},
		Evidence: []evidence.Observation{evidence.TransferTimes{Op: op, Stage: j.stageName(from), To: j.stageName(to), Factor: f}}}})
}

package diagnose

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/operator"
)

// transfers finds pairs of workers between which data moves more slowly than
// between their peers.
func (j *opJudge) transfers() {
	found := j.slowTransfers()
	// Long single transfers happen everywhere on a network that is shared.
	totals := make([]int64, max(1, 2*(j.v.Grid.Stages-1)*j.Replicas-len(found)))
	for _, f := range found {
		totals = append(totals, f.total)
	}
	usual := robust.Upper(totals)
	var pairs []pair
	for k, f := range found {
		if f.every > 0 || f.total > farBeyond*usual && j.noticeable(f.total) {
			pairs = append(pairs, k)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(found[b].flags(len(j.Steps)), found[a].flags(len(j.Steps))),
			cmp.Compare(a.from, b.from), cmp.Compare(a.replica, b.replica), cmp.Compare(a.send, b.send))
	})
	for _, k := range pairs[:min(maxAccused, len(pairs))] {
		j.suspectPair(k, found[k])
	}
	if j.Replicas == 2 {
		j.unequalTransfers()
	}
}

// unequalTransfers finds, of two replicas, the one whose transfers between
// two stages take much longer than the other's in nearly every step, or in some
// and never shorter. With two there is no test.
func (j *opJudge) unequalTransfers() {
	totals := make(map[pair][]int64) // by step, of replica 0 and 1
	partner := j.partners()
	instances := j.v.Model.Instances()
	j.nodes(func(n int, _ whatif.Node) bool { return j.class[n].IsTransfer() && !j.class[n].IsReceive() }, func(n, at int) {
		to, ok := partner[int(instances[n])]
		if !ok {
			return
		}
		k := pair{send: j.class[n], from: j.v.Model.Nodes()[n].Stage, to: to}
		if totals[k] == nil {
			totals[k] = make([]int64, j.v.Grid.Lanes())
		}
		for l := range totals[k] {
			totals[k][l] += j.recorded[at+l]
		}
	})
	keys := slices.SortedFunc(maps.Keys(totals), func(a, b pair) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.send, b.send)) })
	for _, k := range keys {
		var patterns [2]pattern
		for l := 0; l < len(totals[k]); l += 2 {
			a, b := float64(totals[k][l]), float64(totals[k][l+1])
			patterns[0].note(a, b, slowerTransfers)
			patterns[1].note(b, a, slowerTransfers)
		}
		for replica, p := range patterns {
			if nearlyEvery(p.clearly, p.steps) || p.intermittent() {
				k.replica = replica
				j.suspectPair(k, nil)
			}
		}
	}
}

// pair is the transfers in one direction between two stages of a replica.
type pair struct {
	send     operator.Class
	from, to int // stages
	replica  int
}

// slowness is what is held against a pair.
type slowness struct {
	every, single int   // sure outliers in the whole window, and in single steps
	effect, total int64 // of the worst, and of all single ones, ns
}

func (s *slowness) flags(steps int) int { return s.every*steps + s.single }

// slowTransfers collects the sure outliers on transfers, by pair.
func (j *opJudge) slowTransfers() map[pair]*slowness {
	found := make(map[pair]*slowness)
	partner := j.partners()
	for _, o := range j.Outliers.Outliers {
		s := j.series[o.Series]
		op := j.operators[s.Op]
		if !o.Sure || o.Effect <= 0 || s.Quantity != zscore.Transfer || !op.Class.IsTransfer() {
			continue
		}
		other, ok := partner[op.Instance]
		if !ok {
			continue
		}
		k := pair{op.Class, op.Stage, other, j.v.Replica(o.Worker)}
		if op.Class.IsReceive() {
			k = pair{op.Class - 1, other, op.Stage, k.replica}
		}
		if found[k] == nil {
			found[k] = &slowness{}
		}
		f := found[k]
		f.effect = max(f.effect, o.Effect)
		switch {
		case o.Step != zscore.EveryStep:
			f.single++
			f.total += o.Effect
		case j.beyondUsual(o):
			f.every++
		}
	}
	return found
}

// suspectPair makes a theory of a pair; without slowness no test speaks
// against it.
func (j *opJudge) suspectPair(k pair, s *slowness) {
	sender, receiver := k.from*j.Replicas+k.replica, k.to*j.Replicas+k.replica
	from, to := j.Workers[sender].ID, j.Workers[receiver].ID
	t := &theory{workers: []int{sender, receiver}, fix: j.transferLikePeers(k), untested: s == nil, Finding: Finding{Kind: KindEdge, Cause: CauseTransfer,
		Place: Place{Rank: &from, Role: j.Workers[sender].Role.String(), Stage: j.stageName(k.from), Op: k.send.String()}}}
	if t.untested {
		t.Evidence = []evidence.Observation{evidence.TransferTimes{Op: t.Op, Between: []int{from, to}, Factor: slowerTransfers}}
	} else {
		t.Evidence = []evidence.Observation{evidence.Outliers{Op: t.Op, Between: []int{from, to}, Whole: s.every, Steps: s.single, Worst: s.effect}}
	}
	j.add(t)
}

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

// transferLikePeers makes the transfers of a pair cost what the median of the
// other replicas' do.
func (j *opJudge) transferLikePeers(k pair) fix {
	sender := j.likePeers(k.from*j.Replicas+k.replica, func(n int) bool { return j.class[n] == k.send })
	receiver := j.likePeers(k.to*j.Replicas+k.replica, func(n int) bool { return j.class[n] == k.send+1 })
	return func(cost, recorded []int64) {
		sender(cost, recorded)
		receiver(cost, recorded)
	}
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
	change := func(cost, recorded []int64) {
		sends(cost, recorded)
		receives(cost, recorded)
	}
	if !((j.now-j.step(change))/j.now >= trivial) {
		return
	}
	j.add(&theory{fix: change, Finding: Finding{Kind: KindEdge, Cause: CauseLink, Place: Place{Stage: j.stageName(from), Op: op},
		Evidence: []evidence.Observation{evidence.TransferTimes{Op: op, Stage: j.stageName(from), To: j.stageName(to), Factor: f}}}})
}

package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
)

// transfers accuses pairs of workers between which data moves more slowly than
// between their peers.
func (j *opJudge) transfers() error {
	found := j.slowTransfers()
	// Long single transfers happen everywhere on a network that is shared.
	totals := make([]int64, max(1, 2*(j.v.Grid.Stages-1)*j.Replicas-len(found)))
	for _, f := range found {
		totals = append(totals, f.total)
	}
	slices.Sort(totals)
	var pairs []pair
	for k, f := range found {
		if f.every > 0 || f.total > far*totals[len(totals)/2] && j.noticeable(f.total) {
			pairs = append(pairs, k)
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(found[b].flags(len(j.Steps)), found[a].flags(len(j.Steps))),
			cmp.Compare(a.from, b.from), cmp.Compare(a.replica, b.replica), cmp.Compare(a.send, b.send))
	})
	for _, k := range pairs[:min(maxAccused, len(pairs))] {
		j.accusePair(k, found[k])
	}
	return nil
}

// pair is the transfers in one direction between two stages of a replica.
type pair struct {
	send     trace.OpClass
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

// accusePair makes a suspect of a pair.
func (j *opJudge) accusePair(k pair, s *slowness) {
	sender, receiver := k.from*j.Replicas+k.replica, k.to*j.Replicas+k.replica
	from, to := j.Workers[sender].ID, j.Workers[receiver].ID
	t := &theory{cause: causeTransfer, workers: []int{sender, receiver}, mend: j.transferLikePeers(k)}
	t.Suspect = Suspect{Kind: KindEdge, Rank: &from, Role: j.Workers[sender].Role.String(), Stage: j.stageName(k.from), Op: k.send.String(),
		Evidence: []string{fmt.Sprintf("outliers: of %s from rank %d to rank %d, %d are surely longer in the whole window than between the same stages of other replicas, %d in single steps, by up to %s, waiting not counted",
			k.send, from, to, s.every, s.single, ms(s.effect))}}
	t.say = fmt.Sprintf("%s from rank %d (%s) to rank %d is slower than between its peers", k.send, from, t.Role, to)
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
func (j *opJudge) transferLikePeers(k pair) remedy {
	sender := j.likePeers(k.from*j.Replicas+k.replica, func(n int) bool { return j.class[n] == k.send })
	receiver := j.likePeers(k.to*j.Replicas+k.replica, func(n int) bool { return j.class[n] == k.send+1 })
	return func(cost, recorded []int64) {
		sender(cost, recorded)
		receiver(cost, recorded)
	}
}

// heavier is the factor from which on the collectives of a stage are slow
// beside those of other stages, whose sizes need not be the same.
const heavier = 1.2

// collectives accuses a stage whose collectives over the replicas move data
// more slowly than those of the other stages.
func (j *opJudge) collectives() error {
	if j.v.Grid.Stages < 2 || j.Replicas < 2 {
		return nil
	}
	levels := j.levels(func(n int) bool { return j.class[n].AcrossReplicas() && j.class[n] != trace.OptimizerClip })
	for stage := range j.v.Grid.Stages {
		over := overOthers(levels, stage)
		for _, op := range slices.Sorted(maps.Keys(over)) {
			f := over[op]
			if f < heavier {
				continue
			}
			mend := j.scaled(stage, map[string]float64{op: f})
			after, err := j.step(mend)
			if err != nil {
				return err
			}
			if (j.now-after)/j.now < trivial {
				continue
			}
			t := &theory{cause: causeCollective, mend: mend}
			t.Suspect = Suspect{Kind: KindGroup, Group: j.stageName(stage), Stage: j.stageName(stage), Op: op, Evidence: []string{
				fmt.Sprintf("transfer times: %s takes %.3g times as long on the replicas of %s as on the median of the other stages, waiting not counted", op, f, j.stageName(stage))}}
			t.say = fmt.Sprintf("%s over the replicas of %s takes %.3g times as long as on the other stages", op, j.stageName(stage), f)
			j.add(t)
		}
	}
	return nil
}

// launches accuses operators that start late behind what was on time, where
// walks end there.
func (j *opJudge) launches() error {
	for _, walk := range j.Walks {
		if walk.Kind != blame.Gap && walk.Kind != blame.Source || 10*walk.Symptoms < j.Walked {
			continue
		}
		delay := j.extraDelay(walk)
		without, err := j.delayed(nil, mends(j.localTheories(), nil)...)
		if err != nil {
			return err
		}
		with, err := j.delayed(delay, mends(j.localTheories(), nil)...)
		if err != nil {
			return err
		}
		if with-without < trivial*j.now || !j.startsLate(walk) {
			continue // any gap is the largest of some step
		}
		w := walk.Worker
		rank := j.Workers[w].ID
		t := &theory{cause: causeLaunch, workers: []int{w}, delay: delay, saved: max(0, with-without)}
		t.Suspect = Suspect{Kind: KindEdge, Rank: &rank, Role: j.Workers[w].Role.String(), Stage: j.stageName(j.v.Stage(w)), Op: walk.Op}
		if len(walk.Seqs) == 1 {
			t.Seq = &walk.Seqs[0]
		}
		t.Evidence = append(t.Evidence, fmt.Sprintf("blame: %d of %d walks back from late operators end before %s of rank %d, which starts up to %s after all that it waits for has ended",
			walk.Symptoms, j.Walked, walk.Op, rank, ms(walk.Delay)))
		t.say = fmt.Sprintf("rank %d (%s) starts %s late, behind operators that were on time: its host was busy, or waits for something that is not in the trace", rank, t.Role, walk.Op)
		j.add(t)
	}
	return nil
}

// idle names the operators before which the step stands still on all ranks
// alike: what they wait for is in no operator.
func (j *opJudge) idle() error {
	recorded, without := j.Replay.Recorded.Mean, j.Replay.NoDelay.Mean
	lost := recorded - without
	for _, t := range j.theories {
		if t.cause == causeLaunch {
			lost -= t.saved
		}
	}
	if lost < j.gates.StaticGain*recorded || len(j.Replay.LaunchByOp) == 0 {
		return nil
	}
	most := j.Replay.LaunchByOp[0]
	where := most.Name
	if where == whatif.FirstOp {
		where = "the first operators of a step"
	}
	t := &theory{cause: causeIdle, saved: lost}
	t.Suspect = Suspect{Kind: KindOp, Op: most.Name, Explained: int64(lost * float64(len(j.Steps))), Evidence: []string{
		fmt.Sprintf("replay: of a %s step, %s is time between operators that were ready and their start; most of it, %s, before %s",
			ms(int64(recorded)), ms(int64(lost)), ms(int64((most.Overall-1)*without)), where)}}
	t.say = fmt.Sprintf("the ranks stand still before %s, though all that these wait for has ended", where)
	j.add(t)
	return nil
}

// startsLate reports whether the start of a walk's operator is surely late.
func (j *opJudge) startsLate(walk Walk) bool {
	return slices.ContainsFunc(j.Outliers.Outliers, func(o zscore.Outlier) bool {
		s := j.series[o.Series]
		op := j.operators[s.Op]
		return o.Sure && o.Worker == walk.Worker && op.Name == walk.Op && slices.Contains(walk.Seqs, op.Seq) &&
			(s.Quantity == zscore.Start && o.Effect > 0 || s.Quantity == zscore.Wait && o.Effect < 0)
	})
}

// extraDelay is by how much the operators that a walk names start later after
// their predecessors than those of the other replicas do, [node][lane].
func (j *opJudge) extraDelay(walk Walk) []int64 {
	recorded := j.v.Model.Recorded().Delay
	extra := make([]int64, len(recorded))
	stage, own := j.v.Stage(walk.Worker), j.v.Replica(walk.Worker)
	others := make([]int64, 0, j.Replicas)
	j.nodes(func(n int, node whatif.Node) bool {
		return node.Stage == stage && node.Op == walk.Op && slices.Contains(walk.Seqs, node.Seq)
	}, func(_, at int) {
		for lane := 0; lane < j.v.Grid.Lanes(); lane += j.Replicas {
			row := recorded[at+lane : at+lane+j.Replicas]
			extra[at+lane+own] = max(0, row[own]-medianOfOthers(row, own, others))
		}
	})
	return extra
}

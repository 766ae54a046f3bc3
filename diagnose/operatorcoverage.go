package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/input"
)

// operatorSearch is what the replicas of the stages were compared in, and what that left.
type operatorSearch struct {
	ledgers []*ledger
	*delay.Peeled
}

const (
	// planted is by how much a delay is made larger at a time until it is found, as those of windows are.
	planted = 1.15
	// mostPlanted is how often.
	mostPlanted = 12
	// mostSized is how many replays look for the delay that costs what is worth acting on.
	mostSized = 12
)

// coverage returns what the operators show of each pipeline stage: the least delay of one of its workers, in every pass
// or step, that would have been found among its replicas, and whether one worth acting on would have been. Delays are
// put into what was recorded, less what was found, and priced by the replay: a step is a graph, in which a delay may
// cost nothing. O(stages) replays.
func (j *opJudge) coverage() (out []answer.Coverage) {
	for stage := range j.v.Grid.Stages {
		c := answer.Coverage{}
		if j.v.Grid.Stages > 1 {
			c.Stage = j.stageName(stage)
		}
		switch {
		case j.lacksTransfers():
			c.Hides, c.Reason, c.Needs = int64(j.now), answer.MessagesBlind, answer.SourceMessages
		case j.Replicas < 2 && j.Layout.DP > j.Replicas:
			c.Hides, c.Reason, c.Needs = j.idle(stage), answer.RanksUnknown, answer.SourceAllRanks
		case j.Replicas < 2:
			c.Hides, c.Reason, c.Needs = j.idle(stage), answer.NoPeers, answer.SourceBaseline
		default:
			j.plantIn(stage, &c)
		}
		out = append(out, c)
	}
	if slices.ContainsFunc(j.Notes, func(n input.Note) bool { return n.Kind == input.NoteMissingRanks }) {
		out = append(out, answer.Coverage{Hides: int64(j.now), Reason: answer.RanksUnknown, Needs: answer.SourceAllRanks})
	}
	return out
}

// idle returns by how much a step would be shorter were the own work of a stage's workers done in no time, ns: no
// delay of theirs costs more.
func (j *opJudge) idle(stage int) int64 {
	return int64(j.fixedStep() - j.fixedStep(func(cost []int64) {
		for n, node := range j.v.Model.Nodes() {
			if node.Stage == stage && j.local(n) {
				clear(j.row(cost, n))
			}
		}
	}))
}

// plantIn fills in what delays of a worker of a stage are found, over all kinds of its own work.
func (j *opJudge) plantIn(stage int, c *answer.Coverage) {
	found := true
	c.Seen = true
	for in, l := range j.searched.ledgers {
		if l.stage != stage || l.late {
			continue
		}
		k, rank := l.largest(), l.middle()
		if k < 0 {
			continue
		}
		cost := j.worthActing(l, k, rank)
		for piece := range l.pieces {
			if l.pieces[piece].sends {
				continue
			}
			by, tries := cost/float64(l.present(piece)), 0
			for tries < mostPlanted && j.searched.Chance(in, rank, piece, by) > gates.Supported {
				by *= planted
				tries++
			}
			size := int64(math.Ceil(planted * by * float64(l.present(piece)) / float64(len(j.Steps))))
			c.Least, c.Seen = max(c.Least, size), c.Seen && tries <= 1
			found = found && tries < mostPlanted
		}
	}
	if !found {
		c.Least = 0
	}
	if !c.Seen {
		c.Hides, c.Reason, c.Needs = j.mayCost(stage), answer.TooNoisy, answer.SourceMoreSteps
	}
}

// mayCost returns the most that the own work of a worker of a stage costs where it takes longer than the median of its
// peers, were all of it a delay, ns a step. O(replicas) replays.
func (j *opJudge) mayCost(stage int) (most int64) {
	apart, scratch := make([]int64, j.Replicas), make([]int64, 0, j.Replicas)
	now := j.fixedStep()
	for r := range j.Replicas {
		most = max(most, int64(now-j.fixedStep(func(cost []int64) {
			for n, node := range j.v.Model.Nodes() {
				if node.Stage != stage || !j.local(n) {
					continue
				}
				for lanes := range slices.Chunk(j.row(cost, n), j.Replicas) {
					subtractOthers(apart, lanes, scratch)
					lanes[r] -= max(0, apart[r])
				}
			}
		})))
	}
	return most
}

// worthActing returns how much longer in all a worker's operators of a kind must take, evenly over all intervals, for the
// steps to be longer by what is worth acting on, ns. Found by halving between none and the least power of two that is
// enough.
func (j *opJudge) worthActing(l *ledger, piece, rank int) float64 {
	now := j.fixedStep()
	want := now * j.minGain / (1 - j.minGain)
	longer := func(by float64) float64 {
		return j.fixedStep(func(cost []int64) {
			for n := range l.Intervals {
				nodes := l.pieces[piece].nodes[n%l.slots]
				for _, node := range nodes {
					j.row(cost, node)[n/l.slots*l.Ranks+rank] += int64(by / float64(l.present(piece)*len(nodes)))
				}
			}
		}) - now
	}
	low, high := 0.0, want*float64(len(j.Steps))
	for i := 0; i < mostSized/2 && longer(high) < want; i++ {
		low, high = high, 2*high
	}
	for i := 0; i < mostSized/2; i++ {
		if middle := (low + high) / 2; longer(middle) < want {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// fixedStep returns the mean step, ns, with what was found for certain at one place fixed, and more fixes after these.
func (j *opJudge) fixedStep(more ...fix) float64 {
	return j.step(append(fixes(j.localTheories(gates.Supported)), more...)...)
}

// present returns in how many intervals a piece was recorded, at least 1.
func (l *ledger) present(piece int) int {
	n := 0
	for _, absent := range l.Absent[piece] {
		if !absent {
			n++
		}
	}
	return max(1, n)
}

// largest returns the kind of own work that takes the most time; −1: there is none.
func (l *ledger) largest() int {
	at, most := -1, int64(-1)
	for k := range l.pieces {
		if sum := sumOf(l.Work[k]); !l.pieces[k].sends && sum > most {
			at, most = k, sum
		}
	}
	return at
}

// middle returns the replica that is in the middle by how long its work takes.
func (l *ledger) middle() int {
	sums, order := make([]int64, l.Ranks), make([]int, l.Ranks)
	for r := range order {
		order[r] = r
	}
	for _, work := range l.Work {
		for i, x := range work {
			sums[i%l.Ranks] += x
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
	return order[l.Ranks/2]
}

// sumOf returns the sum of times.
func sumOf(times []int64) (sum int64) {
	for _, x := range times {
		sum += x
	}
	return sum
}

// divisionsOf returns those of ledgers.
func divisionsOf(list []*ledger) (out []*points.Division) {
	for _, l := range list {
		out = append(out, l.Division)
	}
	return out
}

// exclusion reports what an operator trace can exclude, given what it shows of the stages.
func (o *Operators) exclusion(coverage []answer.Coverage, minGain float64) exclusion {
	alone := !slices.ContainsFunc(coverage, func(c answer.Coverage) bool { return c.Reason != answer.NoPeers })
	switch {
	case len(o.Steps) < leastSteps, alone && o.Stages() == 1:
		return excludesNothing
	case float64(hiddenTime(coverage)) >= minGain*o.Replay.Recorded.Mean:
		return excludesSeen
	}
	return excludesAll
}

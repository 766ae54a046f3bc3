package sync

import (
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
)

// minAlikeRanks is the least number of ranks, in a ring or by turns, that may be peers.
const minAlikeRanks = 3

// divideNeighbours divides a job whose ranks synchronise only by messages to their neighbours, as in gossip, a ring or a
// pipeline. It returns nil where no call is entered by all ranks, or steps are not recorded; places are the repeating
// places.
//
// The work of a rank in a step, without waits for neighbours, is one piece. A late rank holds its neighbours, and these
// theirs, so all ranks wait in the end: a step ends where all meet. Ranks are peers where each makes as many sends and
// receives a step as every other. Stages of a pipeline do not, and two ranks always may.
func (t *Waits) divideNeighbours(places []int) *Division {
	if t.Blocks == nil || len(t.Ranks) < 2 || slices.ContainsFunc(places, func(i int) bool { return !t.IsMessageAt(i) }) {
		return nil
	}
	place := slices.IndexFunc(places, func(i int) bool { return t.entersAll(i) })
	if place < 0 {
		return nil
	}
	d := &Division{Neighbours: true, Roles: len(t.Ranks) < minAlikeRanks || !t.exchangeAlike(), Cut: t.recordedSteps(places[place])}
	T, R := len(d.Cut.Ends), len(t.Ranks)
	if T < minSteps {
		return nil
	}
	d.Ranks, d.Intervals, d.At = R, T, []int{places[place]}
	for i := range t.Places {
		d.Stages = append(d.Stages, points.Stage{Name: t.Kinds[t.Places[i].Kind].Name})
	}
	d.Pieces = []points.Piece{{Stage: places[place]}}
	d.Points = []points.Point{{Stage: len(d.Stages), Evidence: points.Shown, Slope: -1, Low: -1, High: -1}}
	d.Stages = append(d.Stages, points.Stage{Name: d.Stages[places[place]].Name, Role: points.Wait})
	t.learnTransfers()
	work, spent, seen := make([]int64, T*R), make([]int64, T*R), make([]bool, T*R)
	for r := range t.Ranks {
		for i, w := range t.NeighbourWork(d, r) {
			e := Nth(r, i)
			step := d.Cut.Step(e, t.Time(e))
			if i == 0 || step < 0 {
				continue
			}
			work[step*R+r] += w
			spent[step*R+r] += t.Time(e) - t.Time(Previous(e, 1)) - w
			seen[step*R+r] = true
		}
	}
	d.Work, d.Spent, d.After = [][]int64{work}, [][]int64{spent}, [][]int64{make([]int64, T)}
	d.Absent = [][]bool{fillAbsent(work, seen, R)}
	for step := range T {
		d.Head, d.Tail = append(d.Head, step), append(d.Tail, -1)
	}
	d.Arrive()
	for step := 1; step < T && d.Roles; step++ { // what is not the last one's work is messages, and waits for them one after the other
		d.After[0][step] = max(0, d.Cut.Ends[step]-d.Cut.Ends[step-1]-slices.Max(d.Arrivals[0][step*R:(step+1)*R]))
	}
	for r := range R {
		host := slices.Index(t.hostNames(), t.HostOf(r))
		d.HostsOf = append(d.HostsOf, host)
	}
	return d
}

// NeighbourWork returns the work of a rank before each of its calls, ns, where ranks synchronise by messages to their neighbours alone; 0 before
// the first.
func (t *Waits) NeighbourWork(d *Division, rank int) []int64 {
	if d.Roles {
		return t.OwnWork(rank)
	}
	return t.batchWork(rank)
}

// batchWork returns the work of a rank before each of its calls, ns; 0 before the first. Ranks wait for the messages of
// a step as soon as all are entered, so time before the last recorded completion is no work.
func (t *Waits) batchWork(rank int) []int64 {
	out, done := make([]int64, len(t.Ranks[rank].Calls)), int64(math.MinInt64)
	for i := 1; i < len(out); i++ {
		e := Nth(rank, i)
		before := t.Time(Previous(e, 1))
		done = max(done, before+t.Call(Previous(e, 1)).Held)
		out[i] = min(t.Work(e, t.LagOf(e, 0)), max(0, t.Time(e)-max(before, done)))
	}
	return out
}

// hostNames returns the known hosts of the ranks, each once.
func (t *Waits) hostNames() (names []string) {
	for r := range t.Ranks {
		if h := t.HostOf(r); h != "" && !slices.Contains(names, h) {
			names = append(names, h)
		}
	}
	return names
}

// exchangeAlike reports whether every rank makes as many sends, and as many receives, as any other, within a tenth.
func (t *Waits) exchangeAlike() bool {
	var least, most [2]int
	for r := range t.Ranks {
		var n [2]int
		for i := range t.Ranks[r].Calls {
			if e := Nth(r, i); t.IsReceive(e) {
				n[0]++
			} else if t.isSend(e) {
				n[1]++
			}
		}
		for k := range n {
			if most[k] = max(most[k], n[k]); r == 0 || n[k] < least[k] {
				least[k] = n[k]
			}
		}
	}
	return least[0] > 0 && least[1] > 0 && 10*least[0] >= 9*most[0] && 10*least[1] >= 9*most[1]
}

// entersAll reports whether all ranks come to a place.
func (t *Waits) entersAll(place int) bool {
	in := make([]bool, len(t.Ranks))
	for _, c := range t.Places[place].Cohorts {
		for _, e := range c {
			in[e.Process] = true
		}
	}
	return !slices.Contains(in, false)
}

// recordedSteps cuts the calls of all ranks where their recorder did; ranks number their last step alike. It has no
// steps where these are not recorded, or a rank makes no call in some.
func (t *Waits) recordedSteps(place int) *StepCut {
	c := &StepCut{place: place, of: make([][]stepEnd, len(t.Ranks))}
	fewest := -1
	for r := range t.Ranks {
		calls, began := t.Ranks[r].Calls, false
		for i := range calls {
			if calls[i].First && began {
				c.of[r] = append(c.of[r], stepEnd{call: int32(i - 1)})
			}
			began = began || calls[i].First
		}
		if n := len(c.of[r]); fewest < 0 || n < fewest {
			fewest = n
		}
	}
	var at []int64
	for step := range fewest {
		at = at[:0]
		for r := range c.of {
			at = append(at, t.Time(Entry{Process: int32(r), Call: c.of[r][len(c.of[r])-fewest+step].call}))
		}
		c.Ends = append(c.Ends, median(at))
	}
	for r := range c.of {
		c.of[r] = c.of[r][len(c.of[r])-fewest:]
		for step := range c.of[r] {
			c.of[r][step].step = int32(step)
		}
	}
	return c
}

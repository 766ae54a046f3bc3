package sync

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/stagename"
)

// rootedKind is the broadcasts, gathers or reduces of one kind in a group, of all micro-batches alike.
type rootedKind struct{ kind, group int32 }

// shape is how the members of a rooted operation wait for one another.
type shape uint8

const (
	tree shape = iota // each hands on what it gets along a binomial tree, and is held until those that it hands it to have entered
	star              // one hands to all, and is held likewise; the others wait for it
	from              // the others wait for the root, which waits for nobody
	into              // the root waits for all others, which hand in and go on
	meet              // the root waits for all others, and these are held until it has entered
)

// shapesOf returns the shapes in which an operation may be made besides one in which all wait for all.
func shapesOf(op nccl.Op) []shape {
	switch op {
	case nccl.Broadcast, nccl.Scatter:
		return []shape{tree, star, from}
	case nccl.Gather, nccl.Reduce:
		return []shape{into, meet}
	}
	return nil
}

// rootWait is the shape of a rooted operation, and its root as an index of its members.
type rootWait struct {
	shape shape
	root  int32
}

// mostRoots bounds the members of which the root is looked for, the first ones, and rootEntries and rootWork what that
// takes: entries that are looked at for each of them, and for all, in all groups.
const (
	mostRoots   = 64
	rootEntries = 1 << 16
	rootWork    = 1 << 21
)

// findRoots finds the rooted operations in which members do not wait for all others, and how they wait. Of all shapes
// and roots, and of a full wait, it chooses what leaves the least scatter right after the call, constant differences
// included: a rank that is late in every step holds, in every step, those that hand to it and nobody else. What it is late by
// again before the next micro-batch looks like that too; its call in the last one tells, and so do stage times: who is held in a
// stage leaves it later. Groups of as many members that make calls of one kind run one program and have the root at one place.
func (t *Waits) findRoots() {
	t.roots, t.ofAny = map[rootedKind]rootWait{}, t.mergeMicrobatches()
	var sets ordered.List[[2]int32, rootedSet]
	for i := range t.Places {
		for _, c := range t.leavesRooted(&t.Places[i]) {
			before := Previous(c[0], 1)
			r := rootedKind{t.ofAny[t.SiteOf(before)], t.Call(before).Group}
			set, _ := sets.Of([2]int32{r.kind, int32(len(t.Members[r.group]))})
			if set.cohorts = append(set.cohorts, c); !slices.Contains(set.of, r) {
				set.of = append(set.of, r)
			}
		}
	}
	slices.SortStableFunc(sets.All, func(a, b rootedSet) int { return cmp.Compare(a.of[0].kind, b.of[0].kind) })
	for i := range sets.All {
		t.findRoot(&sets.All[i], len(sets.All))
	}
}

// rootedSet are rooted operations of one kind, with what follows them.
type rootedSet struct {
	of      []rootedKind
	cohorts []Cohort
}

// findRoot finds how the members of the operations of one of so many sets wait.
func (t *Waits) findRoot(set *rootedSet, sets int) {
	members := len(t.Members[set.of[0].group])
	sample := sampleCohorts(set.cohorts, max(leastSample*len(set.of), rootEntries/members))
	after := func(e Entry) int64 { return t.WorkSince(e, 1) }
	seen := t.leftStage(sample)
	left := len(seen) >= Enough && 2*len(seen) >= len(sample)
	if left {
		sample, after = seen, t.stayAfterRelease
	}
	roots := min(members, mostRoots, max(1, rootWork/(len(sample)*members*sets)))
	tried := []triedWait{{any: true, distances: t.distances(sample, after)}}
	for _, shape := range shapesOf(t.Kinds[set.of[0].kind].Op) {
		for root := range int32(roots) {
			wait := rootWait{shape, root}
			t.setRoots(set, wait)
			tried = append(tried, triedWait{rootWait: wait, distances: t.distances(sample, after)})
		}
	}
	if left {
		tried = steadyWaits(tried)
	}
	if best := t.bestWait(tried, len(sample)); !best.any {
		t.setRoots(set, best.rootWait)
		return
	}
	for _, r := range set.of {
		delete(t.roots, r)
	}
}

// setRoots lets the kinds of a set wait as said.
func (t *Waits) setRoots(set *rootedSet, wait rootWait) {
	for _, r := range set.of {
		t.roots[r] = wait
	}
}

// leavesRooted returns some of the entries of a place that are made behind rooted operations, by these.
func (t *Waits) leavesRooted(p *Place) []Cohort {
	if shapesOf(t.Kinds[p.Before].Op) == nil && !(p.Mixed && t.isMixedByRank(p)) {
		return nil
	}
	sample := t.Sample(p.Cohorts)
	if t.isSameCall(sample, 1) {
		return sample
	}
	return slices.DeleteFunc(t.exits(sample), func(c Cohort) bool { return shapesOf(t.KindOf(Previous(c[0], 1)).Op) == nil })
}

// triedWait is how members may wait, and what follows the call then.
type triedWait struct {
	rootWait
	any bool // for all others
	distances
}

// unsteady is how many times more what ranks do after a call may vary with one wait than with another for it to be the one, of stages
// that they leave.
const unsteady = 2

// steadyWaits returns the waits that leave what each rank does in the rest of a stage about as steady as any: what members are late by
// varies, from one micro-batch to the next at least, and who waits for them stays by as much longer.
func steadyWaits(tried []triedWait) []triedWait {
	least := slices.MinFunc(tried, func(a, b triedWait) int { return cmp.Compare(a.within, b.within) }).within
	return slices.DeleteFunc(tried, func(w triedWait) bool { return w.within > unsteady*least })
}

// bestWait returns the wait that leaves the least difference between members, constant differences of clocks included, where these suit
// the waits as they are: the first, but another that leaves less by a twentieth.
func (t *Waits) bestWait(tried []triedWait, cohorts int) triedWait {
	leaves := func(w triedWait) int64 {
		if t.Agree {
			return w.asRead
		}
		return w.distances.all
	}
	best := tried[0]
	least := leaves(best)
	if best.any {
		if least -= least / 20; cohorts < Enough {
			least /= 4
		}
	}
	for _, w := range tried[1:] {
		if left := leaves(w); left < least {
			best, least = w, left
		}
	}
	return best
}

// mergeMicrobatches returns, for each kind, the first that is like it but for the micro-batch.
func (t *Waits) mergeMicrobatches() []int32 {
	out, first := make([]int32, len(t.Kinds)), map[string]int32{}
	for i := range t.Kinds {
		k := &t.Kinds[i]
		stage, _ := stagename.Split(k.Stage)
		key := fmt.Sprint(k.Name, k.Op, k.Tensors, k.Stack, k.Size, stage)
		if _, ok := first[key]; !ok {
			first[key] = int32(i)
		}
		out[i] = first[key]
	}
	return out
}

// leastSample is how many cohorts are looked at however large they are.
const leastSample = 8

// sampleCohorts returns so many cohorts, of all of them at equal distances; all where they are no more.
func sampleCohorts(all []Cohort, most int) (out []Cohort) {
	if len(all) <= most {
		return all
	}
	for i := range most {
		out = append(out, all[i*len(all)/most])
	}
	return out
}

// leftStage returns the cohorts all of whose members are known to have left the stage of the call before, and entered no call in between.
func (t *Waits) leftStage(sample []Cohort) (out []Cohort) {
	if t.StaysFor == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(sample), func(c Cohort) bool {
		return slices.ContainsFunc(c, func(e Entry) bool {
			before := Previous(e, 1)
			stay, known := t.StaysFor(before)
			return !known || t.Time(before)+stay > t.Time(e)
		})
	})
}

// stayAfterRelease returns for how long a rank stays in the stage of the call before an entry once that lets it go: what it does in
// later stages is no wait for that call.
func (t *Waits) stayAfterRelease(e Entry) int64 {
	before := Previous(e, 1)
	stay, _ := t.StaysFor(before)
	return t.Time(before) + stay - t.ReleaseFor(before)
}

// rootWaitAt returns how the members of a point wait where they do not wait for all; only of points that all members entered.
func (t *Waits) rootWaitAt(p int32) (rootWait, bool) {
	of := &t.Points[p]
	if len(t.roots) == 0 || of.Message || len(of.Entries) == 0 || len(of.Entries) != len(t.Members[of.Group]) {
		return rootWait{}, false
	}
	w, ok := t.roots[rootedKind{t.ofAny[t.SiteOf(of.Entries[0])], of.Group}]
	return w, ok
}

// MayHold reports whether the call of an entry may hold one of its members longer than others for a member that has no record of it: where
// a rooted operation hands data on, its root is held until each of the others has entered.
func (t *Waits) MayHold(e Entry) bool {
	p := &t.Points[t.Of[e.Process][e.Call]]
	return !p.Message && !t.IsComplete(p) && shapesOf(t.KindOf(e).Op) != nil
}

// releaseOf returns when the member of a rank may go on: when those that it waits for have entered, itself among them.
func (t *Waits) releaseOf(w rootWait, p, rank int32) int64 {
	of := t.Points[p].Entries
	at, _ := slices.BinarySearchFunc(of, rank, func(e Entry, r int32) int { return int(e.Process - r) })
	own, root := t.Time(of[at]), max(t.Time(of[at]), t.Time(of[w.root]))
	isRoot := int32(at) == w.root
	switch {
	case w.shape == tree:
		return t.treeRelease(of, at, int(w.root))
	case isRoot && w.shape != from:
		return t.Release[p]
	case isRoot || w.shape == into:
		return own
	}
	return root
}

// treeRelease returns when the member at an index has data from its way to the root, and has handed it on.
func (t *Waits) treeRelease(of []Entry, at, root int) int64 {
	n := len(of)
	member := func(v int) int64 { return t.Time(of[(v+root)%n]) }
	in := (at - root + n) % n
	last := member(0)
	for v := in; v > 0; v &^= 1 << (bits.Len(uint(v)) - 1) { // the way to the root: without the highest bit
		last = max(last, member(v))
	}
	for child := 1 << bits.Len(uint(in)); in+child < n; child <<= 1 {
		last = max(last, member(in+child))
	}
	return last
}

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
	tree     shape = iota // each hands data on along a binomial tree, and is held until its children have entered
	star                  // the root hands data to all, and is held until they have entered; the others wait for it
	fromRoot              // the others wait for the root, which waits for nobody
	intoRoot              // the root waits for all others, which hand data in and continue
	meetRoot              // the root waits for all others, and these are held until it has entered
)

// shapesOf returns the shapes in which an operation may be made besides one in which all wait for all.
func shapesOf(op nccl.Op) []shape {
	switch op {
	case nccl.Broadcast, nccl.Scatter:
		return []shape{tree, star, fromRoot}
	case nccl.Gather, nccl.Reduce:
		return []shape{intoRoot, meetRoot}
	}
	return nil
}

// rootWait is the shape of a rooted operation, and its root as an index of its members.
type rootWait struct {
	shape shape
	root  int32
}

// maxRoots bounds the candidates for the root, the first members. rootEntries and rootWork bound the entries that are
// compared: for one candidate, and in all.
const (
	maxRoots    = 64
	rootEntries = 1 << 16
	rootWork    = 1 << 21
)

// findRoots finds the rooted operations in which members do not wait for all others, with shape and root.
//
// Of all shapes and roots, and a full wait, the wait with the least scatter right after the call is chosen. Constant
// differences are included: a rank that is late in every step holds its dependents in every step, and nobody else. Delay
// before the next micro-batch looks alike. The call in the last micro-batch distinguishes them, and so do stage times,
// since a held rank leaves the stage later. Groups of equal size whose members make calls of one kind run one program,
// and share one root index.
func (t *Waits) findRoots() {
	t.roots, t.ofAny = map[rootedKind]rootWait{}, t.mergeMicrobatches()
	var sets ordered.List[[2]int32, rootedSet]
	for i := range t.Places {
		for _, c := range t.exitsFromRooted(&t.Places[i]) {
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

// rootedSet is the rooted operations of one kind in groups of one size, and the cohorts that follow them.
type rootedSet struct {
	of      []rootedKind
	cohorts []Cohort
}

// findRoot finds how the members of the operations of one set wait; sets is the number of sets.
func (t *Waits) findRoot(set *rootedSet, sets int) {
	members := len(t.Members[set.of[0].group])
	sample := sampleCohorts(set.cohorts, max(minSample*len(set.of), rootEntries/members))
	after := func(e Entry) int64 { return t.WorkSince(e, 1) }
	seen := t.leftStage(sample)
	left := len(seen) >= Enough && 2*len(seen) >= len(sample)
	if left {
		sample, after = seen, t.stayAfterRelease
	}
	roots := min(members, maxRoots, max(1, rootWork/(len(sample)*members*sets)))
	tried := []triedWait{{forAll: true, distances: t.distances(sample, after)}}
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
	if best := t.bestWait(tried, len(sample)); !best.forAll {
		t.setRoots(set, best.rootWait)
		return
	}
	for _, r := range set.of {
		delete(t.roots, r)
	}
}

// setRoots gives all kinds of a set one wait.
func (t *Waits) setRoots(set *rootedSet, wait rootWait) {
	for _, r := range set.of {
		t.roots[r] = wait
	}
}

// exitsFromRooted returns a sample of the entries that follow rooted operations before a place, by operation.
func (t *Waits) exitsFromRooted(p *Place) []Cohort {
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
	forAll bool // for all others
	distances
}

// unsteadyRatio is how many times as much as with the steadiest wait work may vary with a wait to be considered, by
// times in stages.
const unsteadyRatio = 2

// steadyWaits returns the waits under which each rank's work in the rest of a stage is about as steady as any wait makes
// it. Delays of ranks vary at least from one micro-batch to the next, and a rank that waits for a late rank stays longer
// by as much.
func steadyWaits(tried []triedWait) []triedWait {
	least := slices.MinFunc(tried, func(a, b triedWait) int { return cmp.Compare(a.within, b.within) }).within
	return slices.DeleteFunc(tried, func(w triedWait) bool { return w.within > unsteadyRatio*least })
}

// bestWait returns the wait that leaves the least difference between members. The first wins unless another leaves a
// twentieth less. Constant differences of clocks count too, where these suit the waits as they are.
func (t *Waits) bestWait(tried []triedWait, cohorts int) triedWait {
	leaves := func(w triedWait) int64 {
		if t.Agree {
			return w.asRead
		}
		return w.distances.all
	}
	best := tried[0]
	least := leaves(best)
	if best.forAll {
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

// mergeMicrobatches returns, for each kind, the first kind that differs from it only in the micro-batch.
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

// minSample is the least number of cohorts in a sample, however large they are.
const minSample = 8

// sampleCohorts returns at most most cohorts, at equal distances among all.
func sampleCohorts(all []Cohort, most int) (out []Cohort) {
	if len(all) <= most {
		return all
	}
	for i := range most {
		out = append(out, all[i*len(all)/most])
	}
	return out
}

// leftStage returns the cohorts whose members all left the stage of the call before, as recorded, before they entered
// the next call.
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

// stayAfterRelease returns how long a rank stays in the stage of the call before an entry after the call's release, ns.
// Work in later stages is no wait for that call.
func (t *Waits) stayAfterRelease(e Entry) int64 {
	before := Previous(e, 1)
	stay, _ := t.StaysFor(before)
	return t.Time(before) + stay - t.ReleaseFor(before)
}

// rootWaitAt returns how the members of a point wait; ok is false where all wait for all, and where a member has no
// entry.
func (t *Waits) rootWaitAt(p int32) (rootWait, bool) {
	of := &t.Points[p]
	if len(t.roots) == 0 || of.Message || len(of.Entries) == 0 || len(of.Entries) != len(t.Members[of.Group]) {
		return rootWait{}, false
	}
	w, ok := t.roots[rootedKind{t.ofAny[t.SiteOf(of.Entries[0])], of.Group}]
	return w, ok
}

// MayHold reports whether an unrecorded member of a call may hold some recorded members longer than others. The root of
// an operation that hands data on, for example, is held until each other member has entered.
func (t *Waits) MayHold(e Entry) bool {
	p := &t.Points[t.Of[e.Process][e.Call]]
	return !p.Message && !t.IsComplete(p) && shapesOf(t.KindOf(e).Op) != nil
}

// releaseOf returns when the member of a rank may continue: when the rank and the members that it waits for have
// entered.
func (t *Waits) releaseOf(w rootWait, p, rank int32) int64 {
	of := t.Points[p].Entries
	at, _ := slices.BinarySearchFunc(of, rank, func(e Entry, r int32) int { return int(e.Process - r) })
	own, root := t.Time(of[at]), max(t.Time(of[at]), t.Time(of[w.root]))
	isRoot := int32(at) == w.root
	switch {
	case w.shape == tree:
		return t.treeRelease(of, at, int(w.root))
	case isRoot && w.shape != fromRoot:
		return t.Release[p]
	case isRoot || w.shape == intoRoot:
		return own
	}
	return root
}

// treeRelease returns when the member at an index has received data over its path from the root, and has handed the data
// on.
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

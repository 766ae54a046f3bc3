package traffic

import (
	"fmt"
	"slices"
)

// memberships is the communicators of each rank of the job, indices of Result.Communicators.
type memberships map[int][]int

func (a *assembly) byRank() memberships {
	of := memberships{}
	for i := range a.r.Communicators {
		for _, r := range a.r.Communicators[i].Ranks {
			of[r] = append(of[r], i)
		}
	}
	return of
}

// joins says whether another communicator joins a rank of c with one that c has not.
func (m memberships) joins(all []Communicator, c *Communicator) company {
	for _, r := range c.Ranks {
		for _, i := range m[r] {
			d := &all[i]
			if d.NRanks > c.NRanks || slices.ContainsFunc(d.Ranks, func(x int) bool { return !c.has(x) }) {
				return part
			}
		}
	}
	return whole
}

// has says whether a rank of the job is a member. O(log ranks).
func (c *Communicator) has(rank int) bool {
	_, ok := slices.BinarySearch(c.Ranks, rank)
	return ok
}

// settle compares communicators. Groups of two dimensions have at most one rank in common, so that what
// joins several stages of a pipeline is not data parallelism; it may be the first and the last stage that
// share an embedding. And groups that lie in the job like others are of their kind.
func (a *assembly) settle(of memberships) {
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; c.Kind == DataParallel && c.NRanks > 1 && a.insidePipeline(c, of) {
			c.Kind, c.Evidence = UnknownKind, []string{"it joins stages of one pipeline, as a shared embedding does"}
		}
	}
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; c.Kind == DataParallel && c.NRanks == 1 && a.otherDimension(c, of) {
			c.Kind, c.Evidence = UnknownKind, []string{"one rank: nothing is communicated; its data-parallel or expert-parallel group is another"}
		}
	}
	a.alike(of)
}

// otherDimension says whether the rank of c is in a data-parallel group of several, or one of experts: beside that, it is the
// only one that has its experts.
func (a *assembly) otherDimension(c *Communicator, of memberships) bool {
	for _, r := range c.Ranks {
		for _, i := range of[r] {
			if d := &a.r.Communicators[i]; d.NRanks > 1 && (d.Kind == DataParallel || d.Kind == ExpertParallel) {
				return true
			}
		}
	}
	return false
}

func (a *assembly) insidePipeline(c *Communicator, of memberships) bool {
	if len(c.Ranks) == 0 {
		return false
	}
	return slices.ContainsFunc(of[c.Ranks[0]], func(i int) bool {
		p := &a.r.Communicators[i]
		return p.Kind == PipelineParallel && !slices.ContainsFunc(c.Ranks, func(r int) bool { return !p.has(r) })
	})
}

// alike gives groups that lie in the job like others the kind of those, if those are of one kind. What is used as
// experts or stages are shows that by itself.
func (a *assembly) alike(of memberships) {
	type shape struct{ ranks, stride int }
	votes := map[shape]map[Kind]int{}
	for i := range a.r.Communicators {
		c := &a.r.Communicators[i]
		if s := (shape{c.NRanks, c.stride()}); c.Kind != UnknownKind && s.stride > 0 {
			if votes[s] == nil {
				votes[s] = map[Kind]int{}
			}
			votes[s][c.Kind]++
		}
	}
	for i := range a.r.Communicators {
		c := &a.r.Communicators[i]
		v := votes[shape{c.NRanks, c.stride()}]
		if c.Kind != UnknownKind || c.usedAs() != UnknownKind || len(v) != 1 || c.control() || c.NRanks == 1 || a.insidePipeline(c, of) {
			continue
		}
		for k := range v {
			if k == ExpertParallel || k == PipelineParallel {
				continue
			}
			c.Kind = k
			c.Evidence = append(c.Evidence, fmt.Sprintf("groups of %d, %d apart, are %v elsewhere in the job", c.NRanks, c.stride(), k))
		}
	}
}

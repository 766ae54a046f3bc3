package traffic

import (
	"fmt"
	"slices"
)

// parties are the ranks of the job that have to do with each other, directly or through others: several, where several jobs lie
// in one folder.
type parties struct {
	above map[int]int // of a rank, one of its party nearer to the head; a head has itself
	ranks map[int]int // of a head, of its party
	most  map[int]int // of a head, of a communicator of its party, ranks without a log included
}

// parties joins the ranks of each communicator. Nearly O(ranks of all communicators).
func (a *assembly) parties() *parties {
	p := &parties{above: map[int]int{}, ranks: map[int]int{}, most: map[int]int{}}
	for i := range a.r.Communicators {
		c := &a.r.Communicators[i]
		for _, r := range c.Ranks {
			p.join(p.head(c.Ranks[0]), p.head(r))
		}
		if len(c.Ranks) > 0 {
			head := p.head(c.Ranks[0])
			p.most[head] = max(p.most[head], c.NRanks)
		}
	}
	return p
}

func (p *parties) head(rank int) int {
	if _, known := p.above[rank]; !known {
		p.above[rank], p.ranks[rank] = rank, 1
	}
	for p.above[rank] != rank {
		p.above[rank] = p.above[p.above[rank]]
		rank = p.above[rank]
	}
	return rank
}

// join puts the smaller of two parties below the larger.
func (p *parties) join(x, y int) {
	if x == y {
		return
	}
	if p.ranks[x] < p.ranks[y] {
		x, y = y, x
	}
	p.above[y] = x
	p.ranks[x] += p.ranks[y]
	p.most[x] = max(p.most[x], p.most[y])
}

// several lists the ranks of each party of at least two, in order.
func (p *parties) several() (list [][]int) {
	of := map[int][]int{}
	for rank := range p.above {
		head := p.head(rank)
		of[head] = append(of[head], rank)
	}
	for _, ranks := range of {
		if len(ranks) > 1 {
			slices.Sort(ranks)
			list = append(list, ranks)
		}
	}
	slices.SortFunc(list, slices.Compare)
	return list
}

// company says whether other communicators lead from the ranks of c to further ones.
func (p *parties) company(c *Communicator) company {
	if len(c.Ranks) == 0 {
		return whole
	}
	if head := p.head(c.Ranks[0]); p.ranks[head] > len(c.Ranks) || p.most[head] > c.NRanks {
		return part
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
func (a *assembly) settle() {
	pipes := a.byRank(func(c *Communicator) bool { return c.Kind == PipelineParallel })
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; c.Kind == DataParallel && c.NRanks > 1 && a.insidePipeline(c, pipes) {
			c.Kind, c.Evidence = UnknownKind, []string{"it joins stages of one pipeline, as a shared embedding does"}
		}
	}
	// Beside a group of experts, a rank is the only one that has its experts.
	others := a.byRank(func(c *Communicator) bool {
		return c.NRanks > 1 && (c.Kind == DataParallel || c.Kind == ExpertParallel)
	})
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; c.Kind == DataParallel && c.NRanks == 1 && slices.ContainsFunc(c.Ranks, func(r int) bool { return len(others[r]) > 0 }) {
			c.Kind, c.Evidence = UnknownKind, []string{"one rank: nothing is communicated; its data-parallel or expert-parallel group is another"}
		}
	}
	a.alike(pipes)
}

// memberships is communicators of each rank of the job, indices of Result.Communicators.
type memberships map[int][]int

func (a *assembly) byRank(which func(c *Communicator) bool) memberships {
	of := memberships{}
	for i := range a.r.Communicators {
		if c := &a.r.Communicators[i]; which(c) {
			for _, r := range c.Ranks {
				of[r] = append(of[r], i)
			}
		}
	}
	return of
}

func (a *assembly) insidePipeline(c *Communicator, pipes memberships) bool {
	if len(c.Ranks) == 0 {
		return false
	}
	return slices.ContainsFunc(pipes[c.Ranks[0]], func(i int) bool {
		return !slices.ContainsFunc(c.Ranks, func(r int) bool { return !a.r.Communicators[i].has(r) })
	})
}

// alike gives groups that lie in the job like others the kind of those, if those are of one kind. What is used as
// experts or stages are shows that by itself.
func (a *assembly) alike(pipes memberships) {
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
		if c.Kind != UnknownKind || c.usedAs() != UnknownKind || len(v) != 1 || c.control() || c.NRanks == 1 || a.insidePipeline(c, pipes) {
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

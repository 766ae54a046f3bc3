package parallel

import (
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// connectedSets are the sets of ranks that have to do with each other, directly or through others: several, where several jobs lie
// in one folder.
type connectedSets struct {
	sets [][]int     // of ranks, ascending
	of   map[int]int // of a rank, index of sets
	most []int       // of each set, of a communicator of it, ranks without a log included
}

// connect joins the ranks of each communicator.
func connect(all []Communicator) *connectedSets {
	g := simple.NewUndirectedGraph()
	for i := range all {
		for _, rank := range all[i].Ranks {
			if first := all[i].Ranks[0]; rank != first {
				g.SetEdge(simple.Edge{F: simple.Node(first), T: simple.Node(rank)})
			} else if g.Node(int64(rank)) == nil {
				g.AddNode(simple.Node(rank))
			}
		}
	}
	p := &connectedSets{of: map[int]int{}}
	for n, nodes := range topo.ConnectedComponents(g) {
		var set []int
		for _, node := range nodes {
			set = append(set, int(node.ID()))
			p.of[int(node.ID())] = n
		}
		slices.Sort(set)
		p.sets, p.most = append(p.sets, set), append(p.most, 0)
	}
	for i := range all {
		if c := &all[i]; len(c.Ranks) > 0 {
			n := p.of[c.Ranks[0]]
			p.most[n] = max(p.most[n], c.NRanks)
		}
	}
	return p
}

// Sets returns the ranks that communicators connect, directly or through others, each set of at least two, in order.
func Sets(all []Communicator) [][]int {
	list := slices.DeleteFunc(connect(all).sets, func(set []int) bool { return len(set) < 2 })
	slices.SortFunc(list, slices.Compare)
	return list
}

// leadsFurther reports whether other communicators lead from the ranks of c to further ones.
func (p *connectedSets) leadsFurther(c *Communicator) bool {
	if len(c.Ranks) == 0 {
		return false
	}
	n := p.of[c.Ranks[0]]
	return len(p.sets[n]) > len(c.Ranks) || p.most[n] > c.NRanks
}

// hasRank reports whether a rank of the job is a member. O(log ranks).
func (c *Communicator) hasRank(rank int) bool {
	_, ok := slices.BinarySearch(c.Ranks, rank)
	return ok
}

// resolve compares communicators. Groups of two dimensions have at most one rank in common, so that what
// joins several stages of a pipeline is not data parallelism; it may be the first and the last stage that
// share an embedding. And groups that lie in the job like others are of their kind.
func resolve(all []Communicator) {
	pipes := membershipsOf(all, func(c *Communicator) bool { return c.Kind == PipelineParallel })
	for i := range all {
		if c := &all[i]; c.Kind == DataParallel && c.NRanks > 1 && isInPipeline(all, c, pipes) {
			c.Kind, c.Evidence = UnknownKind, because(SharedEmbedding)
		}
	}
	// Beside a group of experts, a rank is the only one that has its experts.
	others := membershipsOf(all, func(c *Communicator) bool {
		return c.NRanks > 1 && (c.Kind == DataParallel || c.Kind == ExpertParallel)
	})
	for i := range all {
		if c := &all[i]; c.Kind == DataParallel && c.NRanks == 1 && slices.ContainsFunc(c.Ranks, func(rank int) bool { return len(others[rank]) > 0 }) {
			c.Kind, c.Evidence = UnknownKind, because(OneRankBeside)
		}
	}
	inferFromSimilar(all, pipes)
}

// memberships is communicators of each rank of the job, indices of those of the job.
type memberships map[int][]int

// membershipsOf returns of each rank which of the chosen communicators it is in.
func membershipsOf(all []Communicator, which func(c *Communicator) bool) memberships {
	of := memberships{}
	for i := range all {
		if c := &all[i]; which(c) {
			for _, rank := range c.Ranks {
				of[rank] = append(of[rank], i)
			}
		}
	}
	return of
}

func isInPipeline(all []Communicator, c *Communicator, pipes memberships) bool {
	if len(c.Ranks) == 0 {
		return false
	}
	return slices.ContainsFunc(pipes[c.Ranks[0]], func(i int) bool {
		return !slices.ContainsFunc(c.Ranks, func(rank int) bool { return !all[i].hasRank(rank) })
	})
}

// inferFromSimilar gives groups that lie in the job like others the kind of those, if those are of one kind. What is used as
// experts or stages are shows that by itself.
func inferFromSimilar(all []Communicator, pipes memberships) {
	type shape struct{ ranks, stride int }
	votes := map[shape]map[Kind]int{}
	for i := range all {
		c := &all[i]
		if s := (shape{c.NRanks, c.Stride()}); c.Kind != UnknownKind && s.stride > 0 {
			if votes[s] == nil {
				votes[s] = map[Kind]int{}
			}
			votes[s][c.Kind]++
		}
	}
	for i := range all {
		c := &all[i]
		v := votes[shape{c.NRanks, c.Stride()}]
		if c.Kind != UnknownKind || c.usedAs() != UnknownKind || len(v) != 1 || c.control() || c.NRanks == 1 || isInPipeline(all, c, pipes) {
			continue
		}
		for k := range v {
			if k == ExpertParallel || k == PipelineParallel {
				continue
			}
			c.Kind = k
			c.Evidence = append(c.Evidence, Evidence{Kind: LikeOthers, As: k, N: int64(c.NRanks), Stride: c.Stride()})
		}
	}
}

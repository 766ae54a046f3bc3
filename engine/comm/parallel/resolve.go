package parallel

import "slices"

// connected are the sets of ranks that have to do with each other, directly or through others: several, where several jobs lie
// in one folder.
type connected struct {
	above map[int]int // of a rank, one of its set nearer to the head; a head has itself
	ranks map[int]int // of a head, of its set
	most  map[int]int // of a head, of a communicator of its set, ranks without a log included
}

// connect joins the ranks of each communicator. Nearly O(ranks of all communicators).
func connect(all []Communicator) *connected {
	p := &connected{above: map[int]int{}, ranks: map[int]int{}, most: map[int]int{}}
	for i := range all {
		c := &all[i]
		for _, rank := range c.Ranks {
			p.join(p.head(c.Ranks[0]), p.head(rank))
		}
		if len(c.Ranks) > 0 {
			head := p.head(c.Ranks[0])
			p.most[head] = max(p.most[head], c.NRanks)
		}
	}
	return p
}

func (p *connected) head(rank int) int {
	if _, known := p.above[rank]; !known {
		p.above[rank], p.ranks[rank] = rank, 1
	}
	for p.above[rank] != rank {
		p.above[rank] = p.above[p.above[rank]]
		rank = p.above[rank]
	}
	return rank
}

// join puts the smaller of two sets below the larger.
func (p *connected) join(x, y int) {
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

// Sets are the ranks that communicators connect, directly or through others, each set of at least two, in order.
func Sets(all []Communicator) (list [][]int) {
	p := connect(all)
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

// coverage reports whether other communicators lead from the ranks of c to further ones.
func (p *connected) coverage(c *Communicator) coverage {
	if len(c.Ranks) == 0 {
		return whole
	}
	if head := p.head(c.Ranks[0]); p.ranks[head] > len(c.Ranks) || p.most[head] > c.NRanks {
		return part
	}
	return whole
}

// has reports whether a rank of the job is a member. O(log ranks).
func (c *Communicator) has(rank int) bool {
	_, ok := slices.BinarySearch(c.Ranks, rank)
	return ok
}

// resolve compares communicators. Groups of two dimensions have at most one rank in common, so that what
// joins several stages of a pipeline is not data parallelism; it may be the first and the last stage that
// share an embedding. And groups that lie in the job like others are of their kind.
func resolve(all []Communicator) {
	pipes := byRank(all, func(c *Communicator) bool { return c.Kind == PipelineParallel })
	for i := range all {
		if c := &all[i]; c.Kind == DataParallel && c.NRanks > 1 && insidePipeline(all, c, pipes) {
			c.Kind, c.Evidence = UnknownKind, because(SharedEmbedding)
		}
	}
	// Beside a group of experts, a rank is the only one that has its experts.
	others := byRank(all, func(c *Communicator) bool {
		return c.NRanks > 1 && (c.Kind == DataParallel || c.Kind == ExpertParallel)
	})
	for i := range all {
		if c := &all[i]; c.Kind == DataParallel && c.NRanks == 1 && slices.ContainsFunc(c.Ranks, func(rank int) bool { return len(others[rank]) > 0 }) {
			c.Kind, c.Evidence = UnknownKind, because(OneRankBeside)
		}
	}
	likeOthers(all, pipes)
}

// memberships is communicators of each rank of the job, indices of those of the job.
type memberships map[int][]int

func byRank(all []Communicator, which func(c *Communicator) bool) memberships {
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

func insidePipeline(all []Communicator, c *Communicator, pipes memberships) bool {
	if len(c.Ranks) == 0 {
		return false
	}
	return slices.ContainsFunc(pipes[c.Ranks[0]], func(i int) bool {
		return !slices.ContainsFunc(c.Ranks, func(rank int) bool { return !all[i].has(rank) })
	})
}

// likeOthers gives groups that lie in the job like others the kind of those, if those are of one kind. What is used as
// experts or stages are shows that by itself.
func likeOthers(all []Communicator, pipes memberships) {
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
		if c.Kind != UnknownKind || c.usedAs() != UnknownKind || len(v) != 1 || c.control() || c.NRanks == 1 || insidePipeline(all, c, pipes) {
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

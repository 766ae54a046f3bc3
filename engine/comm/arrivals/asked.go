package arrivals

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Asked is what NCCL answered when it was asked how many calls each rank has launched (RAS).
//
// A rank that has launched fewer calls of a collective than others of its communicator is behind. Ranks run
// apart by some calls while a job goes on: only a rank that is as far behind in a second report stands.
// Whoever is behind in one communicator may wait in another, where it is ahead of others; who waits nowhere is a root.
type Asked struct {
	Reports    int      // reports that were compared
	Behind     []Behind // communicators that do not go on and whose members have launched unequal numbers of a collective
	Roots      []int    // ranks that are behind, and ahead of nobody elsewhere
	Unanswered []int    // ranks that did not answer NCCL
	Errors     []string // errors of communicators, by rank
	Hosts      map[int]string
	Logged     bool   // the counts are those of a log of NCCL
	Absent     []int  // ranks of the largest communicator that have no line in that log
	Of         string // that communicator
	Size       int    // its ranks
}

// Behind is a communicator whose members have launched unequal numbers of a collective.
type Behind struct {
	Communicator string // hash of the communicator
	Op           nccl.Op
	Name         string // the collective
	Ranks        []int  // ranks that are behind
	Least        int64  // calls that the furthest behind has launched
	Most         int64  // calls that the others have launched
	Ahead        []int  // ranks that have launched most
	Stands       int64  // time for which reports have said the same: the communicator does not go on; 0: there is one report
}

// answer is one report.
type answer struct {
	at     int64
	counts map[uint64]map[int][]comms.Launched // by communicator and rank
	names  map[uint64]string
	silent map[int]bool
}

// answers compares the reports of a job, nil without any.
func (j *Job) answers() *Asked {
	var reports ordered.List[int64, answer]
	a := &Asked{Hosts: map[int]string{}, Behind: []Behind{}, Roots: []int{}, Unanswered: []int{}, Errors: []string{}}
	for _, c := range j.asked {
		for i := range c.Groups {
			g, p := &c.Groups[i], &c.Processes[c.Groups[i].Process]
			r, first := reports.Of(p.Written)
			if first {
				*r = answer{p.Written, map[uint64]map[int][]comms.Launched{}, map[uint64]string{}, map[int]bool{}}
			}
			a.Hosts[p.Rank] = cmp.Or(p.Host, a.Hosts[p.Rank])
			r.add(g, p.Rank)
		}
		for _, w := range c.Warnings {
			a.Errors = append(a.Errors, fmt.Sprintf("rank %d: %s", c.Processes[w.Process].Rank, w.Text))
		}
	}
	list := reports.All
	if len(list) == 0 {
		return nil
	}
	a.findAbsent(j.asked)
	slices.SortFunc(list, func(x, y answer) int { return cmp.Compare(x.at, y.at) })
	last := &list[len(list)-1]
	a.Reports, a.Unanswered = len(list), append(a.Unanswered, slices.Sorted(maps.Keys(last.silent))...)
	slices.Sort(a.Errors)
	a.Errors = slices.Compact(a.Errors)
	for _, id := range slices.Sorted(maps.Keys(last.counts)) {
		a.compare(id, list)
	}
	a.roots()
	slices.SortStableFunc(a.Behind, func(x, y Behind) int { return cmp.Compare(len(x.Ranks), len(y.Ranks)) })
	return a
}

// findAbsent finds the ranks of the largest communicator that have no line in logs, and no count.
func (a *Asked) findAbsent(records []*comms.Record) {
	var world *comms.Group
	for _, c := range records {
		a.Logged = a.Logged || c.Logged
		for i := range c.Groups {
			if g := &c.Groups[i]; c.Logged && (world == nil || g.Size > world.Size) {
				world = g
			}
		}
	}
	if world == nil {
		return
	}
	a.Of, a.Size = world.Name, world.Size
	for rank := range world.Size {
		if _, here := a.Hosts[rank]; !here {
			a.Absent = append(a.Absent, rank)
		}
	}
}

func (r *answer) add(g *comms.Group, rank int) {
	if g.Unanswered {
		r.silent[rank] = true
		return
	}
	if r.counts[g.ID] == nil {
		r.counts[g.ID], r.names[g.ID] = map[int][]comms.Launched{}, g.Name
	}
	r.counts[g.ID][rank] = g.Launched
}

// compare adds the collective of a communicator in which members differ most. Sends and receives differ by right.
func (a *Asked) compare(id uint64, list []answer) {
	last := &list[len(list)-1]
	members := last.counts[id]
	ranks := slices.Sorted(maps.Keys(members))
	worst := Behind{}
	for _, op := range members[ranks[0]] {
		b := Behind{Communicator: last.names[id], Op: op.Op, Name: op.Op.String(), Least: op.N, Most: op.N}
		for _, r := range ranks {
			n := launchCount(members[r], op.Op)
			b.Least, b.Most = min(b.Least, n), max(b.Most, n)
		}
		for _, r := range ranks {
			if launchCount(members[r], op.Op) < b.Most {
				b.Ranks = append(b.Ranks, r)
			} else {
				b.Ahead = append(b.Ahead, r)
			}
		}
		if !op.Op.PointToPoint() && b.Most-b.Least > worst.Most-worst.Least {
			worst = b
		}
	}
	if worst.Ranks == nil {
		return
	}
	since := last.at
	for i := len(list) - 2; i >= 0 && maps.EqualFunc(members, list[i].counts[id], slices.Equal); i-- {
		since = list[i].at
	}
	if worst.Stands = last.at - since; worst.Stands > 0 || len(list) == 1 {
		a.Behind = append(a.Behind, worst)
	}
}

// launchCount returns the count of an operation.
func launchCount(list []comms.Launched, op nccl.Op) int64 {
	if i := slices.IndexFunc(list, func(l comms.Launched) bool { return l.Op == op }); i >= 0 {
		return list[i].N
	}
	return 0
}

// roots finds who is behind and ahead of nobody; where all wait for one another all who are behind.
func (a *Asked) roots() {
	behind, ahead := map[int]bool{}, map[int]bool{}
	for _, b := range a.Behind {
		for _, r := range b.Ranks {
			behind[r] = true
		}
		for _, r := range b.Ahead {
			ahead[r] = true
		}
	}
	for r := range behind {
		if !ahead[r] {
			a.Roots = append(a.Roots, r)
		}
	}
	if len(a.Roots) == 0 {
		a.Roots = append(a.Roots, slices.Collect(maps.Keys(behind))...)
	}
	slices.Sort(a.Roots)
}

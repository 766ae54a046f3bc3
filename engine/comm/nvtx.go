package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
)

// Join says how calls of a rank were tied to its kernels.
type Join uint8

const (
	Unjoined    Join = iota // not at all: one side alone
	ByAlignment             // what fits best, in order (package align)
	ByNVTX                  // NCCL's own ranges in the export: the launch lies in the call's range
	ByNumber                // the dump of NCCL's Inspector is of the call, or numbers it
)

var joinNames = [...]string{"one side alone", "alignment", "NVTX ranges", "Inspector"}

func (j Join) String() string { return enum.Name(joinNames[:], j) }

// Names returns the names of all values.
func (Join) Names() []string { return joinNames[:] }

// tie is a call and its kernel, as the profiler recorded them together.
type tie struct {
	call, kernel int
	sure         bool
}

// tiedCalls is what profilers recorded of calls, besides kernels.
type tiedCalls struct {
	ties    [][]tie       // of each rank
	began   map[int]int64 // when a call was entered, on the profiler's clock
	unsized map[int]bool  // groups of which it is not recorded how many ranks they have
	late    []int         // groups whose launches are counted from when the recording began
}

// reconcile makes every call count once that both a log and a profiler recorded, and adds those to the job's that the logs lack;
// what a process without a log called is what its profiler recorded. What cannot be found with certainty is left to alignment.
func (r *Result) reconcile(of *profiledCalls, by Scoring) *tiedCalls {
	t := &tiedCalls{ties: make([][]tie, len(r.Ranks)), began: map[int]int64{}, unsized: map[int]bool{}}
	if by != ByEvidence {
		return t
	}
	logged := len(r.Groups)
	r.Groups, r.Calls = slices.Clone(r.Groups), slices.Clip(r.Calls)
	for i := range r.Ranks {
		k := &r.Ranks[i]
		if k.Profile == comms.None {
			continue
		}
		p := newProfile(r, t, i, of.calls[k.Profile])
		switch {
		case !p.hasSizes(): // names alone say no more than the kernels'
		case k.Log == comms.None:
			p.adopt()
		case r.isDump(k.Profile):
			p.matchNumbers()
		default:
			p.matchRanges()
		}
	}
	r.completeGroups(logged, t)
	r.alignCounts(t)
	return t
}

// unitsOf parts calls by communicator, in the order of their first call, and by launch, in the order of counts; those on communicators that do not count are left out.
func unitsOf(calls []int, call func(int) *comms.Call, counts func(group int) bool) (order []int, units map[int][]launchUnit) {
	at := map[launchKey]int{}
	units = map[int][]launchUnit{}
	for _, i := range calls {
		c := call(i)
		if !counts(c.Group) {
			continue
		}
		if units[c.Group] == nil {
			order = append(order, c.Group)
		}
		key := launchKey{c.Group, c.Launch}
		n, known := at[key]
		if !known {
			n = len(units[c.Group])
			at[key] = n
			units[c.Group] = append(units[c.Group], launchUnit{Count: c.Launch})
		}
		u := &units[c.Group][n]
		u.ids, u.calls = append(u.ids, i), append(u.calls, c)
	}
	for _, list := range units {
		slices.SortStableFunc(list, func(x, y launchUnit) int { return cmp.Compare(x.Count, y.Count) })
	}
	return order, units
}

// profile is what a profiler recorded of the calls of one rank.
type profile struct {
	r     *Result
	t     *tiedCalls
	rank  int
	k     *Rank
	calls []int                // of Recorded.Calls, as they were entered
	order []int                // groups of Recorded.Groups, by their first call
	units map[int][]launchUnit // of each of them
	group map[int]int          // which of Result.Groups they are
	shift map[int]int64        // and how many launches the recording counts less
	used  map[int]bool         // calls that the log has
}

func newProfile(r *Result, t *tiedCalls, rank int, calls []int) *profile {
	p := &profile{r: r, t: t, rank: rank, k: &r.Ranks[rank], calls: calls, group: map[int]int{}, shift: map[int]int64{}, used: map[int]bool{}}
	p.order, p.units = unitsOf(calls, p.call, func(group int) bool { return group != comms.None })
	return p
}

func (p *profile) call(i int) *comms.Call { return &p.r.Recorded.Calls[i] }

// hasSizes reports whether the sizes of calls were recorded.
func (p *profile) hasSizes() bool {
	return slices.ContainsFunc(p.calls, func(i int) bool { return p.call(i).Bytes >= 0 })
}

// adopt takes all calls for those of a process that left no log.
func (p *profile) adopt() {
	p.k.Join = ByNVTX
	if p.r.isDump(p.k.Profile) {
		p.k.Join = ByNumber
	}
	var all []int
	for _, g := range p.order {
		p.addGroup(g)
		for _, u := range p.units[g] {
			all = append(all, u.ids...)
		}
	}
	p.add(all)
}

// addGroup makes a communicator one of the job's.
func (p *profile) addGroup(g int) {
	group := p.r.Recorded.Groups[g]
	if group.Size == 0 && p.launchesNothing(g) {
		group.Rank, group.Size = 0, 1 // nothing is launched where there is one rank
	}
	n := len(p.r.Groups)
	p.group[g], p.r.Groups = n, append(p.r.Groups, group)
	if !group.FromStart {
		p.t.late = append(p.t.late, n)
	}
}

// launchesNothing reports whether no call of a communicator launched anything.
func (p *profile) launchesNothing(g int) bool {
	return !slices.ContainsFunc(p.units[g], p.launches)
}

func (p *profile) launches(u launchUnit) bool {
	return slices.ContainsFunc(u.ids, func(c int) bool { return p.call(c).Kernel != comms.None })
}

// opBits is the room for operations in a count where each operation is numbered by itself, as in a dump of the Inspector.
const opBits = 5

// add makes calls some of the job's, in the order in which they were entered.
func (p *profile) add(calls []int) {
	slices.Sort(calls)
	for _, i := range calls {
		c := *p.call(i)
		if c.Launch < 0 {
			c.Launch = c.OpSeq<<opBits | int64(c.Op)
		}
		c.Launch, c.Group = max(c.Launch+p.shift[c.Group], 0), p.group[c.Group]
		p.r.Calls = append(p.r.Calls, c)
		p.k.Calls = append(p.k.Calls, len(p.r.Calls)-1)
		p.tie(len(p.r.Calls)-1, i)
	}
	p.sortCalls()
}

// tie keeps the kernel of a call of the job, which is call i of the profiler's.
func (p *profile) tie(call, i int) {
	x := p.call(i)
	if p.t.began[call] = x.Enter; !x.HasEnter && x.Kernel != comms.None {
		p.t.began[call] = p.r.kernels[p.k.Profile][x.Kernel].Start
	}
	if x.Kernel != comms.None {
		p.t.ties[p.rank] = append(p.t.ties[p.rank], tie{call, x.Kernel, x.KernelSure})
	}
}

// sortCalls puts the rank's calls into the order of time, where it is known of all.
func (p *profile) sortCalls() {
	for _, c := range p.k.Calls {
		if _, known := p.t.began[c]; !known {
			return
		}
	}
	slices.SortStableFunc(p.k.Calls, func(x, y int) int { return cmp.Compare(p.t.began[x], p.t.began[y]) })
}

// completeGroups fills in what no range says of communicators: how many ranks they have, as many as are seen with the same
// id, and which rank is whose. Those of profilers follow on the logged ones.
func (r *Result) completeGroups(logged int, t *tiedCalls) {
	byID := map[uint64][]int{}
	for i := range r.Groups {
		if g := &r.Groups[i]; g.ID != 0 {
			byID[g.ID] = append(byID[g.ID], i)
		} else if g.Size == 0 && i >= logged {
			t.unsized[i] = true
		}
	}
	for _, sides := range byID {
		r.completeGroup(sides)
	}
}

// completeGroup fills in sizes and ranks for the sides of one communicator.
func (r *Result) completeGroup(sides []int) {
	size, taken := len(sides), map[int]bool{}
	for _, s := range sides {
		g := &r.Groups[s]
		size = max(size, g.Size)
		if g.Rank >= 0 {
			taken[g.Rank] = true
		}
	}
	if size == 1 {
		return
	}
	next := 0
	for _, s := range sides {
		g := &r.Groups[s]
		if g.Rank >= 0 {
			continue
		}
		for taken[next] {
			next++
		}
		g.Rank, g.Size, taken[next] = next, size, true
	}
}

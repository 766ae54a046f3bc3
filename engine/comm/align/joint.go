package align

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// Member is one rank's side of a communicator: a process and the communicator's number
// in its calls.
type Member struct{ Process, Comm int }

// endSpread is how far apart the kernels of one collective end on different ranks, at
// most, nanoseconds; the next collective on the stream ends later than that.
const endSpread = 6_000

// Joint aligns several processes as [Calls] does one. A collective is a synchronisation point: it ends on all ranks of its communicator at once
// and has the same count in their calls. So a kernel that one trace lacks is seen on another rank, and a call that one log lost stands in
// another. Where times do not decide, the ranks whose kernels are on one clock are aligned jointly, as one list of launches with one
// list of kernels, for communicators that have their stream to themselves on those members.
func Joint(ps []Process, groups [][]Member, o Options) ([]*Matching, error) {
	all := make([]*Matching, len(ps))
	for i := range ps {
		var err error
		if all[i], err = Calls(ps[i], o); err != nil {
			return nil, err
		}
	}
	for _, g := range groups {
		for _, members := range groupByClock(ps, g) {
			u := joint{ps: ps, all: all, o: o}
			if !u.gather(members) {
				continue
			}
			if err := u.align(); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range all {
		slices.SortFunc(m.Matches, func(a, b Match) int { return cmp.Compare(a.Kernel, b.Kernel) })
	}
	return all, nil
}

// groupByClock divides members by the clock of their kernels.
func groupByClock(ps []Process, g []Member) [][]Member {
	byClock := map[int][]Member{}
	for _, m := range g {
		byClock[ps[m.Process].Clock] = append(byClock[ps[m.Process].Clock], m)
	}
	var parts [][]Member
	for _, c := range slices.Sorted(maps.Keys(byClock)) {
		parts = append(parts, byClock[c])
	}
	return parts
}

// joint is what the members of one communicator logged and ran.
type joint struct {
	ps   []Process
	all  []*Matching
	o    Options
	ends []end

	calls    []*comms.Call // a process as if one rank had logged and run everything
	kernels  []comms.Kernel
	launchAt []map[int64]int // of each member: index of Launches by count
	members  []Member
	streams  []int64
	clusters [][]end
	queue    clocks // where starts tell of the clocks of all members
}

// end is the end of one kernel of one member.
type end struct {
	member, kernel int
	at             int64
}

// gather collects launches and kernels; false where the group gains nothing by it or shares its
// streams.
func (u *joint) gather(g []Member) bool {
	if len(g) < 2 {
		return false
	}
	u.members, u.queue = g, u.all[g[0].Process].clock
	for _, m := range g {
		matching := u.all[m.Process]
		u.queue = u.queue.combine(matching.clock)
		if c := matching.clock; c.use && !c.queued {
			return false
		}
		stream, ok := u.ownStream(m)
		if !ok {
			return false
		}
		u.streams = append(u.streams, stream)
		at := map[int64]int{}
		for i := range matching.Launches {
			if l := &matching.Launches[i]; l.Comm == m.Comm && l.Lead >= 0 {
				at[l.Count] = i
			}
		}
		u.launchAt = append(u.launchAt, at)
	}
	u.cluster()
	// Kernels of members that end together in less than half of the collectives are of another
	// clock, or another communicator.
	return 2*len(u.ends) >= len(u.clusters)*(len(u.members)+1)
}

// ownStream returns the trace's stream of a member, if no other communicator uses it and it holds
// collectives alone.
func (u *joint) ownStream(m Member) (int64, bool) {
	matching, calls := u.all[m.Process], u.ps[m.Process].Calls
	var log uint64
	found := false
	for i := range matching.Launches {
		if l := &matching.Launches[i]; l.Comm == m.Comm && l.Lead >= 0 {
			log, found = calls[l.Lead].Stream, true
		}
	}
	for i := range matching.Launches {
		if l := &matching.Launches[i]; l.Lead >= 0 && calls[l.Lead].Stream == log && (l.Comm != m.Comm || l.Op.PointToPoint()) {
			return 0, false
		}
	}
	stream, known := matching.streams[log]
	return stream, found && known
}

// cluster finds the kernels that ended together, one of each member at most.
func (u *joint) cluster() {
	for k, m := range u.members {
		for j := range u.ps[m.Process].Kernels {
			if kernel := &u.ps[m.Process].Kernels[j]; kernel.Stream == u.streams[k] {
				u.ends = append(u.ends, end{k, j, kernel.End})
			}
		}
	}
	slices.SortFunc(u.ends, func(a, b end) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.member, b.member), cmp.Compare(a.kernel, b.kernel))
	})
	for i := 0; i < len(u.ends); {
		var group []end
		has := map[int]bool{}
		for ; i < len(u.ends) && (len(group) == 0 || u.ends[i].at-group[0].at <= endSpread && !has[u.ends[i].member]); i++ {
			group = append(group, u.ends[i])
			has[u.ends[i].member] = true
		}
		u.clusters = append(u.clusters, group)
	}
}

// align aligns the joint as one process and gives each member its matches.
func (u *joint) align() error {
	u.lay()
	m, err := calls(Process{Calls: u.calls, Kernels: u.kernels}, u.o, u.queue)
	if err != nil {
		return err
	}
	for k, member := range u.members {
		matching, stream := u.all[member.Process], u.streams[k]
		kernels := u.ps[member.Process].Kernels
		matching.Matches = slices.DeleteFunc(matching.Matches, func(x Match) bool { return kernels[x.Kernel].Stream == stream })
	}
	for _, x := range m.Matches {
		l := &m.Launches[x.Launch]
		for _, e := range u.clusters[x.Kernel] {
			matching := u.all[u.members[e.member].Process]
			if at, ok := u.launchAt[e.member][l.Count]; ok {
				matching.Matches = append(matching.Matches, Match{Kernel: e.kernel, Launch: at, Margin: x.Margin})
			}
		}
	}
	return nil
}

// lay makes the calls and kernels of the joint: of each count the calls of the member that
// knows most of it, of each cluster of ends the kernel of the first member.
func (u *joint) lay() {
	source := map[int64]int{}
	for k := range u.members {
		for count := range u.launchAt[k] {
			if old, ok := source[count]; !ok || u.loggedDetail(k, count) > u.loggedDetail(old, count) {
				source[count] = k
			}
		}
	}
	for _, count := range slices.Sorted(maps.Keys(source)) {
		k := source[count]
		member := u.members[k]
		for _, i := range u.all[member.Process].Launches[u.launchAt[k][count]].Calls {
			c := *u.ps[member.Process].Calls[i]
			c.Group, c.Stream, c.HasEnter = comms.None, 0, u.queue.use
			u.calls = append(u.calls, &c)
		}
	}
	for _, group := range u.clusters {
		kernel := u.ps[u.members[group[0].member].Process].Kernels[group[0].kernel]
		kernel.Stream, kernel.HasLaunch = 0, false
		if !u.queue.use {
			kernel.Start = group[0].at
		}
		for _, e := range group[1:] {
			if u.queue.use { // after the call of each member
				kernel.Start = max(kernel.Start, u.ps[u.members[e.member].Process].Kernels[e.kernel].Start)
			}
		}
		u.kernels = append(u.kernels, kernel)
	}
}

// loggedDetail ranks what a member logged of a launch: all its calls, and its tuning.
func (u *joint) loggedDetail(k int, count int64) int {
	member := u.members[k]
	l := &u.all[member.Process].Launches[u.launchAt[k][count]]
	n := 2 * len(l.Calls)
	if tuningOf(u.ps[member.Process].Calls[l.Lead]).Channels > 0 {
		n++
	}
	return n
}

package comm

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// matchRanges finds the calls of a log among the ranges, communicator by communicator. One that is found
// bounds when the others' calls may have been, so that the rest is tried again.
func (p *profile) matchRanges() {
	logged := p.loggedUnits()
	open := slices.Sorted(maps.Keys(logged))
	for found := true; found; {
		found = false
		open = slices.DeleteFunc(open, func(g int) bool {
			recorded, shift, ok := p.find(g, logged[g])
			if ok {
				p.accept(g, recorded, shift, logged[g])
				found = true
			}
			return ok
		})
	}
	if len(open) > 0 && len(p.group) == 0 {
		return
	}
	p.k.Join = ByNVTX
	p.addRest(len(open) > 0)
}

// loggedUnits returns the units of each communicator of several ranks that the process logged, by count.
func (p *profile) loggedUnits() map[int][]launchUnit {
	_, units := unitsOf(p.k.Calls, func(i int) *comms.Call { return &p.r.Calls[i] }, func(group int) bool { return p.r.Groups[group].Size != 1 })
	return units
}

// find looks for the communicator of the ranges that is one of the log, and by how much their counts differ.
func (p *profile) find(logged int, units []launchUnit) (recorded int, shift int64, ok bool) {
	id := p.r.Groups[logged].ID
	found := 0
	for _, g := range p.order {
		its := p.r.Recorded.Groups[g].ID
		if _, taken := p.group[g]; taken || id != 0 && its != 0 && id != its {
			continue
		}
		by, fits := p.compareGroup(g, units)
		if !fits {
			continue
		}
		recorded, shift = g, by
		if found++; id != 0 && its == id {
			return recorded, shift, true
		}
	}
	return recorded, shift, found == 1
}

// compareGroup compares one communicator of the log with one of the ranges. If the ranges have its making, both count from 0.
func (p *profile) compareGroup(recorded int, units []launchUnit) (shift int64, ok bool) {
	of, in := p.logUnits(units), p.rangeUnits(recorded)
	if len(in) == 0 || len(of) == 0 {
		return 0, false
	}
	if p.r.Recorded.Groups[recorded].FromStart {
		_, ok = tryShift(of, in, 0)
		return 0, ok
	}
	return countShift(of, in)
}

// rangeUnits returns the units of the ranges with what tells them apart, without those that launched nothing.
func (p *profile) rangeUnits(recorded int) (out []launchUnit) {
	for _, u := range p.units[recorded] {
		u.Time, u.HasTime = u.calls[0].Enter, true
		u.calls = slices.DeleteFunc(slices.Clone(u.calls), func(c *comms.Call) bool { return c.Kernel == comms.None && c.Bytes != 0 })
		if len(u.calls) > 0 {
			out = append(out, u)
		}
	}
	return out
}

// logUnits returns the units of the log with what tells them apart.
func (p *profile) logUnits(units []launchUnit) (out []launchUnit) {
	for _, u := range units {
		u.Time, u.HasTime = u.calls[0].Enter, u.calls[0].HasEnter
		u.After, u.Before = p.bounds(u.ids[0])
		out = append(out, u)
	}
	return out
}

// slack is by how much calls of two threads may stand in the log in another order than they began.
const slack = 1_000_000 // nanoseconds

// maxBounds is how far away a call is looked for that bounds another.
const maxBounds = 256

// bounds returns when a call may have begun, by those before and after it in its file that are found: a process writes its
// lines one after another.
func (p *profile) bounds(call int) (after, before int64) {
	n, _ := slices.BinarySearch(p.k.Calls, call)
	near := func(i int) (at, slack int64, ok bool) {
		c := p.k.Calls[i]
		at, ok = p.t.began[c]
		return at, slackOf(&p.r.Calls[c], &p.r.Calls[call]), ok && p.r.Calls[c].Source == p.r.Calls[call].Source
	}
	for i := n - 1; i >= 0 && i > n-maxBounds; i-- {
		if at, slack, ok := near(i); ok {
			after = at - slack
			break
		}
	}
	for i := n + 1; i < len(p.k.Calls) && i < n+maxBounds; i++ {
		if at, slack, ok := near(i); ok {
			before = at + slack
			break
		}
	}
	return after, before
}

// slackOf returns how far the times of two calls may be out of order, ns: 0 for calls of one thread.
func slackOf(x, y *comms.Call) int64 {
	if x.Thread == y.Thread {
		return 0
	}
	return slack
}

// accept ties the calls of a communicator: within a unit those that are alike in their order.
func (p *profile) accept(logged, recorded int, shift int64, units []launchUnit) {
	p.group[recorded], p.shift[recorded] = logged, shift
	at := map[int64]launchUnit{}
	for _, u := range p.units[recorded] {
		at[u.Count] = u
	}
	for _, l := range units {
		u, ok := at[l.Count-shift]
		if !ok {
			continue
		}
		left := slices.Clone(u.ids)
		for _, i := range l.ids {
			if n := slices.IndexFunc(left, func(c int) bool { return mayBeSameCall(&p.r.Calls[i], p.call(c)) }); n >= 0 {
				p.tie(i, left[n])
				p.used[left[n]] = true
				left = slices.Delete(left, n, n+1)
			}
		}
	}
}

// addRest adds the calls that the log lacks. Where communicators of the log were not found, those of the ranges that
// nothing is known of may be theirs, and are left out.
func (p *profile) addRest(unfound bool) {
	var all []int
	for _, g := range p.order {
		_, known := p.group[g]
		switch {
		case !known && (unfound || p.r.Recorded.Groups[g].ID == 0):
			continue
		case !known && (p.launchesNothing(g) || p.logHas(g)):
			continue
		case !known:
			p.addGroup(g)
		case p.r.Groups[p.group[g]].Size == 1:
			continue
		}
		for _, u := range p.units[g] {
			for _, i := range u.ids {
				if !p.used[i] {
					all = append(all, i)
				}
			}
		}
	}
	p.add(all)
}

// logHas reports whether the log has a communicator by its id: its calls are there, of one rank or before the recording.
func (p *profile) logHas(g int) bool {
	id := p.r.Recorded.Groups[g].ID
	return slices.ContainsFunc(p.k.Calls, func(i int) bool { return p.r.Groups[p.r.Calls[i].Group].ID == id })
}

// matchNumbers ties the calls of a log to the records of a dump: the k-th call of an operation on a communicator has the number k
// there. A log that begins later, or lacks lines, is compared with the sizes of the records first.
func (p *profile) matchNumbers() {
	p.k.Join = ByNumber
	for _, s := range p.sequences() {
		var of, in []launchUnit
		for _, i := range s.records {
			c := p.call(i)
			of = append(of, launchUnit{Count: c.OpSeq, calls: []*comms.Call{c}})
		}
		for n, i := range s.calls {
			in = append(in, launchUnit{Count: int64(n), calls: []*comms.Call{&p.r.Calls[i]}})
		}
		d, ok := int64(0), false
		if s.whole {
			_, ok = tryShift(of, in, 0)
		} else {
			d, ok = countShift(of, in)
		}
		if !ok {
			continue
		}
		for _, i := range s.records {
			if n := p.call(i).OpSeq - d; n >= 0 && n < int64(len(s.calls)) {
				p.tie(s.calls[n], i)
			}
		}
	}
}

// sequence is the calls of one operation on one communicator: of the log by count, and of the dump by number.
type sequence struct {
	calls, records []int
	whole          bool // the log has the communicator's calls from the first on, none left out
}

// sequences returns what both sides recorded, in the order of the log.
func (p *profile) sequences() (all []*sequence) {
	at := map[operation]*sequence{}
	for g, units := range p.loggedUnits() {
		whole := true
		for i, u := range units {
			whole = whole && u.Count == int64(i)
		}
		for _, u := range units {
			for _, i := range u.ids {
				k := operation{id: p.r.Groups[g].ID, op: p.r.Calls[i].Op}
				if at[k] == nil {
					at[k] = &sequence{whole: whole}
					all = append(all, at[k])
				}
				at[k].calls = append(at[k].calls, i)
			}
		}
	}
	for _, i := range p.calls {
		c := p.call(i)
		if s := at[operation{id: p.r.Recorded.Groups[c.Group].ID, op: c.Op}]; s != nil {
			s.records = append(s.records, i)
		}
	}
	for _, s := range all {
		slices.SortFunc(s.records, func(x, y int) int { return cmp.Compare(p.call(x).OpSeq, p.call(y).OpSeq) })
	}
	slices.SortFunc(all, func(x, y *sequence) int { return cmp.Compare(x.calls[0], y.calls[0]) })
	return all
}

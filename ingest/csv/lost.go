package csv

import "slices"

// usualOperators is what a rank runs in nearly every step. A step that lacks some of it lost rows: their time lies
// between the operators before and behind.
type usualOperators struct {
	times []int64 // median, by instance; −1 of what need not be there
	gap   int64   // median, between the last operator and the next step
	first int     // the instance that steps begin with
	// absent are collectives, by instance, of which the rank has no row at all, though most others have: their times are the
	// others'.
	absent []bool
}

// absence is a name of which a rank has no rows, though most others have them in nearly every step.
type absence struct {
	of     *cell // of the rank
	name   int32
	others int
	filled bool // a collective: the time between its neighbours stands for it
}

// findAbsent finds the instances that a rank has no rows of, though most ranks run them in nearly every step. A
// collective is filled in with its usual time on the other ranks, since all ranks take part.
func (p *program) findAbsent(ranks []*usualOperators, cellOf func(rank int) *cell) {
	for i, in := range p.instances {
		var times, gaps []int64
		for _, u := range ranks {
			if u.times[i] >= 0 {
				times, gaps = append(times, u.times[i]), append(gaps, u.gap)
			}
		}
		if n := len(times); 2*n <= len(ranks) || n == len(ranks) {
			continue
		}
		time, gap := middle(times), middle(gaps)
		for r, u := range ranks {
			if u.times[i] >= 0 {
				continue
			}
			a := absence{cellOf(r), in.name, len(times), isCollective(p.names[in.name])}
			if in.seq == 0 {
				p.absent = append(p.absent, a)
			}
			if !a.filled {
				continue
			}
			if !slices.ContainsFunc(u.times[i:], func(t int64) bool { return t >= 0 }) { // behind all that it has
				u.gap = gap
			}
			if u.absent == nil {
				u.absent = make([]bool, len(u.times))
			}
			u.times[i], u.absent[i] = time, true
		}
	}
}

// usualOf returns what a rank runs in its steps, ascending; expected is what it should run, if at all.
func usualOf(cells []*cell, expected []bool) *usualOperators {
	u := &usualOperators{times: make([]int64, len(expected))}
	for i, is := range expected {
		var all []int64
		for _, c := range cells {
			if c.has[i] {
				all = append(all, c.times[i])
			}
		}
		if u.times[i] = -1; is && len(all) > 0 {
			u.times[i] = middle(all)
		}
	}
	u.first = slices.IndexFunc(u.times, func(t int64) bool { return t >= 0 })
	final := len(u.times) - 1
	for final > 0 && u.times[final] < 0 {
		final--
	}
	var gaps []int64
	for i, c := range cells[:len(cells)-1] {
		if next := cells[i+1]; next.step == c.step+1 && c.has[final] && u.first >= 0 && next.has[u.first] {
			_, last := c.bounds()
			gaps = append(gaps, max(0, next.ops[0].start-last))
		}
	}
	if len(gaps) > 0 {
		u.gap = middle(gaps)
	}
	return u
}

// middle returns the median of values, the upper of two. It sorts them.
func middle(values []int64) int64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// spans sets when the steps of a rank begin and how long they take: from its first operator to that of the next
// step, or, where the clock begins anew with every step, from its zero to the last operator. A step that lacks its
// first operators begins before the next by as long as these usually take.
func (u *usualOperators) spans(cells []*cell) {
	anew := 0
	for i, c := range cells {
		if c.begin = c.ops[0].start; i > 0 && c.begin <= cells[i-1].ops[0].start {
			anew++
		}
	}
	restarts := 2*anew >= len(cells) && len(cells) > 1
	for i, c := range cells {
		if restarts {
			c.begin = 0
			continue
		}
		for _, t := range u.times[:c.ops[0].at] {
			c.begin -= max(0, t)
		}
		if i > 0 {
			_, end := cells[i-1].bounds()
			c.begin = min(c.ops[0].start, max(c.begin, end))
		}
	}
	for i, c := range cells {
		_, last := c.bounds()
		c.wall = last - c.begin
		if !restarts && i+1 < len(cells) && cells[i+1].step == c.step+1 && cells[i+1].begin >= last {
			c.wall = cells[i+1].begin - c.begin
		}
	}
}

// fill gives the operators without a row in a step of a rank the time between those before and behind, in the
// proportions in which they usually take it.
func (p *program) fill(c *cell, u *usualOperators) {
	for i := 0; i < len(u.times); i++ {
		if c.has[i] || u.times[i] < 0 {
			continue
		}
		from, total := i, int64(0)
		var missing []int
		for ; i < len(u.times) && (!c.has[i] || u.times[i] < 0); i++ {
			if !c.has[i] && u.times[i] >= 0 {
				missing = append(missing, i)
				total += u.times[i]
			}
		}
		none := u.absent != nil && !slices.ContainsFunc(missing, func(n int) bool { return !u.absent[n] })
		if !none {
			p.lost += len(missing)
		}
		begin, end, holder := p.room(c, from, i)
		free := max(0, end-begin)
		if holder >= 0 {
			free = min(free, c.times[holder])
		} else {
			free = min(free, c.wall-c.coveredTime())
		}
		switch {
		case holder >= 0 || i < len(u.times):
		case none: // it waited there for the others
			free = max(0, free-u.gap)
		default:
			total += u.gap
		}
		for _, n := range missing {
			if total > 0 {
				c.times[n] = int64(float64(free) * float64(u.times[n]) / float64(total))
			}
			if holder >= 0 {
				c.times[holder] -= c.times[n]
			}
		}
	}
}

// coveredTime returns the time of a step that is some instance's.
func (c *cell) coveredTime() (sum int64) {
	for _, d := range c.times {
		sum += d
	}
	return sum
}

// room returns when the last instance before from ends and instance to begins in a step, and the instance that
// holds both, −1 for none.
func (p *program) room(c *cell, from, to int) (begin, end int64, holder int) {
	begin, end, holder = c.begin, c.begin+c.wall, -1
	for _, op := range c.ops {
		switch {
		case p.holds[op.name]:
		case op.at < from:
			begin = max(begin, op.end)
		case op.at == to:
			end = min(end, op.start)
		}
	}
	for _, op := range c.ops {
		if p.holds[op.name] && op.start <= begin && op.end > begin {
			holder, end = op.at, min(end, op.end)
		}
	}
	return begin, end, holder
}

// bounds returns when the first operator of a step begins and the last ends.
func (c *cell) bounds() (first, last int64) {
	first = c.ops[0].start
	for _, op := range c.ops {
		last = max(last, op.end)
	}
	return first, last
}

package comms

import "slices"

// Join puts what several readers or files recorded of one job into one
// Record, in their order, with every index moved. Clocks of different
// records are different ones. The records given stay as they are; what they point to is
// shared. O(records).
func Join(all ...*Record) *Record {
	if len(all) == 0 {
		return &Record{}
	}
	j, clocks := *all[0], clocksOf(all[0])
	j.clip()
	for _, c := range all[1:] {
		j.add(c, clocks)
		clocks += clocksOf(c)
	}
	return &j
}

// clip gives what is appended from here on memory of its own.
func (j *Record) clip() {
	j.Sources, j.Processes, j.Groups, j.Calls = slices.Clip(j.Sources), slices.Clip(j.Processes), slices.Clip(j.Groups), slices.Clip(j.Calls)
	j.Paths, j.Links, j.Stacks, j.Warnings = slices.Clip(j.Paths), slices.Clip(j.Links), slices.Clip(j.Stacks), slices.Clip(j.Warnings)
	j.Unread, j.Notes = slices.Clip(j.Unread), slices.Clip(j.Notes)
}

// clocksOf returns how many clocks there are.
func clocksOf(c *Record) (n int) {
	for i := range c.Processes {
		n = max(n, c.Processes[i].Clock+1)
	}
	return n
}

// add appends the records of c; clocks is how many were before its own.
func (j *Record) add(c *Record, clocks int) {
	source, process, group, stack := len(j.Sources), len(j.Processes), len(j.Groups), len(j.Stacks)
	if j.Run == "" {
		j.Run = c.Run
	}
	j.Sources = append(j.Sources, c.Sources...)
	j.Processes = appendChanged(j.Processes, c.Processes, func(p *Process) { p.Clock, p.Source = p.Clock+clocks, p.Source+source })
	j.Groups = appendChanged(j.Groups, c.Groups, func(g *Group) {
		g.Process += process
		if g.Split != nil {
			s := *g.Split
			s.Parent = shiftIndex(group, s.Parent)
			g.Split = &s
		}
	})
	j.Calls = appendChanged(j.Calls, c.Calls, func(x *Call) {
		x.Process, x.Source = x.Process+process, x.Source+source
		x.Group, x.Stack = shiftIndex(group, x.Group), shiftIndex(stack, x.Stack)
	})
	j.Paths = appendChanged(j.Paths, c.Paths, func(p *Path) { p.Group += group })
	j.Links = appendChanged(j.Links, c.Links, func(l *Link) { l.Group += group })
	j.Stacks = append(j.Stacks, c.Stacks...)
	j.Warnings = appendChanged(j.Warnings, c.Warnings, func(w *Warning) { w.Process, w.Source = w.Process+process, w.Source+source })
	j.Unread = appendChanged(j.Unread, c.Unread, func(u *Unread) { u.Source += source })
	j.Orphans, j.Strays, j.Untied = j.Orphans+c.Orphans, j.Strays+c.Strays, j.Untied+c.Untied
	j.Notes = append(j.Notes, c.Notes...)
}

// appendChanged appends more to list, each changed.
func appendChanged[T any](list, more []T, change func(*T)) []T {
	out := append(list, more...)
	for i := range more {
		change(&out[len(list)+i])
	}
	return out
}

// shiftIndex returns an index behind n records before it.
func shiftIndex(n, i int) int {
	if i == None {
		return None
	}
	return n + i
}

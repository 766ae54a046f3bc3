package nccllog

import (
	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
	"github.com/sfstat/sfstat/trace/comms"
)

// orphan is a call whose process is not known.
type orphan struct {
	call int // index of Calls
	line logline.Call
}

// fewer is how many times more lines a process has than one that a damaged head made up beside it.
const fewer = 50

// adoptOrphans finds whose the calls are whose line lost its head, and those whose head is of no process that is
// believed, which it returns with their owners.
func (b *Builder) adoptOrphans() (damaged map[int]int) {
	if damaged = b.damagedHeads(); len(b.orphans) == 0 && len(damaged) == 0 {
		return damaged
	}
	owners := map[uint64][]int{} // communicators by pointer, over all processes
	for i := range b.groups {
		if g := &b.groups[i]; !isDamaged(damaged, g.process) {
			owners[g.Pointer] = append(owners[g.Pointer], i)
		}
	}
	for i := range b.comm.Calls {
		if c := &b.comm.Calls[i]; isDamaged(damaged, c.Process) {
			g := &b.groups[c.Group]
			b.orphans = append(b.orphans, orphan{i, logline.Call{Comm: g.Pointer, Ranks: g.Ranks}})
		}
	}
	for _, o := range b.orphans {
		b.giveBack(o, owners[o.line.Comm])
	}
	for p, q := range damaged {
		b.processes[q].absorb(&b.processes[p])
	}
	return damaged
}

// damagedHeads finds the processes that damaged heads made up, and whose they are: few lines, all on communicators
// of one process with many more lines that has the same pid or the same host.
func (b *Builder) damagedHeads() map[int]int {
	damaged := map[int]int{}
	most := int64(0)
	for i := range b.processes {
		most = max(most, b.processes[i].lines)
	}
	few := map[int][]int{} // communicators of processes that may be
	for i := range b.groups {
		if p := b.groups[i].process; b.processes[p].lines <= most/fewer && b.processes[p].pid != 0 {
			few[p] = append(few[p], i)
		}
	}
	if len(few) == 0 {
		return damaged
	}
	owners := map[uint64][]int{} // communicators of other processes, by pointer
	for _, list := range few {
		for _, i := range list {
			owners[b.groups[i].Pointer] = nil
		}
	}
	for i := range b.groups {
		g := &b.groups[i]
		if _, ok := owners[g.Pointer]; ok && few[g.process] == nil {
			owners[g.Pointer] = append(owners[g.Pointer], i)
		}
	}
	for p, list := range few {
		if q := b.ownerOf(p, list, owners); q != comms.None {
			damaged[p] = q
		}
	}
	return damaged
}

// ownerOf returns the process that has all communicators of p, None if there is none or p is one itself.
func (b *Builder) ownerOf(p int, groups []int, owners map[uint64][]int) int {
	owner := comms.None
	for _, i := range groups {
		g, mine := &b.groups[i], comms.None
		for _, k := range owners[g.Pointer] {
			z := &b.groups[k]
			x, y := &b.processes[p], &b.processes[z.process]
			if (x.pid == y.pid || x.host == y.host) && x.lines*fewer <= y.lines && (g.inferred || g.Rank == z.Rank && g.Ranks == z.Ranks) {
				mine = z.process
			}
		}
		if mine == comms.None || owner != comms.None && owner != mine {
			return comms.None
		}
		owner = mine
	}
	return owner
}

func isDamaged(damaged map[int]int, process int) bool {
	_, ok := damaged[process]
	return ok
}

// giveBack finds the process that has the orphan's communicator. Where none or
// several have it, the call is of a process without name.
func (b *Builder) giveBack(o orphan, owners []int) {
	c := &b.comm.Calls[o.call]
	group := comms.None
	for _, i := range owners {
		if b.groups[i].source == c.Source || len(owners) == 1 {
			if group != comms.None && b.groups[group].process != b.groups[i].process {
				group = comms.None
				break
			}
			if group == comms.None || b.groups[i].line <= c.Line {
				group = i
			}
		}
	}
	if group == comms.None {
		b.comm.Strays++
		b.source = c.Source
		c.Process = b.process(&logline.Record{Head: logline.Head{Device: b.devices[o.call]}})
		group = b.groupOf(c.Process, &o.line, c.Line)
	} else {
		b.comm.Orphans++
		c.Process = b.groups[group].process
	}
	c.Group = group
	b.groups[group].calls++
	b.processes[c.Process].lineOf(c.Op).Calls++
}

// absorb adds what q printed, but for the calls, which were given back one by one.
func (p *process) absorb(q *process) {
	p.lines += q.lines
	for _, m := range q.named {
		mine := p.lineOf(m.Op)
		mine.Tunings, mine.Damaged = mine.Tunings+m.Tunings, mine.Damaged+m.Damaged
	}
}

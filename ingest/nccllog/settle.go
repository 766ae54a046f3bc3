package nccllog

// fewer is how many times more lines a process has than one that a damaged head made up beside it.
const fewer = 50

// settle finds whose the calls are whose line lost its head, and those whose head is of no process that is
// believed.
func (b *Builder) settle() {
	made := b.unbelieved()
	if len(b.orphans) == 0 && len(made) == 0 {
		return
	}
	owners := map[uint64][]int{} // communicators by pointer, over all processes
	for i := range b.log.Communicators {
		if c := &b.log.Communicators[i]; !is(made, c.Process) {
			owners[c.Pointer] = append(owners[c.Pointer], i)
		}
	}
	for i := range b.log.Calls {
		if c := &b.log.Calls[i]; is(made, c.Process) {
			b.orphans = append(b.orphans, orphan{call: i, dev: c.Device})
			c.Orphan = true
		}
	}
	for _, o := range b.orphans {
		b.giveBack(o, owners[b.log.Calls[o.call].Call.Comm])
	}
	b.drop(made)
}

// unbelieved finds the processes of damaged heads, and whose they are: few lines, all on communicators
// of one process with many more lines that has the same pid or the same host.
func (b *Builder) unbelieved() map[int]int {
	made := map[int]int{}
	most := int64(0)
	for i := range b.log.Processes {
		most = max(most, b.log.Processes[i].Lines)
	}
	few := map[int][]int{} // communicators of processes that may be
	for i := range b.log.Communicators {
		if p := b.log.Communicators[i].Process; b.log.Processes[p].Lines <= most/fewer && b.log.Processes[p].PID != 0 {
			few[p] = append(few[p], i)
		}
	}
	if len(few) == 0 {
		return made
	}
	owners := map[uint64][]int{} // communicators of other processes, by pointer
	for _, list := range few {
		for _, i := range list {
			owners[b.log.Communicators[i].Pointer] = nil
		}
	}
	for i := range b.log.Communicators {
		c := &b.log.Communicators[i]
		if _, ok := owners[c.Pointer]; ok && few[c.Process] == nil {
			owners[c.Pointer] = append(owners[c.Pointer], i)
		}
	}
	for p, list := range few {
		if q := b.ownerOf(p, list, owners); q != None {
			made[p] = q
		}
	}
	return made
}

// ownerOf is the process that has all communicators of p, None if there is none or p is one itself.
func (b *Builder) ownerOf(p int, comms []int, owners map[uint64][]int) int {
	owner := None
	for _, i := range comms {
		c, mine := &b.log.Communicators[i], None
		for _, k := range owners[c.Pointer] {
			z := &b.log.Communicators[k]
			x, y := &b.log.Processes[p], &b.log.Processes[z.Process]
			if (x.PID == y.PID || x.Host == y.Host) && x.Lines*fewer <= y.Lines && (c.Inferred || c.Rank == z.Rank && c.Ranks == z.Ranks) {
				mine = z.Process
			}
		}
		if mine == None || owner != None && owner != mine {
			return None
		}
		owner = mine
	}
	return owner
}

func is(made map[int]int, process int) bool {
	_, ok := made[process]
	return ok
}

// giveBack finds the process that has the orphan's communicator. Where none or
// several have it, the call is of a process without name.
func (b *Builder) giveBack(o orphan, owners []int) {
	c := &b.log.Calls[o.call]
	comm := None
	for _, i := range owners {
		if b.log.Communicators[i].File == c.File || len(owners) == 1 {
			if comm != None && b.log.Communicators[comm].Process != b.log.Communicators[i].Process {
				comm = None
				break
			}
			if comm == None || b.log.Communicators[i].Line <= c.Line {
				comm = i
			}
		}
	}
	if comm == None {
		b.log.Census.Strays++
		r := Record{Line: c.Line, Head: Head{Device: o.dev}}
		b.file = c.File
		c.Process = b.process(&r)
		c.Comm = b.commOf(c.Process, &c.Call, c.Line)
		b.log.Communicators[c.Comm].Calls++
		b.log.Processes[c.Process].named(c.Op).Calls++
		return
	}
	b.log.Census.Orphans++
	c.Comm, c.Process = comm, b.log.Communicators[comm].Process
	b.log.Processes[c.Process].named(c.Op).Calls++
	b.log.Communicators[comm].Calls++
}

// drop takes out processes and their communicators, which no call is of any more. What else they printed is their owner's.
func (b *Builder) drop(made map[int]int) {
	if len(made) == 0 {
		return
	}
	log := &b.log
	for p, q := range made {
		log.Processes[q].absorb(&log.Processes[p])
	}
	comm := kept(len(log.Communicators), func(i int) bool { return !is(made, log.Communicators[i].Process) })
	process := kept(len(log.Processes), func(i int) bool { return !is(made, i) })
	log.Processes, log.Communicators = gather(log.Processes, process), gather(log.Communicators, comm)
	for p, q := range made {
		process[p] = process[q]
	}
	for i := range log.Communicators {
		c := &log.Communicators[i]
		c.Process, c.Parent = process[c.Process], moved(comm, c.Parent)
	}
	for i := range log.Calls {
		c := &log.Calls[i]
		c.Process, c.Comm = process[c.Process], comm[c.Comm]
	}
	for i := range log.Blocks {
		x := &log.Blocks[i]
		x.Process, x.Comm = process[x.Process], moved(comm, x.Comm)
	}
	for i := range log.Warnings {
		log.Warnings[i].Process = process[log.Warnings[i].Process]
	}
}

// absorb adds what q printed, but for the calls, which were given back one by one.
func (p *Process) absorb(q *Process) {
	p.Lines += q.Lines
	for _, m := range q.Named {
		p.named(m.Op).Tunings += m.Tunings
		p.named(m.Op).Damaged += m.Damaged
	}
}

// kept numbers what stays; None for the rest.
func kept(n int, stays func(int) bool) []int {
	to, next := make([]int, n), 0
	for i := range to {
		to[i] = None
		if stays(i) {
			to[i] = next
			next++
		}
	}
	return to
}

func moved(to []int, i int) int {
	if i == None {
		return None
	}
	return to[i]
}

// gather moves what stays to its new place.
func gather[T any](list []T, to []int) []T {
	out := list[:0]
	for i, v := range list {
		if to[i] != None {
			out = append(out, v)
		}
	}
	return out
}

package nsight

import (
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// groupKey is a communicator as the ranges of one process know it: by its hash, or, where they have none, by the
// stream that its kernels run on.
type groupKey struct {
	hash   uint64
	stream int64
}

// addTo adds a process to c: itself, its communicators in the order of their first calls, and its calls.
func (p *commProcess) addTo(c *comms.Record) {
	n := len(c.Processes)
	c.Processes = append(c.Processes, p.Process)
	groups := map[groupKey]int{}
	p.countLaunches(func(calls []int, key groupKey, launch int64) {
		g, known := groups[key]
		if !known {
			g = len(c.Groups)
			groups[key] = g
			c.Groups = append(c.Groups, p.group(n, key))
		}
		for _, i := range calls {
			p.calls[i].Group, p.calls[i].Launch = g, launch
		}
	})
	c.Calls = slices.Grow(c.Calls, len(p.calls))
	for i := range p.calls {
		x := &p.calls[i].Call
		x.Process = n
		p.describe(x)
		c.Calls = append(c.Calls, *x)
	}
}

// countLaunches goes through what was launched at once, communicator by communicator, with the launches of the communicator before it.
// A group of calls that launched nothing counts as none; one that launched several kernels counts as so many. Where
// ranges have no hash, the kernels of a stream are counted.
func (p *commProcess) countLaunches(take func(calls []int, key groupKey, launch int64)) {
	counts, before := map[groupKey]int64{}, p.streamPositions()
	for i := 0; i < len(p.calls); {
		batch := p.calls[i].batch
		of := map[groupKey][]int{}
		var order []groupKey
		for ; i < len(p.calls) && p.calls[i].batch == batch; i++ {
			key, ok := p.key(i)
			if !ok {
				continue
			}
			if of[key] == nil {
				order = append(order, key)
			}
			of[key] = append(of[key], i)
		}
		for _, key := range order {
			if key.hash == 0 {
				counts[key] = before[p.calls[of[key][0]].Kernel]
			}
			take(of[key], key, counts[key])
			kernels := map[int]bool{}
			for _, c := range of[key] {
				if k := p.calls[c].Kernel; k != comms.None {
					kernels[k] = true
				}
			}
			counts[key] += int64(len(kernels))
		}
	}
}

// key returns the communicator of a call; ok is false where nothing tells.
func (p *commProcess) key(i int) (key groupKey, ok bool) {
	switch c := &p.calls[i]; {
	case c.comm != 0:
		return groupKey{hash: c.comm}, true
	case c.Kernel != comms.None:
		return groupKey{stream: p.Kernels[c.Kernel].Stream}, true
	}
	return groupKey{}, false
}

// streamPositions returns how many kernels of its stream ran before each.
func (p *commProcess) streamPositions() []int64 {
	before, streams := make([]int64, len(p.Kernels)), map[int64]int64{}
	for i := range p.Kernels {
		if k := &p.Kernels[i]; !k.Replay {
			before[i] = streams[k.Stream]
			streams[k.Stream]++
		}
	}
	return before
}

// group returns a communicator of the process, which is number n.
func (p *commProcess) group(n int, key groupKey) comms.Group {
	g := comms.Group{Process: n, ID: key.hash, Rank: -1, Enqueued: -1, Completed: -1}
	i := slices.IndexFunc(p.made, func(m madeGroup) bool { return key.hash != 0 && m.comm == key.hash })
	if i < 0 {
		return g
	}
	g.FromStart = true
	if m := &p.made[i]; m.ranks > 0 && m.rank >= 0 && m.rank < m.ranks {
		g.Rank, g.Size = int(m.rank), int(m.ranks)
	}
	return g
}

// describe adds what the kernel of a call tells of it: the stream, and of what reduces the type.
func (p *commProcess) describe(x *comms.Call) {
	if x.Kernel == comms.None {
		return
	}
	k := &p.Kernels[x.Kernel]
	x.Stream = uint64(k.Stream)
	if size := k.Datatype.Size(); x.Op == k.Op && x.Op.Reduces() && size > 0 && x.Bytes >= 0 && x.Bytes%size == 0 {
		x.Datatype, x.Count = k.Datatype, x.Bytes/size
	}
}

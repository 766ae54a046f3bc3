package inspector

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/trace/comms"
)

// Merge joins dumps of one job. RCCL's profiler writes a file for each communicator of a process, whose records become those of
// one process, in the order of its clock.
func Merge(dumps []*comms.Record) *comms.Record {
	c := comms.Join(dumps...)
	first := map[process]int{}
	of, offset := make([]int, len(c.Processes)), make([]int, len(c.Processes)) // process that each becomes part of, and where its kernels begin there
	var kept []comms.Process
	for i, p := range c.Processes {
		who := process{p.Host, p.PID}
		at, known := first[who]
		if !known || p.PID == 0 {
			at = len(kept)
			first[who] = at
			kept = append(kept, p)
			of[i] = at
			continue
		}
		in := &kept[at]
		of[i], offset[i] = at, len(in.Kernels)
		in.Kernels, in.Lost = append(slices.Clip(in.Kernels), p.Kernels...), in.Lost+p.Lost
		if in.Begin == 0 || p.Begin != 0 && p.Begin < in.Begin {
			in.Begin = p.Begin
		}
	}
	if len(kept) == len(c.Processes) {
		return c
	}
	for i := range c.Groups {
		c.Groups[i].Process = of[c.Groups[i].Process]
	}
	for i := range c.Calls {
		x := &c.Calls[i]
		x.Process, x.Kernel = of[x.Process], x.Kernel+offset[x.Process]
	}
	c.Processes = kept
	sortByTime(c)
	return c
}

// sortByTime orders the kernels of each process, and calls as these.
func sortByTime(c *comms.Record) {
	moved := make([][]int, len(c.Processes)) // where each kernel went
	for p := range c.Processes {
		kernels := c.Processes[p].Kernels
		order := make([]int, len(kernels))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(kernels[a].Start, kernels[b].Start), cmp.Compare(kernels[a].Reported, kernels[b].Reported))
		})
		sorted := make([]comms.Kernel, len(kernels))
		moved[p] = make([]int, len(kernels))
		for to, from := range order {
			sorted[to], moved[p][from] = kernels[from], to
		}
		c.Processes[p].Kernels = sorted
	}
	for i := range c.Calls {
		c.Calls[i].Kernel = moved[c.Calls[i].Process][c.Calls[i].Kernel]
	}
	slices.SortStableFunc(c.Calls, func(a, b comms.Call) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Kernel, b.Kernel))
	})
}

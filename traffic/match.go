package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/nccllog"
)

// align pairs the calls of each rank with its kernels.
func (a *assembly) align() error {
	if a.o.Scoring == ByName {
		return a.alignNames()
	}
	var ps []align.Process
	var of []int
	at := map[int]int{}
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		switch {
		case k.Process == None || k.Export == None:
		case k.Join == ByNVTX || k.Join == ByNumber:
			if err := a.tied(i); err != nil {
				return err
			}
		default:
			k.Join = ByAlignment
			at[i] = len(ps)
			p, _ := a.r.Aligned(i)
			ps, of = append(ps, p), append(of, i)
		}
	}
	ms, err := align.Together(ps, a.members(at), align.DefaultScoring())
	if err != nil {
		return err
	}
	for i, m := range ms {
		k := &a.r.Ranks[of[i]]
		k.Matching = m
		for _, x := range m.Matches {
			for _, c := range m.Launches[x.Launch].Calls {
				a.r.Matches = append(a.r.Matches, Match{of[i], k.Calls[c], x.Kernel, m.IsCertain(x) && k.Pairing.Sure()})
			}
		}
	}
	return nil
}

// tied takes the matches that NVTX ranges tell, and aligns what calls and kernels they leave.
func (a *assembly) tied(rank int) error {
	k := &a.r.Ranks[rank]
	kernels, calls := map[int]bool{}, map[int]bool{}
	for _, t := range a.ties[rank] {
		a.r.Matches = append(a.r.Matches, Match{rank, t.call, t.kernel, t.sure && (!k.Logged || k.Pairing.Sure())})
		kernels[t.kernel], calls[t.call] = true, true
	}
	if k.Join == ByNumber { // a sample, in no order that tells
		return nil
	}
	p := align.Process{Clock: k.Export}
	var callOf, kernelOf []int
	for _, c := range k.Calls {
		if _, told := a.began[c]; !told && !calls[c] {
			p.Calls, callOf = append(p.Calls, CallOf(a.in.Log, &a.in.Log.Calls[c])), append(callOf, c)
		}
	}
	for j, x := range a.in.process(k).Kernels {
		if !kernels[j] {
			p.Kernels, kernelOf = append(p.Kernels, x), append(kernelOf, j)
		}
	}
	if len(p.Calls) == 0 || len(p.Kernels) == 0 {
		return nil
	}
	m, err := align.Calls(p, align.DefaultScoring())
	if err != nil {
		return err
	}
	for _, x := range m.Matches {
		for _, c := range m.Launches[x.Launch].Calls {
			a.r.Matches = append(a.r.Matches, Match{rank, callOf[c], kernelOf[x.Kernel], m.IsCertain(x) && k.Pairing.Sure()})
		}
	}
	return nil
}

// members is the sides of each communicator that several aligned ranks have.
func (a *assembly) members(at map[int]int) (groups [][]align.Member) {
	for i := range a.groups {
		if a.groups[i].Method == comm.Alone {
			continue
		}
		var list []align.Member
		for _, s := range a.groups[i].Sides {
			if s == comm.None {
				continue
			}
			if p, ok := at[a.sides[s].Process]; ok {
				list = append(list, align.Member{Process: p, Comm: s})
			}
		}
		if len(list) > 1 {
			groups = append(groups, list)
		}
	}
	return groups
}

func (a *assembly) alignNames() error {
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		process, both := a.r.Aligned(i)
		if !both {
			continue
		}
		pairs, err := align.ByName(process)
		if err != nil {
			return err
		}
		for _, p := range pairs {
			a.r.Matches = append(a.r.Matches, Match{i, k.Calls[p.Row], p.Column, false})
		}
	}
	return nil
}

// Aligned is a rank as the engine takes it: its calls in the order of [Rank.Calls], and the kernels of its export.
// It is false where one side is missing.
func (r *Result) Aligned(rank int) (p align.Process, both bool) {
	k := &r.Ranks[rank]
	if k.Process == None || k.Export == None {
		return p, false
	}
	return r.process(k), true
}

// process is a rank that has a log and an export.
func (in *Input) process(k *Rank) align.Process {
	p := align.Process{Clock: k.Export, Calls: in.calls(k)}
	for _, x := range in.Exports[k.Export].Processes[k.Recorded].Kernels {
		p.Kernels = append(p.Kernels, align.Kernel{KernelName: x.KernelName, Stream: x.Stream, Start: x.Start, End: x.End, Launch: x.Launch,
			HasLaunch: x.HasLaunch, Thread: x.Thread, Grid: x.Grid, Block: x.Block, Replay: x.Replay})
	}
	return p
}

// CallOf is a logged call as the engine takes it.
func CallOf(log *nccllog.Log, c *nccllog.LoggedCall) align.Call {
	call := align.Call{Op: c.Op, Datatype: c.Datatype, Reduction: c.Reduction, Count: c.Count, Ranks: c.Ranks, Comm: c.Comm, OpCount: c.OpCount,
		Stream: c.Stream, Send: c.Send, Recv: c.Recv, Root: c.Root, Thread: c.TID, Time: c.Time, HasTime: c.Clock != nccllog.NoClock}
	if u := log.TuningOf(c); u != nil {
		call.Algo, call.Protocol, call.Channels = u.Algo, u.Protocol, u.Channels
		call.NoKernel = u.Kernel == nccllog.CopyEngine
	}
	return call
}

// collect puts matches into the order of ranks and of the log, and counts.
func (a *assembly) collect() {
	matched := map[[2]int]bool{}
	for _, m := range a.r.Matches {
		k := &a.r.Ranks[m.Rank]
		k.Pairs++
		if m.Certain {
			k.Certain++
		}
		matched[[2]int{m.Rank, m.Kernel}] = true
	}
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		if k.Export != None {
			for j, x := range a.in.Exports[k.Export].Processes[k.Recorded].Kernels {
				if !matched[[2]int{i, j}] && !x.Replay {
					a.r.Leftover++
				}
			}
		}
		if k.Join == Unjoined || k.Join == ByNumber {
			continue
		}
		launches := 0
		_, why := align.Plan(a.in.calls(k), 0)
		for _, w := range why {
			if w == align.Launches {
				launches++
			}
		}
		a.r.Unmatched += max(launches-k.Pairs, 0)
	}
}

// sortMatches orders by rank, then line, then kernel.
func sortMatches(list []Match) {
	slices.SortFunc(list, func(x, y Match) int {
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Call, y.Call), cmp.Compare(x.Kernel, y.Kernel))
	})
}

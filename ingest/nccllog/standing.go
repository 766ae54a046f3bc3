package nccllog

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// LoggedCounts returns how many calls of each operation the ranks of communicators have logged, as a report of NCCL's RAS has it, and which ranks have no
// line: of a log of one host those of the others. Ranks are those in the largest communicator; nil where no log tells of one. Without a commId,
// which NCCL prints from 2.19 on, communicators of one size are one where their ranks are different ones.
func LoggedCounts(c *comms.Record) *comms.Record {
	type name struct {
		id   uint64
		size int
	}
	members, names := map[name][]int{}, []name{} // groups of c
	for i := range c.Groups {
		g := &c.Groups[i]
		if g.Rank < 0 || g.Size < 2 || g.Size > trace.MaxRanks || g.Rank >= g.Size {
			continue
		}
		at := name{g.ID, g.Size}
		if slices.ContainsFunc(members[at], func(k int) bool { return c.Groups[k].Rank == g.Rank }) {
			continue // of another life, or of two communicators that nothing tells apart
		}
		if members[at] == nil {
			names = append(names, at)
		}
		members[at] = append(members[at], i)
	}
	if len(names) == 0 {
		return nil
	}
	world := slices.MaxFunc(names, func(x, y name) int {
		return cmp.Or(cmp.Compare(x.size, y.size), cmp.Compare(len(members[x]), len(members[y])))
	})
	out := &comms.Record{Sources: []comms.Source{{Name: c.Sources[0].Name, Path: c.Sources[0].Path, Kind: comms.SourceRAS}}, Logged: true}
	process := map[int]int{}
	for _, i := range members[world] {
		g := &c.Groups[i]
		p := c.Processes[g.Process]
		process[g.Process] = len(out.Processes)
		out.Processes = append(out.Processes, comms.Process{Rank: g.Rank, Host: p.Host, LocalRank: -1, PID: p.PID, Device: p.Device})
	}
	counts := map[int]map[nccl.Op]int64{}
	for i := range c.Calls {
		if x := &c.Calls[i]; x.Group >= 0 {
			if counts[x.Group] == nil {
				counts[x.Group] = map[nccl.Op]int64{}
			}
			counts[x.Group][x.Op]++
		}
	}
	for _, at := range names {
		for _, i := range members[at] {
			g := c.Groups[i]
			p, known := process[g.Process]
			if !known {
				continue
			}
			g.Process, g.Split, g.Launched, g.Name = p, nil, nil, "of "+strconv.Itoa(g.Size)
			if g.ID != 0 {
				g.Name = "0x" + strconv.FormatUint(g.ID, 16)
			}
			for op := nccl.UnknownOp + 1; op < nccl.SendRecv; op++ {
				if n := counts[i][op]; n > 0 {
					g.Launched = append(g.Launched, comms.Launched{Op: op, N: n})
				}
			}
			out.Groups = append(out.Groups, g)
		}
	}
	return out
}

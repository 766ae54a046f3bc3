package main

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
)

type commTruth struct {
	Ranks []struct {
		PID  int64
		Host string
		Node int
	}
	Nodes []commNode
	T0    int64 `json:"t0_true_us"` // where the offsets hold
	Comms []struct {
		Ranks []int
	}
	Features struct {
		Init bool `json:"init_lines"`
	}
}

type commNode struct {
	Host   string
	Offset int64   `json:"nsys_offset_vs_rank0_ns"`
	Drift  float64 `json:"drift_ppm"`
	Wall   int64   `json:"offset_ns"`    // of the node's clock from true time, and
	Bias   int64   `json:"nsys_bias_ns"` // of the trace's from that
}

func commTruthOf(t *testing.T, dir string) (f commTruth) {
	decodeTruth(t, dir, &f)
	return f
}

// sidesOf is the communicators of a log whose processes are numbered as the truth numbers ranks.
func sidesOf(log *comms.Record, f *commTruth) []comms.Group {
	rankOf := make([]int, len(log.Processes))
	for i, p := range log.Processes {
		rankOf[i] = comms.None
		for k, r := range f.Ranks {
			if r.PID == p.PID && r.Host == p.Host {
				rankOf[i] = k
			}
		}
	}
	sides := slices.Clone(log.Groups)
	for i := range sides {
		sides[i].Process = rankOf[sides[i].Process]
	}
	return sides
}

// members is the processes of a communicator, by rank, without those that left no log.
func members(c comm.SideGroup, sides []comms.Group) (list []int) {
	for _, s := range c.Sides {
		if s != comms.None {
			list = append(list, sides[s].Process)
		}
	}
	return list
}

// Every communicator of every scenario whose log tells of ids or splits is found with
// exactly its ranks, in their order.
func TestCommunicators(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl/dev"), "*"))
	told := 0
	for _, dir := range dirs {
		name := filepath.Base(dir)
		f := commTruthOf(t, dir)
		if name == "v27" || !f.Features.Init {
			continue // no commId before 2.16, and none without init lines
		}
		sides := sidesOf(readLogs(t, dir), &f)
		groups := comm.GroupSides(sides)
		var got, want [][]int
		for i := range groups {
			if groups[i].Missing > 0 || groups[i].Method == comm.Alone {
				t.Errorf("%s: communicator %d: %v, %d ranks missing", name, i, groups[i].Method, groups[i].Missing)
			}
			got = append(got, members(groups[i], sides))
		}
		for _, c := range f.Comms {
			want = append(want, c.Ranks)
		}
		slices.SortFunc(got, slices.Compare[[]int])
		slices.SortFunc(want, slices.Compare[[]int])
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("%s: communicators %v, want %v", name, got, want)
		}
		told++
	}
	t.Logf("%d scenarios", told)
}

// The clocks of nodes come out of the ends of what they did together: offsets within 200 ns
// where there is no drift, a drift within one percent or 2 ppm, of the truth.
func TestClocks(t *testing.T) {
	root := largedata.Need(t, "data/nccl/dev")
	for _, name := range []string{"multinode", "multinode_drift", "clock3", "messy_srun"} {
		dir := filepath.Join(root, name)
		f := commTruthOf(t, dir)
		found, _, err := auto.ReadComm([]string{dir}, auto.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := comm.Analyze(found, comm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range r.Clocks {
			if i > 0 && c.Number == r.Clocks[i-1].Number {
				continue
			}
			node := slices.IndexFunc(f.Nodes, func(n commNode) bool { return n.Host == r.Ranks[c.Rank].Host })
			n := &f.Nodes[node]
			zero := f.T0*1000 + f.Nodes[0].Wall + f.Nodes[0].Bias // where the offsets hold, on the first node's clock
			drift := n.Drift - f.Nodes[0].Drift
			off := c.Offset - n.Offset - int64(drift*1e-6*float64(c.Epoch-zero))
			t.Logf("%s node %d: %d points, offset %d ns off, drift %.2f ppm (true %.2f), residual %d ns", name, node, c.Points, off, c.Drift*1e6, drift, c.Residual)
			if !c.Known || max(off, -off) > 200 {
				t.Errorf("%s node %d: offset is %d ns off", name, node, off)
			}
			if math.Abs(c.Drift*1e6-drift) > max(2, 0.01*math.Abs(drift)) {
				t.Errorf("%s node %d: drift %.2f ppm, true %.2f", name, node, c.Drift*1e6, drift)
			}
		}
	}
}

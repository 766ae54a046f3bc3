package main

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/internal/largedata"
)

type commTruth struct {
	Ranks []struct {
		PID  int64
		Host string
		Node int
	}
	Nodes []struct {
		Offset int64   `json:"nsys_offset_vs_rank0_ns"`
		Drift  float64 `json:"drift_ppm"`
		Wall   int64   `json:"offset_ns"`    // of the node's clock from true time, and
		Bias   int64   `json:"nsys_bias_ns"` // of the trace's from that
	}
	T0    int64 `json:"t0_true_us"` // where the offsets hold
	Comms []struct {
		Ranks []int
	}
	Features struct {
		Init bool `json:"init_lines"`
	}
}

func commTruthOf(t *testing.T, dir string) (f commTruth) {
	decodeTruth(t, dir, &f)
	return f
}

// sidesOf is the communicators of a log whose processes are numbered as the truth numbers ranks.
func sidesOf(log *nccllog.Log, f *commTruth) []comm.Side {
	rankOf := make([]int, len(log.Processes))
	for i, p := range log.Processes {
		rankOf[i] = comm.None
		for k, r := range f.Ranks {
			if r.PID == p.PID && r.Host == p.Host {
				rankOf[i] = k
			}
		}
	}
	sides := make([]comm.Side, len(log.Communicators))
	for i, c := range log.Communicators {
		sides[i] = comm.Side{Process: rankOf[c.Process], ID: c.ID, Rank: int(c.Rank), Ranks: int(c.Ranks), Parent: c.Parent,
			Split: c.Split, Color: c.Color}
	}
	return sides
}

// Every communicator of every scenario whose log tells of ids or splits is found with
// exactly its ranks, and so is each process's global rank.
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
		groups := comm.Group(sides)
		var got, want [][]int
		for i := range groups {
			if groups[i].Missing > 0 || groups[i].Method == comm.Alone {
				t.Errorf("%s: communicator %d: %v, %d ranks missing", name, i, groups[i].Method, groups[i].Missing)
			}
			got = append(got, groups[i].Members(sides))
		}
		for _, c := range f.Comms {
			want = append(want, c.Ranks)
		}
		slices.SortFunc(got, slices.Compare[[]int])
		slices.SortFunc(want, slices.Compare[[]int])
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("%s: communicators %v, want %v", name, got, want)
		}
		world, ok := comm.World(sides, groups, len(f.Ranks))
		for p, r := range world {
			if p != r {
				t.Errorf("%s: rank %d is taken for %d", name, p, r)
			}
		}
		if !ok {
			t.Errorf("%s: no global ranks", name)
		}
		told++
	}
	t.Logf("%d scenarios", told)
}

// The clocks of nodes come out of the ends of what they did together: offsets within 5 µs, drift
// within 2 ppm or within its error, of the truth.
func TestClocks(t *testing.T) {
	root := largedata.Need(t, "data/nccl/dev")
	for _, name := range []string{"multinode", "multinode_drift", "clock3", "messy_srun"} {
		dir := filepath.Join(root, name)
		f := commTruthOf(t, dir)
		s := loadScenario(t, dir)
		ends := endsByNode(&s, &f, alone(t, &s, align.DefaultScoring()))
		for node := 1; node < len(f.Nodes); node++ {
			var meetings []comm.Meeting
			for instance, at := range ends[0] {
				if there, ok := ends[node][instance]; ok {
					meetings = append(meetings, comm.Meeting{At: at, Ahead: there - at})
				}
			}
			c, err := comm.Fit(meetings)
			if err != nil {
				t.Logf("%s node %d: %v", name, node, err)
				continue
			}
			drift := f.Nodes[node].Drift - f.Nodes[0].Drift
			t.Logf("%s node %d: %d meetings over %.3f s, offset %d ns (true %d), drift %.2f ± %.2f ppm (true %.2f, taken for one: %v), residual %d ns",
				name, node, c.Meetings, float64(c.Span)/1e9, c.Offset, f.Nodes[node].Offset, c.Drift*1e6, c.DriftErr*1e6, drift, c.Drifts, c.Residual)
			if off := c.AheadAt(f.T0*1000+f.Nodes[0].Wall+f.Nodes[0].Bias) - f.Nodes[node].Offset; max(off, -off) > 5000 {
				t.Errorf("%s node %d: offset is %d ns off", name, node, off)
			}
			if c.Drifts && math.Abs(c.Drift*1e6-drift) > max(2, 4*c.DriftErr*1e6) {
				t.Errorf("%s node %d: drift %.2f ppm, true %.2f", name, node, c.Drift*1e6, drift)
			}
		}
	}
}

// instance is one collective, on all its ranks.
type instance struct {
	id    uint64
	count uint64
}

// endsByNode is when each collective ended, on each node's clock: the median over its ranks.
func endsByNode(s *scenario, f *commTruth, ms []*align.Matching) []map[instance]int64 {
	all := make([]map[instance][]int64, len(f.Nodes))
	for n := range all {
		all[n] = map[instance][]int64{}
	}
	id := map[align.Member]uint64{}
	for g, members := range s.groups {
		for _, m := range members {
			id[m] = uint64(g)
		}
	}
	for k, m := range ms {
		for _, x := range m.Matches {
			l := &m.Launches[x.Launch]
			if l.Lead < 0 || l.Op.PointToPoint() || !m.IsCertain(x) {
				continue
			}
			in := instance{id[align.Member{Process: k, Comm: l.Comm}], l.Count}
			node := f.Ranks[k].Node
			all[node][in] = append(all[node][in], s.ranks[k].process.Kernels[x.Kernel].End)
		}
	}
	out := make([]map[instance]int64, len(all))
	for n := range all {
		out[n] = map[instance]int64{}
		for in, ends := range all[n] {
			slices.Sort(ends)
			out[n][in] = ends[len(ends)/2]
		}
	}
	return out
}

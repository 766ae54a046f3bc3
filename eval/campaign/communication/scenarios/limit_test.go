package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/bandwidth"
	"github.com/sfstat/sfstat/engine/comm/capacity"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
)

// waysOf is what the blocks of a communicator's sides say, and the machine of each member.
func waysOf(log *comms.Record, c *comm.SideGroup) (ways []capacity.Way, machines []int) {
	hosts := map[string]int{}
	for rank, side := range c.Sides {
		host := fmt.Sprint("of rank ", rank)
		if side != comms.None {
			host = log.Processes[log.Groups[side].Process].Host
		}
		if _, known := hosts[host]; !known {
			hosts[host] = len(hosts)
		}
		machines = append(machines, hosts[host])
	}
	for _, p := range log.Paths {
		if slices.Contains(c.Sides, p.Group) {
			ways = append(ways, capacity.Way{From: p.From, To: p.To, Link: p.Class, Bandwidth: p.Bandwidth})
		}
	}
	return ways, machines
}

// The narrowest link of every communicator that printed its topology is the true one.
func TestLimits(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(largedata.Need(t, "data/nccl/dev"), "*"))
	told := 0
	for _, dir := range dirs {
		f := commTruthOf(t, dir)
		var truth struct {
			Comms []struct {
				Ranks []int
				GBps  float64 `json:"bottleneck_gbps"`
				Link  string  `json:"bottleneck_link"`
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "truth.json"))
		if err == nil {
			err = json.Unmarshal(text, &truth)
		}
		if err != nil {
			t.Fatal(err)
		}
		log := readLogs(t, dir)
		sides := sidesOf(log, &f)
		groups := comm.GroupSides(sides)
		for i := range groups {
			if groups[i].Ranks < 2 || groups[i].Method == comm.Alone {
				continue
			}
			ways, machines := waysOf(log, &groups[i])
			if len(ways) == 0 {
				continue
			}
			got := capacity.Narrowest(ways, machines)
			ranks := members(groups[i], sides)
			for _, c := range truth.Comms {
				if slices.Equal(c.Ranks, ranks) && (got.Bandwidth != c.GBps || got.Link.String() != c.Link) {
					t.Errorf("%s: ranks %v: %+v, want %v GB/s over %s", filepath.Base(dir), ranks, got, c.GBps, c.Link)
				}
			}
			told++
		}
	}
	if told == 0 {
		t.Error("no communicator told of its topology")
	}
	t.Logf("%d communicators", told)
}

// Calls of generated scenarios at their true times run at most at what their narrowest link allows, and nothing
// there is slow.
func TestTrueBandwidths(t *testing.T) {
	root := largedata.Need(t, "data/nccl/dev")
	for _, name := range []string{"dp4", "tp4", "multinode", "dp4_zero1", "tp2pp2"} {
		subjects, calls := trueCalls(t, filepath.Join(root, name))
		r := bandwidth.Analyze(subjects, calls, capacity.Theory{})
		if len(r.Suspects) > 0 || slices.ContainsFunc(r.Measures, func(m bandwidth.Measure) bool { return m.Transfer == 0 }) {
			t.Errorf("%s: %+v, suspects %+v", name, r.Measures, r.Suspects)
		}
		least, most := 1.0, 0.0
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Bound == bandwidth.ByBandwidth {
				least, most = min(least, c.Efficiency), max(most, c.Efficiency)
			} else if c.Class > 20 {
				t.Errorf("%s: %v of class %d is bound by %v", name, c.Op, c.Class, c.Bound)
			}
		}
		if most > 1 || most == 0 {
			t.Errorf("%s: at most %.2f of the narrowest link", name, most)
		}
		t.Logf("%s: %d calls in %d cells, latency %v, %.2f to %.2f of the narrowest link", name, len(calls), len(r.Cells), r.Latencies[0], least, most)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
)

// waysOf is what the blocks of a communicator's sides say, and the host of each member.
func waysOf(log *comms.Record, c *comm.SideGroup) (ways []comms.Path, hosts map[int]string) {
	hosts = map[int]string{}
	for rank, side := range c.Sides {
		hosts[rank] = fmt.Sprint("of rank ", rank)
		if side != comms.None {
			hosts[rank] = log.Processes[log.Groups[side].Process].Host
		}
	}
	for _, p := range log.Paths {
		if slices.Contains(c.Sides, p.Group) {
			ways = append(ways, p)
		}
	}
	return ways, hosts
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
			ways, hosts := waysOf(log, &groups[i])
			if len(ways) == 0 {
				continue
			}
			got := comm.Narrowest(ways, hosts)
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
		r := comm.SpeedOf(subjects, calls, comm.Theory{})
		if len(r.Suspects) > 0 || slices.ContainsFunc(calls, func(c *comm.Collective) bool { return c.Transfer == 0 }) {
			t.Errorf("%s: not all of %d calls measured, or suspects %+v", name, len(calls), r.Suspects)
		}
		least, most := 1.0, 0.0
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Bound == comm.ByBandwidth {
				least, most = min(least, c.Efficiency), max(most, c.Efficiency)
			} else if c.Class > 20 {
				t.Errorf("%s: %v of class %d is bound by %v", name, c.Op, c.Class, c.Bound)
			}
		}
		if most > 1 || most == 0 {
			t.Errorf("%s: at most %.2f of the narrowest link", name, most)
		}
		t.Logf("%s: %d calls in %d cells, %.2f to %.2f of the narrowest link", name, len(calls), len(r.Cells), least, most)
	}
}

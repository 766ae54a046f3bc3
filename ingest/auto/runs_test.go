package auto

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// TestTimedWith: a profiler's traces are of the run that a recorder timed if it had
// their ranks, on their hosts, at that time.
func TestTimedWith(t *testing.T) {
	const begun = int64(1_795_000_000e9)
	window := func(run string, from int64) *trace.Window {
		w := &trace.Window{Run: run, WorldSize: 2, Epochs: []int64{from, from}, Wall: []int64{5e9, 5e9},
			Schema: trace.Schema{Stages: []string{"all"}}, Durations: []int64{5e9, 5e9}}
		for id := range 2 {
			w.Ranks = append(w.Ranks, trace.Rank{ID: id, Host: "node0.cluster"})
		}
		return w
	}
	traced := func(id int, host string, from int64) *profile.Rank {
		return &profile.Rank{Source: "/job/rank.json", ID: id, Host: host, Steps: []profile.Step{{Start: from, End: from + 1e9}}}
	}
	for _, c := range []struct {
		name  string
		runs  []*trace.Window
		where string // the folder of the windows
		rank  *profile.Rank
		want  string
	}{
		{"the same time", []*trace.Window{window("a", begun)}, "/job", traced(1, "", begun+2e9), "a"},
		{"a folder beside", []*trace.Window{window("a", begun)}, "/packets", traced(1, "", begun+2e9), "a"},
		{"no clock time", []*trace.Window{window("a", begun)}, "/job", traced(1, "", 7e9), "a"},
		{"an hour later", []*trace.Window{window("a", begun)}, "/job", traced(1, "", begun+3600e9), ""},
		{"an hour before", []*trace.Window{window("a", begun)}, "/job", traced(1, "", begun-3600e9), ""},
		{"a rank that was not timed", []*trace.Window{window("a", begun)}, "/job", traced(2, "", begun), ""},
		{"the host by its short name", []*trace.Window{window("a", begun)}, "/job", traced(0, "node0", begun), "a"},
		{"another host", []*trace.Window{window("a", begun)}, "/job", traced(0, "node1", begun), ""},
		{"the second of two runs", []*trace.Window{window("a", begun-3600e9), window("b", begun)}, "/job", traced(0, "", begun), "b"},
		{"two that fit", []*trace.Window{window("a", begun), window("b", begun)}, "/job", traced(0, "", begun), ""},
		{"nothing timed", nil, "/job", traced(0, "", begun), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n runNames
			for _, w := range c.runs {
				n.time(w, c.where)
			}
			got := ""
			if run := n.timedRunOf([]*profile.Rank{c.rank}); run != nil {
				got = run.run
			}
			if got != c.want {
				t.Errorf("run %q, expected %q", got, c.want)
			}
		})
	}
}

// TestMostRuns: a table with another run in each row is read up to a limit, and refused in a sentence from there on.
func TestMostRuns(t *testing.T) {
	n := newRunNames()
	for i := range maxRuns {
		if err := n.full("t.csv"); err != nil {
			t.Fatalf("after %d runs: %v", i, err)
		}
		n.taken[strconv.Itoa(i)] = true
	}
	if err := n.full("t.csv"); !errors.Is(err, input.ErrTooLarge) || !strings.HasPrefix(err.Error(), "t.csv: 131072 runs have been read") {
		t.Errorf("after %d runs: %v", maxRuns, err)
	}
}

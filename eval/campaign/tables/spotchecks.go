package tables

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// boundaryTable is the paper's group E4: at which delay of data the two largest
// shares reach τ, so that the candidate set becomes compact.
func (s *Score) boundaryTable() *table.Table {
	t := &table.Table{Title: fmt.Sprintf("Boundary of the candidate set: when the two largest shares reach τ = %s", fixed(s.Tau)), Keys: 1,
		Columns: table.Words("ranks", "share of the two largest, by delay", "crosses between ms")}
	for _, g := range s.grouped([]key{byRanks}) {
		ranks := Score{Tau: s.Tau, Runs: g.runs}
		text, last, lastDelay, crossing := "", 0.0, simulate.Millis(0), none
		for _, d := range ranks.grouped([]key{byDelay}) {
			sum := twoLargest(d.runs)
			if text != "" {
				text += ", "
				if last < s.Tau && sum >= s.Tau {
					crossing = milliseconds(lastDelay) + "–" + milliseconds(d.like.Delay)
				}
			}
			text += fmt.Sprintf("%s ms: %.3f", milliseconds(d.like.Delay), sum)
			last, lastDelay = sum, d.like.Delay
		}
		t.Add(table.Texts(strconv.Itoa(g.like.Ranks), text, crossing)...)
	}
	return beside(t, "boundary")
}

// twoLargest is the mean of the two largest shares together, over the windows
// with a fault.
func twoLargest(runs []*scoredRun) float64 {
	sum, n := 0.0, 0
	faulty(runs, func(w *scoredWindow) {
		if len(w.shares) < 2 {
			return
		}
		sum += twoOf(w.shares)
		n++
	})
	return sum / float64(max(1, n))
}

// scaleTable is the paper's check that routing persists at 64 and 128 ranks.
func (s *Score) scaleTable() *table.Table {
	t := &table.Table{Title: "Routing at 64 and 128 ranks: windows with a fault, the paper's cut", Keys: 3,
		Columns: slices.Concat(table.Words("family", "ranks", "delay_ms"), table.Heads(table.Integer, "windows"), table.Heads(table.Hundredths, "delay ÷ step", "seeded share", "two largest"),
			table.Heads(table.Part, "top-1", "top-2"))}
	by := []key{byFamily, byRanks, byDelay}
	for _, g := range s.grouped(by) {
		tally := tallyOf(g.runs)
		var share, step mean
		faulty(g.runs, func(w *scoredWindow) {
			share.add(w.Share)
			step.addOf(float64(g.like.Delay)*1e6, w.pace.median)
		})
		t.Add(append(keyCells(g, by), table.WholeCell(tally.Windows), step.cell(), share.cell(), table.RealCell(twoLargest(g.runs)),
			table.PartCell(tally.Top1, tally.Windows), table.PartCell(tally.Top2, tally.Windows))...)
	}
	return beside(t, "scale")
}

// shardingTable is the paper's group E8: sharded programs, and the control that
// delays the optimizer of one rank on the host.
func (s *Score) shardingTable() *table.Table {
	t := &table.Table{Title: "Sharded jobs: windows with a fault, the paper's cut", Keys: 1,
		Columns: slices.Concat(table.Words("rows", "families", "ranks"), table.Heads(table.Integer, "windows"), table.Heads(table.Part, "top-1", "top-2"),
			table.Words("misses"))}
	for _, kind := range []struct {
		name    string
		control bool
	}{{"ranks synchronise after the delay", false}, {"control: optimizer on the host", true}} {
		g := groupRuns{Score: s.only(func(r *scoredRun) bool { return (r.Family == simulate.OptimizerHost) == kind.control })}
		if len(g.Runs) == 0 {
			continue
		}
		tally := tallyOf(g.Runs)
		c := g.configuration()
		misses := none
		if !kind.control {
			misses = missed(g.Runs)
		}
		t.Add(table.TextCell(kind.name), c[1], c[2], table.WholeCell(tally.Windows), table.PartCell(tally.Top1, tally.Windows),
			table.PartCell(tally.Top2, tally.Windows), table.TextCell(misses))
	}
	return beside(t, "sharding")
}

// missed are the families and sizes of which a window does not have its stage
// first.
func missed(runs []*scoredRun) string {
	var out []string
	for _, r := range runs {
		name := fmt.Sprintf("%v at %d ranks", r.Family, r.Ranks)
		if !r.everyFaulty(func(w *scoredWindow) bool { return w.Routing.Top(1) }) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return listed(out)
}

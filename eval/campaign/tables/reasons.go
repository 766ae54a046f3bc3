package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// explained gives each cell whose figures differ the reason, with the numbers of
// the windows that it counts. A cell without one is a difference that nobody has
// looked into.
func explained(cells []cell, reason func(*cell) string) []cell {
	for i := range cells {
		if c := &cells[i]; c.Differs() {
			c.Reason = reason(c)
		}
	}
	return cells
}

// reason is about tables of runs of the campaign.
func (s *Score) reason(c *cell) string {
	switch c.Artifact {
	case "table-4", "table-5", "table-15":
		part := s.countedBy(c.Artifact)
		if other := part.otherRuns(); other != "" {
			return other
		}
		return part.hiddenRankReason(c)
	case "table-14":
		return s.countedBy(c.Artifact).caseReason(c)
	case "sharding":
		return s.standingFor("E8").shardingReason()
	case "scale":
		return s.standingFor("Scale").scaleReason()
	}
	return ""
}

// countedBy are the runs that a table of the paper's counts.
func (s *Score) countedBy(artifact string) *Score {
	i := slices.IndexFunc(paperTables, func(p paperTable) bool { return p.artifact() == artifact })
	return s.only(func(r *scoredRun) bool { return r.task != nil && paperTables[i].counts(r.task, r) }).timesAlone()
}

// hiddenRankRuns are the paper's rows of Tables 4 and 15: of each five seeds.
const hiddenRankRuns = "backward, backward_comm, data, forward_device, forward_host at 8, 32 ranks with 120 ms"

// otherRuns says how runs differ from the paper's rows of Tables 4, 5 and 15, of which
// Table 5 counts two families; "" where they do not.
func (s *Score) otherRuns() string {
	values := func(k key) string {
		var out []string
		for _, g := range s.grouped([]key{k}) {
			out = append(out, g.value(k))
		}
		if k == byFamily {
			slices.Sort(out)
		}
		return strings.Join(out, ", ")
	}
	own := fmt.Sprintf("%s at %s ranks with %s ms", values(byFamily), values(byRanks), values(byDelay))
	if own == hiddenRankRuns || own == "forward_device, forward_host at 8, 32 ranks with 120 ms" {
		return ""
	}
	return says("other runs", own, hiddenRankRuns)
}

// hiddenRankReason is about runs that are like the paper's in all that it tells of them.
func (s *Score) hiddenRankReason(c *cell) string {
	names, _ := s.methods()
	k := slices.Index(names, c.Row) - 1
	switch {
	case c.Artifact == "table-15":
		return says("two largest", spanOf(s.Runs, func(w *scoredWindow) float64 { return twoOf(w.shares) }))
	case c.Artifact == "table-4" && k >= 0:
		return s.methodReason(c, k)
	}
	return s.widerSets()
}

// methodReason is about the k-th of the simpler methods of Table 4.
func (s *Score) methodReason(c *cell, k int) string {
	at := func(w *scoredWindow) routing { return w.Methods[k] }
	switch {
	case c.Column == "mean candidates" || c.Column == "max":
		return says("method sets", spanOf(s.Runs, func(w *scoredWindow) float64 { return w.divided[k].two }), fixed(s.Tau), s.reached(k))
	case c.Row == "spread":
		device := s.ofFamily(simulate.ForwardDevice)
		second := 0
		faulty(device, func(w *scoredWindow) { count(&second, at(w).Place == 2) })
		return says("spread", table.OutOf(second, len(device)))
	case c.Row == "stage_max" && c.Column == "top-1":
		return says("stage_max", spanOf(s.outsideBackward(), func(w *scoredWindow) float64 { return w.divided[k].behind }))
	}
	missed := s.missedBy(at)
	switch {
	case missed == "":
		return ""
	case c.Row == "slowest_rank":
		return says("slowest_rank", missed)
	}
	return says("missed", missed)
}

// reached is in how many rows the two largest of a method reach τ.
func (s *Score) reached(k int) string {
	above, all := 0, 0
	faulty(s.Runs, func(w *scoredWindow) {
		all++
		count(&above, w.divided[k].two >= s.Tau)
	})
	return table.OutOf(above, all)
}

func (s *Score) ofFamily(f simulate.Family) []*scoredRun {
	return s.only(func(r *scoredRun) bool { return r.Family == f }).Runs
}

func (s *Score) outsideBackward() []*scoredRun {
	return s.only(func(r *scoredRun) bool { return r.Family != simulate.Backward && r.Family != simulate.BackwardComm }).Runs
}

// missedBy are the rows whose stage a method does not have among its
// candidates, by family; "" of none.
func (s *Score) missedBy(at func(*scoredWindow) routing) string {
	var out []string
	for _, g := range s.grouped([]key{byFamily}) {
		n, all := 0, 0
		faulty(g.runs, func(w *scoredWindow) {
			all++
			count(&n, !at(w).Hit)
		})
		if n > 0 {
			out = append(out, fmt.Sprintf("%s of %s", table.OutOf(n, all), g.value(byFamily)))
		}
	}
	return strings.Join(out, ", ")
}

// caseReason is about a row of Table 14: family, ranks, delay.
func (s *Score) caseReason(c *cell) string {
	by := []key{byFamily, byRanks, byDelay}
	for _, g := range s.grouped(by) {
		if strings.HasPrefix(c.Row+", ", strings.Join(keyValues(g, by), ", ")+", ") {
			own, other := rivals(g.runs)
			return says("case", own, other, fixed(twoLargest(g.runs)))
		}
	}
	return ""
}

// shardingReason is about the callbacks of E8.
func (s *Score) shardingReason() string {
	own, other := rivals(s.ofFamily(simulate.CallbackSync))
	return says("sharding", own, other)
}

// scaleReason is about data of 120 ms at 128 ranks.
func (s *Score) scaleReason() string {
	var own, step mean
	two := 0.0
	for _, g := range s.grouped([]key{byFamily, byRanks, byDelay}) {
		if g.like.Family != simulate.Data || g.like.Ranks != 128 || g.like.Delay != 120 {
			continue
		}
		faulty(g.runs, func(w *scoredWindow) {
			own.add(w.Share)
			ms := w.pace.median / 1e6
			step.add(&ms)
		})
		two = twoLargest(g.runs)
	}
	return says("scale", &step, &own, fixed(two))
}

// rivals are the means, over the windows with a fault, of the seeded share and of the
// largest of a stage that hides nothing.
func rivals(runs []*scoredRun) (own, other *mean) {
	own, other = new(mean), new(mean)
	faulty(runs, func(w *scoredWindow) {
		own.add(w.Share)
		rival := 0.0
		for i, share := range w.shares {
			if !w.seeded[i] {
				rival = max(rival, share)
			}
		}
		other.add(&rival)
	})
	return own, other
}

// twoOf is the sum of the two largest.
func twoOf(shares []float64) float64 {
	d := descending(shares)
	if len(d) > 2 {
		d = d[:2]
	}
	sum := 0.0
	for _, x := range d {
		sum += x
	}
	return sum
}

// spanOf is the range of a value over the windows with a fault.
func spanOf(runs []*scoredRun, value func(*scoredWindow) float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	faulty(runs, func(w *scoredWindow) { low, high = min(low, value(w)), max(high, value(w)) })
	if low > high {
		return none
	}
	return fixed(low) + " to " + fixed(high)
}

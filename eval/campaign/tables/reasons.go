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

// reason is about tables of runs of the campaign. What the paper's runs must have
// been like for its figure is inference, and worded so.
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
	return fmt.Sprintf("Other runs: here %s; the paper's are %s.", own, hiddenRankRuns)
}

// hiddenRankReason is about runs that are like the paper's in all that it tells of them.
func (s *Score) hiddenRankReason(c *cell) string {
	names, _ := s.methods()
	k := slices.Index(names, c.Row) - 1
	switch {
	case c.Artifact == "table-15":
		return fmt.Sprintf("The two largest shares together are %s here.", spanOf(s.Runs, func(w *scoredWindow) float64 { return twoOf(w.shares) }))
	case c.Artifact == "table-4" && k >= 0:
		return s.methodReason(c, k)
	}
	return strings.Join(s.widerSets(), " ")
}

// methodReason is about the k-th of the simpler methods of Table 4.
func (s *Score) methodReason(c *cell, k int) string {
	at := func(w *scoredWindow) routing { return w.Methods[k] }
	switch {
	case c.Column == "mean candidates" || c.Column == "max":
		return fmt.Sprintf("The two largest stages of this method have %s of its sum here; they reach τ = %s in %s rows, where a set has two. "+
			"Where the paper's sets have three, other stages must have more of the sum. Ranks that differ by more in those stages would do that: the jitter here is that of one recorded job.",
			spanOf(s.Runs, func(w *scoredWindow) float64 { return w.divided[k].two }), fixed(s.Tau), s.reached(k))
	case c.Row == "spread":
		device := s.ofFamily(simulate.ForwardDevice)
		second := 0
		faulty(device, func(w *scoredWindow) { count(&second, at(w).Place == 2) })
		return fmt.Sprintf("No spread shows the fault of forward_device, since the host of the delayed rank is as fast as the others; "+
			"its place is that of the jitter of forward, second here in %s. Which ten rows the paper misses is not said; if they are these, forward was third there.", table.OutOf(second, len(device)))
	case c.Row == "stage_max" && c.Column == "top-1":
		return fmt.Sprintf("First here only where the fault is in backward. Elsewhere those that wait spend longer in backward than the delayed rank in its stage: "+
			"the maxima differ by %s of their sum. Which two rows more the paper has is not said; a shorter backward would give them.", spanOf(s.outsideBackward(), func(w *scoredWindow) float64 { return w.divided[k].behind }))
	}
	missed := s.missedBy(at)
	switch {
	case missed == "":
		return ""
	case c.Row == "slowest_rank":
		return fmt.Sprintf("Ranks leave the all-reduce together, so noise after it decides which of them is slowest in a step. Mostly it is one that waited, whose breakdown shows the wait: "+
			"missed here are %s. More hits would follow if the slowest rank was the hidden one more often.", missed)
	}
	return fmt.Sprintf("Missed here are %s.", missed)
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
			return fmt.Sprintf("The seeded share is %v here on average, the largest other %v, the two largest together %s.", own, other, fixed(twoLargest(g.runs)))
		}
	}
	return ""
}

// shardingReason is about the callbacks of E8.
func (s *Score) shardingReason() string {
	own, other := rivals(s.ofFamily(simulate.CallbackSync))
	return fmt.Sprintf("The callback of 180 ms has %v of the makespan here, the largest other stage %v. In the three rows that the paper misses, ZeRO-1 at 32 ranks, another stage must have more; which, the text does not say.", own, other)
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
	return fmt.Sprintf("A delayed step takes %v ms here, of which data has %v, and with backward %s. The step of the simulated job grows from 8 to 32 ranks as the paper's (delay ÷ p50 0.58 and 0.51) "+
		"and on at the same rate; what the paper's is at 128 ranks is lost in the text; a longer one would make the share smaller.", &step, &own, fixed(two))
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

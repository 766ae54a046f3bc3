package tables

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/student"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/enum"
)

// finding is something that may be found in a run with a fault.
type finding uint8

const (
	// The seeded stage is the first of the ranking by the paper's cut, is among
	// the first two, is a candidate: in every window that holds the fault.
	foundTop1 finding = iota
	foundTop2
	foundCandidate
	foundStage // the verdict suspects the seeded stage first
	foundRank  // … and the hidden rank
	foundBoth  // … both, and is sure enough to call them (supported or strong)
	// Misrouted: something that may be called names a stage or a rank that
	// hides nothing. A small delay should be missed rather than misrouted.
	misrouted
	findingCount
)

var findingNames = [...]string{"top-1", "top-2", "candidate hit", "stage right", "rank right", "called", "misrouted"}

func (f finding) String() string { return enum.Name(findingNames[:], f) }

// curveConfidence is that of every interval on a curve.
const curveConfidence = 0.95

// curve is what is found in the runs of one family and size as their delay
// grows.
type curve struct {
	Family       simulate.Family
	Ranks        int
	Intermittent bool
	Arrivals     bool         // the runs have them
	Points       []curvePoint // by delay, ascending
}

// curvePoint is the runs of one delay. A run is the unit of every interval,
// which are two-sided at 95 %: those of the rates are exact (Clopper and
// Pearson 1934), that of the mean share is Student's t.
type curvePoint struct {
	Delay simulate.Millis
	Runs  int
	Rates [findingCount]bootstrap.Rate // by Finding
	Share shareMean                    // of the seeded stage, by the paper's cut
}

// shareMean is a mean over runs of the share of the exposed makespan, in
// [0, 1]. Of one run there is no interval, and Lower and Upper are NaN; of none
// (shares are withheld below the floor) nor a Mean.
type shareMean struct {
	Runs               int
	Mean, Lower, Upper float64
}

// curves are the detectability of runs with a fault, by family, size and
// pattern, in the order of the families.
func (s *Score) curves() []curve {
	var out []curve
	for _, g := range s.grouped([]key{byFamily, byPattern, byRanks, byArrivals, byDelay}) {
		next := curve{Family: g.like.Family, Ranks: g.like.Ranks, Intermittent: g.like.Intermittent, Arrivals: g.like.withArrivals()}
		if n := len(out); n == 0 || out[n-1].name() != next.name() || out[n-1].Ranks != next.Ranks {
			out = append(out, next)
		}
		c := &out[len(out)-1]
		c.Points = append(c.Points, pointOf(g))
	}
	return out
}

// name is what runs of a curve have in common, but for their size.
func (c *curve) name() string {
	name := c.Family.String()
	if c.Intermittent {
		name += ", intermittent"
	}
	if c.Arrivals {
		name += ", with arrivals"
	}
	return name
}

func pointOf(g *group) curvePoint {
	p := curvePoint{Delay: g.like.Delay, Runs: len(g.runs)}
	for o := range findingCount {
		k := 0
		for _, r := range g.runs {
			count(&k, r.had(o))
		}
		// A group has a run, and no more of them find than there are: no error.
		p.Rates[o], _ = bootstrap.Binomial(k, p.Runs, curveConfidence)
	}
	p.Share = meanShare(g.runs)
	return p
}

// had reports whether a finding was made of the run.
func (r *scoredRun) had(f finding) bool {
	v := &r.Verdict
	switch f {
	case foundTop1:
		return r.everyFaulty(func(w *scoredWindow) bool { return w.Routing.Top(1) })
	case foundTop2:
		return r.everyFaulty(func(w *scoredWindow) bool { return w.Routing.Top(2) })
	case foundCandidate:
		return r.everyFaulty(func(w *scoredWindow) bool { return w.Routing.Hit })
	case foundStage:
		return v.StageRight
	case foundRank:
		return v.Answer == rankRight
	case foundBoth:
		return v.Named
	}
	return v.Innocent > 0 || v.Called && (!v.StageRight || v.Answer == rankWrong)
}

// everyFaulty reports whether something holds in every window with the fault,
// of which there must be one.
func (r *scoredRun) everyFaulty(holds func(*scoredWindow) bool) bool {
	all, n := true, 0
	faulty([]*scoredRun{r}, func(w *scoredWindow) {
		n++
		all = all && holds(w)
	})
	return all && n > 0
}

// meanShare averages the share of the seeded stage, first over the faulty
// windows of a run, then over runs.
func meanShare(runs []*scoredRun) shareMean {
	var of []float64
	for _, r := range runs {
		var own []float64
		faulty([]*scoredRun{r}, func(w *scoredWindow) {
			if w.Share != nil {
				own = append(own, *w.Share)
			}
		})
		if len(own) > 0 {
			of = append(of, stat.Mean(own, nil))
		}
	}
	m := shareMean{len(of), math.NaN(), math.NaN(), math.NaN()}
	if len(of) == 0 {
		return m
	}
	m.Mean = stat.Mean(of, nil)
	if n := float64(len(of)); n > 1 {
		t := student.Upper((1-curveConfidence)/2, n-1)
		half := t * stat.StdDev(of, nil) / math.Sqrt(n)
		m.Lower, m.Upper = max(0, m.Mean-half), min(1, m.Mean+half)
	}
	return m
}

// detectabilityTable is the curves as rows: one per family, size and delay.
func (s *Score) detectabilityTable() *table.Table {
	t := &table.Table{Title: "Detectability by delay: runs with the finding, and the exact 95 % interval of its rate",
		Columns: append(table.Words("family", "ranks", "delay_ms"), table.Column{Head: "runs", Kind: table.Integer})}
	for o := range findingCount {
		t.Columns = append(t.Columns, table.Words(o.String())...)
	}
	t.Columns = append(t.Columns, table.Words("seeded share")...)
	runs, astray := 0, 0
	for _, c := range s.curves() {
		for _, p := range c.Points {
			row := append(table.Texts(c.name(), strconv.Itoa(c.Ranks), milliseconds(p.Delay)), table.WholeCell(p.Runs))
			for _, r := range p.Rates {
				row = append(row, table.TextCell(fmt.Sprintf("%s [%s, %s]", table.OutOf(r.K, r.N), fixed(r.Lower), fixed(r.Upper))))
			}
			t.Add(append(row, table.TextCell(p.Share.String()))...)
			runs, astray = runs+p.Runs, astray+p.Rates[misrouted].K
		}
	}
	t.Notes = []string{says("detectability", table.OutOf(astray, runs))}
	return t
}

func milliseconds(d simulate.Millis) string { return strconv.FormatFloat(float64(d), 'f', -1, 64) }

func (m shareMean) String() string {
	switch {
	case math.IsNaN(m.Mean):
		return none
	case math.IsNaN(m.Lower):
		return fixed(m.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", fixed(m.Mean), fixed(m.Lower), fixed(m.Upper))
}

// severalDelays reports whether a curve can be drawn through the runs.
func severalDelays(runs []*scoredRun) bool {
	first := make(map[simulate.Family]simulate.Millis)
	for _, r := range runs {
		if r.healthy() {
			continue
		}
		if delay, ok := first[r.Family]; ok && delay != r.Delay {
			return true
		}
		first[r.Family] = r.Delay
	}
	return false
}

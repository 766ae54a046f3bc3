package tables

import (
	"fmt"
	"math"
	"slices"
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
	foundKS // K-S of the second stage names hidden ranks only
	foundHybrid
	misroutedKS // … names a rank that hides nothing
	misroutedHybrid
	foundOutliers // z-scores name hidden ranks only
	foundBlame
	misroutedOutliers
	misroutedBlame
	findingCount
)

var findingNames = [...]string{"top-1", "top-2", "candidate hit", "stage right", "rank right", "called", "misrouted", "K-S", "hybrid", "K-S misrouted", "hybrid misrouted",
	"z-scores", "blame", "z-scores misrouted", "blame misrouted"}

func (f finding) String() string { return enum.Name(findingNames[:], f) }

// curveConfidence is that of every interval on a curve.
const curveConfidence = 0.95

// curve is what is found in the runs of one family and size as their delay
// grows.
type curve struct {
	Family       fmt.Stringer
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

// curves returns the detectability of runs with a fault, by family, size and pattern, in the order of the families.
func (s *Score) curves() []curve {
	var out []curve
	for _, g := range s.groupBy(byFamily, byPattern, byRanks, byArrivals, byDelay) {
		like := g.example()
		next := curve{Family: like.Family, Ranks: like.Ranks, Intermittent: like.Intermittent, Arrivals: like.hasArrivals()}
		if n := len(out); n == 0 || out[n-1].name() != next.name() || out[n-1].Ranks != next.Ranks {
			out = append(out, next)
		}
		c := &out[len(out)-1]
		c.Points = append(c.Points, g.point())
	}
	return out
}

// name returns the common name of the runs of a curve, without their size.
func (c *curve) name() string {
	name := (&runCase{Family: c.Family}).family()
	if c.Intermittent {
		name += ", intermittent"
	}
	if c.Arrivals {
		name += ", with arrivals"
	}
	return name
}

// point returns the detections in runs of one delay.
func (s *Score) point() curvePoint {
	p := curvePoint{Delay: s.example().Delay, Runs: len(s.Runs), Share: meanShare(s.Runs)}
	for f := range findingCount {
		// No more runs find than there are: the only error is of none, which have no rate.
		of := s.selectRuns(func(r *scoredRun) bool { return f > foundCandidate || len(r.Windows) > 0 }) // accounts are of windows
		p.Rates[f], _ = bootstrap.Binomial(of.count(func(r *scoredRun) bool { return r.hasFinding(f) }), len(of.Runs), curveConfidence)
	}
	return p
}

// hasFinding reports whether a finding was made of the run.
func (r *scoredRun) hasFinding(f finding) bool {
	v := &r.Verdict
	switch f {
	case foundTop1:
		return r.holdsInFaulty(func(w *scoredWindow) bool { return w.Routing.Top(1) })
	case foundTop2:
		return r.holdsInFaulty(func(w *scoredWindow) bool { return w.Routing.Top(2) })
	case foundCandidate:
		return r.holdsInFaulty(func(w *scoredWindow) bool { return w.Routing.Hit })
	case foundStage:
		return v.StageRight
	case foundRank:
		return v.Answer == rankRight
	case foundBoth:
		return v.Named
	case foundKS:
		return r.Second.KS.Answer == rankRight
	case foundHybrid:
		return r.Second.Hybrid.Answer == rankRight
	case misroutedKS:
		return r.Second.KS.Answer == rankWrong
	case misroutedHybrid:
		return r.Second.Hybrid.Answer == rankWrong
	case foundOutliers:
		return r.Second.Outliers.Answer == rankRight
	case foundBlame:
		return r.Second.Blame.Answer == rankRight
	case misroutedOutliers:
		return r.Second.Outliers.Answer == rankWrong
	case misroutedBlame:
		return r.Second.Blame.Answer == rankWrong
	}
	return v.Innocent > 0 || v.Called && (!v.StageRight || v.Answer == rankWrong)
}

// holdsInFaulty reports whether something holds in every window with the fault,
// of which there must be one.
func (r *scoredRun) holdsInFaulty(holds func(*scoredWindow) bool) bool {
	k, n := r.singleScore().tally(true, holds)
	return k == n && n > 0
}

// singleScore returns the score of this run.
func (r *scoredRun) singleScore() *Score { return &Score{Runs: []*scoredRun{r}} }

// meanShare averages the share of the seeded stage, first over the faulty
// windows of a run, then over runs.
func meanShare(runs []*scoredRun) shareMean {
	var of []float64
	for _, r := range runs {
		if own := r.singleScore().mean(func(w *scoredWindow) *float64 { return w.Share }); own.n > 0 {
			of = append(of, own.value())
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

// detectabilityTable returns the curves as rows: one per family, size and delay.
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
				row = append(row, rateCell(r))
			}
			t.Add(append(row, table.TextCell(p.Share.String()))...)
			runs, astray = runs+p.Runs, astray+p.Rates[misrouted].K
		}
	}
	t.Notes = []string{countSentence("detectability", table.OutOf(astray, runs))}
	return t
}

// rateCell returns a count with the exact interval of its rate.
func rateCell(r bootstrap.Rate) table.Cell {
	if r.N == 0 {
		return table.NoFigure()
	}
	return table.TextCell(fmt.Sprintf("%s [%s, %s]", table.OutOf(r.K, r.N), twoDecimals(r.Lower), twoDecimals(r.Upper)))
}

func milliseconds(d simulate.Millis) string { return strconv.FormatFloat(float64(d), 'f', -1, 64) }

func (m shareMean) String() string {
	switch {
	case math.IsNaN(m.Mean):
		return none
	case math.IsNaN(m.Lower):
		return twoDecimals(m.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", twoDecimals(m.Mean), twoDecimals(m.Lower), twoDecimals(m.Upper))
}

// hasCurve reports whether a curve can be drawn through the runs.
func (s *Score) hasCurve() bool {
	return len(s.groupBy(byFamily, byDelay)) > len(s.groupBy(byFamily))
}

// threshold is the delay, in ms, from which on a finding is made in a part of
// the runs at least. Delay is interpolated in the logarithm of the delay on the
// rates, made monotone by pooling adjacent violators (Ayer et al. 1955); NaN:
// no delay of the curve has that rate, or all do. Lower and Upper are delays of
// the curve: at Lower the exact 95 % interval of the rate still lies below the
// part, at Upper it lies at or above; NaN where none does. Between them nothing
// but monotony is assumed.
type threshold struct{ Delay, Lower, Upper float64 }

func (c *curve) threshold(f finding, part float64) threshold {
	out := threshold{math.NaN(), math.NaN(), math.NaN()}
	rates := c.monotone(f)
	for i, p := range c.Points {
		at, r := float64(p.Delay), p.Rates[f]
		if r.N > 0 && r.Upper < part {
			out.Lower = at
		}
		if r.Lower >= part && math.IsNaN(out.Upper) {
			out.Upper = at
		}
		if i > 0 && math.IsNaN(out.Delay) && rates[i-1] < part && rates[i] >= part {
			before := math.Log(float64(c.Points[i-1].Delay))
			out.Delay = math.Exp(before + (part-rates[i-1])/(rates[i]-rates[i-1])*(math.Log(at)-before))
		}
	}
	return out
}

// monotone returns the rates of a finding by delay, pooled where a rate is below the one before.
func (c *curve) monotone(f finding) []float64 {
	type block struct{ k, n, points int }
	var blocks []block
	for _, p := range c.Points {
		blocks = append(blocks, block{p.Rates[f].K, p.Rates[f].N, 1})
		for n := len(blocks); n > 1 && blocks[n-1].k*blocks[n-2].n < blocks[n-2].k*blocks[n-1].n; n = len(blocks) {
			last := blocks[n-1]
			blocks = blocks[:n-1]
			blocks[n-2].k += last.k
			blocks[n-2].n += last.n
			blocks[n-2].points += last.points
		}
	}
	var out []float64
	for _, b := range blocks {
		for range b.points {
			out = append(out, float64(b.k)/float64(max(1, b.n)))
		}
	}
	return out
}

// String returns the delay with the interval around it.
func (t threshold) String() string {
	end := func(ms float64) string {
		if math.IsNaN(ms) {
			return none
		}
		return strconv.FormatFloat(ms, 'f', -1, 64)
	}
	delay := none
	if !math.IsNaN(t.Delay) {
		delay = strconv.FormatFloat(t.Delay, 'f', 1, 64)
	}
	return fmt.Sprintf("%s [%s, %s]", delay, end(t.Lower), end(t.Upper))
}

// thresholdTable returns a table of the delays from which on half and nine of ten runs have a finding.
func (s *Score) thresholdTable() *table.Table {
	t := &table.Table{Title: "From which delay on a fault is found, ms", Keys: 3,
		Columns: slices.Concat(table.Words("family", "ranks"), table.Heads(table.Integer, "runs a point"),
			table.Words("top-2: half", "top-2: 90 %", "called: half", "called: 90 %"))}
	for _, c := range s.curves() {
		row := append(table.Texts(c.name(), strconv.Itoa(c.Ranks)), table.WholeCell(c.Points[0].Runs))
		for _, f := range []finding{foundTop2, foundBoth} {
			for _, part := range []float64{0.5, 0.9} {
				row = append(row, table.TextCell(c.threshold(f, part).String()))
			}
		}
		t.Add(row...)
	}
	t.Notes = []string{countSentence("thresholds")}
	return t
}

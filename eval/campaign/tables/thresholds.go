package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/internal/table"
)

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

// monotone are the rates of a finding by delay, pooled where one is below that
// before it.
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

// String is the delay with the interval around it.
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

// thresholdTable says from which delay on half and nine of ten runs have a
// finding.
func (s *Score) thresholdTable() *table.Table {
	t := &table.Table{Title: "From which delay on a fault is found, ms", Keys: 3,
		Columns: slices.Concat(table.Words("family", "ranks"), table.Heads(table.Integer, "runs a point"), table.Words("top-2: half", "top-2: 90 %", "called: half", "called: 90 %"))}
	for _, c := range s.curves() {
		row := append(table.Texts(c.name(), strconv.Itoa(c.Ranks)), table.WholeCell(c.Points[0].Runs))
		for _, f := range []finding{foundTop2, foundBoth} {
			for _, part := range []float64{0.5, 0.9} {
				row = append(row, table.TextCell(c.threshold(f, part).String()))
			}
		}
		t.Add(row...)
	}
	t.Notes = []string{says("thresholds")}
	return t
}

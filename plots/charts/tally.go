package charts

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/plots"
	"github.com/sfstat/sfstat/trace/nccl"
)

// mostOps is how many operations a figure tells apart; the rest is one more.
const mostOps = 7

// tally is calls and bytes as figures show them.
type tally struct {
	names []string // of operations, most bytes first
	calls []float64
	bytes []float64 // GB
	byRank,
	callsBySize, bytesBySize [][]float64 // [rank or size class][operation], of calls; bytes
	rankNumbers []int
}

// countTraffic counts the calls of all ranks.
func countTraffic(r *comm.Result) *tally {
	total := parallel.OpTally{}
	each := func(visit func(rank int, op nccl.Op, bytes int64)) {
		for i := range r.Ranks {
			for _, n := range r.Ranks[i].Calls {
				c := &r.Calls[n]
				visit(i, c.Op, max(c.Bytes, 0))
			}
		}
	}
	each(func(_ int, op nccl.Op, bytes int64) { total.Add(op, bytes) })
	uses := total.Uses()
	slices.SortFunc(uses, func(a, b parallel.OpUse) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Op, b.Op)) })
	w := &tally{byRank: make([][]float64, len(r.Ranks)), callsBySize: make([][]float64, 64), bytesBySize: make([][]float64, 64)}
	at := map[nccl.Op]int{}
	for i, u := range uses {
		k := min(i, mostOps)
		at[u.Op] = k
		if i <= mostOps {
			w.names, w.calls, w.bytes = append(w.names, u.Op.String()), append(w.calls, 0), append(w.bytes, 0)
		} else {
			w.names[k] = "others"
		}
		w.calls[k] += float64(u.Calls)
		w.bytes[k] += float64(u.Bytes) / 1e9
	}
	for i := range r.Ranks {
		w.rankNumbers = append(w.rankNumbers, r.Ranks[i].Rank)
	}
	for _, rows := range [][][]float64{w.byRank, w.callsBySize, w.bytesBySize} {
		for i := range rows {
			rows[i] = make([]float64, len(w.names))
		}
	}
	each(func(rank int, op nccl.Op, bytes int64) {
		w.byRank[rank][at[op]] += float64(bytes) / 1e9
		if bytes > 0 {
			class := comm.Class(bytes)
			w.callsBySize[class][at[op]]++
			w.bytesBySize[class][at[op]] += float64(bytes) / 1e9
		}
	})
	return w
}

// bars returns a value of each operation.
func (w *tally) bars(x plots.Axis, values []float64) plots.Bars {
	b := plots.Bars{X: x, Series: []string{x.Name}}
	for i, name := range w.names {
		b.Groups = append(b.Groups, plots.Group{Name: name, Values: values[i : i+1]})
	}
	return b
}

func (w *tally) ranks() plots.Histogram {
	panel := plots.HistogramPanel{Y: plots.Axis{Name: "volume as logged", Unit: "GB"}}
	ticks := make([]float64, 0, len(w.rankNumbers))
	for i, n := range w.rankNumbers {
		panel.Bins = append(panel.Bins, plots.Bin{From: float64(n) - 0.5, To: float64(n) + 0.5, Values: w.byRank[i]})
		ticks = append(ticks, float64(n))
	}
	return plots.Histogram{X: plots.Axis{Name: "rank", Ticks: ticks}, Series: w.names, Panels: []plots.HistogramPanel{panel}}
}

func (w *tally) sizes() plots.Histogram {
	panels := []plots.HistogramPanel{{Y: plots.Axis{Name: "calls"}}, {Y: plots.Axis{Name: "volume", Unit: "GB"}}}
	for k := range w.callsBySize {
		from := math.Exp2(float64(k))
		panels[0].Bins = append(panels[0].Bins, plots.Bin{From: from, To: 2 * from, Values: w.callsBySize[k]})
		panels[1].Bins = append(panels[1].Bins, plots.Bin{From: from, To: 2 * from, Values: w.bytesBySize[k]})
	}
	return plots.Histogram{X: plots.Axis{Name: "message", Bytes: true}, Series: w.names, Panels: panels}
}

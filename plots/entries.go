package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Entries is how far each rank enters collectives behind the first of their
// members: arrival skew, rank by rank.
type Entries struct {
	Ranks  []Worker
	Groups []EntryGroup
	Found  string // what it means that a rank is a culprit, for the legend
}

// EntryGroup are the collectives of one group of ranks, or of several that have
// no rank in common.
type EntryGroup struct {
	Name  string
	Calls int // of a rank; a column stands for several where there are many
	// Behind is [rank][column], ms; NaN: the rank is a member and its entry is not
	// recorded; negative: it is no member.
	Behind [][]float64
}

// Draw makes the map. The first rank is on top, groups stand side by side.
func (e Entries) Draw(w Width) (*Figure, error) {
	n := len(e.Ranks)
	if n == 0 || len(e.Groups) == 0 {
		return nil, ErrNothing
	}
	for _, g := range e.Groups {
		for _, row := range g.Behind {
			if len(g.Behind) != n || len(row) == 0 || len(row) != len(g.Behind[0]) {
				return nil, fmt.Errorf("plots: group %s has %d rows, one of %d columns, expected %d of %d", g.Name, len(g.Behind), len(row), n, len(g.Behind[0]))
			}
		}
	}
	m, blocks := e.laidOut()
	top, most, gaps := e.top()
	ws, xs := workerAxis(e.Ranks), workerAxis(blocks)
	p := newPlot(Axis{Name: "calls of each group, in order of time"}, Axis{Name: "rank"})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(m.columns), 0, float64(n)
	high := min(max(vg.Length(n)*(tickSize+3), 75), w.length())
	p.Y.Tick.Marker = plot.ConstantTicks(ws.labelsIn(high, tickSize+1, func(i int) float64 { return float64(n-i) - 0.5 }))
	p.Add(painted(m.reduced().image(top)), plotter(ws.rowsOf), plotter(xs.between))
	f := figure(w, high, p)
	f.beside = scale(Axis{Name: "behind the first", Unit: "ms"}, top)
	f.legend = ws.foundEntry(e.Found)
	if gaps {
		f.legend = append(f.legend, entry{"no entry", unknownEntry.sample})
	}
	f.legend = append(f.legend, e.name(p, w, m.columns)...)
	if most > top {
		f.legend = append(f.legend, entry{name: "darkest: as long or longer, up to " + number(math.Round(most)) + " ms"})
	}
	return f, nil
}

// laidOut are all groups side by side, and the group of each column. The columns
// of a group that has few are wider, so that it can be seen.
func (e Entries) laidOut() (m cells, blocks []Worker) {
	const narrowest = 0.12 // of all columns
	all := 0
	for _, g := range e.Groups {
		all += len(g.Behind[0])
	}
	type column struct{ group, at int }
	var of []column
	for i, g := range e.Groups {
		wide := max(1, int(math.Ceil(narrowest*float64(all)/float64(len(g.Behind[0])))))
		for k := range len(g.Behind[0]) * wide {
			of = append(of, column{i, k / wide})
			blocks = append(blocks, Worker{Group: i})
		}
	}
	return cells{len(e.Ranks), len(of), func(r, c int) float64 { return e.Groups[of[c].group].Behind[r][of[c].at] }}, blocks
}

// top is what is darkest: the longest, or twice the skew that one column in forty
// exceeds, so that a slow start does not pale everything else.
func (e Entries) top() (top, most float64, gaps bool) {
	var skews []float64
	for _, g := range e.Groups {
		for c := range g.Behind[0] {
			skew := 0.0
			for _, row := range g.Behind {
				gaps = gaps || math.IsNaN(row[c])
				if row[c] > skew {
					skew = row[c]
				}
			}
			skews = append(skews, skew)
		}
	}
	slices.Sort(skews)
	most = skews[len(skews)-1]
	top = min(most, 2*skews[(len(skews)-1)*39/40])
	if top <= 0 {
		top = max(most, 1)
	}
	return top, most, gaps
}

// name labels the groups below their columns where all names fit; otherwise
// they are numbered, and the legend says what for.
func (e Entries) name(p *plot.Plot, w Width, columns int) (key []entry) {
	_, blocks := e.laidOut()
	width := make([]int, len(e.Groups))
	for _, b := range blocks {
		width[b.Group]++
	}
	labels := make([]string, len(e.Groups))
	fit := true
	for i, g := range e.Groups {
		labels[i] = fmt.Sprintf("%s: %s", short(g.Name), number(float64(g.Calls)))
		if n := len(g.Behind[0]); n < g.Calls {
			labels[i] += fmt.Sprintf(", the longest of %d a column", (g.Calls+n-1)/n)
		}
		style := words(tickSize)
		part := (w.length() - besideWide - 44) * vg.Length(width[i]) / vg.Length(columns)
		fit = fit && style.Width(labels[i])+4 <= part
	}
	var ticks []plot.Tick
	at := 0
	for i, label := range labels {
		if !fit {
			label = number(float64(i + 1))
			key = append(key, entry{name: label + " = " + labels[i]})
		}
		ticks = append(ticks, plot.Tick{Value: float64(at) + float64(width[i])/2, Label: label})
		at += width[i]
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Tick.Length = 0
	return key
}

// between draws the borders between blocks of columns.
func (ws workerAxis) between(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i := 1; i < len(ws); i++ {
		if ws[i].Group != ws[i-1].Group {
			c.StrokeLine2(pen(black, 0.6), x(float64(i)), c.Min.Y, x(float64(i)), c.Max.Y)
		}
	}
}

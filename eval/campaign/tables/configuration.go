package tables

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// configurationTable has the shape of the paper's Table 16: which runs each
// group has, here and there.
func (s *Score) configurationTable() *table.Table {
	t := &table.Table{Title: "Groups of the evaluation", Keys: 1,
		Columns: slices.Concat(table.Words("group", "role", "ranks", "seeds", "delays_ms"), table.Heads(table.Integer, "runs", "windows"), table.Words("steps", "paper's ranks", "paper's seeds", "paper's delays_ms"))}
	for _, name := range publishedNames(published().Groups) {
		p, g := published().Groups[name], groupRuns{Name: name, Score: s.standingFor(name)}
		if len(g.Runs) == 0 {
			if p.Elsewhere != "" {
				t.Add(table.Texts(name, p.Role, "of "+p.Elsewhere, none, none, none, none, none, p.Ranks, p.Seeds, p.Delays)...)
			}
			continue
		}
		c := g.configuration()
		t.Add(slices.Concat(table.Texts(name, p.Role), c[2:3], table.Texts(g.seeds()), c[3:], table.Texts(p.Ranks, p.Seeds, p.Delays))...)
	}
	return beside(t, "table-16")
}

// seeds are the seeds of the runs, as a range where they are one.
func (g *groupRuns) seeds() string {
	var all []uint64
	for _, r := range g.Runs {
		all = append(all, r.Seed)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	first, last := all[0], all[len(all)-1]
	if last-first == uint64(len(all)-1) && last > first {
		return strconv.FormatUint(first, 10) + "–" + strconv.FormatUint(last, 10)
	}
	var list []string
	for _, seed := range all {
		list = append(list, strconv.FormatUint(seed, 10))
	}
	return strings.Join(list, ", ")
}

// caseTable has the shape of the paper's Table 8: how the exposed makespan of
// each field case divides among the stages, and what the verdict says of it.
func (s *Score) caseTable() *table.Table {
	t := &table.Table{Title: "Field cases: exposed share by stage, the paper's cut, per cent", Keys: 1,
		Columns: slices.Concat(table.Words("case", "signal"), table.Heads(table.Integer, "runs"), table.Words("data", "forward", "backward", "callbacks", "optimizer"),
			table.Heads(table.Part, "stage right", "rank right", "called"))}
	for _, name := range publishedNames(published().Cases) {
		part := s.standingFor(name)
		if len(part.Runs) == 0 {
			continue
		}
		row := slices.Concat(table.Texts(name, published().Cases[name]), []table.Cell{table.WholeCell(len(part.Runs))}, table.Texts(part.stageShares()...))
		d := verdictsOf(part.Runs)
		if part.Runs[0].healthy() {
			row = append(row, table.None(), table.None(), table.PartCell(d.Confidence["strong"]+d.Confidence["supported"], d.Runs))
		} else {
			row = append(row, table.PartCell(d.StageRight, d.Runs), table.PartCell(d.Answers[rankRight], d.Runs), table.PartCell(d.Named, d.Runs))
		}
		t.Add(row...)
	}
	return beside(t, "table-8")
}

// stageShares are the mean shares of the default program's stages over the
// windows with a fault, or over all of healthy runs, in per cent.
func (s *Score) stageShares() []string {
	var out []string
	for _, stage := range []string{simulate.StageData, simulate.StageForward, simulate.StageBackward, simulate.StageCallbacks, simulate.StageOptimizer} {
		var m mean
		for _, r := range s.Runs {
			for i := range r.Windows {
				w := &r.Windows[i]
				if at := slices.Index(w.names, stage); at >= 0 && w.shares != nil && (w.Fault || r.healthy()) {
					m.add(&w.shares[at])
				}
			}
		}
		cell := none
		if m.n > 0 {
			cell = strconv.FormatFloat(100*m.sum/float64(m.n), 'f', 0, 64)
		}
		out = append(out, cell)
	}
	return out
}

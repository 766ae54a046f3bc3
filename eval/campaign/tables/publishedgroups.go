package tables

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// publishedGroup is a row of the paper's Table 16.
type publishedGroup struct {
	name                 string
	ranks, seeds, delays string
	role                 string
	elsewhere            string // the specification that makes it, where that is another campaign
}

// publishedEvaluation is Table 16.
var publishedEvaluation = []publishedGroup{
	{"E0", "8", none, none, "telemetry completeness", ""},
	{"E1", "8–128", "0–4", none, "overhead, by paired bootstrap; runs without a fault", "overhead-real.yaml"},
	{"E2", "8", "0–2", "120", "pilot of routing", ""},
	{"E3", "8, 32", "0–4", "12, 30, 60, 120", "detectability; top-1 and top-2 routing", ""},
	{"E4", "8, 32", none, "150, 180", "boundary of the candidate set", ""},
	{"E5", "8, 32", none, none, "forward: device or host", ""},
	{"Callback", "8", "0–2", "60–240", "callbacks with a barrier and without", ""},
	{"E6", "8", "0–2", "120", "removed injection, A/B/A", ""},
	{"E7", "8", "0–4", none, "gradient accumulation", ""},
	{"E8", "8, 16, 32", "0–2", "180", "sharded data parallel", ""},
	{"E9", "32", "0–2", "180", "beside PyTorch's profiler, HTA and Nsight", "e9-real.yaml"},
	{"Scale", "64, 128", none, "120–360", "routing beyond 32 ranks", ""},
}

// fieldCase is a row of the paper's Table 8: shares of the exposed makespan by
// stage in per cent, in the order of the default program; none where it gives
// none.
type fieldCase struct {
	name, signal string
	shares       [5]string
}

var fieldCases = []fieldCase{
	{"Vision-A", "data tail from random ranks: small median, large tail", [5]string{none, none, none, none, none}},
	{"Vision-B", "callbacks: a spike every ten steps of one rank", [5]string{"27", "44", "5", "24", none}},
	{"Mixed-A", "data, with a large lag", [5]string{"90", none, none, none, none}},
	{"QAT-A", "forward", [5]string{"5", "76", "15", "4", none}},
	{"QAT-B", "forward", [5]string{"10", "67", "22", none, none}},
}

// caseNames are the field cases.
func caseNames() []string {
	var out []string
	for _, c := range fieldCases {
		out = append(out, c.name)
	}
	return out
}

// configurationTable has the shape of the paper's Table 16: which runs each
// group has, here and there.
func (s *Score) configurationTable() *table.Table {
	t := &table.Table{Title: "Groups of the evaluation", Keys: 1,
		Columns: slices.Concat(table.Words("group", "role", "ranks", "seeds", "delays_ms"), table.Heads(table.Integer, "runs", "windows"), table.Words("steps", "paper's ranks", "paper's seeds", "paper's delays_ms"))}
	for _, p := range publishedEvaluation {
		g := groupRuns{Name: p.name, Score: s.standingFor(p.name)}
		if len(g.Runs) == 0 {
			if p.elsewhere != "" {
				t.Add(table.Texts(p.name, p.role, "of "+p.elsewhere, none, none, none, none, none, p.ranks, p.seeds, p.delays)...)
			}
			continue
		}
		c := g.configuration()
		t.Add(slices.Concat(table.Texts(p.name, p.role), c[2:3], table.Texts(g.seeds()), c[3:], table.Texts(p.ranks, p.seeds, p.delays))...)
	}
	t.Notes = []string{"Windows of the paper have 120 to 600 steps after 20 of warm-up."}
	return t
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
			table.Heads(table.Part, "stage right", "rank right", "called"), table.Words("paper: data", "paper: forward", "paper: backward", "paper: callbacks"))}
	for _, c := range fieldCases {
		part := s.standingFor(c.name)
		if len(part.Runs) == 0 {
			continue
		}
		row := slices.Concat(table.Texts(c.name, c.signal), []table.Cell{table.WholeCell(len(part.Runs))}, table.Texts(part.stageShares()...))
		d := verdictsOf(part.Runs)
		if part.Runs[0].healthy() {
			row = append(row, table.None(), table.None(), table.PartCell(d.Confidence["strong"]+d.Confidence["supported"], d.Runs))
		} else {
			row = append(row, table.PartCell(d.StageRight, d.Runs), table.PartCell(d.Answers[rankRight], d.Runs), table.PartCell(d.Named, d.Runs))
		}
		t.Add(append(row, table.Texts(c.shares[:4]...)...)...)
	}
	t.Notes = []string{"The work of each simulated job is set to the published shares, so that they agree says only that the account gives back what the job is made of; " +
		"what is tested is the verdict. In QAT-A and QAT-B all ranks are alike: no rank is to be flagged. In Vision-A the delayed rank changes from step to step: " +
		"rank right is how often the first suspect is one of those delayed."}
	return t
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

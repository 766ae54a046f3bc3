package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/table"
)

// groupRuns is the runs of one group of a campaign, and where they come from.
type groupRuns struct {
	Name string
	*Score
	inputs []campaign.Provenance
}

// byGroup divides the runs of a plan, whose groups follow each other.
func (f *Evaluation) byGroup() []groupRuns {
	var out []groupRuns
	for i := range f.Tasks {
		if name := f.Tasks[i].Group; i == 0 || name != f.Tasks[i-1].Group {
			part, inputs := f.part(func(t *campaign.Task, _ *scoredRun) bool { return t.Group == name })
			out = append(out, groupRuns{name, part, inputs})
		}
	}
	return out
}

// groupTable is what each group consists of, and what it shows.
func groupTable(groups []groupRuns) *table.Table {
	t := &table.Table{Title: "Groups of the evaluation, and what each shows",
		Columns: slices.Concat(table.Words("group", "families", "ranks", "delays_ms"), table.Heads(table.Integer, "runs", "windows"), table.Words("steps"),
			table.Heads(table.Part, "top-1", "top-2", "called", "misrouted", "healthy windows with a strong label"))}
	for _, g := range groups {
		t.Add(append(g.configuration(), g.shown()...)...)
	}
	t.Notes = []string{says("groups")}
	return t
}

// configuration are the first seven columns of groupTable.
func (g *groupRuns) configuration() []table.Cell {
	var families, ranks, delays []string
	windows, least, most := 0, 0, 0
	add := func(list *[]string, what string) {
		if !slices.Contains(*list, what) {
			*list = append(*list, what)
		}
	}
	for _, r := range g.Runs {
		add(&families, r.Family.String())
		add(&ranks, strconv.Itoa(r.Ranks))
		if !r.healthy() {
			add(&delays, milliseconds(r.Delay))
		}
		for _, w := range r.Windows {
			if windows++; least == 0 || w.Steps < least {
				least = w.Steps
			}
			most = max(most, w.Steps)
		}
	}
	steps := strconv.Itoa(most)
	if least != most {
		steps = fmt.Sprintf("%d–%d", least, most)
	}
	if len(delays) == 0 {
		delays = []string{none}
	}
	slices.SortFunc(delays, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return append(table.Texts(g.Name, strings.Join(families, ", "), strings.Join(ranks, ", "), strings.Join(delays, ", ")),
		table.WholeCell(len(g.Runs)), table.WholeCell(windows), table.TextCell(steps))
}

func (g *groupRuns) shown() []table.Cell {
	tally := tallyOf(g.Runs)
	runs, called, astray, healthy, strong := 0, 0, 0, 0, 0
	for _, r := range g.Runs {
		if !r.healthy() {
			runs++
			count(&called, r.had(foundBoth))
			count(&astray, r.had(misrouted))
		}
		for _, w := range r.Windows {
			count(&healthy, !w.Fault)
			count(&strong, !w.Fault && (w.Strong || w.Automatic.Strong))
		}
	}
	return []table.Cell{table.PartCell(tally.Top1, tally.Windows), table.PartCell(tally.Top2, tally.Windows), table.PartCell(called, runs),
		table.PartCell(astray, runs), table.PartCell(strong, healthy)}
}

// spikeTable has the shape of the paper's Table 9, which is about the periodic
// spike of Vision-B: what a median of the delayed stage shows, what its maximum
// shows, and what the frontier charges. Times are of the seeded stage over all
// steps and ranks, in parts of the median step; rows are by group.
func (s *Score) spikeTable() *table.Table {
	t := &table.Table{Title: "A delay that comes and goes: its stage by median, by maximum, and by exposed share", Keys: 1,
		Columns: slices.Concat(table.Words("runs of", "family", "ranks", "delay_ms"), table.Heads(table.Integer, "runs"),
			table.Heads(table.Hundredths, "median ÷ step", "maximum ÷ step", "exposed share, paper's cut", "exposed share, automatic"),
			table.Heads(table.Part, "rank right", "rank wrong"))}
	var names []string
	keys := []key{byFamily, byRanks, byDelay}
	for _, g := range s.grouped(keys) {
		var middle, most, share, auto mean
		right, wrong := 0, 0
		for _, r := range g.runs {
			faulty([]*scoredRun{r}, func(w *scoredWindow) {
				middle.addOf(w.pace.stageMedian, w.pace.median)
				most.addOf(w.pace.stageMax, w.pace.median)
				share.add(w.Share)
				auto.add(w.Automatic.Share)
			})
			count(&right, r.Verdict.Answer == rankRight)
			count(&wrong, r.Verdict.Answer == rankWrong)
		}
		name, published := none, ""
		if task := g.runs[0].task; task != nil {
			name, published = task.Group, task.Published
		}
		names = append(names, published)
		t.Add(append(append(table.Texts(name), keyCells(g, keys)...), table.WholeCell(len(g.runs)),
			middle.cell(), most.cell(), share.cell(), auto.cell(), table.PartCell(right, len(g.runs)), table.PartCell(wrong, len(g.runs)))...)
	}
	return besideRows(t, "table-9", names)
}

// addOf adds a ratio, if there is one.
func (m *mean) addOf(a, b float64) {
	if b > 0 {
		ratio := a / b
		m.add(&ratio)
	}
}

// accumulationTable is the paper's group E7: where the delayed stage stands when
// a step has microsteps, their stages accounted for in order.
func (s *Score) accumulationTable() *table.Table {
	t := &table.Table{Title: "Accumulation: windows with a fault, the paper's cut",
		Columns: slices.Concat(table.Words("family"), table.Heads(table.Integer, "microsteps", "windows"), table.Heads(table.Part, "top-1", "top-2", "exact", "device label"))}
	for _, g := range s.grouped([]key{byFamily, byDelay}) {
		var tally tally
		exact, labelled := 0, 0
		faulty(g.runs, func(w *scoredWindow) {
			tally.add(w.Routing)
			count(&exact, w.Telescoping == 0)
			count(&labelled, slices.Contains(w.Labels, forwardFamilies[0].label.String()))
		})
		n := tally.Windows
		t.Add(table.TextCell(g.value(byFamily)), table.WholeCell(g.like.Accumulation), table.WholeCell(n),
			table.PartCell(tally.Top1, n), table.PartCell(tally.Top2, n), table.PartCell(exact, n), table.PartCell(labelled, n))
	}
	return beside(t, "accumulation")
}

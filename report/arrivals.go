package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Arrivals is who arrives last in one job.
type Arrivals struct {
	Run string
	*arrivals.Result
}

// Arrivals writes who arrives last where ranks synchronise. CSV is one row per
// place and rank.
func (o Output) Arrivals(jobs []Arrivals) error {
	return o.write(forms{
		json:     func() any { return jobsOf("sfstat.arrivals/1", each(jobs, Arrivals.publishedForm), o.Problems) },
		rows:     func() *publish.Rows { return publish.ArrivalRows(each(jobs, Arrivals.publishedForm)) },
		document: func() document { return jobsDocument(jobs, Arrivals.document) },
	})
}

func (j Arrivals) publishedForm() publish.ArrivalJob { return publish.ArrivalJobOf(j.Run, j.Result) }

// jobsOf returns the document of what ranks of jobs entered.
func jobsOf[T any](form string, jobs []T, problems []Problem) publish.Jobs[T] {
	return publish.Jobs[T]{Schema: form, Jobs: jobs, Problems: problemsOf(problems)}
}

func jobsDocument(jobs []Arrivals, of func(Arrivals) document) (d document) {
	for _, j := range jobs {
		d = append(d, of(j)...)
	}
	return d
}

const (
	placesShown = 20
	ranksShown  = 3 // late ranks with a sentence
)

func (j Arrivals) document() document {
	level := evidence.Insufficient
	if len(j.Late) > 0 {
		level = evidence.Strong
	}
	var d document
	if h := j.Result.Hang; h != nil {
		d = hangHeads(h)
	}
	d = append(d, headline{text: sayArrivals(j), level: level}, prose(sayArrivalFacts(j.Result)))
	late := slices.Concat(j.Late, j.Doubted)
	for i := range late[:min(len(late), ranksShown)] {
		d = append(d, prose(sayLateAt(&late[i], &j.Places[late[i].Entered.Place])))
	}
	return put(d, j.table(), section("How this was read", j.notes()))
}

// LateRanks returns the ranks that are late by their own delay.
func (j Arrivals) LateRanks() []int { return each(j.Late, func(l claim.Claim) int { return l.Rank() }) }

// lineWithCall returns a line as people write it, with what it calls.
func lineWithCall(l arrivals.Line) string {
	if l.File == "" || l.Call == "" {
		return l.String()
	}
	return fmt.Sprintf("%s (%s)", l.String(), l.Call)
}

func groupName(name, desc string) string {
	if desc == "" || desc == "undefined" {
		return "group " + name
	}
	return desc
}

func (j Arrivals) table() *table.Table {
	t := arrivalsColumns()
	var order []int
	for i := range j.Places {
		if j.Places[i].Repeats {
			order = append(order, i)
		}
	}
	worst := func(p *arrivals.Place) arrivals.RankAt {
		return slices.MaxFunc(p.Ranks, func(a, b arrivals.RankAt) int {
			return cmp.Or(cmp.Compare(a.Charge, b.Charge), cmp.Compare(a.Delay, b.Delay))
		})
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(worst(&j.Places[b]).Charge, worst(&j.Places[a]).Charge)
	})
	for _, i := range order {
		p := &j.Places[i]
		w := worst(p)
		t.Row(p.Line.String(), p.Line.Call, bareOp(p.Op), p.Stage, p.Group, p.Points, p.Skew, w.Rank, float64(w.Last)/float64(max(1, w.Points)), w.Delay, w.Charge)
	}
	return capRows(t, placesShown, "json and csv").Tidy()
}

// notes returns notes on the limits of the result.
func (j Arrivals) notes() bullets {
	var out bullets
	for _, c := range j.Clocks {
		if len(j.Clocks) < 2 || len(out) > 7 {
			break
		}
		name := c.Host
		if name == "" {
			name = ranksWord(c.Ranks)
		}
		out = append(out, sayClock(&c, path.Base(name)))
	}
	for _, g := range j.ByOrder {
		out = append(out, fmt.Sprintf("Calls of group %s are matched by order: their sequence numbers differ between ranks", g))
	}
	for _, g := range j.Silent {
		out = append(out, fmt.Sprintf("Sends and receives of group %s are counted but not recorded, as by Gloo", g))
	}
	return out
}

func arrivalsColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "entered from", Kind: table.Name},
		{Head: "calls", Kind: table.Name, Spare: true},
		{Head: "operation", Kind: table.Name},
		{Head: "stage", Kind: table.Name, Spare: true},
		{Head: "group", Kind: table.Name, Spare: true},
		{Head: "points", Kind: table.Integer},
		{Head: "skew %s", Kind: table.Length, Means: "skew: last entry less first, median."},
		{Head: "latest", Kind: table.ID, Means: "latest: the rank that costs most there."},
		{Head: "last", Kind: table.Fraction, Means: "last: how often that rank entered last."},
		{Head: "own %s", Kind: table.Length, Means: "own: own delay, median; delays inherited from another synchronisation point are not included."},
		{Head: "cost %s", Kind: table.Length, Means: "cost: what the others waited for it, in all."},
	}}
}

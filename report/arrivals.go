package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
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
		schema:   "arrivals",
		json:     func() any { return jobsJSON[arrivalJobJSON]{each(jobs, Arrivals.wire)} },
		document: func() document { return jobsDocument(jobs, Arrivals.document) },
	})
}

// jobsJSON is the JSON of all commands over what ranks entered.
type jobsJSON[T any] struct {
	Jobs []T `json:"jobs" doc:"one for each job of the input"`
}

func jobsDocument(jobs []Arrivals, of func(Arrivals) document) (d document) {
	for _, j := range jobs {
		d = append(d, of(j)...)
	}
	return d
}

type arrivalJobJSON struct {
	Run string `json:"run" doc:"name of the folder, or of the run whose packets lie in it"`
	*arrivals.Result
	Late []lateRank `json:"late" before:"late_set" doc:"ranks that delay the others, the costliest first"`
}

// lateRank is a late rank and what is known of the place where it costs most.
type lateRank struct {
	arrivals.Late
	At    string        `json:"stage" null:"zero" before:"lost_in" doc:"stage in which the call is entered, by packets next to the dumps"`
	Op    string        `json:"op" before:"group" doc:"operation as recorded"`
	Enter arrivals.Line `json:"source_line" null:"zero" before:"place" doc:"line of the program from which the call is entered"`
}

func (j Arrivals) wire() arrivalJobJSON {
	return arrivalJobJSON{j.Run, j.Result, each(j.Late, func(l arrivals.Late) lateRank {
		p := &j.Places[l.Place]
		return lateRank{l, p.Stage, p.Op, p.Line}
	})}
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
	d := document{headline{say("arrivals", j), level}, prose(say("arrivals facts", j))}
	late := slices.Concat(j.Late, j.Doubted)
	for i := range late[:min(len(late), ranksShown)] {
		d = append(d, prose(say("arrives late", lateAt{&late[i], &j.Places[late[i].Place]})))
	}
	return put(d, j.table(), section("How this was read", j.notes()))
}

// LateRanks are the ranks that are late by their own delay.
func (j Arrivals) LateRanks() []int { return each(j.Late, func(l arrivals.Late) int { return l.Rank }) }

// lateAt is a late rank and the place where it costs most.
type lateAt struct {
	*arrivals.Late
	At *arrivals.Place
}

// entered is a line as people write it, with what it calls.
func entered(l arrivals.Line) string {
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
	t := tableOf("arrivals")
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
	return capped(t, placesShown, "json and csv").Tidy()
}

// notes say what the result rests on.
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
		out = append(out, say("clock of", struct {
			arrivals.Clock
			Name string
		}{c, path.Base(name)}))
	}
	for _, g := range j.ByOrder {
		out = append(out, fmt.Sprintf("Calls of group %s are matched by order: their sequence numbers differ between ranks", g))
	}
	for _, g := range j.Silent {
		out = append(out, fmt.Sprintf("Sends and receives of group %s are counted but not recorded, as by Gloo", g))
	}
	return out
}

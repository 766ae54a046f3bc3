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
	Rank      int           `json:"rank" doc:"global rank"`
	Host      string        `json:"host" null:"zero" doc:"host of the rank"`
	Stage     string        `json:"stage" null:"zero" doc:"stage in which the call is entered, by packets next to the dumps"`
	LostIn    *string       `json:"lost_in" doc:"stage in which it loses more than half of its delay, by the stage times of packets"`
	Op        string        `json:"op" doc:"operation as recorded"`
	Group     string        `json:"group" doc:"process group of the rank"`
	Line      arrivals.Line `json:"source_line" null:"zero" doc:"line of the program from which the call is entered"`
	Place     int           `json:"place" doc:"index in places of the one where it costs most"`
	Delay     int64         `json:"delay_ns" doc:"own delay there, mean over the points that it delayed"`
	Excess    int64         `json:"excess_ns" doc:"own delay over all strikes and places"`
	PerStep   int64         `json:"per_step_ns" doc:"own delay of a struck step, over all places, mean"`
	Struck    int           `json:"struck_steps" doc:"steps that it delayed, at any place"`
	Steps     int           `json:"steps" doc:"steps of the recording"`
	Strikes   int           `json:"strikes" doc:"synchronisation points there that it delayed"`
	Last      int           `json:"last" doc:"synchronisation points there that it entered last"`
	Points    int           `json:"points" doc:"synchronisation points there that it entered"`
	P         float64       `json:"p" doc:"chance of so many strikes were all ranks alike; corrected for ranks and places"`
	Gain      float64       `json:"gain" doc:"part of the struck steps that fixing it saves"`
	RunGain   float64       `json:"run_gain" doc:"part of all steps that fixing it alone saves"`
	RunAtMost float64       `json:"run_gain_at_most" doc:"the same where all others are fixed, if that is more"`
	FirstStep int64         `json:"first_step" null:"negative" doc:"first struck step, where packets tell"`
	LastStep  int64         `json:"last_step" null:"negative" doc:"last struck step, likewise"`
	Clock     bool          `json:"clock_not_excluded" doc:"the delay is smaller than the uncertainty of the rank's clock"`
}

func (j Arrivals) wire() arrivalJobJSON {
	out := arrivalJobJSON{j.Run, j.Result, []lateRank{}}
	for i := range j.Late {
		c := &j.Late[i]
		l, p := c.Entered, &j.Places[c.Entered.Place]
		r := lateRank{Rank: c.Rank(), Host: c.HostName(), Op: p.Op, Stage: p.Stage, Group: c.Group, Line: p.Line, Place: l.Place, Delay: l.Delay, Excess: c.Charged(), PerStep: c.Size,
			Struck: c.Steps.Count, Steps: c.Steps.Of, Strikes: l.Strikes, Last: l.Last, Points: l.Points, P: c.P, Gain: c.StruckGain(j.End - j.Begin),
			RunGain: c.Saves.Alone, RunAtMost: c.Saves.Most(), FirstStep: l.Recorded[0], LastStep: l.Recorded[1], Clock: l.Clock}
		if l.Divided && l.Stage != "" {
			r.LostIn = &l.Stage
		}
		out.Late = append(out.Late, r)
	}
	return out
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
		d = append(d, prose(say("arrives late", lateAt{&late[i], late[i].Entered, &j.Places[late[i].Entered.Place]})))
	}
	return put(d, j.table(), section("How this was read", j.notes()))
}

// LateRanks are the ranks that are late by their own delay.
func (j Arrivals) LateRanks() []int { return each(j.Late, func(l claim.Claim) int { return l.Rank() }) }

// lateAt is a late rank and the place where it costs most.
type lateAt struct {
	*claim.Claim
	In *claim.Entered
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

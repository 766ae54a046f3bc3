package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/report"
)

const (
	mostRows  = 128     // ranks of the maps
	mostCells = 400_000 // numbers of the maps
	mostRanks = 8192    // ranks of a run
	mostParts = 200     // windows of a run
	resolved  = 10_000  // units of a mean step, at least
)

// Page returns the page of what was added, with what the verdict says of it.
func (b *Builder) Page(v *diagnose.Verdict) (*Page, error) {
	p := &Page{Runs: []Run{}}
	runs := v.All()
	for i := range runs {
		var r Run
		var err error
		b.containPanic(runs[i].Run, func() { r, err = b.run(&runs[i]) })
		if err != nil {
			return nil, err
		}
		if failed := b.failed[runs[i].Run]; failed != nil {
			r = runWithoutCharts(&runs[i])
			p.Failed = append(p.Failed, failed)
		}
		p.Runs = append(p.Runs, r)
	}
	return p, nil
}

// runWithoutCharts returns a run without charts.
func runWithoutCharts(v *diagnose.RunVerdict) Run {
	return Run{Name: glyph.Visible(v.Run), Status: v.Status.String(), Unit: 1, Stages: []Stage{}, Ranks: []Rank{}, Culprit: -1, Named: []int{}, Drawn: []Drawn{},
		Fixes: []Fix{}, Since: []Since{}, Places: []Seen{}, Windows: []Part{}}
}

func (b *Builder) run(v *diagnose.RunVerdict) (Run, error) {
	out, err := b.drawRun(v)
	out.Culprit = culprit(v, out.Stages)
	return out, err
}

// culprit returns the stage, or the operator of a trace, that the first finding of a run that is not
// well names; −1: none.
func culprit(v *diagnose.RunVerdict, stages []Stage) int {
	f := v.Answer().First
	if f == nil || f.Confidence < evidence.Ambiguous {
		return -1
	}
	return slices.IndexFunc(stages, func(s Stage) bool {
		return s.Name == glyph.Visible(f.Stage) || s.Name == glyph.Visible(f.Op)
	})
}

func (b *Builder) drawRun(v *diagnose.RunVerdict) (Run, error) {
	out := runWithoutCharts(v)
	out.Fixes, out.Places, out.Windows, out.Latent = fixes(v), places(v), parts(v), latentOf(v)
	i := slices.IndexFunc(b.runs, func(r *run) bool { return r.name == v.Run })
	if i < 0 || b.runs[i].steps == 0 && v.Operators != nil {
		b.addTrace(v, &out)
	}
	var e entryDelays
	if i >= 0 {
		e.keep(b.runs[i].drawn)
		out.Arrivals, out.Traffic = arrivalsOf(&b.runs[i].arrivals, v, e.see), traffic(b.runs[i].calls, b.Limits, v)
	}
	if i < 0 || b.runs[i].steps == 0 {
		if i >= 0 && len(out.Ranks) == 0 {
			e.addSteps(v, out.Arrivals, &out)
		}
		return out, nil
	}
	o := outline{run: b.runs[i], unit: unitFor(b.runs[i].exposed / int64(b.runs[i].steps))}
	o.choose(v)
	out.Unit, out.Stages, out.Ranks, out.AllRanks, out.Named = o.unit, o.stages(), o.ranks(), len(o.members), o.suspectPositions(v)
	if out.Traffic != nil && isUnmapped(out.Stages) { // nothing is known of where in a step who is late
		out.Stages = []Stage{}
		return out, nil
	}
	out.Steps = o.steps()
	out.Since = o.struckSince(v, out.Stages)
	if o.enteredSteps(&e, out.Steps); out.Steps.Entered {
		shaded := *o.run // a page may be asked for again
		shaded.drawn = slices.Clone(o.drawn)
		o.run = &shaded
		for i := range o.drawn {
			o.drawn[i].lanes = slices.Clone(o.drawn[i].lanes)
			e.shade(&o.drawn[i], &o)
		}
	}
	out.Drawn, out.AllDrawn = o.drawings(v), !o.pruned
	out.Signs = o.signs(v)
	return out, nil
}

// isUnmapped reports whether stages have no names but those for time of no stage.
func isUnmapped(all []Stage) bool {
	return !slices.ContainsFunc(all, func(s Stage) bool {
		return s.Advance > 0 && !strings.HasPrefix(s.Name, "step.unmapped") && !strings.HasPrefix(s.Name, "step.other")
	})
}

// suspectPositions returns the positions of the ranks that findings name.
func (o *outline) suspectPositions(v *diagnose.RunVerdict) []int {
	out := []int{}
	for _, id := range suspectRanks(v) {
		if at, ok := o.place[id]; ok && o.at[at] >= 0 {
			out = append(out, o.at[at])
		}
	}
	return out
}

// unitFor returns the largest power of ten of which a step has enough.
func unitFor(step int64) int64 {
	unit := int64(1)
	for step/(10*unit) >= resolved {
		unit *= 10
	}
	return unit
}

// suspectRanks returns the ranks that findings name, the first finding's first.
func suspectRanks(v *diagnose.RunVerdict) []int {
	var out []int
	take := func(id int) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Confidence >= evidence.Ambiguous {
			if f.Rank != nil {
				take(*f.Rank)
			}
			for _, id := range f.Ranks {
				take(id)
			}
		}
	}
	return out
}

// outline is a run on its way to the page: which of its ranks are shown, by ID.
type outline struct {
	*run
	unit  int64
	shown []int // of members
	rows  []int // of shown
	at    []int // of members in shown, −1: not shown
}

// choose decides which ranks are shown: all of them where they fit, else those that
// findings name and those that were late for longest.
func (o *outline) choose(v *diagnose.RunVerdict) {
	latest := sequence(len(o.members))
	first := suspectRanks(v)
	place := func(m int) int {
		if i := slices.Index(first, o.members[m].ID); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(latest, func(a, b int) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(o.sums[b].late, o.sums[a].late))
	})
	byID := func(list []int) []int {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(o.members[a].ID, o.members[b].ID) })
		return list
	}
	o.shown = byID(latest[:min(mostRanks, len(latest))])
	o.at = pad([]int(nil), len(o.members), -1)
	for i, m := range o.shown {
		o.at[m] = i
	}
	numbers := max(1, len(o.columns.all)*(len(o.run.stages)+1))
	for _, m := range byID(latest[:min(mostRows, max(16, mostCells/numbers), len(latest))]) {
		o.rows = append(o.rows, o.at[m])
	}
}

func (o *outline) units(ns float64) int { return int(math.Round(ns / float64(o.unit))) }

// cell returns a number of a map, −1 where there is none.
func (o *outline) cell(ns float32) int {
	if isNaN(ns) {
		return -1
	}
	return o.units(float64(ns))
}

func (o *outline) stages() []Stage {
	out := slices.Clone(o.run.stages)
	for i := range out {
		out[i].Name = glyph.Visible(out[i].Name)
		if o.exposed > 0 {
			share := float64(out[i].Advance) / float64(o.exposed)
			out[i].Share = &share
		}
	}
	return out
}

func (o *outline) ranks() []Rank {
	var out []Rank
	for _, m := range o.shown {
		who, sum := o.members[m], &o.sums[m]
		n := float64(max(1, sum.steps))
		r := Rank{ID: who.ID, Host: glyph.Visible(who.Host), Local: who.LocalRank, Role: glyph.Visible(who.Role.String()),
			Late: o.units(float64(sum.late) / n), Last: sum.last}
		for s := range o.run.stages {
			spent, waits := -1, 0
			if s < len(sum.spent) {
				spent, waits = o.units(float64(sum.spent[s])/n), o.units(float64(sum.waits[s])/n)
			}
			r.Spent, r.Waits = append(r.Spent, spent), append(r.Waits, waits)
		}
		out = append(out, r)
	}
	return out
}

func (o *outline) steps() *Steps {
	all := o.columns.all
	out := &Steps{Count: o.run.steps, Width: o.columns.width, Rows: o.rows, Exposed: make([][]int, len(o.run.stages)), Spent: make([][][]int, len(o.run.stages))}
	for i := range all {
		c := &all[i]
		out.First = append(out.First, c.first)
		last, behind := -1, 0
		if c.last >= 0 {
			last, behind = o.at[c.last], o.cell(at32(c.late, c.last))
		}
		out.Last, out.Behind = append(out.Last, last), append(out.Behind, behind)
		for s := range out.Exposed {
			x := 0.0
			if s < len(c.exposed) {
				x = c.exposed[s] / float64(c.steps)
			}
			out.Exposed[s] = append(out.Exposed[s], o.units(x))
		}
	}
	for _, row := range o.rows {
		m := o.shown[row]
		out.Late = append(out.Late, o.row(func(c *column) float32 { return at32(c.late, m) }))
		for s := range out.Spent {
			out.Spent[s] = append(out.Spent[s], o.row(func(c *column) float32 {
				if s >= len(c.spent) {
					return nan32
				}
				return at32(c.spent[s], m) / float32(c.steps)
			}))
		}
	}
	if len(o.rows) < len(o.members) {
		out.Bands = o.bands()
	}
	return out
}

// row returns a number of every column.
func (o *outline) row(of func(*column) float32) []int {
	out := make([]int, len(o.columns.all))
	for i := range out {
		out[i] = o.cell(of(&o.columns.all[i]))
	}
	return out
}

func (o *outline) bands() *Bands {
	b := &Bands{Of: []float64{0.5, 0.9, 0.99, 1}}
	b.At = make([][]int, len(b.Of))
	var late []float64
	for i := range o.columns.all {
		late = late[:0]
		for _, x := range o.columns.all[i].late {
			if !isNaN(x) {
				late = append(late, float64(x))
			}
		}
		for q, of := range b.Of {
			b.At[q] = append(b.At[q], o.units(robust.Quantile(late, of)))
		}
	}
	return b
}

// fixes returns what fixing one thing would save of the run: findings, stages at their
// baselines, nobody late.
func fixes(v *diagnose.RunVerdict) []Fix {
	out := []Fix{}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.RunGain > 0 && f.Confidence >= evidence.Ambiguous {
			out = append(out, Fix{Kind: "finding", Who: report.Subject(f), Stage: report.Place(f), Line: glyph.Visible(f.Source.Short()), Gain: f.RunGain})
		}
	}
	var names []string
	sums := map[string]float64{}
	saves, makespan := 0.0, 0.0
	for _, w := range v.Windows {
		whole := float64(w.Main.Makespan)
		makespan += whole
		if w.Main.Saves != nil {
			saves += *w.Main.Saves * whole
		}
		for _, s := range w.Main.Stages {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
			sums[s.Name] += gain(s) * whole
		}
	}
	// Entries of calls show delays that stage times do not: what these say of all
	// ranks is then less than what one of them costs.
	least := 0.0
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Kind == diagnose.KindRank && f.Confidence >= evidence.Ambiguous {
			least = max(least, 0.95*f.RunGain)
		}
	}
	if makespan > 0 && saves > 0 && saves/makespan >= least {
		out = append(out, Fix{Kind: "ranks", Gain: saves / makespan})
	}
	for _, name := range names {
		if sums[name] > 0 {
			out = append(out, Fix{Kind: "stage", Stage: glyph.Visible(name), Gain: sums[name] / makespan})
		}
	}
	return out
}

// mostSince of the findings have a strip.
const mostSince = 4

// struckSince returns when the findings struck whose steps are known, in their order.
func (o *outline) struckSince(v *diagnose.RunVerdict, stages []Stage) []Since {
	out := []Since{}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Confidence < evidence.Ambiguous || f.Struck.First < 0 || f.Struck.Count == 0 || len(out) == mostSince {
			continue
		}
		s := Since{Who: report.Subject(f), Stage: report.Place(f), Ranks: []int{}, First: f.Struck.First, Last: f.Struck.Last, Count: f.Struck.Count, Of: f.Struck.Of,
			Pattern: f.Struck.Pattern.String(), Period: f.Struck.Period}
		s.In = slices.IndexFunc(stages, func(x Stage) bool { return x.Name == glyph.Visible(f.Stage) })
		ids := f.Ranks
		if f.Rank != nil && len(ids) == 0 {
			ids = []int{*f.Rank}
		}
		for _, id := range ids {
			if at, ok := o.place[id]; ok && o.at[at] >= 0 {
				s.Ranks = append(s.Ranks, o.at[at])
			}
		}
		out = append(out, s)
	}
	return out
}

// places returns what the recording shows of the places of a step.
func places(v *diagnose.RunVerdict) []Seen {
	out := []Seen{}
	for _, c := range v.Coverage {
		s := Seen{Stage: glyph.Visible(c.Stage), Found: c.Least, Hides: c.Hides}
		if !c.Seen {
			s.Why = report.BlindReason(c)
		}
		out = append(out, s)
	}
	return out
}

// gain returns what a stage at its baseline saves, with the waits that it induces
// where these are known.
func gain(s frontier.Stage) float64 {
	switch {
	case s.SyncGain != nil:
		return *s.SyncGain
	case s.Gain != nil:
		return *s.Gain
	}
	return 0
}

func parts(v *diagnose.RunVerdict) []Part {
	out := []Part{}
	var accounts []*frontier.Result
	for _, w := range v.Windows {
		accounts = append(accounts, w.Main)
	}
	if o := v.Operators; o != nil && len(accounts) == 0 {
		accounts = o.Accounts
	}
	for _, m := range accounts[:min(mostParts, len(accounts))] {
		p := Part{Window: m.Window, First: m.FirstStep, Steps: m.Steps, Ranks: len(m.Ranks), Missing: m.Quality.Missing.Len(), Cut: m.Cut.String(), Makespan: m.Makespan,
			Residual: m.Quality.ClosureResidual, Overlap: m.Quality.OverlapError, Gathered: m.Quality.GatherOK}
		out = append(out, p)
	}
	return out
}

// drawings returns the steps to draw, that in which the first named rank is latest
// first, then by number.
func (o *outline) drawings(v *diagnose.RunVerdict) []Drawn {
	suspect := -1
	for _, id := range suspectRanks(v) {
		if at, ok := o.place[id]; ok {
			suspect = at
			break
		}
	}
	all := o.run.drawn
	lateOf := func(d *drawing) int64 {
		for _, l := range d.lanes {
			if l.rank == suspect {
				return l.late
			}
		}
		return -1
	}
	first, latest, usually := -1, 0, usual(all)
	for i := range all {
		if suspect >= 0 && (first < 0 || lateOf(&all[i]) > lateOf(&all[first])) {
			first = i
		}
		if all[i].late > all[latest].late {
			latest = i
		}
	}
	out := make([]Drawn, len(all))
	for i := range all {
		out[i] = o.drawing(&all[i])
	}
	out[usually].Why = "usual"
	switch {
	case len(o.columns.all) == 0:
		out[latest].Why = "longest"
	case first >= 0:
		out[latest].Why = "latest"
		out[first].Why = "suspect"
	default:
		out[latest].Why = "latest"
	}
	slices.SortStableFunc(out, func(a, b Drawn) int { return cmp.Compare(a.Step, b.Step) })
	return out
}

func (o *outline) drawing(d *drawing) Drawn {
	out := Drawn{Step: d.step, Length: o.units(float64(d.length)), Points: []Point{}}
	for _, l := range d.lanes {
		if o.at[l.rank] < 0 {
			continue
		}
		x := Lane{Rank: o.at[l.rank], Late: o.units(float64(l.late))}
		for _, s := range l.spans {
			numbers := []int{s.series, o.units(float64(s.from)), o.units(float64(s.busy)), o.units(float64(s.to))}
			if s.queue > 0 {
				numbers = append(numbers, s.queue)
			}
			x.Spans = append(x.Spans, numbers)
		}
		out.Lanes = append(out.Lanes, x)
	}
	for _, p := range d.points {
		out.Points = append(out.Points, Point{o.units(float64(p.at)), p.series, o.at[p.rank]})
	}
	return out
}

// latentOf returns who differs from the peers; nil: nobody.
func latentOf(v *diagnose.RunVerdict) *Latent {
	if v.Latent == nil || len(v.Latent.Differences) == 0 {
		return nil
	}
	out := &Latent{Margin: v.Latent.Margin, Step: v.Latent.Step}
	for _, d := range v.Latent.Differences {
		one := Difference{Rank: d.Rank, Level: d.Level, Sum: d.Sum, D: d.D, Together: d.Together, Waits: d.Confidence >= evidence.Supported, P: d.P}
		for _, p := range d.Places {
			one.Places = append(one.Places, LatentPlace(p))
		}
		for _, q := range d.Quarters {
			one.Quarters = append(one.Quarters, Quarter(q))
		}
		for _, s := range d.Stages {
			one.Stages = append(one.Stages, glyph.Visible(report.DiffersIn(s)))
		}
		out.Ranks = append(out.Ranks, one)
	}
	return out
}

package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// cutsOf returns where the stages of a run are cut by what entries of calls show; nil where they do not show all waits.
func cutsOf(r *arrivals.Result) *arrivals.Cuts {
	if r == nil || r.Division == nil || len(r.Silent)+len(r.Missing) > 0 {
		return nil
	}
	return r.Cuts
}

// runCuts is where entries of calls cut the stages of a run whose windows are of one part.
type runCuts struct {
	*arrivals.Cuts      // nil: nowhere, or by parts
	whole          bool // it has one part
}

// runCuts returns where entries of calls cut the stages of a run.
func (r *run) runCuts(entered *arrivals.Result) runCuts {
	if r.entries.Parts() > 1 {
		return runCuts{}
	}
	return runCuts{cutsOf(entered), true}
}

// windowCuts is where entries of calls cut the stages of windows, by the numbers of these; nil: they cut none.
type windowCuts map[int]*arrivals.Cuts

// windowCuts returns where entries of calls cut the stages of the windows of a stretch: those of the run, where its windows
// are of one part, else those of the parts that they are of.
func (s stretch) windowCuts(of runCuts) windowCuts {
	byPart, out := map[*arrivals.Part]*arrivals.Cuts{}, windowCuts{}
	for i := range s.windows {
		w := &s.windows[i]
		c := of.Cuts
		if part := s.parts[w.calls]; part != nil && !of.whole {
			var known bool
			if c, known = byPart[w.calls]; !known {
				c = part.Cuts()
				byPart[w.calls] = c
			}
		}
		if c != nil && slices.EqualFunc(c.Ranks, w.Ranks, func(id int, r trace.Rank) bool { return id == r.ID }) {
			out[w.at] = c
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// withParts returns a stretch with the calls beside its windows, by the parts of the run that these are of, which end with it where it is
// complete.
func (s stretch) withParts() stretch {
	s.parts = map[*arrivals.Part]*arrivals.Job{}
	for i := range s.windows {
		p := s.windows[i].calls
		switch {
		case p == nil || s.parts[p] != nil:
		case s.complete:
			s.parts[p] = p.Close()
		default:
			s.parts[p] = p.Job()
		}
	}
	return s
}

// mostEntered is the part of the steps of which calls must be known to divide all of them.
const mostEntered = 0.9

// cutPlan is how the steps of a run are cut: the same in all of its stretches.
type cutPlan struct {
	parts   []arrivals.StepPart
	clocked bool
	every   int
	sets    [][]int         // positions of ranks that meet; nil: all do
	peers   []int           // [position] of those who do the same work; nil: all do
	usual   map[int][]int64 // how long a rank is in each part, median, ns, by rank
}

// cutSteps divides the steps of a run by the calls that its ranks wait for: calls and stage times fill the same division. Steps of
// which no call was recorded are divided as the others of their rank are. It returns how the steps are cut, by the plan of the
// stretch before where there is one; nil: they are not.
func cutSteps(run *delay.Run, at stepPlaces, by *cutting) *cutPlan {
	e, plan := enteredSteps{cutting: by, at: at, run: run}, by.plan
	if plan == nil {
		if plan = e.findPlan(); plan == nil {
			return nil
		}
	}
	out := points.NewSteps(plan.stages(run), run.Ranks, run.Len(), false, run.Memory)
	out.Breaks, out.Missing, out.Splits, out.Known, out.Timed = run.Breaks, run.Missing, run.Splits, []points.Point{}, true
	for k, p := range plan.parts {
		if p.Kind == arrivals.Points {
			out.Known = append(out.Known, points.Point{Stage: k, Evidence: points.Shown, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()})
		}
	}
	for t := range out.Len() {
		for k := range plan.parts {
			clear(out.At(t, k))
		}
	}
	if plan.every > 1 {
		out.KnownMeetings = points.Meetings{Point: out.Known[0], Every: plan.every}
	}
	if out.KnownPeers = plan.sets; run.Peers == nil {
		run.Peers = plan.peers
	}
	known := e.set(out, plan)
	usual := e.usualTimes(out, plan, known)
	if plan.usual == nil {
		plan.usual = usual
	}
	for t, isKnown := range known {
		if !isKnown {
			e.complete(out, plan, t, usual)
		}
	}
	run.Steps = *out
	return plan
}

// points returns how many points a step has.
func (p *cutPlan) points() (n int) {
	for _, part := range p.parts {
		if part.Kind == arrivals.Points {
			n++
		}
	}
	return n
}

// divides reports whether calls tell what ranks wait in a stage from what they work there.
func (p *cutPlan) divides(stage string) bool {
	return p != nil && (p.clocked || slices.ContainsFunc(p.parts, func(part arrivals.StepPart) bool {
		name, _ := stagename.Split(part.Stage)
		return part.Kind == arrivals.Points && cmp.Or(name, stagename.Residual) == stage
	}))
}

// isIn reports whether a part of steps is one of a stage, or has this together with other micro-batches of the same.
func (p *cutPlan) isIn(part arrivals.StepPart, stage string) bool {
	if part.Stage == stage {
		return true
	}
	base, micro := stagename.Split(stage)
	of, k := stagename.Split(part.Stage)
	return micro >= 0 && k >= 0 && of == base && !slices.ContainsFunc(p.parts, func(q arrivals.StepPart) bool { return q.Stage == stage && q.Kind == part.Kind })
}

// stages returns the parts of steps as the model has them.
func (p *cutPlan) stages(run *delay.Run) (out []points.Stage) {
	for _, part := range p.parts {
		stage := points.Stage{Name: stagename.Residual, Role: points.Rest}
		if k := slices.IndexFunc(run.Stages, func(s points.Stage) bool { return s.Name == part.Stage }); k >= 0 {
			stage = run.Stages[k]
		}
		if part.Kind == arrivals.Waits || part.Kind == arrivals.Points && p.clocked {
			stage.Role = points.Wait
		}
		out = append(out, stage)
	}
	return out
}

// enteredSteps are the steps of a run beside what entries of calls show of them.
type enteredSteps struct {
	*cutting
	at  stepPlaces
	run *delay.Run
}

// findPlan returns how steps are cut, as calls cut most of them; nil where these are too few.
func (e enteredSteps) findPlan() *cutPlan {
	steps := map[*arrivals.Cuts]int{}
	for t := range e.run.Len() {
		if c, _, ok := e.row(t); ok {
			steps[c]++
		}
	}
	var most *arrivals.Cuts
	known := 0
	for c, n := range steps {
		if most == nil || n > steps[most] || n == steps[most] && c.Steps[0] < most.Steps[0] {
			most = c
		}
	}
	if most == nil {
		return nil
	}
	out := &cutPlan{clocked: most.Clocked, every: most.Every, sets: most.Sets, peers: most.Peers}
	if (out.sets != nil || out.peers != nil) && !slices.Equal(most.Ranks, e.at.ranks) {
		return nil
	}
	for i := range most.Columns {
		out.parts = append(out.parts, most.Columns[i].StepPart)
	}
	for c, n := range steps {
		if out.columns(c) != nil {
			known += n
		}
	}
	if float64(known) < mostEntered*float64(e.run.Len()) {
		return nil
	}
	return out
}

// columns returns the part of a plan that each column of cuts is of; nil where these cut steps otherwise.
func (p *cutPlan) columns(c *arrivals.Cuts) (of []int) {
	n := 0
	for _, column := range c.Columns {
		at := slices.Index(p.parts, column.StepPart)
		switch {
		case column.Kind == arrivals.Points:
			n++
		case at < 0: // one that hardly takes any time elsewhere
			at = slices.IndexFunc(p.parts, func(q arrivals.StepPart) bool { return q.Stage == column.Stage && q.Kind == column.Kind })
		}
		if at < 0 {
			return nil
		}
		of = append(of, at)
	}
	if n != p.points() || c.Clocked != p.clocked || c.Every != p.every || !slices.EqualFunc(c.Sets, p.sets, slices.Equal[[]int]) {
		return nil
	}
	return of
}

// row returns what calls show of the step at a position: of cuts, the index of the step.
func (e enteredSteps) row(t int) (c *arrivals.Cuts, i int, ok bool) {
	if c = e.cuts[e.at.steps.window(t)]; c == nil || e.lacking[t] {
		return nil, 0, false
	}
	i, ok = slices.BinarySearch(c.Steps, e.at.steps.number(t))
	return c, i, ok && c.Known[i]
}

// set gives steps what calls show of them, and returns of which they do. Ranks that cuts lack have the median of the others.
func (e enteredSteps) set(out *points.Steps, plan *cutPlan) (known []bool) {
	columns, ranks := map[*arrivals.Cuts][]int{}, map[*arrivals.Cuts][]int{}
	known = make([]bool, out.Len())
	for t := range known {
		c, i, ok := e.row(t)
		if !ok {
			continue
		}
		of, seen := columns[c]
		if !seen {
			of = plan.columns(c)
			columns[c] = of
			for _, id := range e.at.ranks {
				ranks[c] = append(ranks[c], slices.Index(c.Ranks, id))
			}
		}
		if of == nil {
			continue
		}
		known[t] = true
		R := len(c.Ranks)
		for k := range c.Columns {
			times, row := c.Columns[k].Times[i*R:(i+1)*R], out.At(t, of[k])
			others := int64(-1)
			for r, at := range ranks[c] {
				if at >= 0 {
					row[r] += times[at]
					continue
				}
				if others < 0 {
					others = robust.MedianTime(slices.Clone(times))
				}
				row[r] += others
			}
		}
	}
	return known
}

// usualTimes returns how long ranks usually are in each part, as the plan has it of those of which no step is known.
func (e enteredSteps) usualTimes(out *points.Steps, plan *cutPlan, known []bool) map[int][]int64 {
	if !slices.Contains(known, true) {
		return plan.usual
	}
	usual, x := make(map[int][]int64), []int64(nil)
	for r, id := range e.at.ranks {
		for k := range plan.parts {
			x = x[:0]
			for t, isKnown := range known {
				if isKnown {
					x = append(x, out.At(t, k)[r])
				}
			}
			usual[id] = append(usual[id], robust.MedianTime(x))
		}
	}
	return usual
}

// complete divides a step of which no call is known: ranks are in each part as long as usual, and wait for the rest of the time in its
// stage, or, where they wait in none of its parts, work.
func (e enteredSteps) complete(out *points.Steps, plan *cutPlan, t int, usual map[int][]int64) {
	for s := range len(e.run.Stages) + 1 {
		name, spent := "", []int64(nil)
		if s < len(e.run.Stages) {
			name, spent = e.run.Stages[s].Name, e.run.At(t, s)
		} else if !e.at.walled {
			continue
		} else {
			spent = e.run.Rest(t)
		}
		rest := -1 // part for what is left
		for k, p := range plan.parts {
			if plan.isIn(p, name) && (rest < 0 || p.Kind >= plan.parts[rest].Kind && plan.parts[rest].Kind != arrivals.Points) {
				rest = k
			}
		}
		for r, id := range e.at.ranks {
			left := spent[r]
			for k, p := range plan.parts {
				if of := usual[id]; plan.isIn(p, name) && p.Kind == arrivals.Works && of != nil {
					x := max(0, min(left, of[k]-out.At(t, k)[r])) // what the micro-batches before leave of it
					out.At(t, k)[r] += x
					left -= x
				}
			}
			if rest >= 0 {
				out.At(t, rest)[r] += left
			}
		}
	}
}

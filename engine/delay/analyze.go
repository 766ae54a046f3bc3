package delay

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/points"
)

// Analyze returns what makes the steps of a run longer. Runs of one rank and runs of fewer steps than a test needs have no
// findings of ranks. Its errors are those of [Run.Validate] and [Options.Validate].
func Analyze(run *Run, o Options) (*Result, error) {
	if err := run.Validate(); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return AnalyzeDivision(points.Divide(&run.Steps, o.Points), run, o), nil
}

// Stretch is what is kept of steps of a run that follow one another: what their ranks cost, and
// what they have in common. A long run is looked at in several, so that memory is bounded.
type Stretch struct {
	stages  []points.Stage
	points  []points.Point
	within  []points.Within
	apart   bool // sets of ranks synchronise, and not all
	errors  []points.Error
	steps   int
	every   int     // steps of an interval
	rounded []int64 // [stage] what rounding hides, ns; nil: nothing
	startUp int
	alone   bool    // there is one rank
	joint   float64 // ns that go when every rank that is late for certain is fixed
	start   *claim.Claim
	late    []claim.Claim // of ranks, and turns
	perhaps []claim.Claim // of a rank, not for certain
	trend   *trend
	summary *summary // of the trends from this stretch on, which have nothing but their length; nil: it has its trend, or is in the summary of one before
	last    *LastArrivals
	limits  []Limit
	lost    Lost    // ns
	spent   []int64 // as of the result
}

// Limits returns the limits of the stretch; nil where they were not asked for.
func (s *Stretch) Limits() []Limit { return s.limits }

// Strong returns the ranks of the stretch that are late for certain at the strong level.
func (s *Stretch) Strong() (ranks []int) {
	for i := range s.late {
		if c := &s.late[i]; c.Certainty == claim.Strong {
			ranks = append(ranks, c.Ranks...)
		}
	}
	return ranks
}

// Renumber returns a copy with the numbers that ranks and hosts have in the whole run, where other ranks take part in other
// stretches.
func (s *Stretch) Renumber(ranks, hosts []int) *Stretch {
	out := *s
	number := func(list []claim.Claim) []claim.Claim {
		list = slices.Clone(list)
		for i := range list {
			f := &list[i]
			f.Ranks = slices.Clone(f.Ranks)
			for k, r := range f.Ranks {
				f.Ranks[k] = ranks[r]
			}
			f.Turns = slices.Clone(f.Turns)
			for k, t := range f.Turns {
				f.Turns[k].Rank = ranks[t.Rank]
			}
			if f.Host >= 0 {
				f.Host = hosts[f.Host]
			}
		}
		return list
	}
	out.late, out.perhaps = number(s.late), number(s.perhaps)
	if s.start != nil {
		out.start = &number([]claim.Claim{*s.start})[0]
	}
	out.errors = slices.Clone(s.errors)
	for i := range out.errors {
		out.errors[i].Rank = ranks[out.errors[i].Rank]
	}
	out.last = s.last.renumber(ranks)
	return &out
}

// LookAt finds what there is in steps that follow one another and are divided; their durations are not read any more. Those
// of a run that is looked at in several stretches begin with a start-up in the first alone, which has no Known points.
func LookAt(d *points.Division, run *Run, o Options) *Stretch {
	return lookAt(d, run, o.fillDefaults())
}

// AnalyzeDivision answers for a run whose steps are divided already, by whatever showed who waits for whom. Of
// run it takes who is compared with whom, and the hosts.
func AnalyzeDivision(d *points.Division, run *Run, o Options) *Result {
	o = o.fillDefaults()
	return Join([]*Stretch{lookAt(d, run, o)}, o)
}

// LateRanks returns the ranks that others wait for in a division, for certain, perhaps, or once, and by how many nanoseconds it would be shorter
// without those that are late for certain.
func LateRanks(d *points.Division, run *Run, o Options) (list []claim.Claim, joint float64) {
	if d.Intervals == 0 {
		return nil, 0
	}
	o = o.fillDefaults()
	s := newSeries(d, run.Peers)
	late := s.termFindings(s.peel(o.Level), run, o)
	late = append(late, s.unsure(late, o)...)
	return append(late, s.eventFindings(late, o)...), s.joint * s.whole
}

func lookAt(whole *points.Division, run *Run, o Options) *Stretch {
	start := 0
	if run.Known == nil {
		start = startUp(whole)
	}
	out := look(whole, run, o, start)
	if start == 0 {
		return out
	}
	if all := look(whole, run, o, 0); out.recurs(o) || out.start.Kind == claim.Rank && all.isLateAgain(out.start) {
		// What struck first was no start-up: it struck again. A rank that is late now and then may
		// be late in the first step too, and it takes all of them to be certain.
		return all
	}
	return out
}

// look finds what there is from an interval on.
func look(d *points.Division, run *Run, o Options, start int) *Stretch {
	out := &Stretch{stages: d.Stages, points: d.Points, within: d.Within, apart: d.Peers != nil || d.Classes != nil, errors: d.Errors, steps: d.Steps(), every: max(1, d.Every), trend: &trend{}, last: &LastArrivals{}}
	if d.Intervals == 0 {
		return out
	}
	s := newSeries(dropIntervals(d, start), run.Peers)
	if start > 0 {
		out.startUp = d.Head[start-1] + 1
		out.start = &scaleToSteps([]claim.Claim{startFinding(d, start, s)}, out.every)[0]
	}
	out.alone = s.Ranks == 1
	out.last = s.lastArrivals()
	out.late = s.termFindings(s.peel(o.Level), run, o)
	out.joint = s.joint * s.whole
	out.perhaps = s.unsure(out.late, o)
	out.late = append(out.late, s.eventFindings(out.late, o)...)
	out.late = append(out.late, s.turns(run, o)...)
	out.late = append(out.late, s.majority(o)...)
	out.rounded = s.roundedAway()
	out.late, out.perhaps = scaleToSteps(doubtRounded(out.late, out.rounded), out.every), scaleToSteps(out.perhaps, out.every)
	out.trend, out.lost, out.spent = s.trend(), s.lostTime(), stageTimes(s.Division)
	if o.Limits != NoLimits {
		out.limits = s.limits(o)
		for stage, ns := range out.rounded {
			if float64(ns) >= o.MinGain*s.step {
				out.limits[stage].Rounded = ns
			}
		}
	}
	return out
}

// stageTimes returns what each rank spends in each stage of steps that are divided, own work and waits, [stage · ranks + rank], ns;
// nil where ranks synchronise in some steps only.
func stageTimes(d *points.Division) []int64 {
	if d.Every > 1 {
		return nil
	}
	R := d.Ranks
	out := make([]int64, len(d.Stages)*R)
	sum := func(stage int, v []int64) {
		to := out[stage*R : (stage+1)*R]
		for n := 0; n < len(v); n += R {
			for r, x := range v[n : n+R] {
				to[r] += x
			}
		}
	}
	for k, piece := range d.Pieces {
		sum(piece.Stage, d.Work[k])
	}
	for p, spent := range d.Spent {
		sum(d.Points[p].Stage, spent)
	}
	return out
}

// Join answers for a run from its stretches, in their order. O(steps) of all of them. With Options.Once
// they are used up.
func Join(list []*Stretch, o Options) *Result {
	o = o.fillDefaults()
	first := list[0]
	out := &Result{Stages: first.stages, Points: first.points, Within: first.apart, StartUp: first.startUp, Limits: first.limits}
	var late, perhaps []claim.Claim
	joint, whole := 0.0, 0.0
	last := &LastArrivals{}
	for i, s := range list {
		last.join(s.last)
		for _, e := range s.errors {
			e.Step += out.Steps
			out.Errors = append(out.Errors, e)
		}
		late = joinFindings(late, s.late, out.Steps, whole, s.trend.whole)
		perhaps = joinFindings(perhaps, s.perhaps, out.Steps, whole, s.trend.whole)
		joint, whole = joint+s.joint, whole+s.trend.whole
		out.Lost.join(&s.lost)
		switch {
		case i == 0:
			out.Spent = slices.Clone(s.spent)
		case len(s.spent) != len(out.Spent):
			out.Spent = nil
		}
		for k := range out.Spent {
			out.Spent[k] += s.spent[k] * int64(min(i, 1))
		}
		out.Steps += s.steps
	}
	common := out.addCommon(list, o)
	out.Lost.divide(out.Steps / first.every)
	out.Latest, out.Skew = last.MostFrequent(), last.Skew()
	out.Every, out.Rounded = first.every, first.rounded
	out.Whole, out.Joint = int64(whole)*int64(first.every), joint/max(1, whole)
	out.Claims = filterReportable(late, out.Steps, len(list))
	if !slices.ContainsFunc(out.Claims, func(f claim.Claim) bool { return f.Certainty > claim.Event }) {
		perhaps = filterReportable(perhaps, out.Steps, len(list))
		out.Claims = slices.DeleteFunc(out.Claims, func(event claim.Claim) bool {
			return slices.ContainsFunc(perhaps, func(f claim.Claim) bool { return slices.Equal(f.Ranks, event.Ranks) })
		})
		out.Claims = append(out.Claims, perhaps...)
	}
	out.Claims = append(out.Claims, scaleToSteps(doubtRounded(common, first.rounded), first.every)...)
	slices.SortStableFunc(out.Claims, func(a, b claim.Claim) int { return cmp.Compare(b.Saves.Largest(), a.Saves.Largest()) })
	if first.start != nil {
		out.Claims = slices.Insert(out.Claims, 0, *first.start)
	}
	return out
}

// addCommon returns what all ranks have in common in stretches, and takes how long steps are, and the stages in them.
func (r *Result) addCommon(list []*Stretch, o Options) []claim.Claim {
	first, stages := list[0], len(r.Stages)
	if hasSummary(list) {
		p := summariesOf(list, o)
		t := p.trend()
		r.Step, r.Typical = int64(t.step), t.typical(stages)
		if first.alone {
			r.Alone = p.singleRank()
		}
		return p.common(t, o)
	}
	t := joinedTrend(list, o)
	r.Step, r.Typical = int64(t.step), t.typical(stages)
	if first.alone {
		r.Alone = t.singleRank(first, stages)
	}
	return t.common(o)
}

// joinFindings adds the findings of a stretch to those of the stretches before it. Savings are weighed by
// the lengths before and of the stretch.
func joinFindings(list, next []claim.Claim, steps int, before, of float64) []claim.Claim {
	weigh := func(s *claim.Saving, by float64) { s.Scale(by / max(1, before+of)) }
	for i := range list {
		weigh(&list[i].Saves, before)
	}
	for _, f := range next {
		weigh(&f.Saves, of)
		f.Steps.First, f.Steps.Last = f.Steps.First+steps, f.Steps.Last+steps
		f.Steps.List = slices.Clone(f.Steps.List)
		for i := range f.Steps.List {
			f.Steps.List[i] += steps
		}
		i := slices.IndexFunc(list, func(have claim.Claim) bool {
			return have.Kind == f.Kind && have.Cause == f.Cause && slices.Equal(have.Ranks, f.Ranks) && have.Host == f.Host && have.Parts[0].Stage == f.Parts[0].Stage
		})
		if i < 0 {
			list = append(list, f)
			continue
		}
		add(&list[i], &f)
	}
	return list
}

// add joins what a later stretch shows of the same.
func add(f, next *claim.Claim) {
	a, b := &f.Steps, next.Steps
	n, m := int64(a.Count), int64(b.Count)
	mean := func(x, y int64) int64 { return (x*n + y*m) / max(1, n+m) }
	parts := slices.Clone(f.Parts)
	for i := range parts {
		parts[i].Size = parts[i].Size * n / max(1, n+m)
	}
	for _, p := range next.Parts {
		p.Size = p.Size * m / max(1, n+m)
		if i := slices.IndexFunc(parts, func(have claim.Part) bool { return have.Stage == p.Stage }); i >= 0 {
			parts[i].Size, parts[i].Charged = parts[i].Size+p.Size, parts[i].Charged+p.Charged
		} else {
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(x, y claim.Part) int { return cmp.Compare(y.Charged, x.Charged) })
	f.Parts = parts
	f.Size, f.Length = mean(f.Size, next.Size), mean(f.Length, next.Length)
	f.Waited = (f.Waited*float64(n) + next.Waited*float64(m)) / float64(max(1, n+m))
	if f.Factor == 0 || next.Factor == 0 {
		f.Factor = 0
	}
	f.Ends, f.Pace, f.Successive = next.Ends, cmp.Or(f.Pace, next.Pace), nil
	if f.From = next.From; !f.Grows || !next.Grows {
		f.Change = claim.Change{}
	}
	if alike := a.Pattern == b.Pattern && a.Period == b.Period; !alike || a.Pattern == claim.Span && !(a.Ongoing && b.First <= a.Last+besides) {
		a.Pattern, a.Period, a.List = claim.Irregular, 0, a.Steps()
		b.List = b.Steps()
	}
	a.List = append(slices.Clone(a.List), b.List...)
	a.Count, a.Of, a.Last, a.Ongoing, a.Incidents = a.Count+b.Count, a.Of+b.Of, b.Last, b.Ongoing, a.Incidents+b.Incidents
	f.Last += next.Last
	addTurns(f, next)
	f.P, f.Certainty = min(f.P, next.P), max(f.Certainty, next.Certainty)
	f.Saves.Alone, f.Saves.After = f.Saves.Alone+next.Saves.Alone, f.Saves.After+next.Saves.After
	f.Saves.Low, f.Saves.High, f.Saves.AtMost = f.Saves.Low+next.Saves.Low, f.Saves.High+next.Saves.High, f.Saves.AtMost+next.Saves.AtMost
}

// addTurns adds the turns of a later stretch. Of the ranks those that are late in either are counted.
func addTurns(f, next *claim.Claim) {
	f.Turns = slices.Clone(f.Turns)
	for _, t := range next.Turns {
		if i := slices.IndexFunc(f.Turns, func(have claim.Turn) bool { return have.Rank == t.Rank }); i >= 0 {
			f.Turns[i].N += t.N
		} else {
			f.Turns = append(f.Turns, t)
		}
	}
	f.Among, f.Correlated = max(f.Among, next.Among), max(f.Correlated, next.Correlated)
	testCounts(&f.Rotation)
}

// filterReportable returns the findings that are large enough in the whole run, which was searched once for each stretch.
func filterReportable(list []claim.Claim, steps, stretches int) (out []claim.Claim) {
	for _, f := range list {
		if stretches > 1 && f.Saves.Largest() < leastOfRun {
			continue
		}
		f.P = min(1, f.P*float64(stretches))
		if n := float64(f.Steps.Count); n < mostStruck*float64(steps) && f.Steps.Pattern == claim.Constant {
			f.Steps.Pattern = claim.Span // of all steps of some stretches
		}
		if stretches > 1 {
			f.Steps.Of = steps
		}
		if span := float64(f.Steps.Last - f.Steps.First + 1); f.Steps.Pattern == claim.Irregular && span >= shortest && float64(f.Steps.Count) >= filled*span && stretches > 1 {
			f.Steps.Pattern, f.Steps.Incidents, f.Steps.List = claim.Span, 1, nil
		}
		out = append(out, f)
	}
	return out
}

// recurs reports whether a later delay is like the start-up: of the same rank, or of all, in the
// same stage, and at least half as long.
func (s *Stretch) recurs(o Options) bool {
	start := s.start
	if len(start.Parts) == 0 {
		return false
	}
	return slices.ContainsFunc(slices.Concat(s.late, scaleToSteps(s.trend.common(o), s.every)), func(f claim.Claim) bool {
		same := f.Kind == start.Kind && slices.Equal(f.Ranks, start.Ranks)
		return same && len(f.Parts) > 0 && f.Parts[0].Stage == start.Parts[0].Stage && 2*f.Parts[0].Size >= start.Parts[0].Size
	})
}

// isLateAgain reports whether the rank of a start-up is late for certain in steps after it as well.
func (s *Stretch) isLateAgain(start *claim.Claim) bool {
	return slices.ContainsFunc(s.late, func(f claim.Claim) bool {
		return f.Cause == claim.Late && slices.Equal(f.Ranks, start.Ranks) && f.Certainty >= claim.Supported && f.Steps.First <= start.Steps.Last && f.Steps.Count >= start.Steps.Count+fewestStruck
	})
}

const (
	// startUpAbove is by what factor the first steps must exceed the middle step, and the
	// steps that follow them may not: compilation, caches and warm-up take a multiple.
	startUpAbove, afterStartUp = 1.7, 1.3
	// mostStartUp is how many steps a start-up has at most, and what part of the run.
	mostStartUp, startUpPart = 10, 8
)

// startUp returns how many intervals at the start are far longer than the following ones.
func startUp(d *points.Division) int {
	s := &series{Division: d}
	lengths := s.lengths(d.Arrivals)
	middle := median(lengths)
	n, most := 0, min(mostStartUp, len(lengths)/startUpPart)
	for n < most && lengths[n] > startUpAbove*middle {
		n++
	}
	if n == 0 {
		return 0
	}
	sum, next := 0.0, lengths[n:min(len(lengths), n+10)]
	for _, x := range next {
		sum += x
	}
	if sum >= afterStartUp*middle*float64(len(next)) {
		return 0
	}
	return n
}

// dropIntervals returns a division without its first intervals.
func dropIntervals(d *points.Division, n int) *points.Division {
	if n == 0 {
		return d
	}
	out := *d
	cut := func(v [][]int64, per int) (out [][]int64) {
		for _, x := range v {
			out = append(out, x[n*per:])
		}
		return out
	}
	if d.Absent != nil {
		out.Absent = nil
		for _, x := range d.Absent {
			out.Absent = append(out.Absent, x[n:])
		}
	}
	out.Work, out.Arrivals, out.Spent, out.After = cut(d.Work, d.Ranks), cut(d.Arrivals, d.Ranks), cut(d.Spent, d.Ranks), cut(d.After, 1)
	out.Head, out.Tail, out.Intervals = d.Head[n:], d.Tail[n:], d.Intervals-n
	return &out
}

// startFinding returns the finding of a start-up: its stage, and one rank or all.
func startFinding(d *points.Division, n int, rest *series) claim.Claim {
	R := d.Ranks
	f := claim.Claim{Kind: claim.Everyone, Cause: claim.StartUp, Host: -1, P: 1, Certainty: claim.Supported,
		Steps: claim.Struck{Count: n, Of: countSteps(d), First: d.Head[0], Last: d.Head[n-1], Pattern: claim.Span, Incidents: 1}}
	var total float64
	worst := make([]float64, R)
	for k, piece := range d.Pieces {
		usual := median(rest.common[k])
		sum := 0.0
		for i := range n {
			if d.Step(i, k) < 0 {
				continue
			}
			row := d.Work[k][i*R : (i+1)*R]
			sum += max(0, float64(slices.Max(row))-usual)
			for r, x := range row {
				worst[r] += max(0, float64(x)-usual)
			}
		}
		if sum > 0 {
			f.Parts = append(f.Parts, claim.Part{Stage: piece.Stage, Size: int64(sum / float64(n)), Charged: int64(sum)})
			total += sum
		}
	}
	for p, point := range d.Points {
		usual, sum := median(floats(rest.After[p])), 0.0
		for i := range n {
			sum += max(0, float64(d.After[p][i])-usual)
		}
		if sum > 0 {
			f.Parts = append(f.Parts, claim.Part{Stage: point.Stage, Size: int64(sum / float64(n)), Charged: int64(sum)})
			total += sum
		}
	}
	slices.SortStableFunc(f.Parts, func(a, b claim.Part) int { return cmp.Compare(b.Charged, a.Charged) })
	f.Size = int64(total / float64(n))
	f.Length = int64(rest.step) + f.Size
	// One rank's: the others did not take half as long.
	if R > 1 {
		at := 0
		for r, x := range worst {
			if x > worst[at] {
				at = r
			}
		}
		second := 0.0
		for r, x := range worst {
			if r != at {
				second = max(second, x)
			}
		}
		if 2*second < worst[at] {
			f.Kind, f.Ranks = claim.Rank, []int{at}
		}
	}
	return f
}

func countSteps(d *points.Division) (n int) {
	for _, t := range d.Head {
		if t >= 0 {
			n++
		}
	}
	return n
}

func floats(v []int64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

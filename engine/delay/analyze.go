package delay

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
)

// Analyze answers for a run. Runs of one rank and runs of fewer steps than a test needs have
// no findings of ranks.
func Analyze(run *Run, o Options) *Result {
	o = o.orDefault()
	whole := points.Divide(&run.Steps, o.Points)
	out := &Result{Division: whole, Steps: run.Len()}
	if whole.Intervals == 0 {
		return out
	}
	start := startUp(whole)
	out.judge(run, o, start)
	if start > 0 && out.recurs() {
		// What struck first was no start-up: it struck again.
		*out = Result{Division: whole, Steps: run.Len()}
		out.judge(run, o, 0)
	}
	return out
}

// judge finds what there is from an interval on.
func (r *Result) judge(run *Run, o Options, start int) {
	s := newSeries(from(r.Division, start), run.Peers)
	r.Whole, r.Step = int64(s.whole), int64(s.step)
	if start > 0 {
		r.StartUp = r.Division.Head[start-1] + 1
		r.Findings = append(r.Findings, startFinding(r.Division, start, s))
	}
	found := s.priced(s.peel(o.Level), run, o)
	r.Joint = s.joint
	found = append(found, s.turns(o)...)
	found = append(found, s.common(o)...)
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Saves.Most(), a.Saves.Most()) })
	r.Findings = append(r.Findings, found...)
	r.left, r.options = s, o
}

// recurs reports whether a later delay is like the start-up: of the same rank, or of all, in the
// same stage, and at least half as long.
func (r *Result) recurs() bool {
	start := &r.Findings[0]
	if len(start.Parts) == 0 {
		return false
	}
	return slices.ContainsFunc(r.Findings[1:], func(f Finding) bool {
		same := f.Kind == start.Kind && slices.Equal(f.Ranks, start.Ranks)
		return same && len(f.Parts) > 0 && f.Parts[0].Stage == start.Parts[0].Stage && 2*f.Parts[0].Size >= start.Parts[0].Size
	})
}

const (
	// startUpAbove is by what factor the first steps must exceed the middle step, and the
	// steps that follow them may not: compilation, caches and warm-up take a multiple.
	startUpAbove, afterStartUp = 1.7, 1.3
	// mostStartUp is how many steps a start-up has at most, and what part of the run.
	mostStartUp, startUpPart = 10, 8
)

// startUp is how many intervals at the start are far longer than those that follow.
func startUp(d *points.Division) int {
	s := &series{Division: d}
	P := segments(d)
	arrive := make([][]int64, P)
	for p := range P {
		arrive[p] = d.Arrivals(p)
	}
	lengths := s.lengths(arrive)
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

// from is a division without its first intervals.
func from(d *points.Division, n int) *points.Division {
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
	out.Work, out.Spent, out.After = cut(d.Work, d.Ranks), cut(d.Spent, d.Ranks), cut(d.After, 1)
	out.Head, out.Tail, out.Intervals = d.Head[n:], d.Tail[n:], d.Intervals-n
	return &out
}

// startFinding is the start-up: in which stage, and on one rank or all.
func startFinding(d *points.Division, n int, rest *series) Finding {
	R := d.Ranks
	f := Finding{Kind: Everyone, Cause: StartUp, Host: -1, P: 1, Certainty: Supported,
		Steps: Struck{Count: n, Of: countSteps(d), First: d.Head[0], Last: d.Head[n-1], Pattern: Span, Incidents: 1}}
	var total float64
	worst := make([]float64, R)
	for k, piece := range d.Pieces {
		usual := median(commonOf(rest.Division, rest.Division.Work[k]))
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
			f.Parts = append(f.Parts, Part{Stage: piece.Stage, Size: int64(sum / float64(n)), Charged: int64(sum)})
			total += sum
		}
	}
	for p, point := range d.Points {
		usual, sum := median(floats(rest.After[p])), 0.0
		for i := range n {
			sum += max(0, float64(d.After[p][i])-usual)
		}
		if sum > 0 {
			f.Parts = append(f.Parts, Part{Stage: point.Stage, Size: int64(sum / float64(n)), Charged: int64(sum)})
			total += sum
		}
	}
	slices.SortStableFunc(f.Parts, func(a, b Part) int { return cmp.Compare(b.Charged, a.Charged) })
	f.Size = int64(total / float64(n))
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
			f.Kind, f.Ranks = Rank, []int{at}
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

// commonOf is what all ranks take at least half of the time: the lower median over ranks.
func commonOf(d *points.Division, work []int64) []float64 {
	out := make([]float64, d.Intervals)
	row := make([]int64, d.Ranks)
	for n := range out {
		copy(row, work[n*d.Ranks:(n+1)*d.Ranks])
		slices.Sort(row)
		out[n] = float64(row[(d.Ranks-1)/2])
	}
	return out
}

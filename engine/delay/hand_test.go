package delay_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
)

// longer makes a stage of some ranks longer, ms, in some steps; nil: in all. Rank −1 is all ranks.
type longer struct {
	ranks []int
	stage int
	ms    int64
	on    func(step int) bool
}

func (f *longer) struck(step int) bool { return f.on == nil || f.on(step) }

const msec = 1_000_000

// byHand is a job in which nothing varies but by its faults: 15 ms of data, 60 of forward, a transfer of 40 at the end of backward, where
// ranks wait for the last, and 10 of the optimizer.
type byHand struct {
	ranks, steps int
	faults       []longer
	hosts, peers []int
}

func (j byHand) work(step, rank int) (own [4]int64) {
	own = [4]int64{15 * msec, 60 * msec, 0, 10 * msec}
	for _, f := range j.faults {
		if f.struck(step) && (slices.Contains(f.ranks, rank) || slices.Contains(f.ranks, -1)) {
			own[f.stage] += f.ms * msec
		}
	}
	return own
}

// last returns when the last rank is through with its work before the transfer.
func (j byHand) last(step int) (last int64) {
	for r := range j.ranks {
		own := j.work(step, r)
		last = max(last, own[0]+own[1]+own[2])
	}
	return last
}

// run returns the job as recorded, some of its steps, of which the first ones may be known already.
func (j byHand) run(from, to int) *delay.Run {
	run := &delay.Run{Hosts: j.hosts, Peers: j.peers}
	run.Stages, run.Ranks, run.Named = stages, j.ranks, "backward"
	for step := from; step < to; step++ {
		before, last := make([]int64, j.ranks), int64(0) // the optimizer of the step before, and the last to come
		for r := range before {
			own := j.work(step, r)
			before[r] = j.work(step-1, r)[3]
			last = max(last, before[r]+own[0]+own[1]+own[2])
		}
		for k := range stages {
			for r := range before {
				own := j.work(step, r)
				if k == 2 {
					own[2] = last - before[r] - own[0] - own[1] + 40*msec
				}
				run.Durations = append(run.Durations, own[k])
			}
		}
		for r := range before {
			run.Wall = append(run.Wall, last-before[r]+40*msec+j.work(step, r)[3])
		}
	}
	return run
}

// length returns how long its steps take, ns, of those in which something holds.
func (j byHand) length(on func(step int) bool) (sum float64) {
	for step := range j.steps {
		if on == nil || on(step) {
			sum += float64(j.last(step) + 50*msec)
		}
	}
	return sum
}

func (j byHand) with(faults ...longer) byHand { j.faults = faults; return j }

func every(n, at int) func(int) bool  { return func(step int) bool { return step%n == at } }
func inSteps(a, b int) func(int) bool { return func(step int) bool { return step >= a && step < b } }
func amongst(list ...int) func(int) bool {
	return func(step int) bool { return slices.Contains(list, step) }
}

// TestClaimsByHand: the claims on jobs in which nothing varies, number by number: what they cost is how much longer the job is than
// without their faults.
func TestClaimsByHand(t *testing.T) {
	j := byHand{ranks: 6, steps: 48}
	type want struct {
		kind   claim.Kind
		cause  claim.Cause
		ranks  []int
		of     []int // faults that it is about
		shape  claim.Pattern
		period int
	}
	for name, c := range map[string]struct {
		faults []longer
		hosts  []int
		peers  []int
		want   []want
	}{
		"a rank":                     {[]longer{{[]int{2}, 1, 40, nil}}, nil, nil, []want{{claim.Rank, claim.Late, []int{2}, []int{0}, claim.Constant, 0}}},
		"a rank in two stages":       {[]longer{{[]int{2}, 1, 40, nil}, {[]int{2}, 0, 25, nil}}, nil, nil, []want{{claim.Rank, claim.Late, []int{2}, []int{0, 1}, claim.Constant, 0}}},
		"two ranks":                  {[]longer{{[]int{4}, 1, 40, nil}, {[]int{1}, 0, 30, nil}}, nil, nil, []want{{claim.Rank, claim.Late, []int{4}, []int{0}, claim.Constant, 0}, {claim.Rank, claim.Late, []int{1}, []int{1}, claim.Constant, 0}}},
		"at every sixth step":        {[]longer{{[]int{0}, 1, 200, every(6, 4)}}, nil, nil, []want{{claim.Rank, claim.Late, []int{0}, []int{0}, claim.Periodic, 6}}},
		"in a stretch":               {[]longer{{[]int{5}, 0, 100, inSteps(12, 30)}}, nil, nil, []want{{claim.Rank, claim.Late, []int{5}, []int{0}, claim.Span, 0}}},
		"from a step on":             {[]longer{{[]int{5}, 0, 100, inSteps(30, 48)}}, nil, nil, []want{{claim.Rank, claim.Late, []int{5}, []int{0}, claim.Span, 0}}},
		"now and then":               {[]longer{{[]int{3}, 1, 90, amongst(2, 3, 9, 16, 17, 28, 36, 45)}}, nil, nil, []want{{claim.Rank, claim.Late, []int{3}, []int{0}, claim.Irregular, 0}}},
		"a host":                     {[]longer{{[]int{2, 3}, 1, 60, nil}}, []int{0, 0, 1, 1, 2, 2}, nil, []want{{claim.Host, claim.Late, []int{2, 3}, []int{0}, claim.Constant, 0}}},
		"three ranks":                {[]longer{{[]int{0, 2, 4}, 1, 60, nil}}, []int{0, 0, 1, 1, 2, 2}, nil, []want{{claim.Ranks, claim.Late, []int{0, 2, 4}, []int{0}, claim.Constant, 0}}},
		"all, in some steps":         {[]longer{{[]int{-1}, 2, 300, amongst(5, 16, 23, 40, 41)}}, nil, nil, []want{{claim.Everyone, claim.SlowSteps, nil, []int{0}, claim.Irregular, 0}}},
		"all, at every seventh step": {[]longer{{[]int{-1}, 2, 300, every(7, 3)}}, nil, nil, []want{{claim.Everyone, claim.SlowSteps, nil, []int{0}, claim.Periodic, 7}}},
		"all, in forward":            {[]longer{{[]int{-1}, 1, 200, every(7, 3)}}, nil, nil, []want{{claim.Everyone, claim.SlowSteps, nil, []int{0}, claim.Periodic, 7}}},
		"all, from a step on":        {[]longer{{[]int{-1}, 2, 60, inSteps(24, 48)}}, nil, nil, []want{{claim.Everyone, claim.Regression, nil, []int{0}, claim.Span, 0}}},
		"all, in a stretch":          {[]longer{{[]int{-1}, 2, 60, inSteps(16, 32)}}, nil, nil, []want{{claim.Everyone, claim.SlowSteps, nil, []int{0}, claim.Span, 0}}},
		"nobody":                     {nil, nil, nil, nil},
	} {
		job := j.with(c.faults...)
		job.hosts, job.peers = c.hosts, c.peers
		r := analyzed(job.run(0, job.steps), delay.Options{})
		if len(r.Claims) != len(c.want) {
			t.Errorf("%s: %+v, want %d claims", name, r.Claims, len(c.want))
			continue
		}
		whole := job.length(nil)
		lateAlone := 0.0 // saved by fixing all that are late
		if len(c.want) > 0 && c.want[0].cause == claim.Late {
			lateAlone = 1 - j.length(nil)/whole
		}
		if r.Steps != j.steps || r.Whole != int64(whole) || r.StartUp != 0 || math.Abs(r.Joint-lateAlone) > 1e-9 || r.Within {
			t.Errorf("%s: %d steps of %d ns, %d of start-up, joint %v, want %v", name, r.Steps, r.Whole, r.StartUp, r.Joint, lateAlone)
		}
		for i, w := range c.want {
			got := r.Claims[i]
			var rest []longer
			for k, f := range c.faults {
				if !slices.Contains(w.of, k) {
					rest = append(rest, f)
				}
			}
			first := c.faults[w.of[0]]
			var only []longer
			x := claim.Claim{Kind: w.kind, Cause: w.cause, Ranks: w.ranks, Host: -1, P: got.P, Certainty: got.Certainty}
			x.Steps = claim.Struck{Of: j.steps, First: -1, Pattern: w.shape, Period: w.period}
			before := -2
			for step := range j.steps {
				if !first.struck(step) {
					continue
				}
				if x.Steps.First < 0 {
					x.Steps.First = step
				}
				if step > before+1 {
					x.Steps.Incidents++
				}
				x.Steps.Count, x.Steps.Last, before = x.Steps.Count+1, step, step
				if w.shape == claim.Irregular {
					x.Steps.List = append(x.Steps.List, step)
				}
			}
			x.Steps.Ongoing = j.steps-1-x.Steps.Last <= max(1, w.period)
			if w.cause == claim.Late && w.period == 0 {
				x.Steps.Ongoing = x.Steps.Last == j.steps-1
			}
			n := int64(x.Steps.Count)
			for _, k := range w.of {
				f := c.faults[k]
				only = append(only, f)
				part := claim.Part{Stage: f.stage, Size: f.ms * msec, Charged: f.ms * msec * n * int64(max(1, len(w.ranks)))}
				x.Parts, x.Size = append(x.Parts, part), x.Size+part.Size
			}
			x.Length = int64(job.length(first.struck)) / n
			saved, clean := (whole-job.with(rest...).length(nil))/whole, j.length(nil)
			x.Saves = claim.Exact(saved)
			if x.Cause == claim.Late { // no replay is better
				x.Saves.Low, x.Saves.High = saved*(1-0.005), saved*(1+0.005)
			}
			if w.cause == claim.Late {
				x.Saves.After = 1 - clean/j.with(only...).length(nil)
				x.Waited = 1
				if x.Last = int(n); saved == 0 {
					x.Last = 0
				}
			}
			if w.kind == claim.Host {
				x.Host = c.hosts[w.ranks[0]]
			}
			if w.cause == claim.Regression {
				x.Before, x.From = 40*msec, 100*msec
			}
			if w.cause == claim.Late && (got.P <= 0 || got.P > 0.01) || got.Certainty < claim.Supported && w.shape != claim.Irregular {
				t.Errorf("%s: %v, P = %v", name, got.Certainty, got.P)
			}
			for _, s := range []*claim.Saving{&x.Saves, &got.Saves} { // to a millionth
				for _, v := range []*float64{&s.Alone, &s.After, &s.Low, &s.High, &s.AtMost} {
					*v = math.Round(*v*1e6) / 1e6
				}
			}
			got.Waited = math.Round(got.Waited*1e6) / 1e6
			if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", x); a != b {
				t.Errorf("%s, claim %d:\n%s, want\n%s", name, i, a, b)
			}
		}
	}
}

// TestRunByHand: what is known of a run as a whole, in one piece and looked at in three: typical times, the length, who is last and by how
// much, and how small a delay of one rank would have been found.
func TestRunByHand(t *testing.T) {
	j := byHand{ranks: 6, steps: 60, faults: []longer{{[]int{2}, 1, 40, nil}}}
	whole := analyzed(j.run(0, 60), delay.Options{})
	var list []*delay.Stretch
	o := delay.Options{Limits: delay.NoLimits}
	var known []points.Point
	for from := 0; from < 60; from += 20 {
		run := j.run(from, from+20)
		run.Known = known
		d := points.Divide(&run.Steps, o.Points)
		known = d.Points
		list = append(list, delay.LookAt(d, run, o))
	}
	for name, r := range map[string]*delay.Result{"whole": whole, "in three": delay.Join(list, o)} {
		if r.Steps != 60 || r.Step != 165*msec || r.Whole != 60*165*msec || !slices.Equal(r.Typical, []int64{15 * msec, 60 * msec, 40 * msec, 10 * msec, 0}) {
			t.Errorf("%s: %d steps of %d, %d in all, typical %v", name, r.Steps, r.Step, r.Whole, r.Typical)
		}
		last := map[string]int{"whole": 59, "in three": 57}[name] // the first of each follows an optimizer that is not there
		if l := r.Latest; l.Rank != 2 || l.N != last || l.Of != last || l.Behind != 40*msec || !l.Significant() || r.Skew != 40*msec {
			t.Errorf("%s: %+v, skew %d", name, l, r.Skew)
		}
		// The late rank waits for nobody, and the others 40 ms for it.
		spent := []int64{15, 15, 15, 15, 15, 15, 60, 60, 100, 60, 60, 60, 80, 80, 40, 80, 80, 80, 10, 10, 10, 10, 10, 10, 0, 0, 0, 0, 0, 0}
		for i := range spent {
			spent[i] *= 60 * msec
		}
		if !slices.Equal(r.Spent, spent) {
			t.Errorf("%s: %v in stages, want %v", name, r.Spent, spent)
		}
		c := r.Claims[0]
		if len(r.Claims) != 1 || c.Rank() != 2 || c.Size != 40*msec || c.Length != 165*msec || c.Charged() != 60*40*msec || c.Last != 60 || math.Abs(c.Saves.Alone-40./165) > 1e-9 || math.Abs(c.Saves.After-40./165) > 1e-9 {
			t.Errorf("%s: %+v", name, r.Claims)
		}
		want := claim.Struck{Count: 60, Of: 60, Last: 59, Pattern: claim.Constant, Incidents: c.Steps.Incidents, Ongoing: true}
		if fmt.Sprintf("%+v", c.Steps) != fmt.Sprintf("%+v", want) || math.Abs(r.Joint-40./165) > 1e-9 {
			t.Errorf("%s: %+v, joint %v", name, c.Steps, r.Joint)
		}
	}
	// A ninth of the 125 ms that a step takes without it, and 15 % more; in the stage in which they wait what all spend in it.
	for k, l := range whole.Limits {
		least := 1.15 * 125. / 9 * msec
		if k == 2 && (l.MayHide != 40*msec || l.Reported != 0 || l.Seen) || k != 2 && (l.MayHide != 0 || !l.Seen || float64(l.Reported) < 0.95*least || float64(l.Reported) > 1.001*least) || !l.Known || l.Stage != k {
			t.Errorf("%+v, want about %v", l, least)
		}
	}
}

// TestTurnsByHand: one of four ranks is late by 60 ms in each step, by turns.
func TestTurnsByHand(t *testing.T) {
	j := byHand{ranks: 4, steps: 48}
	for r := range 4 {
		j.faults = append(j.faults, longer{[]int{r}, 1, 60, every(4, r)})
	}
	r := analyzed(j.run(0, 48), delay.Options{})
	if len(r.Claims) != 1 {
		t.Fatalf("%+v", r.Claims)
	}
	c := r.Claims[0]
	if c.Cause != claim.Turns || c.Kind != claim.Everyone || c.Among != 4 || c.Even < 0.99 || !slices.Equal(c.Turns, []claim.Turn{{Rank: 0, N: 12}, {Rank: 1, N: 12}, {Rank: 2, N: 12}, {Rank: 3, N: 12}}) {
		t.Errorf("%+v", c)
	}
	if near := 60. / 185; math.Abs(c.Saves.Alone-near) > 1e-6 || math.Abs(float64(c.Size)-60*msec) > 10 || c.Length != 185*msec || c.Steps.Count != 48 || c.Steps.Pattern != claim.Constant || len(c.Parts) != 1 || c.Parts[0].Stage != 1 {
		t.Errorf("%+v, want to save %v", c, near)
	}
	if r.Latest.Significant() || r.Skew != 60*msec {
		t.Errorf("%+v, skew %d", r.Latest, r.Skew)
	}
}

// TestStartUpByHand: three first steps that take 500 ms longer on all ranks, or on one, in forward.
func TestStartUpByHand(t *testing.T) {
	for _, ranks := range [][]int{{-1}, {3}} {
		j := byHand{ranks: 6, steps: 60, faults: []longer{{ranks, 1, 500, inSteps(0, 3)}}}
		r := analyzed(j.run(0, 60), delay.Options{})
		if len(r.Claims) != 1 || r.StartUp != 3 || r.Steps != 60 || r.Whole != (57*125+10)*msec || r.Step != 125*msec {
			t.Fatalf("%v: %+v", ranks, r)
		}
		x := claim.Claim{Kind: claim.Everyone, Cause: claim.StartUp, Host: -1, P: 1, Certainty: claim.Supported, Size: 500 * msec, Length: 625 * msec, Parts: []claim.Part{{Stage: 1, Size: 500 * msec, Charged: 1500 * msec}},
			Steps: claim.Struck{Count: 3, Of: 60, Last: 2, Pattern: claim.Span, Incidents: 1}}
		if ranks[0] > 0 {
			x.Kind, x.Ranks = claim.Rank, ranks
		}
		if a, b := fmt.Sprintf("%+v", r.Claims[0]), fmt.Sprintf("%+v", x); a != b {
			t.Errorf("%s, want\n%s", a, b)
		}
	}
}

// TestLargerPartByHand: of a start-up in two stages the one that takes longer comes first, and so it does of a rank that is late in two; and the
// ranks of a claim are in order.
func TestLargerPartByHand(t *testing.T) {
	j := byHand{ranks: 6, steps: 60, faults: []longer{{[]int{-1}, 0, 100, inSteps(0, 3)}, {[]int{-1}, 1, 500, inSteps(0, 3)}}}
	c := analyzed(j.run(0, 60), delay.Options{}).Claims[0]
	if !slices.Equal(c.Parts, []claim.Part{{Stage: 1, Size: 500 * msec, Charged: 1500 * msec}, {Stage: 0, Size: 100 * msec, Charged: 300 * msec}}) || c.Size != 600*msec || c.Length != 725*msec {
		t.Errorf("%+v", c)
	}
	j.faults = []longer{{[]int{3}, 0, 20, nil}, {[]int{3}, 1, 30, nil}}
	c = analyzed(j.run(0, 60), delay.Options{}).Claims[0]
	if !slices.Equal(c.Parts, []claim.Part{{Stage: 1, Size: 30 * msec, Charged: 60 * 30 * msec}, {Stage: 0, Size: 20 * msec, Charged: 60 * 20 * msec}}) || c.Size != 50*msec {
		t.Errorf("%+v", c)
	}
}

// TestOwnLevelByHand: a rank that is 10 ms faster than its peers, and now and then 90 ms slower, loses 100 ms then, of which the others wait for 90.
func TestOwnLevelByHand(t *testing.T) {
	slow := longer{[]int{2}, 1, 100, amongst(2, 3, 9, 16, 17, 28, 36, 45)}
	j := byHand{ranks: 6, steps: 48, faults: []longer{{[]int{2}, 1, -10, nil}, slow}}
	r := analyzed(j.run(0, 48), delay.Options{})
	if len(r.Claims) != 1 {
		t.Fatalf("%+v", r.Claims)
	}
	c, saved := r.Claims[0], 8*90./(48*125+8*90)
	if c.Size != 100*msec || c.Steps.Count != 8 || math.Abs(c.Saves.After-saved) > 1e-6 || c.Parts[0].Charged != 8*80*msec || c.Length != 215*msec {
		t.Errorf("%+v, want 100 ms, to save %v", c, saved)
	}
}

// TestShortestByHand: of fifteen steps nothing is said of what all ranks share, of sixteen it is.
func TestShortestByHand(t *testing.T) {
	for steps, want := range map[int]int{15: 0, 16: 1} {
		j := byHand{ranks: 6, steps: steps, faults: []longer{{[]int{-1}, 2, 300, amongst(4, 9, 12)}}}
		if r := analyzed(j.run(0, steps), delay.Options{}); len(r.Claims) != want || r.Steps != steps {
			t.Errorf("%d steps: %+v, want %d claims", steps, r.Claims, want)
		}
	}
}

// TestNobodyArrives: of no arrival, and of those of one rank, nothing is tested.
func TestNobodyArrives(t *testing.T) {
	one := &delay.LastArrivals{Ranks: 1}
	for range 50 {
		one.Add([]int64{5, 1}, self)
	}
	for name, l := range map[string]*delay.LastArrivals{"none": {Ranks: 8}, "one rank": one} {
		if got := l.MostFrequent(); got != (delay.Latest{Rank: -1, P: 1}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFactorByHand: a rank that is slower by a fifth in all that is seen of it is so in the stage in which all wait, too, where all spend 40 ms: a sixth of these may be its delay.
func TestFactorByHand(t *testing.T) {
	j := byHand{ranks: 6, steps: 48, faults: []longer{{[]int{1}, 0, 3, nil}, {[]int{1}, 1, 12, nil}, {[]int{1}, 3, 2, nil}}}
	c := analyzed(j.run(0, 48), delay.Options{}).Claims[0]
	saved := 17. / (125 + 17)
	if math.Abs(c.Factor-1.2) > 1e-9 || len(c.Parts) != 3 || c.Parts[0].Stage != 1 || c.Size < 16.9*msec || c.Size > 17*msec || c.Length != 142*msec || math.Abs(c.Saves.After-saved) > 0.001 || c.Saves.AtMost < c.Saves.Alone+40./6/142*0.9 || c.Saves.AtMost > c.Saves.Alone+40./6/142*1.1+0.005*c.Saves.Alone {
		t.Errorf("%+v, want to save %v, and up to a sixth of 40 ms more", c, saved)
	}
}

// TestStretchesOfSteps: steps that follow one another are one stretch, from the first step on too.
func TestStretchesOfSteps(t *testing.T) {
	for name, c := range map[string]struct {
		at   []int
		want int
	}{"none": {nil, 0}, "the first two": {[]int{0, 1}, 1}, "the first and the third": {[]int{0, 2}, 2}, "one": {[]int{7}, 1}, "two and three": {[]int{3, 4, 8, 9, 10}, 2}} {
		struck := make([]bool, 20)
		for _, step := range c.at {
			struck[step] = true
		}
		if got := delay.Describe(struck); got.Incidents != c.want || got.Count != len(c.at) {
			t.Errorf("%s: %+v, want %d stretches", name, got, c.want)
		}
	}
}

// TestRenumberedByHand: a stretch with other numbers of its ranks leaves the one that it is of as it was.
func TestRenumberedByHand(t *testing.T) {
	j := byHand{ranks: 4, steps: 40, faults: []longer{{[]int{2}, 1, 40, nil}}}
	run := j.run(0, 40)
	s := delay.LookAt(points.Divide(&run.Steps, points.Gates{}), run, delay.Options{})
	other := s.Renumber([]int{10, 11, 12, 13}, nil)
	for want, x := range map[int]*delay.Stretch{2: s, 12: other} {
		if r := delay.Join([]*delay.Stretch{x}, delay.Options{}); r.Claims[0].Rank() != want || r.Latest.Rank != want {
			t.Errorf("rank %d, last is %d, want %d", r.Claims[0].Rank(), r.Latest.Rank, want)
		}
	}
}

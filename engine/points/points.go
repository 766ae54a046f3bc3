// Package points finds where the ranks of a job synchronise, from the durations of
// their stages alone, and divides its steps there.
//
// A slow rank and a waiting rank look the same in averages (one has a long forward
// pass, or the seven others have a long backward one?), but never in fluctuations.
// Let x be when a rank begins a stage and y how long the stage takes it. Where ranks
// wait for the last one, a rank that comes a millisecond later waits a millisecond
// less: y falls by as much as x rises, slope −1. In any other stage y does not care,
// slope 0. x and y are taken as deviations from the step's mean over ranks and from
// each rank's own line over the steps, which removes what is unknown: the offsets of
// the ranks' clocks and their drift, and what a rank always does. Both are linear, so
// that a synchronisation point keeps its slope of exactly −1. There is one slope for
// each step (or few steps, of few ranks), and their median decides with its
// order-statistic interval, which no spike can move far.
//
// Times are whole nanoseconds, durations of a step lie stage after stage and within a
// stage rank after rank. Steps that do not follow the one before them begin a stretch;
// nothing is carried from one stretch to the next. [Find] looks at no more than
// [Looked] steps: O(Looked · stages · ranks) time and memory. [Divide] is linear in
// the durations.
package points

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Role is what a stage is for, as whoever recorded it declares. Only what an answer
// may rest on is told apart.
type Role uint8

const (
	Undeclared Role = iota
	Data
	Forward
	Backward   // gradients are reduced in it
	Optimizer  //
	Wait       // nothing but waiting: no rank does work of its own in it
	Rest       // what no recorded stage covers
	Collective // nothing but a collective: who is there for longer waits for the others
)

// Stage is a part of a step.
type Stage struct {
	Name string
	Role Role
}

// Microbatch returns the name of a stage without its micro-batch, and the number of this; −1: it is of none.
func (s Stage) Microbatch() (name string, number int) { return stagename.Split(s.Name) }

// Steps are what the ranks of a job recorded. S stages, R ranks, T steps.
type Steps struct {
	Stages []Stage
	Ranks  int
	// Durations of the stages, [step][stage][rank].
	Durations []int64
	// Wall is how long each step took, [step][rank]; nil: not recorded.
	Wall []int64
	// Breaks are the steps, ascending, that do not follow the step before them. The
	// first step of all needs no mention.
	Breaks []int
	// Missing are the steps that a rank did not record, [step · Ranks + rank]: its times there are the median of the others'.
	// nil: all ranks recorded all steps.
	Missing []bool
	// Named is the stage in which all ranks are said to synchronise; "": it is found.
	Named string
	// Splits are the ways in which ranks may synchronise in sets, [way][set] positions of ranks. nil:
	// none is known.
	Splits [][][]int
	// Known is where the ranks are known to synchronise, from steps of the same run before these;
	// nil: it is found.
	Known []Point
	// Timed: it was recorded how long each rank waits at Known, as by entries of the calls, so that nothing else need show that it does.
	Timed bool
	// KnownWithin is the same of sets of ranks.
	KnownWithin []Within
	// KnownOutside is where the time in no stage lies in the same.
	KnownOutside Outside
	// KnownPeers are the sets of ranks that synchronise at Known, where not all do ([Division.Peers]).
	KnownPeers [][]int
	// KnownClasses are the sets of ranks of like work found in the same.
	KnownClasses [][]int
	// KnownMeetings are the meetings found in earlier steps of the same run.
	KnownMeetings Meetings
	// Memory is where the division lies; nil: in memory of its own.
	Memory *Memory

	columns *columns // in place of Durations and Wall; nil: these hold the steps
}

// Len returns the number of steps.
func (s *Steps) Len() int {
	if s.columns != nil {
		return s.columns.steps
	}
	per := len(s.Stages) * s.Ranks
	if per == 0 {
		return 0
	}
	return len(s.Durations) / per
}

// At returns one stage of one step, [rank].
func (s *Steps) At(t, stage int) []int64 {
	if s.columns != nil {
		return s.columns.row(t, stage, s.Ranks)
	}
	from := (t*len(s.Stages) + stage) * s.Ranks
	return s.Durations[from : from+s.Ranks]
}

// hasWall reports whether it was recorded how long the steps took.
func (s *Steps) hasWall() bool {
	if s.columns != nil {
		return s.columns.walled
	}
	return s.Wall != nil
}

// stretches returns the runs of steps that follow one another, [from, to).
func (s *Steps) stretches() (out [][2]int) {
	from := 0
	for _, b := range s.Breaks {
		if b > from && b < s.Len() {
			out = append(out, [2]int{from, b})
			from = b
		}
	}
	if from < s.Len() {
		out = append(out, [2]int{from, s.Len()})
	}
	return out
}

// isSampled reports whether most steps were recorded without those beside them, as by a recorder that looks at every tenth.
func (s *Steps) isSampled() bool { return 2*len(s.stretches()) > s.Len()+1 }

// chains returns the stretches in which what a step leaves to be done and what the next one recorded begins with are one
// interval: steps that follow one another; of steps that are recorded alone all of them, each of which stands for others
// like it.
func (s *Steps) chains() [][2]int {
	if s.isSampled() {
		return [][2]int{{0, s.Len()}}
	}
	return s.stretches()
}

// closedStages returns the stages with what none of them covers as the last, where wall time was recorded.
func (s *Steps) closedStages() []Stage {
	if !s.hasWall() {
		return s.Stages
	}
	return append(slices.Clone(s.Stages), Stage{Name: "rest", Role: Rest})
}

// Rest returns the time of a step that no stage covers, [rank], where wall time was recorded.
func (s *Steps) Rest(t int) []int64 {
	out := make([]int64, s.Ranks)
	s.copyAt(out, t, len(s.Stages))
	return out
}

// copyAt copies a stage of a step, of closedStages.
func (s *Steps) copyAt(dst []int64, t, stage int) {
	if stage < len(s.Stages) || s.columns != nil {
		copy(dst, s.At(t, stage))
		return
	}
	copy(dst, s.Wall[t*s.Ranks:(t+1)*s.Ranks])
	for k := range s.Stages {
		for r, d := range s.At(t, k) {
			dst[r] -= d
		}
	}
	for r, x := range dst {
		dst[r] = max(0, x)
	}
}

// head returns the first steps, as many as are looked at, with what no stage covers as their last stage, where wall time
// was recorded. Where some lack ranks, those are taken that lack none, if they are enough: with the median in a rank's place
// the others' waits for it would belong to nobody. all are the first steps with those that lack ranks among them.
func (s *Steps) head() (head, all *Steps) {
	all = s.first()
	steps := s.complete()
	if s.Missing == nil || len(steps) < fewestComplete {
		return all, all
	}
	return s.selectSteps(steps), all
}

// first returns the first steps, with what no stage covers as their last stage.
func (s *Steps) first() *Steps {
	steps := make([]int, min(s.Len(), Looked))
	for t := range steps {
		steps[t] = t
	}
	return s.selectSteps(steps)
}

// selectSteps returns some steps, ascending, with what no stage covers as their last stage.
func (s *Steps) selectSteps(steps []int) *Steps {
	R := s.Ranks
	out := &Steps{Stages: s.closedStages(), Ranks: R, Named: s.Named, Splits: s.Splits}
	out.Durations = make([]int64, len(steps)*len(out.Stages)*R)
	for i, t := range steps {
		if i > 0 && (t != steps[i-1]+1 || slices.Contains(s.Breaks, t)) {
			out.Breaks = append(out.Breaks, i)
		}
		for k := range out.Stages {
			s.copyAt(out.At(i, k), t, k)
		}
	}
	return out
}

// fewestComplete is how many steps that lack no rank show by themselves where ranks synchronise.
const fewestComplete = 16

// complete returns the first steps that all ranks recorded, at most as many as are looked at; none where all steps are.
func (s *Steps) complete() (steps []int) {
	for t := 0; s.Missing != nil && t < s.Len() && len(steps) < Looked; t++ {
		if !slices.Contains(s.Missing[t*s.Ranks:(t+1)*s.Ranks], true) {
			steps = append(steps, t)
		}
	}
	return steps
}

// Evidence is how it is known that ranks synchronise somewhere.
type Evidence uint8

const (
	None    Evidence = iota
	Likely           // gradients are reduced in the stage, and its times do not speak against it
	Shown            // by the slope of duration on arrival
	Entered          // by entries of the calls that they wait for
	Named            // by the caller
)

var evidenceNames = [...]string{"unknown", "likely", "shown", "named"}

func (e Evidence) String() string { return enum.Name(evidenceNames[:], e) }

// Names returns all kinds of evidence, the weakest first.
func (Evidence) Names() []string { return evidenceNames[:] }

// Sure reports whether strong claims may rest on it.
func (e Evidence) Sure() bool { return e >= Shown }

// Point is a stage in which all ranks wait for the last of them.
type Point struct {
	Stage    int
	Evidence Evidence
	// Slope of duration on arrival with its interval; NaN: too few steps.
	Slope float64 // slope of the stage's duration on the rank's arrival: -1 where a rank that arrives later waits less by as much, 0 where ranks run on freely
	Low   float64 // lower end of its interval
	High  float64 // upper end of its interval
}

// Gates decide when a slope is that of a synchronisation point.
type Gates struct {
	// Slope that the whole interval must lie at or below, in (−1, 0); the median must
	// lie above its inverse.
	Slope float64
	// Confidence of the interval, two-sided, in (0, 1).
	Confidence float64
}

// fillDefaults returns the gates, and in place of zeros the gates of engine/gates.
func (g Gates) fillDefaults() Gates {
	d := gates.Default().SyncPoint
	return Gates{Slope: cmp.Or(g.Slope, d.Slope), Confidence: cmp.Or(g.Confidence, d.Confidence)}
}

// Looked is how many steps Find looks at: more make the slopes no clearer, and where
// ranks synchronise must not depend on how long a job has run.
const Looked = 256

// Found is where ranks synchronise.
type Found struct {
	Points  []Point  // stages in which all do, in the order of the step; none where nothing shows one, of one rank, or where ranks run freely
	Within  []Within // stages in which sets of ranks do
	Perhaps []int    // stages: their slopes agree with that, and not with the opposite
	Slopes  []Point  // all stages, by their slopes alone; refuted ones without evidence
	Outside Outside  // where the time in no stage lies
	// Meetings are set where all ranks synchronise in every n-th step alone; Points and Perhaps are empty then.
	Meetings Meetings
	Classes  [][]int // ranks of like work, where no work is that of most ranks; one set of all: none has its like; nil: all are peers

	paced  []int // stages that ranks leave together, and not later when the last of them arrives later
	noRest bool  // what no stage covers is no point
}

// Find returns where the ranks synchronise.
func Find(s *Steps, g Gates) Found { return find(s, g.fillDefaults()) }

func find(s *Steps, g Gates) Found {
	if s.Known != nil {
		return Found{Points: s.Known, Within: s.KnownWithin, Outside: s.KnownOutside, Meetings: s.KnownMeetings, Classes: s.KnownClasses}
	}
	if s.Ranks < 2 || s.Len() < 2 {
		return Found{}
	}
	c, all := s.head()
	named := slices.IndexFunc(c.Stages, func(s Stage) bool { return c.Named != "" && s.Name == c.Named })
	c = removeJumps(c)
	open := !s.hasWall() && !slices.ContainsFunc(c.Stages, func(s Stage) bool { return s.Role == Wait })
	found := findIn(c, open, named, g)
	if s.hasWall() && named < 0 {
		found = placeRest(c, found, g)
	}
	if slices.ContainsFunc(found.Points, func(p Point) bool { return p.Evidence == Shown && c.coarse(p.Stage) }) {
		found.Points = c.rolePoint(found.Slopes, func(Point) bool { return true })
	}
	if named < 0 && len(found.Within) == 0 {
		// Between meetings a rank may get ahead of the others for some steps, and meetings need steps that follow one another.
		if !all.meetInEach(found.Points, g) {
			if found.Meetings = all.meetings(g); found.Meetings.Every > 0 {
				found.Points, found.Perhaps = nil, nil
			}
		}
	}
	found.findClasses(c, g)
	return found
}

// rolePoint returns the last stage in which gradients are reduced and that may be a point; none where there is no such.
func (s *Steps) rolePoint(slopes []Point, may func(Point) bool) []Point {
	for _, p := range slices.Backward(slopes) {
		if role := s.Stages[p.Stage].Role; (role == Backward || role == Collective) && may(p) {
			p.Evidence = Likely
			return []Point{p}
		}
	}
	return nil
}

// findIn finds where the ranks synchronise by steps in which all that was recorded stands in the order of time.
func findIn(c *Steps, open bool, named int, g Gates) Found {
	found := Found{Slopes: slopePoints(c, open, g)}
	if named >= 0 {
		found.Points = []Point{{Stage: named, Evidence: Named, Slope: math.NaN(), Low: math.NaN(), High: math.NaN()}}
		return found
	}
	found.refute(c, g)
	found.Within = findWithin(c, open, filterShown(found.Slopes), g)
	isWithin := func(p Point) bool {
		return slices.ContainsFunc(found.Within, func(w Within) bool { return w.Stage == p.Stage })
	}
	found.Points = slices.DeleteFunc(filterShown(found.Slopes), isWithin)
	if len(found.Points) == 0 && !open {
		// Wall time need not hold what passes between steps.
		apart := Found{Slopes: slopePoints(c, true, g)}
		apart.refute(c, g)
		if found.Points = slices.DeleteFunc(filterShown(apart.Slopes), isWithin); len(found.Points) > 0 {
			found.Slopes, found.paced = apart.Slopes, apart.paced
		} else if len(found.Within) == 0 {
			found.Within = findWithin(c, true, filterShown(apart.Slopes), g)
		}
	}
	for _, p := range found.Slopes {
		if p.Evidence == None && (p.Low <= -1 && p.High >= -1 && p.High < 0 || found.isLikePoint(c, &p, g)) && !found.complement(c, p.Stage) {
			found.Perhaps = append(found.Perhaps, p.Stage)
		}
	}
	if len(found.Points) > 0 || len(found.Within) > 0 {
		return found
	}
	// Whoever sets the pace of a stage may be a rank that is late inside, or in no stage.
	found.Points = c.rolePoint(found.Slopes, func(p Point) bool { return !p.isExcluded(g) || c.coarse(p.Stage) })
	for _, p := range found.Points {
		found.Perhaps = slices.DeleteFunc(found.Perhaps, func(k int) bool { return k == p.Stage })
	}
	return found
}

// isLikePoint reports whether another stage in which gradients are reduced is a point, and the slope of this one is not known or does not
// exclude that it is one as well: of microsteps, ranks that a point has brought together arrive at the next too even for a
// slope.
func (f *Found) isLikePoint(c *Steps, p *Point, g Gates) bool {
	role := c.Stages[p.Stage].Role
	return (role == Backward || role == Collective) && !p.isExcluded(g) && slices.ContainsFunc(f.Points, func(q Point) bool {
		return q.Stage != p.Stage && c.Stages[q.Stage].Role == role
	})
}

// complement reports whether a stage is the time in no stage where that was seen to be no point: it is shorter where a rank waited
// in a stage for longer, and longer where it did not.
func (f *Found) complement(c *Steps, stage int) bool { return f.noRest && c.Stages[stage].Role == Rest }

func filterShown(points []Point) (out []Point) {
	for _, p := range points {
		if p.Evidence == Shown {
			out = append(out, p)
		}
	}
	return out
}

// isExcluded reports whether the interval lies beyond what a synchronisation point's may
// be, on either side.
func (p *Point) isExcluded(g Gates) bool { return p.Low > g.Slope || p.High < 1/g.Slope }

// jump is by what part of the middle step a rank's step must exceed that of its peers to
// be taken out, where nothing makes up for it afterwards.
const jump = 0.5

// removeJumps returns a copy in which no rank jumps ahead for good. One value that is an hour too large (a clock was set) would
// otherwise be a difference in arrival in all steps after it, beside which no other can be seen. Where ranks synchronise nobody
// can get ahead, and where they do not no slope is at stake.
func removeJumps(c *Steps) *Steps {
	R, T := c.Ranks, c.Len()
	took := make([]int64, T*R)
	for t := range T {
		row := took[t*R : (t+1)*R]
		for k := range c.Stages {
			for r, d := range c.At(t, k) {
				row[r] += d
			}
		}
	}
	scratch, middle := make([]int64, R), make([]int64, T)
	ahead := make([]int64, T*R) // of the median of the others
	for t := range T {
		row := took[t*R : (t+1)*R]
		m := robust.MiddleOf(row, scratch)
		middle[t] = m.Median()
		for r, x := range row {
			ahead[t*R+r] = x - m.MedianWithout(x)
		}
	}
	least := int64(jump * float64(robust.MedianTime(slices.Clone(middle))))
	out := c
	for t := range T {
		for r := range R {
			if a := ahead[t*R+r]; a <= least || isCaughtUp(ahead, t, r, R, a) || c.waitedFor(t, r, a/2) {
				continue
			}
			if out == c {
				clone := *c
				clone.Durations = slices.Clone(c.Durations)
				out = &clone
			}
			for k := range c.Stages {
				row := c.At(t, k)
				out.At(t, k)[r] = robust.MiddleOf(row, scratch).MedianWithout(row[r])
			}
		}
	}
	return out
}

// aroundJump is how many steps later the others may make up for what a rank got ahead. Recorders
// differ in where a wait ends up: the same step, the next, or, of a device that runs behind, the one
// after.
const aroundJump = 3

// isCaughtUp reports whether the others have made up for at least half of what a rank got
// ahead in a step, in that step and the few around it.
func isCaughtUp(ahead []int64, t, r, ranks int, by int64) bool {
	for u := max(0, t-aroundJump); u < min(len(ahead)/ranks, t+aroundJump+1); u++ {
		if u != t {
			by += min(0, ahead[u*ranks+r])
		}
	}
	return by < ahead[t*ranks+r]/2
}

// waitedFor reports whether the others spend so much longer than a rank in one stage of a step or
// of the few after it. A rank that is late in the last stage from some step on is ahead from there
// on, and the others wait for it in the next step each time.
func (s *Steps) waitedFor(t, r int, least int64) bool {
	scratch := make([]int64, s.Ranks)
	for u := t; u < min(s.Len(), t+aroundJump+1); u++ {
		for k := range s.Stages {
			row := s.At(u, k)
			if robust.MiddleOf(row, scratch).MedianWithout(row[r])-row[r] >= least {
				return true
			}
		}
	}
	return false
}

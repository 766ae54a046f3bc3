package runs

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Unit is what varies by itself in a comparison.
type Unit uint8

const (
	Pairs   Unit = iota // runs of the same name
	Whole               // runs, those of one side against those of the other
	Batches             // of consecutive steps, of one run on each side
)

var unitNames = [...]string{"pairs", "runs", "batches"}

func (u Unit) String() string { return enum.Name(unitNames[:], u) }

// Names returns all of them.
func (Unit) Names() []string { return unitNames[:] }

// Doubt is a reason to read a comparison with care.
type Doubt uint8

const (
	OneRunEach   Doubt = iota // what differs from run to run is not in the intervals
	FewRuns                   // fewer than five units: only large differences can be shown
	LeftOver                  // some runs have no partner and are left out
	OtherWorld                // another number of ranks
	OtherStages               // some stages are on one side only
	OtherCut                  // stages are accounted by another cut of the step, and are not compared
	MixedSchemas              // some runs lack a stage that others of their side have
	StartUp                   // steps at the start are set apart
	doubtCount
)

var doubtNames = [doubtCount]string{"one_run_each", "few_runs", "runs_without_partner", "other_world_size", "other_stages", "other_cut", "mixed_stages", "start_up"}

func (d Doubt) String() string { return enum.Name(doubtNames[:], d) }

// Names returns all of them.
func (Doubt) Names() []string { return doubtNames[:] }

// Row is one measure of both sides.
type Row struct {
	Measure
	compare.Difference
}

// Found is a finding of either side, of runs and places that have the same kind
// and stage.
type Found struct {
	diagnose.Finding            // of the run where it costs most
	Runs             [2]int     // runs that show it, on either side
	Most             [2]float64 // the largest part of a run that fixing it saves, on either side
}

// Showing is on which side a finding is.
type Showing string

// The sides that a finding may be on.
const (
	ShownNew  Showing = "new"
	ShownGone Showing = "gone"
	ShownBoth Showing = "both"
)

// Names returns all of them.
func (Showing) Names() []string {
	return []string{string(ShownNew), string(ShownGone), string(ShownBoth)}
}

// Showing returns the side that shows the finding.
func (f *Found) Showing() Showing {
	switch {
	case f.Runs[0] == 0:
		return ShownNew
	case f.Runs[1] == 0:
		return ShownGone
	}
	return ShownBoth
}

// Standing is where the step time of the other side stands against a gate.
type Standing uint8

const (
	NoGate       Standing = iota
	Within                // surely not longer by more than the gate
	NotShown              // not surely longer, nor surely within the gate
	BelowGate             // surely longer, by less than the gate as estimated
	Exceeded              // surely longer, by more than the gate as estimated
	SurelyBeyond          // surely longer by more than the gate
)

var standingNames = [...]string{"", "within", "not_shown", "below_gate", "exceeded", "surely_exceeded"}

func (s Standing) String() string { return enum.Name(standingNames[:], s) }

// Names returns all of them.
func (Standing) Names() []string { return standingNames[1:] }

// Options of a comparison. The zero value is usable.
type Options struct {
	Confidence float64 // that all intervals hold together; 0: 0.95
	Seed       uint64
	Unpaired   bool     // names do not make pairs
	Gate       *float64 // by which part step time may be longer; nil: any
}

// Comparison is how two sets of runs differ.
type Comparison struct {
	Unit       Unit     // what varies by itself: pairs of runs, runs, or batches of consecutive steps of one run on each side
	Confidence float64  // confidence at which the intervals of all rows hold together
	Seed       uint64   // seed of the correction for the number of rows
	Gate       *float64 // part of the base's step time by which steps may be longer; nil: none was given
	Standing   Standing // where step time stands against the gate. within: surely not longer by more; not_shown: neither surely longer nor surely within; below_gate, exceeded: surely longer, by less or by more as estimated; surely_exceeded: surely longer by more. 0: no gate
	Base       []*Run   // the runs of the base that were compared
	New        []*Run   // the runs of the other side; of pairs in the same order
	Left       []string // runs without a partner of the same name, where the others are paired
	Rows       []Row
	Found      []Found
	Doubts     []Doubt         // reasons to read the comparison with care
	Traffic    *changes.Result // what the two sides communicate otherwise; nil unless both recorded it; one run each
}

// Compare compares runs measure by measure. It is an error if a side has none.
func Compare(base, now []*Run, o Options) (*Comparison, error) {
	if len(base) == 0 || len(now) == 0 {
		return nil, input.Bad(input.ErrEmpty, "%d runs in the base and %d to compare with it, expected one or more of each", len(base), len(now))
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	c := &Comparison{Base: base, New: now, Unit: Whole, Confidence: o.Confidence, Seed: o.Seed, Gate: o.Gate}
	switch {
	case len(base) == 1 && len(now) == 1:
		c.Unit = Batches
	case !o.Unpaired:
		c.pair()
	}
	rows := make([]compare.Row, 0, 16)
	for _, m := range c.measures() {
		c.Rows = append(c.Rows, Row{Measure: m})
		rows = append(rows, c.row(m))
	}
	design := compare.Unpaired
	if c.Unit == Pairs {
		design = compare.Paired
	}
	differences, err := compare.Compare(level(rows), compare.Options{Design: design, Confidence: o.Confidence, Primary: c.Step() != nil, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	for i, d := range differences {
		if d.Verdict != compare.Untested {
			d.Low = max(d.Low, -d.Base) // no time is below none
		}
		c.Rows[i].Difference = d
	}
	c.Standing = c.standingAtGate()
	c.Found = c.collectFindings()
	c.doubt()
	return c, nil
}

// pair keeps the runs whose name both sides have, if that is all of a side and
// more than one.
func (c *Comparison) pair() {
	partner := map[string]*Run{}
	for _, r := range c.New {
		partner[r.Name] = r
	}
	var base, now []*Run
	for _, r := range c.Base {
		if p := partner[r.Name]; p != nil {
			base, now = append(base, r), append(now, p)
			delete(partner, r.Name)
		} else {
			c.Left = append(c.Left, r.Name)
		}
	}
	if len(base) < 2 || len(base) < min(len(c.Base), len(c.New)) {
		c.Left = nil
		return
	}
	for _, r := range c.New {
		if partner[r.Name] != nil {
			c.Left = append(c.Left, r.Name)
		}
	}
	c.Base, c.New, c.Unit = base, now, Pairs
}

// sides returns all runs.
func (c *Comparison) sides() []*Run { return slices.Concat(c.Base, c.New) }

// cutsAgree reports whether stages are accounted alike.
func (c *Comparison) cutsAgree() bool {
	first := -1
	for _, r := range c.sides() {
		if r.Windows > 0 && first >= 0 && int(r.Cut) != first {
			return false
		}
		if r.Windows > 0 {
			first = int(r.Cut)
		}
	}
	return true
}

// measures returns the measures of the runs, stages in the order of the step.
func (c *Comparison) measures() []Measure {
	have := map[Measure]bool{}
	place := map[string]int{}
	for _, r := range c.sides() {
		for m := range r.Values {
			have[m] = true
		}
		for i, name := range r.order {
			if _, ok := place[name]; !ok {
				place[name] = max(i, len(place))
			}
		}
	}
	if !c.cutsAgree() {
		maps.DeleteFunc(have, func(m Measure, _ bool) bool { return m.Kind == StageTime || m.Kind == SyncWait })
	}
	return slices.SortedFunc(maps.Keys(have), func(a, b Measure) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(place[a.Stage], place[b.Stage]), cmp.Compare(a.Stage, b.Stage))
	})
}

// row returns the row of both sides' units.
func (c *Comparison) row(m Measure) compare.Row {
	if c.Unit == Batches {
		base, now := c.Base[0].parts[m].Means(), c.New[0].parts[m].Means()
		if len(base) < 2 || len(now) < 2 {
			return compare.Row{Base: []float64{c.Base[0].value(m)}, New: []float64{c.New[0].value(m)}}
		}
		return compare.Row{Base: base, New: now}
	}
	var out compare.Row
	for _, r := range c.Base {
		out.Base = append(out.Base, r.value(m))
	}
	for _, r := range c.New {
		out.New = append(out.New, r.value(m))
	}
	return out
}

// value returns the value of a measure, NaN where the run does not have it; without findings there is no delay.
func (r *Run) value(m Measure) float64 {
	if v, ok := r.Values[m]; ok {
		return v
	}
	if m.Kind == FoundDelay && r.Windows > 0 {
		return 0
	}
	return math.NaN()
}

// level gives all rows as many units on either side: batches are fewer where a
// measure has fewer values.
func level(rows []compare.Row) []compare.Row {
	base, now := 0, 0
	for _, r := range rows {
		base, now = max(base, len(r.Base)), max(now, len(r.New))
	}
	pad := func(v []float64, n int) []float64 {
		for len(v) < n {
			v = append(v, math.NaN())
		}
		return v
	}
	for i, r := range rows {
		rows[i] = compare.Row{Base: pad(r.Base, base), New: pad(r.New, now)}
	}
	return rows
}

// Step returns the row of step time; nil where there is none.
func (c *Comparison) Step() *Row {
	if len(c.Rows) > 0 && c.Rows[0].Kind == StepTime {
		return &c.Rows[0]
	}
	return nil
}

func (c *Comparison) standingAtGate() Standing {
	r := c.Step()
	if c.Gate == nil || r == nil {
		return NoGate
	}
	gate := *c.Gate * r.Base
	switch {
	case c.Unit == Batches: // two healthy runs may differ too: nothing is sure
		switch {
		case r.Verdict != compare.Regression:
			return NotShown
		case r.Change > gate:
			return Exceeded
		}
		return BelowGate
	case r.Verdict != compare.Untested && r.High <= gate:
		return Within
	case r.Low > gate:
		return SurelyBeyond
	case r.Verdict == compare.Regression && r.Change > gate:
		return Exceeded
	case r.Verdict == compare.Regression:
		return BelowGate
	}
	return NotShown
}

// collectFindings puts the findings of all runs together.
func (c *Comparison) collectFindings() []Found {
	type key struct {
		kind  diagnose.Kind
		stage string
		op    string
	}
	var found ordered.List[key, Found]
	for side, all := range [2][]*Run{c.Base, c.New} {
		for _, r := range all {
			seen := map[key]bool{}
			for i := range r.Found {
				f := &r.Found[i]
				k := key{f.Kind, f.Stage, f.Op}
				x, first := found.Of(k)
				if first {
					x.Finding = *f
				}
				if !seen[k] {
					x.Runs[side]++
				}
				seen[k] = true
				if x.Most[side] = max(x.Most[side], f.RunGain); f.RunGain > x.RunGain {
					x.Finding = *f
				}
			}
		}
	}
	slices.SortStableFunc(found.All, func(a, b Found) int { return cmp.Compare(b.RunGain, a.RunGain) })
	return found.All
}

// fewUnits is how many units show small differences poorly.
const fewUnits = 5

func (c *Comparison) doubt() {
	world := map[int]bool{}
	for _, r := range c.sides() {
		if r.Windows > 0 {
			world[r.World] = true
		}
	}
	oneSided, mixed := false, false
	for _, r := range c.Rows {
		if r.Kind == StageTime {
			oneSided = oneSided || (r.Units[0] == 0) != (r.Units[1] == 0)
			mixed = mixed || c.Unit != Batches && (r.Units[0] > 0 && r.Units[0] < len(c.Base) || r.Units[1] > 0 && r.Units[1] < len(c.New))
		}
	}
	holds := [doubtCount]bool{
		OneRunEach: c.Unit == Batches, FewRuns: c.Unit != Batches && min(len(c.Base), len(c.New)) < fewUnits, LeftOver: len(c.Left) > 0,
		OtherWorld: len(world) > 1, OtherStages: oneSided, OtherCut: !c.cutsAgree(), MixedSchemas: mixed,
		StartUp: slices.ContainsFunc(c.sides(), func(r *Run) bool { return r.StartUp > 0 }),
	}
	for d, ok := range holds {
		if ok {
			c.Doubts = append(c.Doubts, Doubt(d))
		}
	}
}

// Whole returns the whole of which a row's change is a part: the base's step, and of the arrival skew, which is of a
// synchronisation point, itself; 0: not known.
func (c *Comparison) Whole(r Row) float64 {
	if step := c.Step(); step != nil && r.Kind != ArrivalSkew && step.Base > 0 {
		return step.Base
	}
	if r.Kind == StepTime || r.Kind == ArrivalSkew {
		return max(0, r.Base)
	}
	return 0
}

// notable is the part of a step from which on a difference is told that no test shows.
const notable = 0.02

// Differs reports whether a measure is one to show first: step time, and what differs for certain.
func (c *Comparison) Differs(r *Row) bool {
	return r.Kind == StepTime || r.Kind != FoundDelay && r.Verdict >= compare.Regression
}

// StartUps returns how many steps of a run were set apart at most, on either side.
func (c *Comparison) StartUps() (out [2]int) {
	for side, all := range [2][]*Run{c.Base, c.New} {
		for _, r := range all {
			out[side] = max(out[side], r.StartUp)
		}
	}
	return out
}

// Notable reports whether step time differs by enough to be told, whether or not a test shows it.
func (c *Comparison) Notable() bool {
	r := c.Step()
	return r != nil && math.Abs(r.Change) >= notable*r.Base
}

// Mostly returns the stage that changed most in the direction of step time, where that is at least half of the change; nil
// where there is none.
func (c *Comparison) Mostly() *Row {
	var most *Row
	step := c.Step()
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Kind == StageTime && r.Change*step.Change > 0 && (most == nil || math.Abs(r.Change) > math.Abs(most.Change)) {
			most = r
		}
	}
	if most == nil || 2*math.Abs(most.Change) < math.Abs(step.Change) {
		return nil
	}
	return most
}

// mostShown is how many stages explain a change of step time, and leastShown the
// part of it that each has.
const mostShown, leastShown = 2, 0.1

// Largest returns the stages that certainly changed as step time did, by size.
func (c *Comparison) Largest() []Row {
	step := c.Step()
	if step == nil {
		return nil
	}
	var out []Row
	for _, r := range c.Rows {
		if r.Kind == StageTime && r.Verdict == step.Verdict && r.Verdict >= compare.Regression && r.Change*step.Change > 0 && math.Abs(r.Change) >= leastShown*math.Abs(step.Change) {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(math.Abs(b.Change), math.Abs(a.Change)) })
	return out[:min(mostShown, len(out))]
}

// worthShowing is the change of step time that is asked for where no gate is.
const worthShowing = 0.02

// Smallest returns the smallest change of step time that matters, as a part of it.
func (c *Comparison) Smallest() float64 {
	if c.Gate != nil && *c.Gate > 0 {
		return *c.Gate
	}
	return worthShowing
}

// mostRuns is how many runs are still an answer.
const mostRuns = 1000

// RunsFor returns about how many runs on each side show a relative change of step time; 0 where the given ones are enough, or
// no number is.
func (c *Comparison) RunsFor(part float64) int {
	r := c.Step()
	if r == nil || c.Unit == Batches || math.IsInf(r.Shows, 0) || r.Shows <= part*r.Base {
		return 0
	}
	ratio := r.Shows / (part * r.Base)
	if n := math.Ceil(float64(max(len(c.Base), len(c.New))) * ratio * ratio); n <= mostRuns {
		return int(n)
	}
	return 0
}

// Package runs sums up what runs of a job took, measure by measure, so that runs
// are compared with one another and followed over time.
//
// Every measure is nanoseconds a step, but for the arrival skew, which is of a
// synchronisation point:
//
//	step time       the median over ranks of wall time; where none was recorded, from last arrival to last arrival, as diagnose has it
//	stage           the exposed time that engine/frontier charges to the stage
//	wait            what a rank waits for the last one where the ranks synchronise, mean over ranks
//	arrival skew    from the first rank to the last that enters a synchronisation point
//	communication   on the device, that no compute covers, mean over ranks
//	delay           what fixing a finding of diagnose would save
//
// Steps that diagnose sets apart as start-up are in none of them.
//
// The package is pure.
package runs

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/profile"
)

// Kind is what a measure is about.
type Kind uint8

const (
	StepTime Kind = iota
	StageTime
	SyncWait
	ArrivalSkew
	ExposedCommunication
	FoundDelay
	kindCount
)

var kindNames = [kindCount]string{"step_time", "stage", "wait", "arrival_skew", "exposed_communication", "delay"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// Names returns all of them.
func (Kind) Names() []string { return kindNames[:] }

// Measure is one number of a run. Stage is of a stage, and of a found delay where
// it is in one.
type Measure struct {
	Kind  Kind
	Stage string
}

// Run is what one run took.
type Run struct {
	Name    string // name of the run
	World   int    // number of ranks
	Windows int    // recorded windows; 0: arrivals only
	Steps   int    // recorded steps
	Begin   int64  // when its first recorded step began, since 1970 UTC; 0: not recorded
	Cut     frontier.Cut
	Values  map[Measure]float64
	Found   []diagnose.Finding // certain and large enough to act on
	StartUp int                // steps at the start that were set apart

	entries arrivals.Job
	parts   map[Measure]*compare.Batches
	order   []string // of its stages
	wall    float64  // Σ of wall times
	unknown bool     // wall time of some steps
	series  *frontier.Series
	head    []headStep // the first steps, of which some may be start-up
}

// headStep is what one of the first steps of a run took, ns.
type headStep struct {
	wall    float64
	advance map[string]float64
	wait    float64
}

// longestHead is how many steps at the start may be set apart.
const longestHead = 16

// StepTime returns the time of a step, ns; nil where no window has it.
func (r *Run) StepTime() *float64 {
	if v, ok := r.Values[Measure{Kind: StepTime}]; ok {
		return &v
	}
	return nil
}

// Set collects the windows of runs. Start with New.
type Set struct {
	o       frontier.Options
	session *diagnose.Session
	order   []*Run
	named   map[string]*Run
}

// New starts a set.
func New(o frontier.Options) *Set {
	return &Set{o: o, session: diagnose.New(diagnose.Options{Frontier: o}), named: map[string]*Run{}}
}

func (s *Set) run(name string) *Run {
	r := s.named[name]
	if r == nil {
		r = &Run{Name: name, Values: map[Measure]float64{}, parts: map[Measure]*compare.Batches{}}
		s.named[name] = r
		s.order = append(s.order, r)
	}
	return r
}

// Add takes what was recorded of a run, its windows in the order of their steps.
// What launched operators, and calls with their kernels, are not compared.
func (s *Set) Add(r trace.Recording) error {
	switch r := r.(type) {
	case *trace.Window:
		return s.addWindow(r)
	case *profile.DeviceTimes:
		s.run(r.Run).addDevice(r)
	case *comms.Record:
		if !r.Entries() {
			return nil
		}
		if err := s.run(r.Run).entries.Add(r); err != nil {
			return err
		}
		return s.session.Add(r)
	}
	return nil
}

// addWindow takes O(T·S·R); of the first run it keeps consecutive steps in batches
// too, for where no other run is compared.
func (s *Set) addWindow(w *trace.Window) error {
	r := s.run(w.Run)
	r.entries.AddWindow(w)
	if r == s.order[0] || r.Steps < longestHead {
		if err := s.addSteps(r, w); err != nil {
			return err
		}
	}
	if err := s.session.Add(w); err != nil {
		return err
	}
	r.World = max(r.World, w.WorldSize)
	r.Windows++
	r.Steps += w.Steps()
	for _, e := range w.Epochs {
		if e > 0 && (r.Begin == 0 || e < r.Begin) {
			r.Begin = e
		}
	}
	if w.Wall == nil {
		r.unknown = true
		return nil
	}
	whole := make([]int64, len(w.Ranks))
	for t := range w.Steps() {
		step := wallTime(w, t, whole)
		r.wall += step
		if t < len(r.head)-(r.Steps-w.Steps()) {
			r.head[r.Steps-w.Steps()+t].wall = step
		}
	}
	return nil
}

// wallTime returns the median over ranks of what a step took. whole is scratch.
func wallTime(w *trace.Window, t int, whole []int64) float64 {
	copy(whole, w.WallOf(t))
	return float64(robust.MedianTime(whole))
}

// addSteps keeps the exposed time of every stage in the first steps, and of the first run in batches of steps.
func (s *Set) addSteps(r *Run, w *trace.Window) error {
	if r.series == nil {
		r.series = frontier.NewSeries(s.o)
	}
	_, d, err := r.series.AddDetailed(w)
	if err != nil {
		return err
	}
	steps := len(d.Prefix) / max(1, len(d.Boundaries)*len(w.Ranks))
	whole := make([]int64, len(w.Ranks))
	for t := range steps {
		at, exposed := headStep{advance: make(map[string]float64, len(d.Stages))}, 0.0
		for i := range d.Stages {
			ns := float64(d.Advance(t, i))
			exposed += ns
			at.advance[d.Stages[i].Name] = ns
			r.batch(Measure{StageTime, d.Stages[i].Name}).Add(ns)
		}
		if d.Sync > 0 {
			at.wait = meanWait(d.PrefixesAt(t, d.Sync-1))
		}
		if w.Wall != nil && t < w.Steps() {
			exposed = wallTime(w, t, whole)
		}
		r.batch(Measure{Kind: StepTime}).Add(exposed)
		if len(r.head) < longestHead {
			r.head = append(r.head, at)
		}
	}
	return nil
}

// meanWait returns how long ranks wait for the last to arrive, ns, mean over ranks.
func meanWait(arrivals []int64) float64 {
	sum, last := 0.0, slices.Max(arrivals)
	for _, at := range arrivals {
		sum += float64(last - at)
	}
	return sum / float64(len(arrivals))
}

func (r *Run) batch(m Measure) *compare.Batches {
	if r.parts[m] == nil {
		r.parts[m] = &compare.Batches{}
	}
	return r.parts[m]
}

// addDevice takes the device times of a run.
func (r *Run) addDevice(d *profile.DeviceTimes) {
	var exposed, steps float64
	for _, rank := range d.Ranks {
		for _, t := range rank.Steps {
			exposed += float64(t.ExposedComm)
			steps++
		}
	}
	if steps > 0 {
		r.Values[Measure{Kind: ExposedCommunication}] = exposed / steps
	}
}

// skew measures how far apart the ranks of a run entered their collectives.
func (r *Run) skew() {
	sum := 0.0
	skews := arrivalSkews(&r.entries)
	for _, skew := range skews {
		sum += skew
		r.batch(Measure{Kind: ArrivalSkew}).Add(skew)
	}
	if len(skews) > 0 {
		r.Values[Measure{Kind: ArrivalSkew}] = sum / float64(len(skews))
	}
}

// arrivalSkews returns the skews of all synchronisation points that all members entered, in the order of time.
func arrivalSkews(j *arrivals.Job) []float64 {
	type point struct {
		group string
		seq   int64
	}
	type times struct{ first, last int64 }
	points := map[point]*times{}
	j.Analyze(arrivals.Options{Each: func(c arrivals.Call) {
		if !c.Whole {
			return
		}
		at := point{c.Group, c.Seq}
		if points[at] == nil {
			points[at] = &times{c.Enter, c.Release}
		}
		points[at].first = min(points[at].first, c.Enter)
	}})
	var all []*times
	for _, p := range points {
		if p.last > p.first {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *times) int {
		if a.last != b.last {
			return int(min(1, max(-1, a.last-b.last)))
		}
		return int(min(1, max(-1, a.first-b.first)))
	})
	out := make([]float64, len(all))
	for i, p := range all {
		out[i] = float64(p.last - p.first)
	}
	return out
}

// Runs judges what was added and returns the runs in the order in which they
// came. Nothing may be added after it.
func (s *Set) Runs() []*Run {
	for _, r := range s.order {
		if !r.entries.Empty() {
			r.skew()
		}
	}
	v := s.session.Verdict()
	for i := range v.Runs {
		if r := s.named[v.Runs[i].Run]; r != nil {
			r.account(&v.Runs[i])
		}
	}
	return s.order
}

// account takes from a verdict what the stages of the run took, by the cut that
// most of its time was accounted by, without its start-up, and what was found.
func (r *Run) account(v *diagnose.RunVerdict) {
	time := map[frontier.Cut]int64{}
	for _, w := range v.Windows {
		if time[w.Main.Cut] += w.Main.Makespan; time[w.Main.Cut] > time[r.Cut] {
			r.Cut = w.Main.Cut
		}
	}
	r.setApart(v)
	advance, wait, steps, synchronise, whole := map[string]float64{}, 0.0, -r.StartUp, false, 0.0
	for _, w := range v.Windows {
		if w.Main.Cut != r.Cut {
			continue
		}
		steps += w.Main.Steps
		for _, st := range w.Main.Stages {
			advance[st.Name] += float64(st.Advance)
			whole += float64(st.Advance)
			if st.Syncs {
				wait, synchronise = wait+float64(st.Wait), true
			}
		}
		for _, name := range w.Stages {
			if !slices.Contains(r.order, name) {
				r.order = append(r.order, name)
			}
		}
	}
	wall := r.wall
	for _, h := range r.head[:r.StartUp] {
		wall, wait = wall-h.wall, max(0, wait-h.wait)
		for name, ns := range h.advance {
			advance[name] -= ns
			whole -= ns
		}
	}
	if steps > 0 {
		for name, ns := range advance {
			r.Values[Measure{StageTime, name}] = ns / float64(steps)
		}
		if synchronise {
			r.Values[Measure{Kind: SyncWait}] = wait / float64(steps)
		}
	}
	switch {
	case !r.unknown && r.Steps > r.StartUp:
		r.Values[Measure{Kind: StepTime}] = wall / float64(r.Steps-r.StartUp)
	case r.unknown && steps > 0:
		r.Values[Measure{Kind: StepTime}] = whole / float64(steps)
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.IsFlagged() {
			r.Found = append(r.Found, *f)
			r.Values[Measure{FoundDelay, f.Stage}] += f.RunGain * r.Values[Measure{Kind: StepTime}]
		}
	}
}

// setApart takes the steps that a verdict sets apart as start-up out of the batches.
func (r *Run) setApart(v *diagnose.RunVerdict) {
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Cause == diagnose.CauseStartUp {
			r.StartUp = min(f.Struck.Count, len(r.head))
		}
	}
	for m, b := range r.parts {
		if m.Kind == StepTime || m.Kind == StageTime {
			b.Drop(r.StartUp)
		}
	}
}

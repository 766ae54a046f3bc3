// Package runs sums up what runs of a job took, measure by measure, so that runs
// are compared with one another and followed over time.
//
// Every measure is nanoseconds a step, but for the arrival skew, which is of a
// synchronisation point:
//
//	step time       the median over ranks of wall time (of the sum of the stages, where none was recorded)
//	stage           the exposed time that engine/frontier charges to the stage
//	wait            what a rank waits for the last one where the ranks synchronise, mean over ranks
//	arrival skew    from the first rank to the last that enters a synchronisation point
//	communication   on the device, that no compute covers, mean over ranks
//	delay           what fixing a finding of diagnose would save
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

	entries arrivals.Job
	parts   map[Measure]*compare.Batches
	order   []string // of its stages
	wall    float64  // Σ of step times
}

// StepTime is the time of a step, ns; nil where no window has it.
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
	series  *frontier.Series // of the first run
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
	if r == s.order[0] {
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
	whole := make([]int64, len(w.Ranks))
	for t := range w.Steps() {
		step := float64(stepTime(w, t, whole))
		r.wall += step
		r.batch(Measure{Kind: StepTime}).Add(step)
	}
	return nil
}

// stepTime is the median over ranks of what a step took. whole is scratch.
func stepTime(w *trace.Window, t int, whole []int64) int64 {
	if wall := w.WallOf(t); wall != nil {
		copy(whole, wall)
		return robust.MedianTime(whole)
	}
	clear(whole)
	for i, d := range w.Step(t) {
		whole[i%len(whole)] += d
	}
	return robust.MedianTime(whole)
}

// addSteps keeps the exposed time of every stage in batches of steps.
func (s *Set) addSteps(r *Run, w *trace.Window) error {
	if s.series == nil {
		s.series = frontier.NewSeries(s.o)
	}
	_, d, err := s.series.AddDetailed(w)
	if err != nil {
		return err
	}
	steps := len(d.Prefix) / max(1, len(d.Boundaries)*len(w.Ranks))
	for t := range steps {
		for i := range d.Stages {
			r.batch(Measure{StageTime, d.Stages[i].Name}).Add(float64(d.Advance(t, i)))
		}
	}
	return nil
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

// arrivalSkews are the skews of all synchronisation points that all members
// entered, in the order of time.
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
		if r.Steps > 0 {
			r.Values[Measure{Kind: StepTime}] = r.wall / float64(r.Steps)
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
// most of its time was accounted by, and what was found.
func (r *Run) account(v *diagnose.RunVerdict) {
	time := map[frontier.Cut]int64{}
	for _, w := range v.Windows {
		if time[w.Main.Cut] += w.Main.Makespan; time[w.Main.Cut] > time[r.Cut] {
			r.Cut = w.Main.Cut
		}
	}
	advance, wait, steps, synchronise := map[string]int64{}, int64(0), 0, false
	for _, w := range v.Windows {
		if w.Main.Cut != r.Cut {
			continue
		}
		steps += w.Main.Steps
		for _, st := range w.Main.Stages {
			advance[st.Name] += st.Advance
			if st.Syncs {
				wait, synchronise = wait+st.Wait, true
			}
		}
		for _, name := range w.Stages {
			if !slices.Contains(r.order, name) {
				r.order = append(r.order, name)
			}
		}
	}
	if steps > 0 {
		for name, ns := range advance {
			r.Values[Measure{StageTime, name}] = float64(ns) / float64(steps)
		}
		if synchronise {
			r.Values[Measure{Kind: SyncWait}] = float64(wait) / float64(steps)
		}
	}
	for i := range v.Findings {
		if f := &v.Findings[i]; f.Flagged() {
			r.Found = append(r.Found, *f)
			r.Values[Measure{FoundDelay, f.Stage}] += f.RunGain * r.Values[Measure{Kind: StepTime}]
		}
	}
}

package diagnose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/monitoring"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
	"github.com/sfstat/sfstat/trace/stagename"
	"github.com/sfstat/sfstat/trace/sums"
)

// Options of a diagnosis. The zero value is usable.
type Options struct {
	Frontier frontier.Options // cut, model fit and gates; zero: automatic, from the data, defaults
	// MinGain is the fraction of a step from which on a finding is large enough
	// to act on; 0: the gain gate.
	MinGain float64
	// Baseline is the steps of a healthy run of the same job; nil: there is none.
	Baseline *frontier.Sample
	// Benchmarks are what nccl-tests reached, for bandwidths to be held against; nil: there are none.
	Benchmarks *comm.Benchmarks
	// Brief leaves out of the accounts of windows what no finding rests on (frontier.Options.Brief).
	Brief bool
	// Alone says that no other recordings come beside the windows, but for what stands in them.
	Alone bool
	// GoesOn says that the run does: a delay that lasts to its last step counts by the steps since it began, for it is
	// what the next ones will have.
	GoesOn bool
	// Recent bounds what is kept of a run that goes on, in steps: a verdict is on the last half as
	// many at least, and on no more than so many but for the least that a test needs. 0: a verdict
	// is on all steps.
	Recent int
	// Beside, where stretches of a run are worked on side by side; nil: one at a time.
	// It is for runs that are read once, and findings alone: not with Recent or Baseline, and of limits it
	// is asked whether there is one.
	Beside *Beside
}

// Session takes windows one at a time, in any order of runs, and keeps only their
// accounts and the steps of the last stretch: memory does not grow with ranks × steps, and
// with Options.Recent not with windows either.
type Session struct {
	o         Options
	memory    memory // of stretches, or that of Options.Beside
	runs      []*run
	telemetry []*health.Record
	failed    []*bug.Error
	leftOut   []string // the runs that they are of
}

type run struct {
	entries arrivals.Job     // of calls, and of windows what places them
	entered *arrivals.Result // of the entries, as long as none are added; nil: not analysed
	name    string
	goesOn  bool // Options.GoesOn
	// isProfile: a profiler recorded it, beside the windows of another run.
	isProfile bool
	sums      sums.Rule // of its windows
	windows   []Window
	held      []*heldWindow    // windows behind them, whose accounts are not made yet
	border    *frontier.Border // of the last of these, where they are lent
	healthy   *frontier.Sample // of Options
	sample    *frontier.Sample // to compare with it; nil without one
	books     []book           // of the windows
	booked    [2]int64         // the first step of them, and the step after the last; also of windows that were forgotten
	lost      []answer.Problem
	dropped   map[int64]int          // how many of these are steps that were left out, by the last of them
	alone     *evidence.DeviceShares // of the only rank; nil: not known
	devices   []Device
	longest   []evidence.LongestOperators // of what the only rank launched
	// operators is the verdict on the operator trace, which is judged when it is
	// added; nil: there is none.
	operators *RunVerdict
	// launched are the operators behind the stages of the windows, compared.
	launched  []*opnames.Result
	across    []*opnames.Result     // between role groups
	profiled  *run                  // what a profiler's traces of the same steps come down to; nil: there are none
	calls     []*comms.Record       // calls and kernels of NCCL
	limits    *comm.Benchmarks      // of Options
	functions []*operator.Totals    // that ran in the stages of the windows
	places    map[int]hostedRank    // of ranks
	called    []monitoring.Interval // when calls were entered
	later     later                 // what comes to the stretch that is open
	steps     *steps                // of the windows
	between   windowGaps            // what lies between windows
	earlier   *Earlier              // windows that are not kept any more; nil: all are
}

// New starts a session.
func New(o Options) *Session {
	if o.Brief {
		o.Frontier.Brief = true
	}
	s := &Session{o: o, memory: make(memory, 1)}
	if o.Beside != nil {
		s.memory = o.Beside.memory
	}
	return s
}

// Add takes whatever was recorded of a run, in any order; recordings of one name
// are of one run. Windows, validated, are accounted for, operator traces judged,
// and communication kept for [Session.Verdict]. It fails for what cannot be
// analysed: an operator trace without a program that its replicas share, a window
// with other stages than the baseline.
//
// An engine that panics is a bug, and fails the run alone: it is left out, and
// [Session.Judge] has the error.
//
// A window takes O(T·S·R). Of an operator trace time and memory grow linearly with
// the operators, time also with the square of the replicas.
func (s *Session) Add(r trace.Recording) error {
	if slices.Contains(s.leftOut, r.RunName()) {
		return nil
	}
	var err error
	s.containPanic(r.RunName(), func() { err = s.add(r) })
	return err
}

// containPanic runs a task for a run, which is left out from then on if the task panics.
func (s *Session) containPanic(name string, do func()) {
	err := bug.Guard("run "+name, do)
	if err == nil {
		return
	}
	s.failed, s.leftOut = append(s.failed, bug.PanicOf(err)), append(s.leftOut, name)
	s.runs = slices.DeleteFunc(s.runs, func(r *run) bool { return r.name == name })
}

func (s *Session) add(r trace.Recording) error {
	if w, is := r.(*trace.Window); is {
		return s.addWindow(w)
	}
	switch r := r.(type) {
	case trace.ProfiledWindow:
		return s.addProfiled(r.Window)
	case *operator.Trace:
		return s.addOperators(r)
	case *operator.Totals:
		return s.runOf(r.Run).addLaunched(r)
	case *profile.DeviceTimes:
		return s.runOf(r.Run).addDevice(r)
	case *comms.Record:
		in := s.runOf(r.Run)
		in.limits = s.o.Benchmarks
		return in.addComm(r)
	case *health.Record:
		s.telemetry = append(s.telemetry, r)
		return nil
	}
	return input.Bad(input.ErrFormat, "a recording of type %T, which no engine knows", r)
}

// telemetryFor returns what monitoring recorded, which is of no run, and what other tools conclude of a run: where there
// are several, in its folder.
func (s *Session) telemetryFor(r *run) []*health.Record {
	if len(s.runs) < 2 {
		return s.telemetry
	}
	return slices.DeleteFunc(slices.Clone(s.telemetry), func(t *health.Record) bool {
		return len(t.Events) > 0 && t.Events[0].Kind == health.ToolReport && !strings.Contains("/"+t.Path, "/"+r.name+"/")
	})
}

// mostRuns is how many runs a session judges together.
const mostRuns = 1 << 14

func (s *Session) addWindow(w *trace.Window) error {
	r := &run{name: w.Run}
	switch i := s.indexOf(w.Run); {
	case i >= 0:
		r = s.runs[i]
	case len(s.runs) == mostRuns:
		return input.Bad(input.ErrTooLarge, "more than %d runs, whose verdicts are held together: give fewer inputs, or sfstat batch, which judges any number one after the other", mostRuns)
	}
	w = r.flat(w)
	if err := s.check(r, w); err != nil {
		return err
	}
	if s.indexOf(w.Run) < 0 {
		s.runs = append(s.runs, r)
	}
	if s.o.Beside != nil {
		s.holdWindow(r, w, true).giveBack()
		return nil
	}
	s.addCopy(r, w)
	r.forget(r.steps.firstKept())
	return nil
}

// check reports why a window cannot be analysed: the options do not fit it, or the baseline is of another program.
func (s *Session) check(r *run, w *trace.Window) error {
	if err := s.o.Frontier.Check(w); err != nil {
		return err
	}
	return r.checkBaseline(s.o.Baseline, w)
}

// flat returns a window without the stages that are the sum of others.
func (r *run) flat(w *trace.Window) *trace.Window {
	one := []*trace.Window{w}
	r.sums.Apply(one)
	return one[0]
}

// addProfiled accounts for a window that a profiler recorded beside those of a run.
func (s *Session) addProfiled(w *trace.Window) error {
	r := s.runOf(w.Run)
	if r.profiled == nil {
		r.profiled = &run{name: w.Run, isProfile: true}
	}
	if err := s.check(r.profiled, w); err != nil {
		return err
	}
	s.addCopy(r.profiled, w)
	return nil
}

// addCopy adds a copy of a window to a run.
func (s *Session) addCopy(r *run, w *trace.Window) {
	s.holdWindow(r, w, false)
	for _, of := range r.takeAccounts() {
		of.giveBack()
	}
}

// book is what is kept of a window beside its account, taken while its times are there.
type book struct {
	first, end   int64
	world, accum int
	schema       trace.Schema
	times        monitoring.Interval // when it was recorded; zero: not known
	probed       []probeTime
	stages       []string        // in the order of its steps
	contains     *answer.Problem // of the first window of a run; nil: nothing
	resolution   int64           // of its times, ns: all are whole multiples of it; of the first window of a run, else 0
}

func (r *run) bookOf(w *trace.Window) book {
	out := book{w.FirstStep, w.StepAt(w.Steps()), w.WorldSize, w.Accumulation, w.Schema, timesOfWindow(w), probesOf(w), recordedStages(w), nil, 0}
	if len(r.books)+len(r.held) == 0 {
		out.resolution = points.Unit(w.Durations)
		if p, found := contains(w); found {
			out.contains = &p
		}
	}
	return out
}

// keep takes the account of a window, of which the times may be gone where it was lent.
func (r *run) keep(w *trace.Window, a *frontier.Analysis, of book) {
	r.sampleFrom(w, a.Main)
	r.compare(w, a.Main, of)
	r.windows = append(r.windows, Window{Main: a.Main, Paper: a.Paper, Groups: a.Groups, Stages: of.stages})
	r.books = append(r.books, of)
	for _, rank := range w.Ranks {
		r.seeRank(rank.ID, rank.Host, rank.LocalRank)
	}
}

// recordedStages returns the stages of a window in the order of its steps.
func recordedStages(w *trace.Window) []string {
	names, _ := w.Schema.Groups()
	if w.Wall != nil {
		names = append(names, stagename.Residual)
	}
	return names
}

// runOf returns the run with a name, and makes a missing one.
func (s *Session) runOf(name string) *run {
	i := s.indexOf(name)
	if i < 0 {
		i = len(s.runs)
		s.runs = append(s.runs, &run{name: name})
	}
	return s.runs[i]
}

func (s *Session) indexOf(name string) int {
	return slices.IndexFunc(s.runs, func(r *run) bool { return r.name == name })
}

// empty reports whether the run has nothing to judge.
func (r *run) empty() bool {
	return len(r.windows)+len(r.held) == 0 && r.operators == nil && r.entries.Empty() && len(r.calls) == 0
}

// isProblem reports whether what a reader notes of a window is a problem of its own:
// what is compared here is said here, and what a recorder says is no problem.
func isProblem(k input.NoteKind) bool {
	switch k {
	case input.NoteGatherFailed, input.NoteTruncated, input.NoteDamaged, input.NoteWallMissing, input.NoteTopologyChanged, input.NoteStepsSkipped, input.NoteUnits,
		input.NoteUnitDoubt, input.NoteColumnsIgnored, input.NoteStepsRepeated, input.NoteStagesDiffer, input.NoteRowsEmpty, input.NoteWholeSteps, input.NoteRanksNumbered, input.NoteStagesSummed,
		input.NoteRecovered:
		return true
	}
	return false
}

// compare notes what changes from the run's window before, steps that another
// window has too, and what the window lost.
func (r *run) compare(w *trace.Window, m *frontier.Result, of book) {
	lose := func(p answer.Problem) {
		r.lost = append(r.lost, p)
		if p.Problem == answer.StepsDropped {
			r.dropped[p.Steps[1]]++
		}
	}
	if r.dropped == nil {
		r.dropped = map[int64]int{}
	}
	if n := len(r.books); n > 0 {
		before := r.books[n-1]
		for _, c := range []struct {
			changed bool
			what    answer.ProblemKind
		}{
			{!before.schema.Equal(w.Schema), answer.StagesChange},
			{before.world != w.WorldSize, answer.WorldChanges},
			{max(1, before.accum) != max(1, w.Accumulation), answer.AccumulationChanges},
		} {
			if c.changed {
				lose(answer.Problem{Problem: c.what, Window: &m.Window, Steps: &[2]int64{before.first, w.FirstStep}})
			}
		}
	}
	end := of.end
	earlier := r.books
	if len(earlier) == 0 {
		r.booked = [2]int64{w.FirstStep, end}
	} else if w.FirstStep >= r.booked[1] || end <= r.booked[0] { // as of nearly all windows
		earlier = nil
	}
	r.booked = [2]int64{min(r.booked[0], w.FirstStep), max(r.booked[1], end)}
	for _, e := range earlier {
		if from, to := max(e.first, w.FirstStep), min(e.end, end); from < to {
			lose(answer.Problem{Problem: answer.StepsTwice, Window: &m.Window, Steps: &[2]int64{from, to - 1}, N: int(to - from)})
			break
		}
	}
	if of.contains != nil {
		lose(*of.contains)
	}
	if p, found := stageDisorder(w.Schema.Stages); found && len(r.books) == 0 {
		lose(p)
	}
	for _, n := range w.Notes {
		if isProblem(n.Kind) {
			lose(answer.Problem{Problem: answer.ProblemKind(n.Kind.String()), Window: &m.Window, Text: n.Text})
		}
	}
	if missing := w.Missing(); len(missing) > 0 {
		lose(answer.Problem{Problem: answer.RanksMissing, Window: &m.Window, Ranks: missing, Steps: &[2]int64{w.FirstStep, end - 1}, N: missing.Len(), Of: w.WorldSize})
	}
	// What the cut leaves out at the end of a window belongs to the next one where
	// that follows.
	r.takeBack(w.FirstStep-1, m.FirstStep)
	if from := m.StepAt(m.Steps); m.Steps > 0 && from < end {
		lose(answer.Problem{Problem: answer.StepsDropped, Window: &m.Window, Steps: &[2]int64{from, end - 1}, N: int(end - from)})
	}
}

// takeBack drops steps from what was lost: those that begin at from or later, and end with last.
func (r *run) takeBack(last, from int64) {
	n := r.dropped[last]
	for i := len(r.lost) - 1; i >= 0 && n > 0; i-- { // it is near the end
		p := &r.lost[i]
		if p.Problem != answer.StepsDropped || p.Steps[1] != last {
			continue
		}
		if n--; from <= p.Steps[0] {
			r.lost = slices.Delete(r.lost, i, i+1)
			if r.dropped[last]--; r.dropped[last] == 0 {
				delete(r.dropped, last)
			}
		}
	}
}

// problems returns the problems of the run's recording. Steps that the cut leaves out at the end of each of many windows are
// one problem.
func (r *run) problems() []answer.Problem {
	type named struct {
		of   answer.ProblemKind
		text string
	}
	var out []answer.Problem
	first := map[named]int{}
	for _, p := range r.lost {
		i, found := first[named{p.Problem, p.Text}]
		switch {
		case found && p.Text != "":
			continue // the same note on every window
		case p.Problem != answer.StepsDropped || !found:
			if !found {
				first[named{p.Problem, p.Text}] = len(out)
			}
			out = append(out, p)
			continue
		}
		out[i].N += p.N
		out[i].Steps = &[2]int64{out[i].Steps[0], p.Steps[1]}
		out[i].Window = nil
	}
	return out
}

// gates returns the current gates, and the least gain that is reported.
func (s *Session) gates() (gates.Gates, float64) {
	g := s.o.Frontier.Gates.OrDefault()
	return g, cmp.Or(s.o.MinGain, g.StaticGain)
}

// Verdict judges runs as Judge does, and panics where a run fails.
func (s *Session) Verdict() *Verdict {
	v, failed := s.Judge()
	if len(failed) > 0 {
		panic(failed[0])
	}
	return v
}

// Judge judges what was added. It may be called again after more windows. Runs on which an
// engine panicked are not in the verdict; their errors name them.
func (s *Session) Judge() (*Verdict, []*bug.Error) {
	v := &Verdict{}
	v.Gates, v.MinGain = s.gates()
	worst := -1
	for _, r := range slices.Clone(s.runs) {
		if r.empty() {
			continue
		}
		r.goesOn = s.o.GoesOn
		s.containPanic(r.name, func() { v.Runs = append(v.Runs, r.judge(v.Gates, v.MinGain, s.telemetryFor(r))) })
		if at := len(v.Runs) - 1; at >= 0 && (worst < 0 || worse(&v.Runs[at], &v.Runs[worst])) {
			worst = at
		}
	}
	v.Recurring = recurringHost(v.Runs)
	if worst < 0 {
		return v, s.failed
	}
	first := &v.Runs[worst]
	if h := v.Recurring; h != nil && len(first.Findings) > 0 && first.Findings[0].Host == h.Host {
		first.Findings = slices.Clone(first.Findings)
		first.Findings[0].Evidence = append(slices.Clone(first.Findings[0].Evidence), *h)
	}
	v.RunVerdict, v.First = *first, worst
	return v, s.failed
}

// worse orders runs by how much needs to be done about them, and by what fixing all that is late in them saves.
func worse(a, b *RunVerdict) bool {
	weight := func(v *RunVerdict) (w int, share float64) {
		if len(v.Findings) == 0 {
			return -1, 0
		}
		return v.Findings[0].weight(), max(v.Findings[0].Score, v.Together)
	}
	wa, sa := weight(a)
	wb, sb := weight(b)
	return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(wa, wb), cmp.Compare(a.Confidence, b.Confidence), cmp.Compare(sa, sb)) > 0
}

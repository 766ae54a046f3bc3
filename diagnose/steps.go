package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/latent"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// steps are the recorded steps of a run. How a file is cut into windows changes nothing: they are
// looked at in stretches of as many steps each, and of those that are complete only what they came
// down to is kept ([delay.Stretch]), which takes some 100 bytes a step of the last 2²⁰, and a byte of each before.
type steps struct {
	named    string
	recent   int     // steps that are kept about; 0: all
	beside   *Beside // Options.Beside
	memory   memory
	o        delay.Options
	accounts frontier.Options // of windows
	series   []*series
}

// series are the steps with one list of stages.
type series struct {
	key     string
	length  int          // of a stretch, steps
	members map[int]bool // ranks of the windows in open
	widest  int          // most ranks of a window in open
	open    []windowPart // of the last stretch
	steps   int          // in open
	looked  []*completeStretch
	summed  int            // how many of them have a summary of what all ranks have in common
	busy    parallel.Group // looks at the last of them
	points  []points.Point // where the ranks of the first stretch synchronise; nil: not known yet
	within  []points.Within
	sets    [][]int        // that synchronise there, where not all ranks do
	classes [][]int        // ranks of like work, where not all are alike
	outside points.Outside // where the time in no stage lies
	meet    points.Meetings
	peers   []int
	limits  []delay.Limit // of the first stretch
	cuts    runCuts
	plan    *cutPlan // how the stages of the first stretch are cut; nil: they are not
	ranks   []int    // of the first stretch
	windows *accounts
	total   int
}

// completeStretch is a stretch to which no step will be added, and what was found in it.
type completeStretch struct {
	first   int // number of its first window
	stretch *delay.Stretch
	latent  *latent.Result // of its own work; nil: not tested
	placed  stepPlaces
}

// windowPart is a window, or steps of one that follow one another, of which it has what they are judged by and nothing besides.
type windowPart struct {
	trace.Window
	at    int         // number of the window in its run
	of    *heldWindow // whose times they are
	last  bool        // part of the window
	calls *arrivals.Part
}

const (
	// stretchDurations is how many durations of a run are looked at together, and leastStretch how
	// many steps however many ranks there are: the test of a delay that strikes now and then needs
	// some hundreds.
	stretchDurations = 1 << 20
	leastStretch     = 512
	// mostTogether is in how many steps what all ranks have in common is looked for together. Of a longer run it is looked for in parts as
	// long, with the changes over all of them.
	mostTogether = 1 << 20
)

// record adds the steps of a window.
func (r *run) record(of *heldWindow, s *Session) {
	if r.steps == nil {
		r.steps = &steps{named: s.o.Frontier.SyncAfter, o: s.o.model(), recent: s.o.Recent, beside: s.o.Beside, memory: s.memory, accounts: s.o.Frontier}
	}
	w := of.w
	times := trace.Window{Index: w.Index, FirstStep: w.FirstStep, Every: max(1, w.Every), Schema: w.Schema, Ranks: w.Ranks, DataWait: w.DataWait, Durations: w.Durations, Wall: w.Wall}
	r.steps.add(windowPart{Window: times, at: r.countForgotten() + len(r.windows) + len(r.held), of: of, calls: r.enter(w, s.o)})
}

// enter keeps the calls that were recorded beside a window, and returns the part of the run that it belongs to; nil: a profiler
// recorded it, or nobody asks for its calls.
func (r *run) enter(w *trace.Window, o Options) *arrivals.Part {
	if r.isProfile || o.Alone && len(w.Arrivals) == 0 && r.entries.Empty() {
		return nil
	}
	if o.Recent > 0 {
		r.later.entries.AddWindow(w)
	}
	return r.entries.AddWindow(w)
}

func (s *steps) add(w windowPart) {
	R := len(w.Ranks)
	per := len(w.Schema.Stages) * R
	if w.Steps() == 0 {
		panic("diagnose: a window without steps was not validated")
	}
	key := w.Schema.Hash() + w.DataWait.String()
	i := slices.IndexFunc(s.series, func(one *series) bool { return one.key == key })
	if i < 0 {
		s.dropLeast()
		i = len(s.series)
		length := max(leastStretch, stretchDurations/per)
		if s.recent > 0 {
			length = max(leastStretch, min(length, s.recent/2))
		}
		s.series = append(s.series, &series{key: key, length: length, windows: newAccounts(s.accounts)})
	}
	one := s.series[i]
	for from, all := 0, w.Steps(); from < all; {
		n := min(all-from, one.length-one.steps)
		part := w
		part.FirstStep, part.Durations = w.StepAt(from), w.Durations[from*per:(from+n)*per]
		if w.Wall != nil {
			part.Wall = w.Wall[from*R : (from+n)*R]
		}
		from += n
		part.last = from == all
		if one.outgrows(part) {
			one.complete(s)
		}
		part.of.hold()
		one.take(part)
		if one.steps == one.length {
			one.complete(s)
		}
	}
}

// mostLists is how many lists of stages of a run are kept apart. A verdict is on the list with most steps.
const mostLists = 64

// dropLeast makes room for another list of stages: that with the fewest steps goes, and of those the first, once its
// windows have their accounts.
func (s *steps) dropLeast() {
	if len(s.series) < mostLists {
		return
	}
	least := slices.MinFunc(s.series, func(a, b *series) int { return cmp.Compare(a.total, b.total) })
	least.drop(s)
	s.series = slices.DeleteFunc(s.series, func(one *series) bool { return one == least })
}

// outgrows reports whether the open stretch would be too large with a part of another window, because other ranks take part
// in each.
func (s *series) outgrows(part windowPart) bool {
	if len(s.open) == 0 {
		return false
	}
	S, all := len(part.Schema.Stages), len(s.members)
	if !equalRanks(s.open[len(s.open)-1].Ranks, part.Ranks) {
		for _, r := range part.Ranks {
			if !s.members[r.ID] {
				all++
			}
		}
	}
	return all*(s.steps+part.Steps())*S > max(stretchDurations, leastStretch*S*max(s.widest, len(part.Ranks)))
}

// take adds a part of a window to the open stretch.
func (s *series) take(part windowPart) {
	if s.members == nil {
		s.members = make(map[int]bool)
	}
	if n := len(s.open); n == 0 || !equalRanks(s.open[n-1].Ranks, part.Ranks) {
		for _, r := range part.Ranks {
			s.members[r.ID] = true
		}
	}
	s.widest = max(s.widest, len(part.Ranks))
	s.open = append(s.open, part)
	s.steps += part.Steps()
	s.total += part.Steps()
}

// complete ends the open stretch, which is looked at while the next steps are read, and beside others
// once the first has shown where the ranks synchronise.
func (s *series) complete(in *steps) {
	if in.beside == nil {
		s.busy.Wait()
		s.summarise(in)
	}
	if in.recent > 0 {
		s.looked, s.summed = nil, 0
		for _, other := range in.series {
			if other != s {
				other.drop(in)
			}
		}
	}
	of := stretch{windows: s.open, complete: true}
	if !s.cuts.whole {
		of = of.withParts()
	}
	l := &completeStretch{first: s.open[0].at}
	s.looked = append(s.looked, l)
	s.open, s.steps, s.members, s.widest = nil, 0, nil, 0
	in.beside.enter()
	begun := false
	defer func() {
		if !begun { // it panicked: other sessions share the room
			in.beside.leave()
		}
	}()
	var first *division
	if s.points == nil {
		first = s.divideFirst(of, in)
		s.adopt(first)
	}
	s.windows.accountInOrder(of)
	begun = true
	s.busy.Go(func() {
		defer in.beside.leave()
		s.look(l, of, in, first)
	})
}

// summarise makes one summary of the stretches without one, if more steps than are looked at together follow.
func (s *series) summarise(in *steps) {
	n, list := s.steps, []*delay.Stretch(nil)
	for _, l := range s.looked[s.summed:] {
		n += l.placed.steps.n
		list = append(list, l.stretch)
	}
	if n > mostTogether && in.recent == 0 {
		delay.Summarise(list, in.o)
		s.summed = len(s.looked)
	}
}

// firstKept returns the number of the first window of which steps are kept.
func (s *steps) firstKept() int {
	if s.recent == 0 {
		return 0
	}
	from := math.MaxInt
	for _, one := range s.series {
		for _, l := range one.looked {
			from = min(from, l.first)
		}
		for _, w := range one.open {
			from = min(from, w.at)
		}
	}
	if from == math.MaxInt {
		return 0
	}
	return from
}

// division is a stretch, divided where its ranks synchronise.
type division struct {
	*points.Division
	run   *delay.Run
	at    stepPlaces
	first bool // stretch of the series
}

// cutsOf returns where entries of calls cut the windows of a stretch; nil: nowhere, or the user says where ranks synchronise.
func (s *series) cutsOf(of stretch, in *steps) windowCuts {
	if in.named != "" {
		return nil
	}
	return of.windowCuts(s.cuts)
}

// divideFirst divides the first stretch where its ranks synchronise, as calls cut its stages. The accounts are of these as they were
// recorded.
func (s *series) divideFirst(of stretch, in *steps) *division {
	first := s.divideBy(of, in, nil)
	s.windows.know(first, of, in)
	cuts := s.cutsOf(of, in)
	if cuts == nil {
		return first
	}
	first.free(in)
	return s.cut(of, in, cuts)
}

// divide divides a stretch behind the first as that is divided.
func (s *series) divide(of stretch, in *steps) *division {
	if s.plan != nil {
		return s.divideBy(of, in, &cutting{cuts: s.cutsOf(of, in), plan: s.plan})
	}
	return s.divideBy(of, in, nil)
}

// drop forgets the steps of a series, whose windows have their accounts then.
func (s *series) drop(in *steps) {
	s.accountOpen(in, false)
	stretch{windows: s.open, complete: true}.giveBack()
	s.busy.Wait()
	s.looked, s.summed, s.open, s.steps, s.total, s.members, s.widest = nil, 0, nil, 0, 0, nil, 0
}

// free gives up the memory of a division.
func (d *division) free(in *steps) {
	d.Memory.Free()
	in.memory.put(d.Memory)
}

// accountOpen accounts for the windows that end in what is open, without looking at its steps.
func (s *series) accountOpen(in *steps, passing bool) {
	of, windows := stretch{windows: s.open}, s.windows
	if !slices.ContainsFunc(s.open, func(w windowPart) bool { return w.last && w.of.account == nil }) {
		return
	}
	if s.points == nil {
		windows = newAccounts(in.accounts)
		windows.passing = passing
		first := s.divideBy(of, in, nil)
		windows.know(first, of, in)
		first.free(in)
	}
	windows.accountInOrder(of)
	windows.accountEach(of)
}

// cut divides the first stretch as calls cut its steps. Where ranks then do not wait for each other at a point of the calls, these lack
// waits, and nothing is cut; in steps in which nobody waited for a rank, some are lacking, and they are divided as steps without calls are.
func (s *series) cut(of stretch, in *steps, cuts windowCuts) *division {
	by := &cutting{cuts: cuts}
	cut := s.divideBy(of, in, by)
	if by.plan != nil && len(cut.Errors) > 0 {
		by.plan, by.lacking = nil, map[int]bool{}
		for _, e := range cut.Errors {
			by.lacking[e.Step] = true
		}
		cut = s.divideBy(of, in, by)
	}
	if by.plan != nil && len(cut.Points) < by.plan.points() {
		return s.divideBy(of, in, nil)
	}
	s.plan = by.plan
	return cut
}

// cutting is where the windows of a stretch are cut, and how.
type cutting struct {
	cuts    windowCuts
	plan    *cutPlan     // nil: as the cuts show, which it then says
	lacking map[int]bool // steps in which calls lack waits
}

// divideBy divides a stretch whose stages are cut, or, nil, are not.
func (s *series) divideBy(of stretch, in *steps, by *cutting) *division {
	run, at := of.join(in.memory.take())
	if by != nil {
		by.plan = cutSteps(run, at, by)
		at.cut = by.plan
	}
	known, meet := run.Known, run.KnownMeetings
	run.Named, run.Known, run.KnownOutside, run.KnownMeetings = in.named, s.points, s.outside, s.meet
	if s.points != nil && slices.Equal(s.ranks, at.ranks) {
		run.KnownWithin, run.KnownPeers, run.KnownClasses, run.Peers = s.within, s.sets, s.classes, s.peers
	}
	if known != nil {
		run.Known, run.KnownMeetings = known, meet
	}
	return &division{Division: points.Divide(&run.Steps, in.o.Points), run: run, at: at, first: s.points == nil}
}

// adopt copies from the first stretch where the ranks synchronise and who is compared with whom.
func (s *series) adopt(d *division) {
	s.points, s.within, s.sets, s.classes, s.outside = append([]points.Point{}, d.Points...), d.Within, d.Division.Peers, d.Classes, d.Outside
	if d.Every > 0 {
		s.meet = points.Meetings{Point: d.Points[0], Every: d.Every}
	}
	s.ranks, s.peers = d.at.ranks, d.run.Peers
}

// look looks at a stretch, which may be divided. The first says how small a delay would have been found.
func (s *series) look(l *completeStretch, of stretch, in *steps, d *division) {
	if d == nil {
		d = s.divide(of, in)
	}
	defer d.free(in)
	s.windows.accountEach(of)
	unit := of.unit()
	var second parallel.Group // reads the division, as the first stage does
	if in.beside == nil {
		second.Go(func() { l.latent = differ(d, unit, latent.Options{Screen: true}) })
	}
	defer second.Wait()
	of.giveBack()
	o := in.o
	if !d.first {
		o.Limits = delay.NoLimits
	}
	l.stretch, l.placed = delay.LookAt(d.Division, d.run, o), d.at
	if d.first {
		s.limits = l.stretch.Limits()
	}
	// Runs side by side are many: whom the first stage names for certain needs no second.
	if in.beside != nil {
		l.latent = differ(d, unit, latent.Options{Screen: true, Known: l.stretch.Strong()})
	}
}

// end completes what is open of a run that is read once.
func (s *steps) end(cuts runCuts) {
	for _, one := range s.series {
		if one.steps > 0 {
			if one.points == nil {
				one.cuts = cuts
			}
			one.complete(s)
		}
	}
}

// result returns what the steps of the run come down to; nil where there are none. All its windows have their accounts then.
func (s *steps) result(entered runCuts) (*delay.Result, *latent.Result, stepPlaces) {
	if len(s.series) == 0 {
		return nil, nil, stepPlaces{}
	}
	one := slices.MaxFunc(s.series, func(a, b *series) int { return cmp.Compare(a.total, b.total) })
	if s.beside != nil {
		s.end(entered)
	}
	for _, other := range s.series {
		if other.busy.Wait(); other != one {
			other.accountOpen(s, true)
		}
	}
	list := slices.Clone(one.looked)
	// What is open is looked at without being complete.
	open := series{points: one.points, within: one.within, sets: one.sets, classes: one.classes, outside: one.outside, meet: one.meet, peers: one.peers, limits: one.limits, ranks: one.ranks, plan: one.plan, windows: one.windows}
	if one.steps > 0 {
		l := &completeStretch{first: one.open[0].at}
		of := stretch{windows: one.open}
		if open.points == nil {
			open.cuts = entered
		}
		if !open.cuts.whole {
			of = of.withParts()
		}
		var first *division
		if open.points == nil {
			open.windows = newAccounts(s.accounts)
			open.windows.passing = true
			first = open.divideFirst(of, s)
		}
		open.look(l, of, s, first)
		open.windows.accountInOrder(of)
		list = append(list, l)
	}
	at := union(list)
	if len(at.ranks) == 0 {
		return nil, nil, at
	}
	var stretches []*delay.Stretch
	for i := range list {
		stretches = append(stretches, list[i].stretch)
	}
	o := s.o
	o.Once = s.beside != nil
	out := delay.Join(stretches, o)
	out.Limits = open.limits
	if len(at.ranks) == 1 {
		return out, nil, at
	}
	return out, joinLatent(list, at), at
}

// union returns where the steps of all stretches are. Stretches with other ranks get the numbers of their ranks among all.
func union(list []*completeStretch) stepPlaces {
	at := list[0].placed
	if len(list) == 1 {
		return at
	}
	hosts := map[int]string{}
	for _, l := range list {
		for i, id := range l.placed.ranks {
			hosts[id] = l.placed.hostOf(i)
		}
	}
	all := stepPlaces{splits: at.splits, walled: at.walled, mixed: at.mixed, cut: at.cut}
	for id := range hosts {
		all.ranks = append(all.ranks, id)
	}
	slices.Sort(all.ranks)
	var members []trace.Rank
	for _, id := range all.ranks {
		members = append(members, trace.Rank{ID: id, Host: hosts[id]})
	}
	all.host, all.hosts = hostsOf(members)
	if !slices.Equal(all.ranks, at.ranks) {
		all.splits = nil // which are of positions
	}
	for i, l := range list {
		all.walled = all.walled && l.placed.walled
		all.steps.join(&l.placed.steps)
		if slices.Equal(l.placed.ranks, all.ranks) && slices.Equal(l.placed.hosts, all.hosts) {
			continue
		}
		ranks, of := make([]int, len(l.placed.ranks)), make([]int, len(l.placed.hosts))
		for k, id := range l.placed.ranks {
			ranks[k] = slices.Index(all.ranks, id)
		}
		for k, name := range l.placed.hosts {
			of[k] = slices.Index(all.hosts, name)
		}
		list[i] = &completeStretch{l.first, l.stretch.Renumber(ranks, of), l.latent, l.placed}
	}
	return all
}

// stretch is windows with one list of stages.
type stretch struct {
	windows  []windowPart
	complete bool                             // no step will be added
	parts    map[*arrivals.Part]*arrivals.Job // of the run, that the windows are of; nil: not known
}

// giveBack gives the times of the windows of a stretch up that is complete: they are not read any more.
func (s stretch) giveBack() {
	for i := 0; s.complete && i < len(s.windows); i++ {
		s.windows[i].of.giveBack()
	}
}

// join puts the windows together, in the order of time.
func (s stretch) join(memory *points.Memory) (*delay.Run, stepPlaces) {
	windows := slices.Clone(s.windows)
	slices.SortStableFunc(windows, func(a, b windowPart) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.FirstStep, b.FirstStep))
	})
	first := windows[0]
	order := stageOrder(first)
	at, stages := stepPlaces{}, make([]points.Stage, len(order))
	for i, k := range order {
		stages[i] = points.StageOf(first.Schema.Stages[k])
	}
	members := members(windows)
	for _, m := range members {
		at.ranks = append(at.ranks, m.ID)
	}
	steps := 0
	for _, w := range windows {
		steps += w.Steps()
	}
	at.walled = !slices.ContainsFunc(windows, func(w windowPart) bool { return w.Wall == nil })
	out := &delay.Run{Steps: *points.NewSteps(stages, len(members), steps, at.walled, memory)}
	var before int64 // last step of the window before
	for i, w := range windows {
		n := at.steps.n
		if i > 0 && w.FirstStep != before+w.Every {
			out.Breaks = append(out.Breaks, n)
		}
		w.set(out, n, order, members)
		if len(w.Ranks) < len(members) {
			out.Missing = w.mark(out.Missing, n, steps, members)
		}
		at.steps.add(w.Steps(), numberedRun{window: w.at, first: w.FirstStep, every: w.Every})
		before = w.FirstStep + int64(w.Steps()-1)*w.Every
	}
	out.Hosts, at.hosts = hostsOf(members)
	at.host = out.Hosts
	out.Peers = peersOf(members, out)
	if len(members) > 0 {
		at.splits = trace.Splits(members)
	}
	at.mixed = out.Peers != nil
	for _, s := range at.splits {
		out.Splits = append(out.Splits, s.Sets)
	}
	return out, at
}

// stageOrder returns the order of stages in time. A wait for data recorded at the end of the previous step is placed at the end.
func stageOrder(w windowPart) (order []int) {
	data := -1
	if w.DataWait == trace.DataWaitPreceding {
		data = slices.IndexFunc(w.Schema.Stages, func(s string) bool { return stagename.KindOf(s) == stagename.Data })
	}
	for k := range w.Schema.Stages {
		if k != data {
			order = append(order, k)
		}
	}
	if data >= 0 {
		order = append(order, data)
	}
	return order
}

// members returns all ranks of some windows, by their numbers.
func members(windows []windowPart) (out []trace.Rank) {
	listed := make(map[int]bool)
	for _, w := range windows {
		for _, r := range w.Ranks {
			if !listed[r.ID] {
				listed[r.ID] = true
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b trace.Rank) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// set gives the steps of a window to a run, from step n on. Ranks that it lacks are given the median of the
// others, so that they are never late.
func (w *windowPart) set(run *delay.Run, n int, order []int, members []trace.Rank) {
	R, S, all := len(w.Ranks), len(order), len(members)
	place := make([]int, S) // of recorded stages in the step
	for i, k := range order {
		place[k] = i
	}
	durations, wall := w.Durations, w.Wall
	if R < all {
		durations = w.completeRows(durations, members)
		if wall != nil {
			wall = w.completeRows(wall, members)
		}
	}
	for t := range w.Steps() {
		var took []int64
		if wall != nil {
			took = wall[t*all : (t+1)*all]
		}
		run.Set(n+t, durations[t*S*all:(t+1)*S*all], took, place)
	}
}

// mark returns which of all steps members did not record, with those of a window that begins at step n.
func (w *windowPart) mark(missing []bool, n, steps int, members []trace.Rank) []bool {
	if missing == nil {
		missing = make([]bool, steps*len(members))
	}
	for i, m := range members {
		if slices.ContainsFunc(w.Ranks, func(r trace.Rank) bool { return r.ID == m.ID }) {
			continue
		}
		for t := range w.Steps() {
			missing[(n+t)*len(members)+i] = true
		}
	}
	return missing
}

// completeRows returns rows, [row][rank], with those of all members.
func (w *windowPart) completeRows(rows []int64, members []trace.Rank) (out []int64) {
	R := len(w.Ranks)
	scratch := make([]int64, R)
	for row := range slices.Chunk(rows, R) {
		usual, i := robust.MedianTimeOf(row, scratch), 0
		for _, m := range members {
			if i < R && w.Ranks[i].ID == m.ID {
				out = append(out, row[i])
				i++
			} else {
				out = append(out, usual)
			}
		}
	}
	return out
}

func hostsOf(members []trace.Rank) (of []int, names []string) {
	for _, m := range members {
		if m.Host == "" {
			of = append(of, -1)
			continue
		}
		h := slices.Index(names, m.Host)
		if h < 0 {
			h = len(names)
			names = append(names, m.Host)
		}
		of = append(of, h)
	}
	return of, names
}

// differs is the part of a step by which the middle ranks of two role groups must differ in a stage
// for their work to be different.
const differs = 0.05

// peersOf returns the role groups, where roles are declared and do different work; else nil: all are peers.
func peersOf(members []trace.Rank, run *delay.Run) []int {
	groups := trace.RoleGroups(members)
	if len(groups) < 2 || slices.ContainsFunc(members, func(m trace.Rank) bool { return len(m.Role) == 0 }) {
		return nil
	}
	var step, apart float64
	for k := range run.Stages {
		var middles []float64
		for _, g := range groups {
			var v []float64
			for t := range run.Len() {
				row := run.At(t, k)
				for _, r := range g {
					v = append(v, float64(row[r]))
				}
			}
			middles = append(middles, robust.Median(v))
		}
		step += slices.Max(middles)
		apart = max(apart, slices.Max(middles)-slices.Min(middles))
	}
	if apart < differs*step {
		return nil
	}
	out := make([]int, len(members))
	for g, ranks := range groups {
		for _, r := range ranks {
			out[r] = g
		}
	}
	return out
}

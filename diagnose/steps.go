package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// steps are the recorded steps of a run. How a file is cut into windows changes nothing: they are
// looked at in stretches of as many steps each, and of those that are complete only what they came
// down to is kept ([delay.Stretch]), so that memory is bounded but for some 200 bytes a step.
type steps struct {
	named  string
	recent int     // steps that are kept about; 0: all
	beside *Beside // Options.Beside
	memory memory
	o      delay.Options
	series []*series
}

// series are the steps with one list of stages.
type series struct {
	key     string
	length  int              // of a stretch, steps
	open    []recordedWindow // of the last stretch
	times   *times           // of open, stages in the order of the step
	steps   int              // in open
	looked  []*looked
	busy    parallel.Group // looks at the last of them
	points  []points.Point // where the ranks of the first stretch synchronise; nil: not known yet
	settled bool           // points and what follows are known: the first stretch was looked at
	within  []points.Within
	peers   []int
	limits  []delay.Limit // of the first stretch
	ranks   []int         // of the first stretch
	total   int
}

// looked is a stretch that is complete.
type looked struct {
	first   int // number of its first window
	stretch *delay.Stretch
	placed  placed
}

type recordedWindow struct {
	at           int // number of the window in its run
	index, first int64
	schema       trace.Schema
	ranks        []trace.Rank
	wait         trace.DataWait
	steps        int
	from, wall   int // where its times begin in those of the stretch; wall −1: there are none
}

// times are durations, [step][stage][rank], and wall times, [step][rank]; nil: there are none.
type times struct{ durations, wall []int64 }

const (
	// stretchDurations is how many durations of a run are looked at together, and leastStretch how
	// many steps however many ranks there are: the test of a delay that strikes now and then needs
	// some hundreds.
	stretchDurations = 1 << 20
	leastStretch     = 512
)

// record keeps the times of a window, which the caller may change.
func (r *run) record(w *trace.Window, s *Session) {
	if r.steps == nil {
		r.steps = &steps{named: s.o.Frontier.SyncAfter, o: s.o.model(), recent: s.o.Recent, beside: s.o.Beside, memory: s.memory}
	}
	r.steps.add(recordedWindow{at: r.forgotten() + len(r.windows) + len(r.awaited), index: w.Index, first: w.FirstStep, schema: w.Schema, ranks: slices.Clone(w.Ranks),
		wait: w.DataWait}, times{w.Durations, w.Wall})
}

func (s *steps) add(w recordedWindow, of times) {
	per := len(w.schema.Stages) * len(w.ranks)
	if per == 0 {
		return
	}
	key := w.schema.Hash() + w.wait.String()
	i := slices.IndexFunc(s.series, func(one *series) bool { return one.key == key })
	if i < 0 {
		i = len(s.series)
		length := max(leastStretch, stretchDurations/per)
		if s.recent > 0 {
			length = max(leastStretch, min(length, s.recent/2))
		}
		s.series = append(s.series, &series{key: key, length: length})
	}
	one := s.series[i]
	order, R := stageOrder(w), len(w.ranks)
	for left := len(of.durations) / per; left > 0; {
		n := min(left, one.length-one.steps)
		if one.times == nil {
			one.times = s.memory.times.take()
		}
		part := w
		part.steps, part.from, part.wall = n, len(one.times.durations), -1
		one.times.durations = grown(one.times.durations, n*per, one.length*per)
		one.times.durations = appendOrdered(one.times.durations, of.durations[:n*per], order, R)
		of.durations = of.durations[n*per:]
		if of.wall != nil {
			part.wall = len(one.times.wall)
			one.times.wall = grown(one.times.wall, n*R, one.length*R)
			one.times.wall = append(one.times.wall, of.wall[:n*R]...)
			of.wall = of.wall[n*R:]
		}
		w.first += int64(n)
		left -= n
		one.open = append(one.open, part)
		one.steps += n
		one.total += n
		if one.steps == one.length {
			one.complete(s)
		}
	}
}

// grown is values with room for n more of a stretch of so many.
func grown(v []int64, n, of int) []int64 {
	if cap(v)-len(v) >= n {
		return v
	}
	return append(make([]int64, 0, min(of, max(2*cap(v), len(v)+n))), v...)
}

// appendOrdered appends durations with the stages of a step in another order.
func appendOrdered(dst, durations []int64, order []int, ranks int) []int64 {
	if slices.IsSorted(order) {
		return append(dst, durations...)
	}
	for step := range slices.Chunk(durations, len(order)*ranks) {
		for _, k := range order {
			dst = append(dst, step[k*ranks:(k+1)*ranks]...)
		}
	}
	return dst
}

// complete ends the open stretch, which is looked at while the next steps are read, and beside others
// once the first has shown where the ranks synchronise.
func (s *series) complete(in *steps) {
	if in.beside == nil || !s.settled {
		s.busy.Wait()
		s.settled = s.points != nil
	}
	if in.recent > 0 {
		s.looked = nil
		for _, other := range in.series {
			if other != s {
				other.busy.Wait()
				other.looked, other.open, other.times, other.steps, other.total = nil, nil, nil, 0, 0
			}
		}
	}
	l, of := &looked{first: s.open[0].at}, stretch{s.open, s.times, in.memory.times}
	s.looked = append(s.looked, l)
	s.open, s.times, s.steps = nil, nil, 0
	if in.beside != nil {
		in.beside.room <- struct{}{}
	}
	s.busy.Go(func() {
		if in.beside != nil {
			defer func() { <-in.beside.room }()
		}
		s.look(l, of, in)
	})
}

// from is the number of the first window of which steps are kept.
func (s *steps) from() int {
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

// look looks at a stretch. The first decides where the ranks synchronise and who is compared with
// whom, and how small a delay would have been found.
func (s *series) look(l *looked, of stretch, in *steps) {
	run, at := of.laidOut()
	run.Named, run.Known, run.Memory = in.named, s.points, in.memory.divisions.take()
	defer func() {
		run.Memory.Free()
		in.memory.divisions.put(run.Memory)
	}()
	o := in.o
	if s.points != nil && slices.Equal(s.ranks, at.ranks) {
		run.KnownWithin, run.Peers = s.within, s.peers
	}
	o.NoLimits = s.points != nil
	divided := points.Divide(&run.Steps, o.Points)
	of.free()
	l.stretch, l.placed = delay.LookAt(divided, run, o), at
	if s.points == nil {
		s.points, s.within, s.limits = l.stretch.Points(), l.stretch.Within(), l.stretch.Limits()
		s.ranks, s.peers = at.ranks, run.Peers
	}
}

// result is what the steps of the run come down to; nil where there are none of two ranks.
func (s *steps) result() (*delay.Result, placed) {
	if len(s.series) == 0 {
		return nil, placed{}
	}
	one := slices.MaxFunc(s.series, func(a, b *series) int { return cmp.Compare(a.total, b.total) })
	one.busy.Wait()
	list := slices.Clone(one.looked)
	// What is open is looked at without being complete.
	open := series{points: one.points, within: one.within, peers: one.peers, limits: one.limits, ranks: one.ranks}
	if one.steps > 0 {
		l := &looked{first: one.open[0].at}
		open.look(l, stretch{one.open, one.times, nil}, s)
		list = append(list, l)
	}
	at := union(list)
	if len(at.ranks) < 2 {
		return nil, at
	}
	var stretches []*delay.Stretch
	for i := range list {
		stretches = append(stretches, list[i].stretch)
	}
	out := delay.Join(stretches, s.o)
	out.Limits = open.limits
	return out, at
}

// union is where the steps of all stretches are. Where other ranks take part in some, those are given
// the numbers that they have among all.
func union(list []*looked) placed {
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
	all := placed{splits: at.splits, walled: at.walled, mixed: at.mixed}
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
	n := 0
	for _, l := range list {
		n += len(l.placed.numbers)
	}
	all.numbers, all.window = make([]int64, 0, n), make([]int, 0, n)
	for i, l := range list {
		all.numbers, all.window = append(all.numbers, l.placed.numbers...), append(all.window, l.placed.window...)
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
		list[i] = &looked{l.first, l.stretch.Renumbered(ranks, of), l.placed}
	}
	return all
}

// stretch is windows with one list of stages.
type stretch struct {
	windows []recordedWindow
	*times
	spare spare[times] // where they go; nil: they are kept
}

// free gives the times up, which are not read any more.
func (s stretch) free() {
	if s.spare != nil {
		s.durations, s.wall = s.durations[:0], s.wall[:0]
		s.spare.put(s.times)
	}
}

// laidOut puts the windows together, in the order of time.
func (s stretch) laidOut() (*delay.Run, placed) {
	windows := slices.Clone(s.windows)
	slices.SortStableFunc(windows, func(a, b recordedWindow) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.first, b.first))
	})
	first := windows[0]
	order := stageOrder(first)
	out, at := &delay.Run{}, placed{}
	for _, k := range order {
		out.Stages = append(out.Stages, points.Stage{Name: first.schema.Stages[k], Role: roleOf(first.schema.Stages[k])})
	}
	members := members(windows)
	for _, m := range members {
		at.ranks = append(at.ranks, m.ID)
	}
	out.Ranks = len(members)
	walled := !slices.ContainsFunc(windows, func(w recordedWindow) bool { return w.wall < 0 })
	inPlace := s.inPlace(windows, members)
	if inPlace {
		out.Durations = s.durations
	}
	switch {
	case walled && inPlace:
		out.Wall = s.wall
	case walled:
		out.Wall = []int64{}
	}
	before := int64(0)
	for i, w := range windows {
		if n := len(at.numbers); i > 0 && w.first != before+1 {
			out.Breaks = append(out.Breaks, n)
		}
		if !inPlace {
			s.append(out, w, members)
		}
		for t := range w.steps {
			at.numbers, at.window = append(at.numbers, w.first+int64(t)), append(at.window, w.at)
		}
		before = w.first + int64(w.steps) - 1
	}
	out.Hosts, at.hosts = hostsOf(members)
	at.host = out.Hosts
	out.Peers = peersOf(members, out)
	if len(members) > 0 {
		at.splits = trace.Splits(members)
	}
	at.walled, at.mixed = walled, out.Peers != nil
	for _, s := range at.splits {
		out.Splits = append(out.Splits, s.Sets)
	}
	return out, at
}

// stageOrder is the order of a step in time: a wait for data that was recorded at the end of the
// step before comes last.
func stageOrder(w recordedWindow) (order []int) {
	data := -1
	if w.wait == trace.DataWaitPreceding {
		data = slices.IndexFunc(w.schema.Stages, func(s string) bool { return stagename.KindOf(s) == stagename.Data })
	}
	for k := range w.schema.Stages {
		if k != data {
			order = append(order, k)
		}
	}
	if data >= 0 {
		order = append(order, data)
	}
	return order
}

func roleOf(stage string) points.Role {
	if stagename.IsWait(stage) {
		return points.Wait
	}
	switch stagename.KindOf(stage) {
	case stagename.Data:
		return points.Data
	case stagename.Forward:
		return points.Forward
	case stagename.Backward:
		return points.Backward
	case stagename.Optimizer:
		return points.Optimizer
	}
	return points.Undeclared
}

// members are all ranks of some windows, by their numbers.
func members(windows []recordedWindow) (out []trace.Rank) {
	for _, w := range windows {
		for _, r := range w.ranks {
			if !slices.ContainsFunc(out, func(have trace.Rank) bool { return have.ID == r.ID }) {
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b trace.Rank) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// inPlace reports whether the times lie as the run has them.
func (s stretch) inPlace(windows []recordedWindow, members []trace.Rank) bool {
	from := 0
	for _, w := range windows {
		if w.from != from || !slices.EqualFunc(w.ranks, members, func(a, b trace.Rank) bool { return a.ID == b.ID }) {
			return false
		}
		from += w.steps * len(w.schema.Stages) * len(members)
	}
	return true
}

// append appends the steps of a window. Ranks that it lacks are given the median of the others,
// so that they are never late.
func (s stretch) append(out *delay.Run, w recordedWindow, members []trace.Rank) {
	R, S := len(w.ranks), len(w.schema.Stages)
	scratch := make([]int64, R)
	add := func(dst, row []int64) []int64 {
		if R == len(members) {
			return append(dst, row...)
		}
		usual := robust.MedianTimeOf(row, scratch)
		i := 0
		for _, m := range members {
			if i < R && w.ranks[i].ID == m.ID {
				dst = append(dst, row[i])
				i++
			} else {
				dst = append(dst, usual)
			}
		}
		return dst
	}
	for row := range slices.Chunk(s.durations[w.from:w.from+w.steps*S*R], R) {
		out.Durations = add(out.Durations, row)
	}
	if out.Wall != nil {
		for row := range slices.Chunk(s.wall[w.wall:w.wall+w.steps*R], R) {
			out.Wall = add(out.Wall, row)
		}
	}
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

// peersOf are the role groups, where roles are declared and do different work; else nil: all
// are peers.
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

package arrivals

import (
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// rankStruck is a late rank, and the entries that it and those late with it delayed.
type rankStruck struct {
	rank   int
	struck map[sync.Entry]bool
}

// lostIn returns the stage in which a late rank loses more than half of its time, "" if it does in several; ok is false where
// the stage times do not show it. A rank that loads its data slowly arrives late at the first collective after that, in
// whichever stage it is. The time from the release to the entry is divided among the stages, for the rank and for its peers, and
// the stage counts in which the rank spends most more than they do. Packets do not say when each stage begins: in one without
// calls, all of which is the rank's own, no more is lost than it takes longer, and the rest is lost in none. calls are the
// stages in which calls are entered.
func (s *strikes) lostIn(parts []claim.Part, of rankStruck, lines []fitted, calls map[string]bool) (stage string, ok bool) {
	peers := map[int]*fitted{}
	for i := range lines {
		peers[s.ByRank[lines[i].rank]] = &lines[i]
	}
	own := peers[of.rank]
	if delete(peers, of.rank); own == nil {
		own = s.lineOf(of.rank)
	}
	if own == nil || own.summed {
		return "", false
	}
	s.layOut(own, of.rank)
	for r, l := range peers {
		s.layOut(l, r)
	}
	names, group := trace.Schema{Stages: own.stages}.Groups()
	more, longer := make([]int64, len(names)+1), make([]int64, len(names)+1)
	names, group = append(names, stagename.Residual), append(group, len(names))
	for _, part := range parts {
		p := &s.Places[part.Stage]
		work := func(e sync.Entry) [][2]int64 { return s.workBefore(e, p.Lag) }
		for _, c := range p.Cohorts {
			if !slices.ContainsFunc(c, func(e sync.Entry) bool { return int(e.Process) == of.rank && of.struck[e] }) {
				continue
			}
			in, all := s.excessOverPeers(c, work, own, peers)
			for k := range in {
				more[group[k]] += in[k]
				longer[group[k]] += all[k]
			}
		}
	}
	for k, name := range names[:len(names)-1] {
		if most := max(0, longer[k]); !calls[name] && more[k] > most {
			more[len(more)-1] += more[k] - most
			more[k] = most
		}
	}
	sum, most := int64(0), 0
	for k, x := range more {
		if sum += max(0, x); x > more[most] {
			most = k
		}
	}
	switch {
	case sum == 0:
		return "", false
	case more[most]*2 <= sum:
		return "", true
	}
	return names[most], true
}

// workBefore returns when a rank works before an entry, as since has it: also before the messages since the collective before it.
// Of ranks that synchronise by messages alone it returns all of a step.
func (s *strikes) workBefore(e sync.Entry, lag int8) (spans [][2]int64) {
	if s.meeting != nil {
		calls := int32(len(s.Ranks[e.Process].Calls))
		step := s.meeting.Step(e, s.Time(e))
		same := func(x sync.Entry) bool { return x.Call > 0 && x.Call < calls && s.meeting.Step(x, s.Time(x)) == step }
		for e.Call > 1 && same(sync.Previous(e, 1)) {
			e.Call--
		}
		for ; same(e); e.Call++ {
			spans = append(spans, [2]int64{s.Time(e) - s.Work(e, s.LagOf(e, 0)), s.Time(e)})
		}
		return spans
	}
	spans = append(spans, [2]int64{s.Time(e) - s.Work(e, s.LagOf(e, lag)), s.Time(e)})
	if s.Blocks == nil || s.IsMessage(s.Call(e)) {
		return spans
	}
	for e.Call--; e.Call > 0 && s.IsMessage(s.Call(e)); e.Call-- {
		spans = append(spans, [2]int64{s.Time(e) - s.Work(e, s.LagOf(e, 0)), s.Time(e)})
	}
	return spans
}

// excessOverPeers returns how much longer a rank spends in each stage in the work
// that leads to its entry than the median of its peers, and last in no stage, and how much longer than theirs the
// stages that this is in are as a whole; nil where no peer's stages are known.
func (s *strikes) excessOverPeers(c sync.Cohort, work func(sync.Entry) [][2]int64, own *fitted, peers map[int]*fitted) (in, longer []int64) {
	var of [][]int64
	var lines []*fitted
	var mine sync.Entry
	for _, e := range c {
		if s.Ranks[e.Process].ID == own.rank {
			mine = e
		}
		if l := peers[int(e.Process)]; l != nil && slices.Equal(l.stages, own.stages) {
			of, lines = append(of, l.divideAll(work(e), nil)), append(lines, l)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	longer = make([]int64, len(own.stages)+1)
	times := make([]int64, 0, len(of))
	in = own.divideAll(work(mine), func(t, k int) {
		times = times[:0]
		for _, l := range lines {
			if i, ok := slices.BinarySearch(l.steps, own.steps[t]); ok {
				times = append(times, l.durations[i*len(l.stages)+k])
			}
		}
		if len(times) > 0 {
			longer[k] += own.durations[t*len(own.stages)+k] - robust.Lower(times)
		}
	})
	for k := range in {
		times = times[:0]
		for i := range of {
			times = append(times, of[i][k])
		}
		in[k] -= robust.Lower(times)
	}
	return in, longer
}

// lineOf returns the timeline of a rank, fitted to its entries once; nil where there is none, or it does not fit.
func (s *strikes) lineOf(rank int) *fitted {
	f, ok := s.lines[rank]
	if !ok {
		f = s.fitLine(rank)
		s.lines[rank] = f
	}
	return f
}

// fitLine fits the timeline of a rank to its entries, as lineOf returns it.
func (s *strikes) fitLine(rank int) *fitted {
	i := slices.IndexFunc(s.job.timelines.list, func(l timeline) bool { return s.Ranks[rank].ID == l.rank })
	if i < 0 || len(s.job.timelines.list[i].stages) == 0 || len(s.job.timelines.list[i].steps) < sync.Enough {
		return nil
	}
	f, ok := s.job.timelines.list[i].exactFit(s.Offset[rank])
	if !ok {
		if f, ok = s.job.timelines.list[i].fit(s.anchor, s.visits(rank)); !ok {
			return nil
		}
	}
	return &f
}

// layOut fills in when stages begin: each where the one before it ends, or later, so that the calls recorded in it are in it, with what
// the rank waits in them ([strikes.waitsInside]), and calls recorded in no stage are in none. Time in between lies in no stage.
func (s *strikes) layOut(f *fitted, rank int) {
	if f.from != nil {
		return
	}
	S := len(f.stages)
	f.from = make([]int64, len(f.steps)*S)
	last, until, inside := make([]int64, len(f.from)), s.heldUntil()[rank], s.waitsInside() // call, 0: none
	outside, told := make([][][2]int64, len(f.steps)), false
	for i := range s.Ranks[rank].Calls {
		e := sync.Nth(rank, i)
		stage := s.KindOf(e).Stage
		t, k := f.step(s.Time(e)), slices.Index(f.stages, stage)
		told = told || k >= 0 || stage == stagename.Residual
		switch {
		case t < 0:
		case k >= 0 && inside[stage]:
			last[t*S+k] = max(last[t*S+k], until[i])
		case k >= 0:
			last[t*S+k] = max(last[t*S+k], s.Time(e))
		case stage == "" || stage == stagename.Residual:
			outside[t] = append(outside[t], [2]int64{s.Time(e), until[i]})
		}
	}
	if !told {
		clear(outside)
	}
	for t := range f.steps {
		spare := int64(0) // until the next step begins
		if t+1 < len(f.steps) {
			spare = f.begin[t+1] - f.begin[t]
			for _, d := range f.durations[t*S : (t+1)*S] {
				spare -= d
			}
		}
		at := f.begin[t]
		for k := range S {
			took := f.durations[t*S+k]
			from := max(at, last[t*S+k]-took)
			for _, call := range outside[t] {
				if from < call[1] && call[0] < from+took && call[1]-at <= spare {
					from = call[1]
				}
			}
			if late := min(spare, from-at); late > 0 {
				at, spare = at+late, spare-late
			}
			f.from[t*S+k] = at
			at += took
		}
	}
}

// heldUntil returns until when ranks are in each call, [rank][call]: where the next of a rank waits for it, until it is released.
func (s *strikes) heldUntil() [][]int64 {
	if s.held != nil {
		return s.held
	}
	s.held = make([][]int64, len(s.Ranks))
	for r := range s.Ranks {
		for i := range s.Ranks[r].Calls {
			s.held[r] = append(s.held[r], s.Time(sync.Nth(r, i)))
		}
	}
	for i := range s.Places {
		p := &s.Places[i]
		for _, e := range slices.Concat(p.Cohorts...) {
			if w, ok := s.Awaited(e, s.LagOf(e, p.Lag)); ok && w.Call == e.Call-1 {
				at := &s.held[w.Process][w.Call]
				*at = max(*at, min(s.ReleaseFor(w), s.Time(e)))
			}
		}
	}
	return s.held
}

// waitsInside returns the stages that ranks leave only when the last call that they enter there is released: if a stage begins so late
// that this is so, its ranks are as far into it when they enter the call, more alike than if it begins where the one before it ends. A rank that waits for the call
// later, behind the stage, is as far into it only then.
func (s *strikes) waitsInside() map[string]bool {
	if s.inside != nil {
		return s.inside
	}
	s.inside = map[string]bool{}
	into := map[string][2][]int64{} // [stage][where the stage before ends, or later], of each rank the median
	for r := range s.Ranks {
		f := s.lineOf(r)
		if f == nil || !f.exact || f.summed {
			continue
		}
		S, of := len(f.stages), map[string][2][]int64{}
		for t, calls := range s.lastCalls(f, r) {
			at := f.begin[t]
			for k, name := range f.stages {
				took := f.durations[t*S+k]
				if call := calls[k]; call[0] > 0 {
					x := of[name]
					for i := range x {
						x[i] = append(x[i], call[0]-max(at, call[i]-took))
					}
					of[name] = x
				}
				at += took
			}
		}
		for name, x := range of {
			all := into[name]
			for i := range all {
				all[i] = append(all[i], robust.Lower(x[i]))
			}
			into[name] = all
		}
	}
	for name, x := range into {
		s.inside[name] = slices.Max(x[1])-slices.Min(x[1]) < slices.Max(x[0])-slices.Min(x[0])
	}
	return s.inside
}

// lastCalls returns when the last call of a stage is entered, and until when the rank is in it, [step][stage]; zeros: there is none.
func (s *strikes) lastCalls(f *fitted, rank int) [][][2]int64 {
	out := make([][][2]int64, len(f.steps))
	for t := range out {
		out[t] = make([][2]int64, len(f.stages))
	}
	until := s.heldUntil()[rank]
	for i := range s.Ranks[rank].Calls {
		e := sync.Nth(rank, i)
		t, k := f.step(s.Time(e)), slices.Index(f.stages, s.KindOf(e).Stage)
		if t >= 0 && k >= 0 {
			out[t][k] = [2]int64{s.Time(e), until[i]}
		}
	}
	return out
}

// divideAll returns how much of spans lies in each stage, and last in none. Each is told once of every stage of a step
// that they lie in.
func (f *fitted) divideAll(spans [][2]int64, each func(t, k int)) []int64 {
	out, told := make([]int64, len(f.stages)+1), map[[2]int]bool{}
	once := func(t, k int) {
		if each != nil && !told[[2]int{t, k}] {
			told[[2]int{t, k}] = true
			each(t, k)
		}
	}
	for _, span := range spans {
		for k, x := range f.divide(span[0], span[1], once) {
			out[k] += x
		}
	}
	return out
}

// divide returns how much of the time from begin to end lies in each stage, and last outside. each is called with every stage
// of a step that it lies in; nil: not called.
func (f *fitted) divide(begin, end int64, each func(t, k int)) []int64 {
	S := len(f.stages)
	out := make([]int64, S+1)
	left := max(0, end-begin)
	first, _ := slices.BinarySearch(f.begin, begin)
	for t := max(0, first-1); t < len(f.steps) && f.begin[t] < end; t++ {
		for k := range S {
			from := f.from[t*S+k]
			in := max(0, min(end, from+f.durations[t*S+k])-max(begin, from))
			if out[k] += in; in > 0 && each != nil {
				each(t, k)
			}
			left -= in
		}
	}
	out[S] = max(0, left)
	return out
}

// stays returns a function for how long after a call its rank is in the stage in which it entered it, by its stage times; nil where no
// recorder says when steps began.
func (j *Job) stays(m *sync.Matching) func(e sync.Entry) (ns int64, known bool) {
	lines := make([]*fitted, len(m.Ranks))
	exact := false
	for i := range j.timelines.list {
		r, ok := m.ByRank[j.timelines.list[i].rank]
		if !ok || j.timelines.list[i].summed {
			continue
		}
		if f, ok := j.timelines.list[i].exactFit(0); ok {
			lines[r], exact = &f, true
		}
	}
	if !exact {
		return nil
	}
	return func(e sync.Entry) (ns int64, known bool) {
		f := lines[e.Process]
		if f == nil {
			return 0, false
		}
		at := m.Ranks[e.Process].Calls[e.Call].Enter
		stage, _, end := f.span(at)
		return end - at, stage != ""
	}
}

// workTimes returns a function for how long a rank surely worked between two calls, by its stage times; nil where recorders do not say
// when steps began. Who has gone through whole steps since a call did not wait for it in these, nor, before the next call, in
// stages in which no call is entered. stages are those of the places.
func (s *strikes) workTimes(stages []string) func(rank int, from, to int64) int64 {
	lines := make([]*fitted, len(s.Ranks))
	exact := false
	for r := range s.Ranks {
		if f := s.lineOf(r); f != nil && f.exact && !f.summed {
			s.layOut(f, r)
			lines[r], exact = f, true
		}
	}
	if !exact {
		return nil
	}
	return func(rank int, from, to int64) int64 {
		f := lines[rank]
		if f == nil || f.wholeSteps(from, to) == 0 {
			return 0
		}
		worked := int64(0)
		for k, x := range f.divide(from, to, nil)[:len(f.stages)] {
			if name, _ := stagename.Split(f.stages[k]); !slices.Contains(stages, name) {
				worked += x
			}
		}
		return worked
	}
}

// wholeSteps returns how many steps that follow one another lie between two times.
func (f *fitted) wholeSteps(from, to int64) int {
	first, _ := slices.BinarySearch(f.begin, from)
	last, exact := slices.BinarySearch(f.begin, to)
	if !exact {
		last--
	}
	return max(0, last-first)
}

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

// lineOf fits the timeline of a rank to its entries; nil where there is none, or it
// does not fit.
func (s *strikes) lineOf(rank int) *fitted {
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

// layOut fills in when stages begin: each where the one before it ends, or later, so that the calls recorded in it are in it.
// Time in between lies in no stage.
func (s *strikes) layOut(f *fitted, rank int) {
	if f.from != nil {
		return
	}
	S := len(f.stages)
	f.from = make([]int64, len(f.steps)*S)
	last := make([]int64, len(f.from)) // call, 0: none
	for i := range s.Ranks[rank].Calls {
		e := sync.Nth(rank, i)
		t, k := f.step(s.Time(e)), slices.Index(f.stages, s.KindOf(e).Stage)
		if t >= 0 && k >= 0 {
			last[t*S+k] = max(last[t*S+k], s.Time(e))
		}
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
			if late := min(spare, last[t*S+k]-f.durations[t*S+k]-at); late > 0 {
				at, spare = at+late, spare-late
			}
			f.from[t*S+k] = at
			at += f.durations[t*S+k]
		}
	}
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

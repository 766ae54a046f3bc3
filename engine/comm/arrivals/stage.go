package arrivals

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// timeline is the stage times of one rank, which show in which stage a call was
// entered. Only durations are used: the clock is fitted to the entries.
type timeline struct {
	rank      int
	stages    []string // in the order of the step as recorded
	steps     []int64  // numbers, as recorded
	durations []int64  // [step][stage]
	wall      []int64  // [step]; nil: steps are as long as their stages
	began     []int64  // [step], on the clock of the rank; 0: not recorded
	summed    bool     // over micro-batches, so that stages do not follow each other
}

// The stages of places are found by the timelines of so many ranks, with so many
// steps: stages are those of the program, and the same on all ranks. Of the others
// timelines are kept up to so many values in all, for those that are late.
const (
	timelineRanks  = 8
	timelineSteps  = 4096
	timelineMost   = 4 * timelineSteps // of a window that is longer
	timelineValues = 1 << 22
)

// timelines are those of the ranks of a job.
type timelines struct {
	list []timeline
	of   map[int]int // index in list, by rank
	size int         // values of all of them
}

// add appends a window to the timelines of its ranks.
func (l *timelines) add(w *trace.Window) {
	if l.of == nil {
		l.of = map[int]int{}
	}
	for at, r := range w.Ranks {
		i, ok := l.of[r.ID]
		if !ok && len(l.list) >= timelineRanks && l.size >= timelineValues {
			continue
		}
		if !ok {
			i = len(l.list)
			l.of[r.ID] = i
			l.list = append(l.list, timeline{rank: r.ID, stages: w.Schema.Stages})
		}
		if i < timelineRanks || l.size < timelineValues {
			l.list[i].add(w, at)
			l.size += len(w.Schema.Stages) * w.Steps()
		}
	}
}

// AddWindow takes the hosts of ranks from stage times of the same job, of some
// ranks in which stages and steps calls are entered, and of all ranks the
// arrivals that their recorder wrote beside them. Windows come in the order of
// their steps. It returns the part of the job that the window belongs to; nil: its recorders do not say when its steps began.
func (j *Job) AddWindow(w *trace.Window) *Part {
	anew := false
	for _, c := range w.Arrivals {
		if j.Extend(c) {
			anew = true
		}
	}
	if anew {
		j.part.end()
	}
	if j.Hosts == nil {
		j.Hosts, j.Locals = map[int]string{}, map[int]int{}
	}
	for _, r := range w.Ranks {
		if r.Host != "" {
			j.Hosts[r.ID], j.Locals[r.ID] = r.Host, r.LocalRank
		}
	}
	p := j.partFor(w)
	j.timelines.add(w)
	p.add(w)
	return p
}

// add appends a window. Where the wall time of some windows was recorded, those without it are left out: when their steps begin is not known.
func (l *timeline) add(w *trace.Window, rank int) {
	if !slices.Equal(l.stages, w.Schema.Stages) || len(l.steps) > timelineSteps || l.wall != nil && w.Wall == nil {
		return
	}
	if l.wall == nil && w.Wall != nil {
		l.steps, l.durations, l.began = nil, nil, nil
	}
	l.summed = l.summed || w.Accumulation > 1 && !slices.ContainsFunc(l.stages, isOfMicrobatch)
	began := int64(0)
	if w.Epochs != nil {
		began = w.Epochs[rank]
	}
	if began == 0 && len(l.steps) > 0 && w.FirstStep == l.steps[len(l.steps)-1]+1 { // the rest of a window that was divided
		began = l.end()
	}
	for t := range min(w.Steps(), timelineMost-len(l.steps)) {
		l.steps = append(l.steps, w.FirstStep+int64(t))
		l.began = append(l.began, began)
		length := int64(0)
		for k := range l.stages {
			d := w.Step(t)[k*len(w.Ranks)+rank]
			l.durations = append(l.durations, d)
			length += d
		}
		if w.Wall != nil {
			length = w.WallOf(t)[rank]
			l.wall = append(l.wall, length)
		}
		if began != 0 {
			began += length
		}
	}
}

// end returns when the last step ended, on the clock of the rank; 0: not recorded.
func (l *timeline) end() int64 {
	last := len(l.steps) - 1
	if l.began[last] == 0 {
		return 0
	}
	if l.wall != nil {
		return l.began[last] + l.wall[last]
	}
	length := int64(0)
	for _, d := range l.durations[last*len(l.stages):] {
		length += d
	}
	return l.began[last] + length
}

// isOfMicrobatch reports whether a stage is of one micro-batch.
func isOfMicrobatch(stage string) bool {
	_, micro := stagename.Split(stage)
	return micro >= 0
}

// fitted is a timeline with the time of each step's beginning on the common
// clock, and of the end.
type fitted struct {
	*timeline
	begin []int64
	exact bool    // as recorded
	from  []int64 // [step][stage] when each begins; nil: not laid out
}

// placeStages finds the stage of every place, "" if it is not clear: the stage that
// contains most of the waiting for it, over all timelines. An entry at the edge of a
// stage is weak evidence, but a long wait cannot lie in a short stage.
func (s *strikes) placeStages() (stages []string, lines []fitted) {
	stages = make([]string, len(s.Places))
	votes := make([]map[string]int64, len(s.Places))
	var visited [][][]visit
	lines, visited = s.alignTimelines()
	for i := range lines {
		for at, of := range visited[i] {
			for _, v := range of {
				if name, begin, end := lines[i].span(v.inside()); name != "" {
					if votes[at] == nil {
						votes[at] = map[string]int64{}
					}
					votes[at][name] += 1 + max(0, min(end, v.release)-max(begin, v.enter))
				}
			}
		}
	}
	for at, of := range votes {
		sum, best := int64(0), ""
		for name, n := range of {
			if sum += n; n > of[best] || n == of[best] && name < best {
				best = name
			}
		}
		if of[best]*3 > sum*2 {
			stages[at] = best
		}
	}
	for at := range stages {
		if recorded := s.KindOf(s.Places[at].Cohorts[0][0]).Stage; recorded != "" {
			stages[at] = recorded
		} else {
			s.setStageByFrames(stages, at)
		}
		stages[at], _ = stagename.Split(stages[at])
	}
	return stages, lines
}

// alignTimelines returns the timelines of the first ranks on the common clock, with the visits of
// their ranks: as recorded, else by the fit that suits all of them best.
func (s *strikes) alignTimelines() (lines []fitted, visited [][][]visit) {
	var loose []*timeline
	var of [][][]visit
	for i := range s.job.timelines.list[:min(timelineRanks, len(s.job.timelines.list))] {
		l := &s.job.timelines.list[i]
		r, ok := s.ByRank[l.rank]
		if !ok || len(l.stages) == 0 || len(l.steps) < sync.Enough {
			continue
		}
		if f, ok := l.exactFit(s.Offset[r]); ok {
			lines, visited = append(lines, f), append(visited, s.visits(r))
			continue
		}
		loose, of = append(loose, l), append(of, s.visits(r))
	}
	s.anchor = s.bestAnchor(loose, of)
	for i, l := range loose {
		if f, ok := l.fit(s.anchor, of[i]); ok {
			lines, visited = append(lines, f), append(visited, of[i])
		}
	}
	return lines, visited
}

// setStageByFrames gives a place the only stage that is of the phase which its frames
// name.
func (s *strikes) setStageByFrames(stages []string, at int) {
	phase := s.lineAt(s.KindOf(s.Places[at].Cohorts[0][0])).Phase
	if phase == PhaseUnknown || len(s.job.timelines.list) == 0 {
		return
	}
	only := ""
	for _, name := range s.job.timelines.list[0].stages {
		if phaseOfStage(name) != phase {
			continue
		}
		if only != "" {
			return
		}
		only = name
	}
	if only != "" {
		stages[at] = only
	}
}

// visit is one entry of a rank at a place, and the release of its point.
type visit struct{ enter, release int64 }

// inside returns a time at which the rank was within the call: where it waited, half of that later.
func (v visit) inside() int64 {
	if v.release > v.enter {
		return v.enter + (v.release-v.enter)/2
	}
	return v.enter - 1
}

// visits returns the visits of a rank, by place, in the order of time.
func (s *strikes) visits(rank int) [][]visit {
	out := make([][]visit, len(s.Places))
	for i := range s.Places {
		for _, c := range s.Places[i].Cohorts {
			for _, e := range c {
				if int(e.Process) == rank {
					out[i] = append(out[i], visit{s.Time(e), max(s.Time(e), s.Release[s.Of[e.Process][e.Call]])})
				}
			}
		}
	}
	return out
}

// anchor ties a timeline to the entries: visit i of a place is at the end of a stage of
// step i + shift.
type anchor struct {
	place, stage, shift int
}

// candidates is how many anchors of a timeline are scored against all the evidence.
const candidates = 12

// bestAnchor finds the stage whose end follows the release of some place in every step:
// a rank that synchronises in a stage leaves it after the last member has entered.
// Among the closest it takes the one in which calls lie in the stages that their frames
// name, and each wait lies within one stage, on all ranks together.
func (s *strikes) bestAnchor(of []*timeline, visited [][][]visit) (best *anchor) {
	phases := make([]Phase, len(s.Places))
	for at := range phases {
		phases[at] = s.lineAt(s.KindOf(s.Places[at].Cohorts[0][0])).Phase
	}
	var order []anchor
	scores := map[anchor]float64{}
	for i, l := range of {
		for _, a := range l.anchors(visited[i], phases) {
			if _, ok := scores[a]; !ok {
				order = append(order, a)
			}
			if f, ok := l.fit(&a, visited[i]); ok {
				scores[a] += f.agreement(visited[i], phases)
			}
		}
	}
	most := -1.0
	for i, a := range order {
		if scores[a] > most+0.02*float64(len(of)) {
			most, best = scores[a], &order[i]
		}
	}
	return best
}

// anchors returns the closest anchors of a timeline, the closest first.
func (l *timeline) anchors(visited [][]visit, phases []Phase) (out []anchor) {
	S, T := len(l.stages), len(l.steps)
	ends := l.ends()
	var close []match
	for at, of := range visited {
		if len(of) < sync.Enough || len(of) > T*5/4+2 || len(of)*4 < min(T, 4*sync.Enough) {
			continue
		}
		for k, name := range l.stages {
			if phases[at].excludes(name) {
				continue
			}
			if m := follow(of, ends[k:], S, T); m.error < math.MaxInt64 {
				m.place, m.stage = at, k
				close = append(close, m)
			}
		}
	}
	slices.SortStableFunc(close, func(a, b match) int { return cmp.Compare(a.error, b.error) })
	for _, m := range close[:min(len(close), candidates)] {
		out = append(out, m.anchor)
	}
	return out
}

// fit returns the timeline on the common clock, where an anchor suits it.
func (l *timeline) fit(a *anchor, visited [][]visit) (f fitted, ok bool) {
	if a == nil || a.stage >= len(l.stages) || len(visited[a.place]) == 0 {
		return f, false
	}
	S, T, of, ends := len(l.stages), len(l.steps), visited[a.place], l.ends()
	f = fitted{timeline: l, begin: make([]int64, T+1)}
	for t := range T {
		i := min(max(t-a.shift, 0), len(of)-1)
		offset := of[i].release - ends[min(max(i+a.shift, 0), T-1)*S+a.stage]
		from := ends[t*S] - l.durations[t*S]
		f.begin[t] = offset + from
		f.begin[t+1] = offset + ends[t*S+S-1]
	}
	return f, true
}

// exactFit returns the timeline on the common clock where the recorder says when its
// steps began.
func (l *timeline) exactFit(offset int64) (f fitted, ok bool) {
	if slices.Contains(l.began, 0) {
		return f, false
	}
	f = fitted{timeline: l, begin: make([]int64, len(l.steps)+1), exact: true}
	for t, began := range l.began {
		f.begin[t] = began + offset
	}
	S, last := len(l.stages), len(l.steps)-1
	end := f.begin[last]
	for _, d := range l.durations[last*S:] {
		end += d
	}
	f.begin[last+1] = end
	return f, true
}

// ends returns the ends of all stages, [step][stage], from the beginning of the first step.
func (l *timeline) ends() []int64 {
	S := len(l.stages)
	ends := make([]int64, len(l.durations))
	from := int64(0)
	for t := range l.steps {
		end := from
		for k := range S {
			end += l.durations[t*S+k]
			ends[t*S+k] = end
		}
		if from = end; l.wall != nil {
			from = ends[t*S] - l.durations[t*S] + l.wall[t]
		}
	}
	return ends
}

// agreement returns the fraction of calls in the stages that their frames name, plus the fraction of waits that lie
// within one stage; at most 2.
func (f *fitted) agreement(visits [][]visit, phases []Phase) float64 {
	named, right, wait, within := 0, 0, int64(0), int64(0)
	for at, of := range visits {
		for _, v := range of {
			name, begin, end := f.span(v.inside())
			if name == "" {
				continue
			}
			wait += v.release - v.enter
			within += max(0, min(end, v.release)-max(begin, v.enter))
			if phases[at] != PhaseUnknown {
				named++
				if !phases[at].excludes(name) {
					right++
				}
			}
		}
	}
	score := 0.0
	if named > 0 {
		score += float64(right) / float64(named)
	}
	if wait > 0 {
		score += float64(within) / float64(wait)
	}
	return score
}

// match is how visits follow the end of a stage.
type match struct {
	anchor
	error int64 // median
}

// maxShift is by how many steps more than the lengths ask for visits and steps
// may be apart: the recorder begins late, or a ring is short.
const maxShift = 4

// follow compares the times between visits with those between ends of a stage
// in successive steps, at every shift. Between neighbours, so that time which no
// stage has does not add up.
func follow(of []visit, ends []int64, every, steps int) match {
	best := match{error: math.MaxInt64}
	low, high := min(0, steps-len(of))-maxShift, max(0, steps-len(of))+maxShift
	var off []int64
	for shift := low; shift <= high; shift++ {
		off = off[:0]
		for i := 1; i < len(of); i++ {
			t := i + shift
			if t < 1 || t >= steps {
				continue
			}
			off = append(off, absolute((of[i].release-of[i-1].release)-(ends[t*every]-ends[(t-1)*every])))
		}
		if len(off) < sync.Enough-1 || len(off)*2 < min(len(of), steps)-1 {
			continue
		}
		if e := robust.Lower(off); e < best.error {
			best = match{anchor{shift: shift}, e}
		}
	}
	return best
}

// step returns the index of the step that a time is in, −1: none.
func (f *fitted) step(at int64) int {
	i, exact := slices.BinarySearchFunc(f.begin, at, cmp.Compare[int64])
	if !exact {
		i--
	}
	if i >= len(f.steps) {
		return -1
	}
	return i
}

// span returns the stage that a time is in, with its begin and end; "" outside of stages.
func (f *fitted) span(at int64) (name string, begin, end int64) {
	t := f.step(at)
	if t < 0 {
		return "", 0, 0
	}
	S := len(f.stages)
	end = f.begin[t]
	for k, name := range f.stages {
		begin, end = end, end+f.durations[t*S+k]
		if at < end {
			return name, begin, end
		}
	}
	return "", 0, 0
}

// excludes reports whether the name of a stage belongs to another phase.
func (p Phase) excludes(stage string) bool {
	named := phaseOfStage(stage)
	return p != PhaseUnknown && named != PhaseUnknown && named != p
}

// phaseOfStage goes by the name of a stage.
func phaseOfStage(name string) Phase {
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "backward"), strings.Contains(name, "bwd"):
		return PhaseBackward
	case strings.Contains(name, "forward"), strings.Contains(name, "fwd"):
		return PhaseForward
	case strings.HasPrefix(name, "data"), strings.Contains(name, "loader"):
		return PhaseData
	case strings.Contains(name, "optim"):
		return PhaseOptimizer
	}
	return PhaseUnknown
}

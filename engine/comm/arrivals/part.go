package arrivals

import (
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace"
)

// Part is the windows of a job that follow one another, of the same ranks and with the same stages, whose recorders say when
// their steps began. What a rank does before it leaves, or before the job starts again, is of another part than what the others do
// after that: calls of one part are matched by themselves.
type Part struct {
	job    *Job
	own    timelines // but of the first part, whose are the job's
	first  bool
	closed bool
	ranks  []int
	stages []string
	next   int64 // number of the step that follows
	every  int64 // by which numbers of steps differ
	spans  map[int]sync.ClockSpan
}

// partFor returns the part that a window belongs to, which is the last one where it follows that; nil: recorders do not say
// when its steps began.
func (j *Job) partFor(w *trace.Window) *Part {
	if w.Epochs == nil || slices.Contains(w.Epochs, 0) {
		j.part.end()
		j.part = nil
		return nil
	}
	if !j.part.continues(w) {
		j.part.end()
		j.parts++
		j.part = &Part{job: j, first: len(j.timelines.list) == 0, stages: w.Schema.Stages, every: max(1, w.Every), spans: map[int]sync.ClockSpan{}}
		for _, r := range w.Ranks {
			j.part.ranks = append(j.part.ranks, r.ID)
		}
	}
	return j.part
}

// Parts returns of how many parts the windows of a job are.
func (j *Job) Parts() int { return j.parts }

// continues reports whether a window belongs to a part.
func (p *Part) continues(w *trace.Window) bool {
	if p == nil || p.closed || w.FirstStep != p.next || max(1, w.Every) != p.every || len(w.Ranks) != len(p.ranks) || !slices.Equal(w.Schema.Stages, p.stages) {
		return false
	}
	for at, r := range w.Ranks {
		if r.ID != p.ranks[at] || w.Epochs[at] < p.spans[r.ID].From {
			return false
		}
	}
	lines := p.lines()
	return len(lines.list) == 0 || len(lines.list[0].steps) <= timelineSteps
}

// add appends a window.
func (p *Part) add(w *trace.Window) {
	if p == nil {
		return
	}
	p.next = w.StepAt(w.Steps())
	for at, r := range w.Ranks {
		s, begun := p.spans[r.ID]
		if !begun {
			s.From = w.Epochs[at]
		}
		s.To = w.Epochs[at]
		for t := range w.Steps() {
			if w.Wall != nil {
				s.To += w.WallOf(t)[at]
				continue
			}
			for k := range w.Schema.Stages {
				s.To += w.Step(t)[k*len(w.Ranks)+at]
			}
		}
		p.spans[r.ID] = s
	}
	if !p.first {
		p.own.add(w)
	}
}

// lines returns the timelines of a part.
func (p *Part) lines() *timelines {
	if p.first {
		return &p.job.timelines
	}
	return &p.own
}

// end ends a part, to which no window is added any more.
func (p *Part) end() {
	if p == nil || p.closed {
		return
	}
	p.closed = true
	if p.first { // the job's go on
		p.own, p.first = p.job.timelines.clip(), false
	}
}

// Close ends a part, and returns it as a job of its own.
func (p *Part) Close() *Job {
	p.end()
	return p.Job()
}

// Job returns what a part has so far as a job of its own.
func (p *Part) Job() *Job {
	return &Job{Program: *p.job.Between(p.spans), timelines: p.lines().clip()}
}

// clip returns timelines as they are, whatever is added to them later.
func (l *timelines) clip() timelines {
	return timelines{list: slices.Clone(l.list), of: l.of, size: l.size}
}

// Cuts returns where the stages of a job's windows are cut by what its calls show; nil where they do not show all waits.
func (j *Job) Cuts() *Cuts {
	if len(j.Ranks) < 2 {
		return nil
	}
	m := j.Match()
	if slices.Contains(m.Silent, true) || len(m.MissingRanks()) > 0 {
		return nil
	}
	s, _, lines := j.align(m)
	r := &Result{}
	if s.extent(r, lines); len(lines) == 0 || s.isApart() {
		return nil
	}
	d := s.Division(r.Step)
	if d == nil {
		return nil
	}
	return s.cuts(d)
}

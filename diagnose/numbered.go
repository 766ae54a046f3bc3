package diagnose

import (
	"cmp"
	"slices"
)

// stepNumbers is the numbers of the steps of a run, and the windows that they are in, by their positions. It grows with the windows, not
// with the steps.
type stepNumbers struct {
	n    int
	runs []numberedRun
}

// numberedRun is steps of a window whose numbers differ by as much, from a position on.
type numberedRun struct {
	at, window   int
	first, every int64
}

// add appends steps of a window.
func (s *stepNumbers) add(steps int, r numberedRun) {
	if steps > 0 {
		r.at = s.n
		s.runs, s.n = append(s.runs, r), s.n+steps
	}
}

// join appends the steps that follow.
func (s *stepNumbers) join(next *stepNumbers) {
	for _, r := range next.runs {
		r.at += s.n
		s.runs = append(s.runs, r)
	}
	s.n += next.n
}

// runAt returns the run of steps that the one at a position belongs to.
func (s *stepNumbers) runAt(i int) *numberedRun {
	if i < 0 || i >= s.n {
		panic("a step outside of the run")
	}
	at, found := slices.BinarySearchFunc(s.runs, i, func(r numberedRun, i int) int { return cmp.Compare(r.at, i) })
	if !found {
		at--
	}
	return &s.runs[at]
}

// number returns the number of the step at a position.
func (s *stepNumbers) number(i int) int64 {
	r := s.runAt(i)
	return r.first + int64(i-r.at)*r.every
}

// last returns the number of the last step.
func (s *stepNumbers) last() int64 { return s.number(s.n - 1) }

// window returns the number, in the run, of the window of the step at a position.
func (s *stepNumbers) window(i int) int { return s.runAt(i).window }

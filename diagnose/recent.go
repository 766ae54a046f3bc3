package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/frontier"
)

// Earlier is what a run had before the windows that its verdict is on.
type Earlier struct {
	First   int64 // first step, as recorded
	Last    int64 // last step, as recorded
	Windows int   // number of windows
	Steps   int   // number of steps
}

// later is what is kept twice of a run that goes on: once with what is forgotten next, and once
// without it.
type later struct {
	entries arrivals.Job
	sample  frontier.Sample
}

// countForgotten returns the number of windows that are no longer kept.
func (r *run) countForgotten() int {
	if r.earlier == nil {
		return 0
	}
	return r.earlier.Windows
}

// forget drops the windows before one, which has a number that counts all windows of the run.
func (r *run) forget(from int) {
	if from -= r.countForgotten(); from <= 0 {
		return
	}
	if r.earlier == nil {
		r.earlier = &Earlier{First: r.books[0].first}
	}
	gone := make(map[int64]bool, from)
	for i := range r.windows[:from] {
		gone[r.windows[i].Main.Window] = true
		r.earlier.Steps += int(r.books[i].end - r.books[i].first)
	}
	r.earlier.Windows, r.earlier.Last = r.earlier.Windows+from, r.books[from-1].end-1
	r.lost = slices.DeleteFunc(r.lost, func(p answer.Problem) bool { return p.Window != nil && gone[*p.Window] })
	r.dropped = nil
	for _, p := range r.lost {
		if p.Problem == answer.StepsDropped {
			if r.dropped == nil {
				r.dropped = map[int64]int{}
			}
			r.dropped[p.Steps[1]]++
		}
	}
	r.windows, r.books = rest(r.windows, from), rest(r.books, from)
	r.entries, r.later.entries = r.later.entries, arrivals.Job{}
	if r.sample != nil {
		sample := r.later.sample
		r.sample, r.later.sample = &sample, frontier.Sample{}
	}
}

// rest returns all but the first n values, in memory of its own.
func rest[T any](list []T, n int) []T { return slices.Clone(list[n:]) }

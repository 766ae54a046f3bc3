package profiler

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/trace/input"
)

// chooseMarks takes the marks of the highest kind, on the thread that has most
// of them, apart from each other and numbered upwards.
func (b *Builder) chooseMarks() ([]mark, int64) {
	best := stagemap.NoMark
	for _, m := range b.marks {
		best = max(best, m.Kind)
	}
	if best == stagemap.NoMark {
		return nil, 0
	}
	marks := slices.DeleteFunc(slices.Clone(b.marks), func(m mark) bool { return m.Kind != best })
	thread := busiest(marks)
	marks = slices.DeleteFunc(marks, func(m mark) bool { return m.thread != thread })
	slices.SortStableFunc(marks, func(x, y mark) int { return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.end, x.end)) })
	marks = b.removeOverlaps(marks)
	switch {
	case numbersAscend(marks):
	case numbersDiffer(marks):
		b.Note(input.NoteRecorder, "the numbers of the steps do not ascend with time, as where a clock is set back: the numbers count")
	default:
		if best != stagemap.WrapperMark {
			b.Note(input.NoteRecorder, "the numbers of the steps do not ascend: steps are counted from 0 in order of time")
		}
		for i := range marks {
			marks[i].Number = int64(i)
		}
	}
	return marks, thread
}

// busiest returns the thread with most marks, of equals the one that begins first.
func busiest(marks []mark) int64 {
	count := make(map[int64]int)
	for _, m := range marks {
		count[m.thread]++
	}
	best := marks[0].thread
	first := marks[0].start
	for _, m := range marks {
		if n := count[m.thread]; n > count[best] || n == count[best] && m.start < first {
			best, first = m.thread, m.start
		}
	}
	return best
}

// removeOverlaps drops steps that lie in the one before, and cuts those that overlap
// it, so that no moment belongs to two.
func (b *Builder) removeOverlaps(marks []mark) []mark {
	inside, overlapping := 0, 0
	kept := marks[:0]
	for _, m := range marks {
		if n := len(kept); n > 0 && m.start < kept[n-1].end {
			if m.end <= kept[n-1].end {
				inside++
				continue
			}
			m.start = kept[n-1].end
			overlapping++
		}
		kept = append(kept, m)
	}
	if inside > 0 {
		b.Note(input.NoteRecorder, "step marks that lie inside other steps and are not steps of their own: %d", inside)
	}
	if overlapping > 0 {
		b.Note(input.NoteRecorder, "steps that begin before the one before has ended, and were cut to begin there: %d", overlapping)
	}
	return kept
}

// numbersDiffer reports whether every mark has a number of its own.
func numbersDiffer(marks []mark) bool {
	seen := make(map[int64]bool, len(marks))
	for _, m := range marks {
		if m.Number < 0 || seen[m.Number] {
			return false
		}
		seen[m.Number] = true
	}
	return true
}

// numbersAscend reports whether every mark has a number, larger than the one before.
func numbersAscend(marks []mark) bool {
	for i, m := range marks {
		if m.Number < 0 || i > 0 && m.Number <= marks[i-1].Number {
			return false
		}
	}
	return true
}

// inferMarks makes steps where nothing marks them: from the end of one
// optimizer step to the end of the next, else one step of everything.
func (b *Builder) inferMarks() ([]mark, int64) {
	if !b.seen {
		return nil, 0
	}
	thread := mainThread(b.pieces)
	optimizer := int32(b.stages.Index(stagemap.Optimizer))
	var calls []piece
	for _, p := range b.pieces {
		if p.stage == optimizer && p.yields && p.thread == thread {
			calls = append(calls, p)
		}
	}
	slices.SortFunc(calls, func(p, q piece) int { return cmp.Compare(p.start, q.start) })
	var ends []int64
	for _, p := range calls {
		if n := len(ends); n == 0 || p.start >= ends[n-1] { // not that of a class within that of a class derived from it
			ends = append(ends, p.end)
		}
	}
	whole := mark{thread: thread, start: b.first, end: b.last}
	if len(ends) < 2 {
		b.Note(input.NoteRecorder, "nothing marks steps (no ProfilerStep): the whole recording counts as one step")
		return []mark{whole}, thread
	}
	marks := make([]mark, 0, len(ends))
	for i, end := range ends {
		from := b.first
		if i > 0 {
			from = ends[i-1]
		}
		marks = append(marks, mark{Mark: stagemap.Mark{Number: int64(i)}, thread: thread, start: from, end: end})
	}
	b.Note(input.NoteRecorder, "nothing marks steps (no ProfilerStep): each is taken to end with an optimizer step, %d of them", len(ends))
	return marks, thread
}

// mainThread returns the thread on which most time is spent in stages.
func mainThread(pieces []piece) int64 {
	spent := make(map[int64]int64)
	best, most := int64(0), int64(-1)
	for _, p := range pieces {
		if p.background {
			continue
		}
		spent[p.thread] += p.end - p.start
		if s := spent[p.thread]; s > most {
			best, most = p.thread, s
		}
	}
	return best
}

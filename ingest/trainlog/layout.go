package trainlog

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// layout is how the times of a step come down to the durations of stages, one step at a time.
type layout struct {
	j     *job
	used  []int    // columns, in the order of a step
	whole int      // which of them is of the whole step, −1: none
	in    []int    // of each, which of them contains it, −1: none
	at    [][]int  // [rank][column] where it stands in the rank's rows, −1: nowhere
	names []string // stages
	apart bool     // the time of the whole step does not contain that of its parts
	times []int64  // [used][rank], of the step that was read last
}

// layOut returns how steps come down to the stages that every step of every rank has, in the order of a step.
func (j *job) layOut() (*layout, error) {
	l := &layout{j: j, whole: -1}
	for _, t := range j.tracks {
		at := make([]int, len(j.b.columns))
		for c := range at {
			at[c] = slices.Index(t.columns, int32(c))
		}
		l.at = append(l.at, at)
	}
	l.choose()
	for k, c := range l.used {
		column := &j.b.columns[c]
		l.in = append(l.in, slices.IndexFunc(l.used, func(o int) bool { return j.b.columns[o].of == column.in }))
		if column.of == ofStep {
			l.whole = k
		} else {
			l.names = append(l.names, column.stage())
		}
	}
	l.times = make([]int64, len(l.used)*len(j.tracks))
	switch {
	case len(l.used) == 0:
		return nil, input.Bad(input.ErrMissing, "no time is in the logs of all ranks in all steps")
	case len(l.names) == 0:
		l.names = []string{stagename.Whole}
	case l.whole >= 0:
		l.names = append(l.names, stagename.Remainder)
		if l.apart = l.wholeExcludesParts(); l.apart {
			j.note(input.NoteRecorder, "the logged time of a step does not contain that of its parts: with them, steps are more alike on the ranks")
		}
	}
	return l, nil
}

// choose finds the columns that are used.
func (l *layout) choose() {
	columns := l.j.b.columns
	some, all := make([]bool, len(columns)), slices.Repeat([]bool{true}, len(columns))
	for r, t := range l.j.tracks {
		for i := range l.j.n {
			row := t.row(l.j.row(r, i))
			for c, at := range l.at[r] {
				if at < 0 {
					all[c] = false
					continue
				}
				some[c], all[c] = some[c] || row[at] > 0, all[c] && row[at] >= 0
			}
		}
	}
	for c := range columns {
		if some[c] && (all[c] || columns[c].sparse) && columns[c].of != ofClock {
			l.used = append(l.used, c)
		}
	}
	if slices.ContainsFunc(l.used, func(c int) bool { return columns[c].sparse }) {
		return // a program prints its stages in the order in which they run
	}
	slices.SortStableFunc(l.used, func(x, y int) int { return cmp.Compare(orderOf(columns[x].of), orderOf(columns[y].of)) })
}

// read reads the times of a step. A part is taken off what contains it.
func (l *layout) read(i int) {
	R := len(l.j.tracks)
	for r, t := range l.j.tracks {
		row := t.row(l.j.row(r, i))
		for k, c := range l.used {
			v := int64(notTimed)
			if at := l.at[r][c]; at >= 0 {
				v = row[at]
			}
			l.times[k*R+r] = max(0, v) // one that is not timed has none
		}
	}
	for k, in := range l.in {
		if in < 0 {
			continue
		}
		for r := range R {
			l.times[in*R+r] = max(0, l.times[in*R+r]-l.times[k*R+r])
		}
	}
}

// parts returns the sum of the parts of a rank's step that was read last, ns.
func (l *layout) parts(r int) (sum int64) {
	for k := range l.used {
		if k != l.whole {
			sum += l.times[k*len(l.j.tracks)+r]
		}
	}
	return sum
}

// wholeExcludesParts reports whether the time of a whole step excludes its parts: the sum that is more alike between
// ranks decides.
func (l *layout) wholeExcludesParts() bool {
	R := len(l.j.tracks)
	var without, with, short int64
	for i := range l.j.n {
		l.read(i)
		whole := l.times[l.whole*R : (l.whole+1)*R]
		least, most := whole[0]+l.parts(0), whole[0]+l.parts(0)
		for r, v := range whole {
			sum := l.parts(r)
			if v < sum {
				short++
			}
			least, most = min(least, v+sum), max(most, v+sum)
		}
		without, with = without+slices.Max(whole)-slices.Min(whole), with+most-least
	}
	return without > with || 100*short > int64(l.j.n*R)
}

// durations appends those of a step, by stage and rank.
func (l *layout) durations(i int, to []int64) []int64 {
	R := len(l.j.tracks)
	l.read(i)
	for k := range l.used {
		if k != l.whole {
			to = append(to, l.times[k*R:(k+1)*R]...)
		}
	}
	if l.whole < 0 {
		return to
	}
	whole := l.times[l.whole*R : (l.whole+1)*R]
	if l.apart || len(l.used) == 1 {
		return append(to, whole...)
	}
	for r, v := range whole {
		to = append(to, max(0, v-l.parts(r)))
	}
	return to
}

const (
	// mostDurations is how many durations a window has, of a log with more: as many as are looked at together, 8 MiB.
	mostDurations = 1 << 20
	// leastSteps is how many steps it has at least, however many ranks there are.
	leastSteps = 512
)

// span is steps whose numbers follow one another.
type span struct{ from, to int }

// spans cuts the steps where their numbers do, and where a window is as long as it may be. Where numbers do so nearly everywhere, steps are
// counted, and every is 0.
func (j *job) spans(stages int) (out []span, every int64) {
	every = j.logInterval()
	cuts := 1
	for i := 1; i < j.n; i++ {
		if j.step(i)-j.step(i-1) != every {
			cuts++
		}
	}
	if 4*cuts > j.n+8 {
		every = 0
	}
	most, from := max(leastSteps, mostDurations/(stages*len(j.tracks))), 0
	for i := 1; i <= j.n; i++ {
		if i == j.n || i-from == most || every > 0 && j.step(i)-j.step(i-1) != every {
			out = append(out, span{from, i})
			from = i
		}
	}
	return out, every
}

// windows hands on the windows of the steps until give returns false, and gives up the rows behind them.
func (j *job) windows(run string, l *layout, give func(*trace.Window) bool) error {
	spans, every := j.spans(len(l.names))
	switch {
	case every == 0:
		j.note(input.NoteStepGap, "steps are not logged evenly, and are counted here from 0: %d to %d", j.step(0), j.step(j.n-1))
	case every > 1 && j.tracks[0].mean:
		j.note(input.NoteUnits, "a line is the mean of the %d steps up to its own", every)
	case every > 1:
		j.note(input.NoteRecorder, "one step in %d is logged", every)
	}
	j.noteResolution(l)
	R := len(j.tracks)
	for n, s := range spans {
		w := &trace.Window{Run: run, Index: int64(n), FirstStep: int64(s.from), Every: max(1, every), Accumulation: 1, WorldSize: max(1, j.tracks[R-1].rank+1)}
		if every > 0 {
			w.FirstStep = j.step(s.from)
		}
		for _, t := range j.tracks {
			w.Ranks = append(w.Ranks, trace.Rank{ID: max(0, t.rank), Host: t.host, LocalRank: -1})
		}
		w.Schema.Stages = slices.Clone(l.names)
		w.Durations = make([]int64, 0, (s.to-s.from)*len(l.names)*R)
		for i := s.from; i < s.to; i++ {
			w.Durations = l.durations(i, w.Durations)
		}
		if n == 0 {
			w.Notes = j.notes
			if R > 1 && len(l.names) == 1 && l.names[0] == stagename.Whole {
				w.Notes = append(w.Notes, ingest.WholeSteps(w))
			}
		}
		if err := w.Validate(); err != nil {
			return err
		}
		for r, t := range j.tracks {
			if j.rows[r].order == nil {
				t.free(j.row(r, s.to-1))
			}
		}
		if !give(w) {
			break
		}
	}
	return nil
}

package trainlog

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Windows returns the steps that all ranks logged. Where numbers leave some out, another window begins.
func (b *Builder) Windows(run string) ([]*trace.Window, error) {
	j, err := b.job()
	if err != nil {
		return nil, err
	}
	steps, left := j.common()
	if len(steps) == 0 {
		return nil, input.Bad(input.ErrMissing, "no step is in the logs of all %d ranks: are they of one run?", len(j.tracks))
	}
	if left > 0 {
		j.note(input.NoteStepGap, "steps that not all ranks logged are left out: %d", left)
	}
	stages, err := j.stages(steps)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return t.assumed }) {
		j.note(input.NoteUnits, "times without a unit are read as seconds")
	}
	return j.windows(run, steps, stages)
}

// job is what the logs of a job come down to: for each rank the rows of its steps.
type job struct {
	b      *Builder
	tracks []*track
	rows   []index // of each track
	whole  bool    // the logs are of the job, and name no rank
	notes  []input.Note
}

// index finds the rows of steps.
type index struct {
	steps []int64 // ascending
	rows  []int32 // of each; nil: in the order of steps
}

// index returns that of a track, in which the later of two rows of a step counts, and how many others there are.
func (t *track) index() (x index, again int) {
	ascends := true
	for i := 1; i < len(t.steps) && ascends; i++ {
		ascends = t.steps[i-1] < t.steps[i]
	}
	if ascends {
		return index{steps: t.steps}, 0
	}
	order := make([]int32, len(t.steps))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(t.steps[x], t.steps[y]) })
	for _, row := range order {
		step := t.steps[row]
		if n := len(x.steps); n > 0 && x.steps[n-1] == step {
			x.rows[n-1] = row
			again++
			continue
		}
		x.steps, x.rows = append(x.steps, step), append(x.rows, row)
	}
	return x, again
}

// find returns the rows of steps that are all among them.
func (x *index) find(steps []int64) []int32 {
	out, at := make([]int32, len(steps)), 0
	for i, step := range steps {
		for x.steps[at] < step {
			at++
		}
		if out[i] = int32(at); x.rows != nil {
			out[i] = x.rows[at]
		}
	}
	return out
}

func (j *job) note(kind input.NoteKind, format string, args ...any) {
	j.notes = append(j.notes, input.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// job returns the tracks that count: those with a rank, else the one of a whole job.
func (b *Builder) job() (*job, error) {
	j := &job{b: b, tracks: b.timers}
	if len(j.tracks) == 0 {
		j.tracks = slices.DeleteFunc(slices.Clone(b.tracks), func(t *track) bool { return t.validation })
		if len(j.tracks) == 0 {
			j.tracks = slices.Clone(b.tracks)
		}
	}
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return !t.smooth && len(t.steps) >= severalSteps }) {
		j.tracks = slices.DeleteFunc(j.tracks, func(t *track) bool { return t.smooth })
	}
	b.settle()
	for _, t := range j.tracks {
		b.sumMicrosteps(t)
		t.clean()
		t.divideSums()
		b.unclock(t)
	}
	j.tracks = slices.DeleteFunc(j.tracks, func(t *track) bool { return len(t.steps) == 0 })
	if ranked := slices.DeleteFunc(slices.Clone(j.tracks), func(t *track) bool { return t.rank < 0 }); len(ranked) > 0 {
		j.tracks = ranked
	}
	j.dropCopies()
	switch {
	case len(j.tracks) == 0:
		return nil, b.noSteps()
	case len(j.tracks) > 1 && j.tracks[0].rank < 0:
		return nil, errUnranked()
	}
	j.whole = j.tracks[0].rank < 0
	if err := j.oneUnit(); err != nil {
		return nil, err
	}
	slices.SortFunc(j.tracks, func(x, y *track) int { return cmp.Compare(x.rank, y.rank) })
	if name, least, most := b.widest(); name != "" && j.whole {
		j.note(input.NoteWholeSteps, "Megatron's timers tell no ranks, and times are those of the slowest: their largest spread is that of %s, %.1f to %.1f ms on average; log with --timing-log-level 2 --timing-log-option all", name, least, most)
	}
	again := 0
	for _, t := range j.tracks {
		if k := t.interleaved(); k > 1 {
			text := fmt.Sprintf("%s has %d lines of each step, as of %d ranks that nothing tells apart: the longest counts; print the rank in each line", t.file, k, k)
			if of, more := b.apart(t, k); of != "" {
				text += fmt.Sprintf(" (in most steps one of them has %.3g ms more of %s than the others)", float64(more)/1e6, of)
			}
			j.note(input.NoteRanksNumbered, "%s", text)
			t.fold(b)
		}
		rows, twice := t.index()
		j.rows, again = append(j.rows, rows), again+twice
	}
	if again > 0 {
		j.note(input.NoteStepsRepeated, "steps of ranks that were logged twice, as after a restart, of which the later counts: %d", again)
	}
	if b.summed > 0 {
		j.note(input.NoteUnits, "a profiler's table has sums alone: one step stands for the mean of %d", b.summed)
	}
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return t.clocked }) {
		j.note(input.NoteUnits, "a time only grows from line to line, so it is a clock, and steps are as long as it grows")
	}
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return t.smooth }) {
		j.note(input.NoteUnits, "progress bars average over steps, so that one slow step is blurred")
	}
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return t.counted }) {
		j.note(input.NoteRecorder, "lines do not number their steps, which are counted from the number before them")
	}
	return j, nil
}

const (
	// alike is by which share times of one step may differ in two logs of it, which print as many digits as they like.
	alike = 0.02
	// mostly is in which share of the steps they must not differ more.
	mostly = 0.9
)

// dropCopies leaves one of logs without ranks that have the same times of the same steps, as a text and its JSON have: the one with most parts.
func (j *job) dropCopies() {
	if len(j.tracks) < 2 || j.tracks[0].rank >= 0 {
		return
	}
	first := slices.MaxFunc(j.tracks, func(x, y *track) int {
		return cmp.Or(cmp.Compare(len(x.columns), len(y.columns)), cmp.Compare(len(x.steps), len(y.steps)))
	})
	for _, t := range j.tracks {
		if t != first && !j.b.copies(first, t) {
			return
		}
	}
	j.note(input.NoteRanksNumbered, "%d logs have the same times of the same steps: %s counts", len(j.tracks), first.file)
	j.tracks = []*track{first}
}

// copies reports whether a track has the times of another, of most of its steps.
func (b *Builder) copies(of, t *track) bool {
	lengths := make(map[int64]int64, len(of.steps))
	for i, step := range of.steps {
		lengths[step] = b.whole(of, of.row(i))
	}
	same := 0
	for i, step := range t.steps {
		if x, y := float64(lengths[step]), float64(b.whole(t, t.row(i))); math.Abs(x-y) <= alike*max(x, y) && y > 0 {
			same++
		}
	}
	return float64(same) >= mostly*float64(max(len(t.steps), severalSteps))
}

// noSteps returns the error of logs without a step.
func (b *Builder) noSteps() error {
	if name, least, most := b.widest(); name != "" {
		return input.Bad(input.ErrMissing, "Megatron's timers without ranks: their largest spread is that of %s, %.1f to %.1f ms on average, and who is slow is not in the log: log with --timing-log-level 2 --timing-log-option all", name, least, most)
	}
	return input.Bad(input.ErrEmpty, "no steps")
}

// settle lets times of microsteps stand for those of steps, where these are not logged.
func (b *Builder) settle() {
	for i := range b.columns {
		of, weak := strings.CutSuffix(b.columns[i].of, "?")
		if !weak {
			continue
		}
		told := slices.ContainsFunc(b.columns, func(c column) bool { return c.of == of && !c.weak })
		b.columns[i] = column{of: of, weak: true, sparse: orderOf(of) < 0, in: strings.TrimSuffix(b.columns[i].in, "?")}
		if told {
			for _, t := range b.tracks {
				t.drop(int32(i))
			}
		}
	}
}

// sumMicrosteps adds up lines of microsteps, of which a step with gradient accumulation has several: those between the lines of two steps,
// which other lines number. DeepSpeed prints the last one of a step behind the number of the step, so that sums are of as many microsteps as
// a step has, from the last one on.
func (b *Builder) sumMicrosteps(t *track) {
	weak := func(c int32) bool { return c >= 0 && b.columns[c].weak }
	if !slices.ContainsFunc(t.columns, weak) {
		return
	}
	var numbered []int
	for i, step := range t.steps {
		if step >= 0 {
			numbered = append(numbered, i)
		}
		for c, v := range t.row(i) {
			if v != notTimed && !weak(t.columns[c]) {
				return // steps have times of their own
			}
		}
	}
	if n := len(numbered); n < 2 || t.steps[numbered[n-1]]-t.steps[numbered[0]] >= int64(numbered[n-1]-numbered[0]) {
		return // a line for each step
	}
	C, n := len(t.columns), 0
	values := t.values[:0]
	for k := range numbered[:len(numbered)-1] {
		from, to := numbered[k], numbered[k+1]
		steps := t.steps[to] - t.steps[from]
		if steps <= 0 {
			continue
		}
		sum := slices.Repeat([]int64{notTimed}, C)
		for i := from; i < to; i++ {
			for c, v := range t.row(i) {
				if v != notTimed {
					sum[c] = max(0, sum[c]) + v
				}
			}
		}
		for c := range sum {
			if sum[c] > 0 {
				sum[c] /= steps
			}
		}
		t.mean = t.mean || steps > 1
		t.steps[n], values = t.steps[to], append(values, sum...)
		n++
	}
	t.steps, t.values, t.counted = t.steps[:n], values, false
}

// drop takes the times of a column away.
func (t *track) drop(column int32) {
	at := slices.Index(t.columns, column)
	for i := range t.steps {
		if at >= 0 {
			t.row(i)[at] = notTimed
		}
	}
}

// clean drops rows without a time, and counts those without a number.
func (t *track) clean() {
	n := 0
	for i := range t.steps {
		row := t.row(i)
		if !slices.ContainsFunc(row, func(v int64) bool { return v != notTimed }) {
			continue
		}
		if t.steps[n] = t.steps[i]; t.steps[n] < 0 {
			t.steps[n] = 1
			if n > 0 {
				t.steps[n] = t.steps[n-1] + 1
			}
		}
		copy(t.values[n*len(t.columns):], row)
		n++
	}
	t.steps, t.values = t.steps[:n], t.values[:n*len(t.columns)]
}

// divideSums makes of sums over the steps since the row before means of these; the first row, of which nothing tells how many there were, is dropped.
func (t *track) divideSums() {
	if !t.sum || len(t.steps) == 0 {
		return
	}
	n, C := 0, len(t.columns)
	for i := 1; i < len(t.steps); i++ {
		steps := t.steps[i] - t.steps[i-1]
		if steps <= 0 {
			continue
		}
		row := t.values[n*C : (n+1)*C]
		for c, v := range t.row(i) {
			if row[c] = v; v > 0 {
				row[c] = v / steps
			}
		}
		t.steps[n] = t.steps[i]
		n++
	}
	t.steps, t.values, t.sum, t.mean = t.steps[:n], t.values[:n*C], false, true
}

const (
	// fewestOfClock is how many values in a row must grow to be those of a clock: of independent ones 1 in 8! do.
	fewestOfClock = 8
	// clockGrows is by which factor they must, at least: steps that grow more slowly take longer and longer.
	clockGrows = 2
)

// unclock turns the times of a clock into those of steps: stamps, and whole steps that only grow. A row is the mean of
// the steps since the row before it.
func (b *Builder) unclock(t *track) {
	b.unwall(t)
	whole, at := int32(slices.IndexFunc(b.columns, func(c column) bool { return c.of == ofStep })), -1
	clock := int32(slices.IndexFunc(b.columns, func(c column) bool { return c.of == ofClock }))
	switch {
	case whole >= 0 && slices.Contains(t.columns, whole) && t.grows(whole, true):
		at, t.clocked = slices.Index(t.columns, whole), true
	case clock >= 0 && slices.Contains(t.columns, clock) && (whole < 0 || !slices.Contains(t.columns, whole)):
		at = slices.Index(t.columns, clock)
		if whole < 0 {
			b.columns, whole = append(b.columns, column{of: ofStep}), int32(len(b.columns))
		}
	default:
		if c := slices.Index(t.columns, clock); clock >= 0 && c >= 0 {
			t.columns[c] = -1
		}
		return
	}
	t.columns[at] = whole
	t.mean = true
	n, before, step := 0, int64(notTimed), int64(0)
	for i := range t.steps {
		row := t.row(i)
		now, was := row[at], before
		if now == notTimed {
			continue
		}
		d := t.steps[i] - step
		before, step = now, t.steps[i]
		if was == notTimed || now <= was || d <= 0 {
			continue
		}
		row[at] = (now - was) / d
		t.steps[n] = t.steps[i]
		copy(t.values[n*len(t.columns):], row)
		n++
	}
	t.steps, t.values = t.steps[:n], t.values[:n*len(t.columns)]
}

// unwall makes of a time that may be a clock one, where it only grows; else the whole of the step, where no other is logged.
func (b *Builder) unwall(t *track) {
	find := func(of string) (number int32, at int) {
		number = int32(slices.IndexFunc(b.columns, func(c column) bool { return c.of == of }))
		return number, slices.Index(t.columns, number)
	}
	wall, at := find(ofWall)
	if wall < 0 || at < 0 {
		return
	}
	as := ofStep
	if t.clocked = t.grows(wall, false); t.clocked {
		as = ofClock
	}
	to, other := find(as)
	switch {
	case other >= 0:
		t.columns[at] = -1
	case to < 0:
		t.columns[at], b.columns = int32(len(b.columns)), append(b.columns, column{of: as})
	default:
		t.columns[at] = to
	}
}

// grows reports whether the times of a column only grow, by as much in most steps, as those of a clock do; so much that a step would have to
// take twice as long in the end, where nothing else says that they are of a clock.
func (t *track) grows(column int32, twice bool) bool {
	var values, by []int64
	for i := range t.steps {
		v := t.at(i, column)
		if n := len(values); n > 0 && v <= values[n-1] {
			return false
		} else if n > 0 {
			by = append(by, v-values[n-1])
		}
		values = append(values, v)
	}
	if n := len(values); n < fewestOfClock || twice && values[n-1] < clockGrows*values[0] {
		return false
	}
	usual, alike := slices.Sorted(slices.Values(by))[len(by)/2], 0
	for _, d := range by {
		if 2*d > usual && d < 2*usual {
			alike++
		}
	}
	return 2*alike > len(by)
}

// interleaved returns how many lines each step has, where nearly all have as many, next to each other.
func (t *track) interleaved() int {
	var counts []int
	if len(slices.Compact(slices.Clone(t.steps))) == len(t.steps) {
		return 1
	}
	for i := range t.steps {
		if n := len(counts); i > 0 && t.steps[i] == t.steps[i-1] {
			counts[n-1]++
		} else {
			counts = append(counts, 1)
		}
	}
	usual := slices.Sorted(slices.Values(counts))[len(counts)/2]
	n := 0
	for _, c := range counts {
		if c == usual {
			n++
		}
	}
	if 10*n < 8*len(counts) {
		return 1
	}
	return usual
}

// fold leaves the longest line of each step.
func (t *track) fold(b *Builder) {
	n := 0
	for i := range t.steps {
		row := t.row(i)
		if n > 0 && t.steps[n-1] == t.steps[i] {
			if have := t.row(n - 1); b.length(t, row) > b.length(t, have) {
				copy(have, row)
			}
			continue
		}
		t.steps[n] = t.steps[i]
		copy(t.values[n*len(t.columns):], row)
		n++
	}
	t.steps, t.values = t.steps[:n], t.values[:n*len(t.columns)]
}

// matters is from which share of a step on a difference between its lines does.
const matters = 0.05

// apart returns the part of which one line of a step has most more than the middle one, in most steps, and how much, ns; "" where they are alike. In
// whole steps, and where the others wait, all are as long.
func (b *Builder) apart(t *track, lines int) (of string, more int64) {
	var steps, lengths []int64
	for from := 0; from+lines <= len(t.steps); from += lines {
		longest := int64(0)
		for i := range lines {
			longest = max(longest, b.whole(t, t.row(from+i)))
		}
		lengths = append(lengths, longest)
	}
	if len(lengths) == 0 {
		return "", 0
	}
	slices.Sort(lengths)
	for at, c := range t.columns {
		if c < 0 || b.columns[c].of == ofStep || b.columns[c].of == ofClock {
			continue
		}
		steps = steps[:0]
		for from := 0; from+lines <= len(t.steps); from += lines {
			values := make([]int64, lines)
			for i := range values {
				values[i] = t.row(from + i)[at]
			}
			slices.Sort(values)
			steps = append(steps, values[lines-1]-values[(lines-1)/2])
		}
		slices.Sort(steps)
		if usual := steps[len(steps)/2]; usual > more && float64(usual) > matters*float64(lengths[len(lengths)/2]) {
			of, more = b.columns[c].of, usual
		}
	}
	return of, more
}

// length returns how late a row's rank is, for choosing among the lines of ranks: the wait for data, in which nobody waits for others, else the whole
// step.
func (b *Builder) length(t *track, row []int64) int64 {
	for i, c := range t.columns {
		if c >= 0 && b.columns[c].of == "data" && row[i] >= 0 {
			return row[i]
		}
	}
	return b.whole(t, row)
}

// whole returns how long a row's step is: as logged, else the sum of its parts.
func (b *Builder) whole(t *track, row []int64) (sum int64) {
	for i, c := range t.columns {
		switch {
		case c < 0 || row[i] < 0:
		case b.columns[c].of == ofStep:
			return row[i]
		case b.columns[c].in == "":
			sum += row[i]
		}
	}
	return sum
}

// common returns the steps that all ranks logged, ascending, and how many others there are.
func (j *job) common() (steps []int64, left int) {
	if len(j.rows) == 1 {
		return j.rows[0].steps, 0
	}
	var all []int64
	for i := range j.rows {
		all = append(all, j.rows[i].steps...)
	}
	slices.Sort(all)
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to] == all[from] {
			to++
		}
		if to-from == len(j.rows) {
			steps = append(steps, all[from])
		} else {
			left++
		}
		from = to
	}
	return steps, left
}

// staged is a stage of the windows that are made, with its times by step and rank.
type staged struct {
	name  string
	times []int64
}

// stages returns the stages that every step of every rank has, in the order of a step.
func (j *job) stages(steps []int64) (out []staged, err error) {
	R := len(j.tracks)
	times, used, rows := make([][]int64, len(j.b.columns)), []int{}, make([][]int32, R)
	for r := range rows {
		rows[r] = j.rows[r].find(steps)
	}
	for c := range j.b.columns {
		column, some, all := &j.b.columns[c], false, true
		times[c] = make([]int64, len(steps)*R)
		for r, t := range j.tracks {
			at := slices.Index(t.columns, int32(c))
			for i, row := range rows[r] {
				v := int64(notTimed)
				if at >= 0 {
					v = t.values[int(row)*len(t.columns)+at]
				}
				some, all = some || v > 0, all && v >= 0
				if v < 0 && column.sparse {
					v = 0
				}
				times[c][i*R+r] = v
			}
		}
		if some && (all || column.sparse) && column.of != ofClock {
			used = append(used, c)
		}
	}
	own := slices.ContainsFunc(used, func(c int) bool { return j.b.columns[c].sparse })
	slices.SortStableFunc(used, func(x, y int) int {
		if own { // a program prints its stages in the order in which they run
			return 0
		}
		return cmp.Compare(orderOf(j.b.columns[x].of), orderOf(j.b.columns[y].of))
	})
	for _, c := range used { // a part is taken off what contains it
		parent := slices.IndexFunc(used, func(o int) bool { return j.b.columns[o].of == j.b.columns[c].in })
		if parent < 0 {
			continue
		}
		for i := range times[c] {
			take(&times[used[parent]][i], times[c][i])
		}
	}
	whole := []int64(nil)
	for _, c := range used {
		if j.b.columns[c].of == ofStep {
			whole = times[c]
			continue
		}
		out = append(out, staged{j.b.columns[c].stage(), times[c]})
	}
	switch {
	case whole == nil && len(out) == 0:
		return nil, input.Bad(input.ErrMissing, "no time is in the logs of all ranks in all steps")
	case whole != nil && len(out) == 0:
		return []staged{{stagename.Whole, whole}}, nil
	case whole != nil:
		return append(out, staged{stagename.Remainder, j.rest(whole, out)}), nil
	}
	return out, nil
}

// rest returns what stages leave of the whole steps. Whether a whole contains the stages is told by which of the
// two sums is more alike on the ranks.
func (j *job) rest(whole []int64, stages []staged) []int64 {
	R, parts := len(j.tracks), make([]int64, len(whole))
	var without, with, short int64
	for i := range whole {
		for _, s := range stages {
			parts[i] += s.times[i]
		}
		if whole[i] < parts[i] {
			short++
		}
		if i%R == R-1 {
			row, sum := whole[i+1-R:i+1], make([]int64, R)
			for r := range sum {
				sum[r] = row[r] + parts[i+1-R+r]
			}
			without, with = without+slices.Max(row)-slices.Min(row), with+slices.Max(sum)-slices.Min(sum)
		}
	}
	if without > with || 100*short > int64(len(whole)) {
		j.note(input.NoteRecorder, "the logged time of a step does not contain that of its parts: with them, steps are more alike on the ranks")
		return whole
	}
	left := make([]int64, len(whole))
	for i := range left {
		left[i] = max(0, whole[i]-parts[i])
	}
	return left
}

// apart returns by how much the numbers of most neighbouring steps differ.
func apart(steps []int64) int64 {
	count := map[int64]int{}
	for i := 1; i < len(steps); i++ {
		count[steps[i]-steps[i-1]]++
	}
	most := int64(1)
	for _, d := range slices.Sorted(maps.Keys(count)) {
		if count[d] > count[most] {
			most = d
		}
	}
	return most
}

// windows cuts the steps where their numbers do. Where they do so nearly everywhere, steps are counted.
func (j *job) windows(run string, steps []int64, stages []staged) (out []*trace.Window, err error) {
	every := apart(steps)
	cuts := []int{0}
	for i := 1; i < len(steps); i++ {
		if steps[i]-steps[i-1] != every {
			cuts = append(cuts, i)
		}
	}
	if 4*len(cuts) > len(steps)+8 {
		j.note(input.NoteStepGap, "steps are not logged evenly, and are counted here from 0: %d to %d", steps[0], steps[len(steps)-1])
		steps, every, cuts = make([]int64, len(steps)), 1, []int{0}
		for i := range steps {
			steps[i] = int64(i)
		}
	}
	switch {
	case every > 1 && j.tracks[0].mean:
		j.note(input.NoteUnits, "a line is the mean of the %d steps up to its own", every)
	case every > 1:
		j.note(input.NoteRecorder, "one step in %d is logged", every)
	}
	j.coarse(stages)
	R := len(j.tracks)
	for n, from := range cuts {
		to := len(steps)
		if n+1 < len(cuts) {
			to = cuts[n+1]
		}
		w := &trace.Window{Run: run, Index: int64(n), FirstStep: steps[from], Every: every, Accumulation: 1, WorldSize: max(1, j.tracks[R-1].rank+1)}
		for _, t := range j.tracks {
			w.Ranks = append(w.Ranks, trace.Rank{ID: max(0, t.rank), Host: t.host, LocalRank: -1})
		}
		for _, s := range stages {
			w.Schema.Stages = append(w.Schema.Stages, s.name)
		}
		w.Durations = make([]int64, 0, (to-from)*len(stages)*R)
		for i := from; i < to; i++ {
			for _, s := range stages {
				w.Durations = append(w.Durations, s.times[i*R:(i+1)*R]...)
			}
		}
		if n == 0 {
			w.Notes = j.notes
			if R > 1 && len(stages) == 1 && stages[0].name == stagename.Whole {
				w.Notes = append(w.Notes, ingest.WholeSteps(w))
			}
		}
		if err := w.Validate(); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// coarsely is the part of a step from which on the resolution of its stamps is said.
const coarsely = 0.02

// coarse notes stamps that are not much finer than steps.
func (j *job) coarse(stages []staged) {
	t := j.tracks[0]
	if t.resolution == 0 || len(stages) == 0 {
		return
	}
	all := slices.Sorted(slices.Values(stages[0].times))
	if usual := all[len(all)/2]; float64(t.resolution) > coarsely*float64(usual) {
		j.note(input.NoteUnits, "steps are timed by the stamps of their lines, which are of %v", time.Duration(t.resolution))
	}
}

// take takes what is contained in a time off it, where both are known.
func take(t *int64, contained int64) {
	if *t >= 0 && contained >= 0 {
		*t = max(0, *t-contained)
	}
}

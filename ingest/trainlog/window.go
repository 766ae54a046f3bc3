package trainlog

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Windows returns the steps that all ranks logged, as [Builder.Each] hands them on.
func (b *Builder) Windows(run string) (all []*trace.Window, err error) {
	err = b.Each(run, func(w *trace.Window) bool {
		all = append(all, w)
		return true
	})
	return all, err
}

// Each calls give with windows of the steps that all ranks logged, in order, until give returns false. A window ends
// where step numbers have a gap, and at [mostDurations]. The builder cannot be used afterwards.
func (b *Builder) Each(run string, give func(*trace.Window) bool) error {
	j, err := b.job()
	if err != nil {
		return err
	}
	j.alignNumbers()
	left := j.match()
	if j.n == 0 {
		return input.Bad(input.ErrMissing, "no step is in the logs of all %d ranks: are they of one run?", len(j.tracks))
	}
	if left > 0 {
		j.note(input.NoteStepGap, "steps that not all ranks logged are left out: %d", left)
	}
	l, err := j.layOut()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return t.assumed }) {
		j.note(input.NoteUnits, "times without a unit are read as seconds")
	}
	return j.windows(run, l, give)
}

// job is what the logs of a job come down to: for each rank the rows of its steps.
type job struct {
	b      *Builder
	tracks []*track
	rows   []index   // of each track
	n      int       // steps that all ranks logged
	picks  [][]int32 // [rank] which of its steps these are; nil: all
	whole  bool      // the logs are of the job, and name no rank
	notes  []input.Note
}

// row returns the row of a rank that has a step of all ranks.
func (j *job) row(r, i int) int {
	if j.picks != nil {
		i = int(j.picks[r][i])
	}
	return j.rows[r].row(i)
}

// step returns the number of a step of all ranks.
func (j *job) step(i int) int64 { return j.tracks[0].step(j.row(0, i)) }

// index is the rows of steps, ascending.
type index struct {
	n     int
	order []int32 // rows; nil: as they stand
}

// row returns the row of a step.
func (x *index) row(i int) int {
	if x.order == nil {
		return i
	}
	return int(x.order[i])
}

// index returns the index of a track, in which the later of two rows of a step counts, and how many others there are.
func (t *track) index() (x index, again int) {
	ascends := true
	for i := 1; i < t.n && ascends; i++ {
		ascends = t.step(i-1) < t.step(i)
	}
	if ascends {
		return index{n: t.n}, 0
	}
	order := make([]int32, t.n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(x, y int32) int { return cmp.Compare(t.step(int(x)), t.step(int(y))) })
	for _, row := range order {
		if n := x.n; n > 0 && t.step(int(order[n-1])) == t.step(int(row)) {
			order[n-1] = row
			again++
			continue
		}
		order[x.n] = row
		x.n++
	}
	x.order = order[:x.n]
	return x, again
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
	if slices.ContainsFunc(j.tracks, func(t *track) bool { return !t.smooth && t.n >= severalSteps }) {
		j.tracks = slices.DeleteFunc(j.tracks, func(t *track) bool { return t.smooth })
	}
	b.settleMicrosteps()
	for _, t := range j.tracks {
		b.sumMicrosteps(t)
		t.clean()
		t.divideSums()
		b.subtractClock(t)
	}
	j.tracks = slices.DeleteFunc(j.tracks, func(t *track) bool { return t.n == 0 })
	if ranked := slices.DeleteFunc(slices.Clone(j.tracks), func(t *track) bool { return t.rank < 0 }); len(ranked) > 0 {
		j.tracks = ranked
	}
	j.continueTracks()
	j.dropCopies()
	switch {
	case len(j.tracks) == 0:
		return nil, b.errNoSteps()
	case len(j.tracks) > 1 && j.tracks[0].rank < 0:
		return nil, errUnranked()
	}
	j.whole = j.tracks[0].rank < 0
	if err := j.unifyUnits(); err != nil {
		return nil, err
	}
	slices.SortFunc(j.tracks, func(x, y *track) int { return cmp.Compare(x.rank, y.rank) })
	if name, least, most := b.mostSpreadTimer(); name != "" && j.whole {
		j.note(input.NoteWholeSteps, "Megatron's timers tell no ranks, and times are those of the slowest: their largest spread is that of %s, %.1f to %.1f ms on average; log with --timing-log-level 2 --timing-log-option all", name, least, most)
	}
	again := 0
	for _, t := range j.tracks {
		if k := t.linesPerStep(); k > 1 {
			text := fmt.Sprintf("%s has %d lines of each step, as of %d ranks that nothing tells apart: the longest counts; print the rank in each line", t.file, k, k)
			if of, more := b.mostUnevenPart(t, k); of != "" {
				text += fmt.Sprintf(" (in most steps one of them has %.3g ms more of %s than the others)", float64(more)/1e6, of)
			}
			j.note(input.NoteRanksNumbered, "%s", text)
			t.foldLines(b)
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
	// copyTolerance is the share by which times of one step may differ between two logs of it, since logs round
	// differently.
	copyTolerance = 0.02
	// minCopiedShare is the share of the steps in which they must agree.
	minCopiedShare = 0.9
)

// dropCopies keeps one of several logs without ranks that have equal times of equal steps, as a text and its JSON have:
// the log with most parts.
func (j *job) dropCopies() {
	if len(j.tracks) < 2 || j.tracks[0].rank >= 0 {
		return
	}
	first := slices.MaxFunc(j.tracks, func(x, y *track) int {
		return cmp.Or(cmp.Compare(len(x.columns), len(y.columns)), cmp.Compare(x.n, y.n))
	})
	for _, t := range j.tracks {
		if t != first && !j.b.isCopy(first, t) {
			return
		}
	}
	j.note(input.NoteRanksNumbered, "%d logs have the same times of the same steps: %s counts", len(j.tracks), first.file)
	j.tracks = []*track{first}
}

// isCopy reports whether a track has the times of another track in most steps.
func (b *Builder) isCopy(of, t *track) bool {
	lengths := make(map[int64]int64, of.n)
	for i := range of.n {
		lengths[of.step(i)] = b.stepTime(of, of.row(i))
	}
	same := 0
	for i := range t.n {
		if x, y := float64(lengths[t.step(i)]), float64(b.stepTime(t, t.row(i))); math.Abs(x-y) <= copyTolerance*max(x, y) && y > 0 {
			same++
		}
	}
	return float64(same) >= minCopiedShare*float64(max(t.n, severalSteps))
}

// errNoSteps returns the error of logs without a step.
func (b *Builder) errNoSteps() error {
	if name, least, most := b.mostSpreadTimer(); name != "" {
		return input.Bad(input.ErrMissing, "Megatron's timers without ranks: their largest spread is that of %s, %.1f to %.1f ms on average, and who is slow is not in the log: log with --timing-log-level 2 --timing-log-option all", name, least, most)
	}
	return input.Bad(input.ErrEmpty, "no steps")
}

// settleMicrosteps takes times of microsteps for those of steps, where steps have none.
func (b *Builder) settleMicrosteps() {
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

// sumMicrosteps adds up the lines of microsteps between the numbered lines of two steps, as with gradient accumulation.
// DeepSpeed prints the last microstep of a step after the step's number, so each sum runs from one such line to the next
// and has as many microsteps as a step.
func (b *Builder) sumMicrosteps(t *track) {
	weak := func(c int32) bool { return c >= 0 && b.columns[c].weak }
	if !slices.ContainsFunc(t.columns, weak) {
		return
	}
	var numbered []int
	for i := range t.n {
		if t.step(i) >= 0 {
			numbered = append(numbered, i)
		}
		for c, v := range t.row(i) {
			if v != notTimed && !weak(t.columns[c]) {
				return // steps have times of their own
			}
		}
	}
	if n := len(numbered); n < 2 || t.step(numbered[n-1])-t.step(numbered[0]) >= int64(numbered[n-1]-numbered[0]) {
		return // a line for each step
	}
	n := 0
	for k := range numbered[:len(numbered)-1] {
		from, to := numbered[k], numbered[k+1]
		steps := t.step(to) - t.step(from)
		if steps <= 0 {
			continue
		}
		sum := slices.Repeat([]int64{notTimed}, t.width)
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
		t.number(n, t.step(to))
		copy(t.change(n), sum)
		n++
	}
	t.cut(n)
	t.counted = false
}

// drop takes the times of a column away.
func (t *track) drop(column int32) {
	at := slices.Index(t.columns, column)
	for i := range t.n {
		if at >= 0 {
			t.change(i)[at] = notTimed
		}
	}
}

// clean drops rows without a time, and counts those without a number.
func (t *track) clean() {
	n := 0
	for i := range t.n {
		if !slices.ContainsFunc(t.row(i), func(v int64) bool { return v != notTimed }) {
			continue
		}
		if t.move(n, i); t.step(n) < 0 {
			t.number(n, 1)
			if n > 0 {
				t.number(n, t.step(n-1)+1)
			}
		}
		n++
	}
	t.cut(n)
}

// divideSums makes of sums over the steps since the row before means of these; the first row, of which nothing tells how many there were, is dropped.
func (t *track) divideSums() {
	if !t.sum || t.n == 0 {
		return
	}
	n := 0
	for i := 1; i < t.n; i++ {
		steps := t.step(i) - t.step(i-1)
		if steps <= 0 {
			continue
		}
		t.move(n, i)
		for c, v := range t.row(n) {
			if v > 0 {
				t.change(n)[c] = v / steps
			}
		}
		n++
	}
	t.cut(n)
	t.sum, t.mean = false, true
}

const (
	// minClockValues is the number of growing values in a row that show a clock: independent values grow so with
	// probability 1/8!.
	minClockValues = 8
	// minClockGrowth is the least factor by which a clock grows; slower growth is of steps that take longer and longer.
	minClockGrowth = 2
)

// subtractClock replaces clock times by step times: stamps, and whole steps that only grow. A row is then the mean of
// the steps since the row before.
func (b *Builder) subtractClock(t *track) {
	b.settleWall(t)
	whole, at := int32(slices.IndexFunc(b.columns, func(c column) bool { return c.of == ofStep })), -1
	clock := int32(slices.IndexFunc(b.columns, func(c column) bool { return c.of == ofClock }))
	switch {
	case whole >= 0 && slices.Contains(t.columns, whole) && t.growsSteadily(whole, true):
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
	for i := range t.n {
		row := t.row(i)
		now, was := row[at], before
		if now == notTimed {
			continue
		}
		d := t.step(i) - step
		before, step = now, t.step(i)
		if was == notTimed || now <= was || d <= 0 {
			continue
		}
		t.change(i)[at] = (now - was) / d
		t.move(n, i)
		n++
	}
	t.cut(n)
}

// settleWall takes an ambiguous wall time for a clock where it only grows; else for the whole step, where no other is
// logged.
func (b *Builder) settleWall(t *track) {
	find := func(of string) (number int32, at int) {
		number = int32(slices.IndexFunc(b.columns, func(c column) bool { return c.of == of }))
		return number, slices.Index(t.columns, number)
	}
	wall, at := find(ofWall)
	if wall < 0 || at < 0 {
		return
	}
	as := ofStep
	if t.clocked = t.growsSteadily(wall, false); t.clocked {
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

// growsSteadily reports whether the times of a column grow, by about as much in most steps, as a clock does. With twice,
// the last time must be twice the first: without other evidence of a clock, steps that become longer look alike.
func (t *track) growsSteadily(column int32, twice bool) bool {
	var by []int64
	var last int64
	for i := range t.n {
		v := t.timeAt(i, column)
		switch {
		case i > 0 && v <= last:
			return false
		case i > 0:
			by = append(by, v-last)
		}
		last = v
	}
	if t.n < minClockValues || twice && last < minClockGrowth*t.timeAt(0, column) {
		return false
	}
	usual, alike := robust.UpperTime(by), 0
	for _, d := range by {
		if 2*d > usual && d < 2*usual {
			alike++
		}
	}
	return 2*alike > len(by)
}

// linesPerStep returns how many lines each step has, where nearly all have as many, next to each other.
func (t *track) linesPerStep() int {
	repeats := false
	for i := 1; i < t.n && !repeats; i++ {
		repeats = t.step(i) == t.step(i-1)
	}
	if !repeats {
		return 1
	}
	var counts []int
	for i := range t.n {
		if n := len(counts); i > 0 && t.step(i) == t.step(i-1) {
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

// foldLines keeps the line of each step with the largest delay.
func (t *track) foldLines(b *Builder) {
	n := 0
	for i := range t.n {
		row := t.row(i)
		if n > 0 && t.step(n-1) == t.step(i) {
			if have := t.row(n - 1); b.lateness(t, row) > b.lateness(t, have) {
				copy(t.change(n-1), row)
			}
			continue
		}
		t.move(n, i)
		n++
	}
	t.cut(n)
}

// minLineShare is the share of a step from which a difference between its lines counts.
const minLineShare = 0.05

// mostUnevenPart returns the part in which the longest line of a step exceeds the median line most, in most steps, and
// by how much, ns; "" where lines are alike. Whole steps and waits are equally long on all ranks.
func (b *Builder) mostUnevenPart(t *track, lines int) (of string, more int64) {
	var steps, lengths []int64
	for from := 0; from+lines <= t.n; from += lines {
		longest := int64(0)
		for i := range lines {
			longest = max(longest, b.stepTime(t, t.row(from+i)))
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
		for from := 0; from+lines <= t.n; from += lines {
			values := make([]int64, lines)
			for i := range values {
				values[i] = t.row(from + i)[at]
			}
			slices.Sort(values)
			steps = append(steps, values[lines-1]-values[(lines-1)/2])
		}
		slices.Sort(steps)
		if usual := steps[len(steps)/2]; usual > more && float64(usual) > minLineShare*float64(lengths[len(lengths)/2]) {
			of, more = b.columns[c].of, usual
		}
	}
	return of, more
}

// lateness returns how late a row's rank is, to choose among the lines of ranks: the wait for data, in which no rank
// waits for others, else the whole step.
func (b *Builder) lateness(t *track, row []int64) int64 {
	for i, c := range t.columns {
		if c >= 0 && b.columns[c].of == "data" && row[i] >= 0 {
			return row[i]
		}
	}
	return b.stepTime(t, row)
}

// stepTime returns how long a row's step is: as logged, else the sum of its parts.
func (b *Builder) stepTime(t *track, row []int64) (sum int64) {
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

// alignNumbers brings the steps of ranks that count from another number than most to the numbers of these, where they are the same steps.
func (j *job) alignNumbers() {
	ranks := make([]ingest.NumberedSteps, len(j.tracks))
	for r, t := range j.tracks {
		x := &j.rows[r]
		if t.rank < 0 || x.n == 0 || x.n != j.rows[0].n {
			return
		}
		ranks[r] = ingest.NumberedSteps{Rank: t.rank, First: t.step(x.row(0))}
	}
	if !slices.ContainsFunc(ranks, func(r ingest.NumberedSteps) bool { return r.First != ranks[0].First }) {
		return
	}
	for r, t := range j.tracks {
		for i := range j.rows[r].n {
			ranks[r].Lengths = append(ranks[r].Lengths, j.b.stepTime(t, t.row(j.rows[r].row(i))))
		}
	}
	excess, notes := ingest.AlignNumbers(ranks)
	for r, by := range excess {
		for i := 0; by != 0 && i < j.rows[r].n; i++ {
			row := j.rows[r].row(i)
			j.tracks[r].number(row, j.tracks[r].step(row)-by)
		}
	}
	j.notes = append(j.notes, notes...)
}

// match finds the steps that all ranks logged, and returns how many others there are.
func (j *job) match() (left int) {
	j.n = j.rows[0].n
	alike := func(r int) bool {
		x, t := &j.rows[r], j.tracks[r]
		for i := range x.n {
			if t.step(x.row(i)) != j.step(i) {
				return false
			}
		}
		return true
	}
	same := true
	for r := 1; r < len(j.rows) && same; r++ {
		same = j.rows[r].n == j.n && alike(r)
	}
	if same {
		return 0
	}
	heads, at, was, picks := &heads{}, make([]int32, len(j.rows)), make([]int32, len(j.rows)), make([][]int32, len(j.rows))
	push := func(r int) {
		if i := int(at[r]); i < j.rows[r].n {
			heap.Push(heads, head{j.tracks[r].step(j.rows[r].row(i)), r})
		}
	}
	for r := range j.rows {
		push(r)
	}
	for heads.Len() > 0 {
		step, n := (*heads)[0].step, 0
		for ; heads.Len() > 0 && (*heads)[0].step == step; n++ {
			r := heap.Pop(heads).(head).rank
			was[r] = at[r]
			at[r]++
			push(r)
		}
		if n < len(j.rows) {
			left++
			continue
		}
		for r := range picks {
			picks[r] = append(picks[r], was[r])
		}
	}
	j.picks, j.n = picks, len(picks[0])
	return left
}

// heads are the next steps of ranks, the least first.
type heads []head

type head struct {
	step int64
	rank int
}

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, k int) bool { return h[i].step < h[k].step }
func (h heads) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(head)) }
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// logInterval returns by how much the numbers of most neighbouring steps differ.
func (j *job) logInterval() int64 {
	count := map[int64]int{}
	before, by, times := j.step(0), int64(0), 0 // of the differences that follow each other
	for i := 1; i < j.n; i++ {
		step := j.step(i)
		if step-before != by {
			count[by] += times
			by, times = step-before, 0
		}
		before, times = step, times+1
	}
	count[by] += times
	delete(count, 0)
	most := int64(1)
	for _, d := range slices.Sorted(maps.Keys(count)) {
		if count[d] > count[most] {
			most = d
		}
	}
	return most
}

// minResolutionShare is the share of a step from which the resolution of its stamps is noted.
const minResolutionShare = 0.02

// noteResolution notes stamps that are not much finer than steps.
func (j *job) noteResolution(l *layout) {
	t := j.tracks[0]
	if t.resolution == 0 {
		return
	}
	all, step, R := make([]int64, 0, j.n*len(j.tracks)), []int64(nil), len(j.tracks)
	for i := range j.n {
		step = l.durations(i, step[:0])
		all = append(all, step[:R]...)
	}
	slices.Sort(all)
	if usual := all[len(all)/2]; float64(t.resolution) > minResolutionShare*float64(usual) {
		j.note(input.NoteUnits, "steps are timed by the stamps of their lines, which are of %v", time.Duration(t.resolution))
	}
}

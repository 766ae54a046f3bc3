package optrace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// field is a column of integers.
type field int

const (
	fieldDP field = iota
	fieldStage
	fieldRank
	fieldStep
	fieldSeq
	fieldChunk
	fieldGlobalChunk
	fieldMicrobatch
	fieldLane
	fieldGroup
	fieldBytes
	fields
)

var fieldNames = [fields]string{"dp_rank", "stage", "rank", "step", "seq_id", "mc", "gmc", "mb_id", "lane", "group", "bytes"}

// optional fields may be absent, and their values may be null.
func (f field) optional() bool {
	return f == fieldRank || f == fieldChunk || f == fieldGlobalChunk || f == fieldMicrobatch || f >= fieldLane
}

// The columns of times.
const (
	startColumn    = "start_ts"
	durationColumn = "duration"
)

// word is a column of text. All but the name only the traces of profilers have.
type word int

const (
	wordName word = iota
	wordLaunchedBy
	wordKernel
	wordCollective
	words
)

var wordNames = [words]string{"optype", "launched_by", "kernel", "collective"}

// HasLaunches reports whether a table with these columns says what launched its
// operators, as the traces of profilers do.
func HasLaunches(columns []string) bool {
	for _, name := range slices.Concat(wordNames[wordLaunchedBy:], fieldNames[fieldLane:]) {
		if !slices.Contains(columns, name) {
			return false
		}
	}
	return true
}

// layout is where the columns of a trace stand among those of an input, −1 for
// those that it has not.
type layout struct {
	ints       [fields]int
	words      [words]int
	start, dur int
}

// newLayout finds the columns by their names. Those of profilers' traces count
// where all are there.
func newLayout(names []string) (l layout, err error) {
	find := func(name string, optional bool) int {
		at := slices.Index(names, name)
		switch {
		case at < 0 && !optional:
			err = cmp.Or(err, input.Bad(input.ErrMissing, "no column %q, which an operator trace has: expected a header of its columns, found %.200q",
				name, strings.Join(names[:min(len(names), 12)], ", ")))
		case at >= 0 && slices.Contains(names[at+1:], name):
			err = cmp.Or(err, input.Bad(input.ErrDuplicate, "column %q is there twice", name))
		}
		return at
	}
	launched := HasLaunches(names)
	for w, name := range wordNames {
		if l.words[w] = -1; word(w) == wordName || launched {
			l.words[w] = find(name, false)
		}
	}
	l.start, l.dur = find(startColumn, false), find(durationColumn, false)
	for f, name := range fieldNames {
		if l.ints[f] = -1; field(f) < fieldLane || launched {
			l.ints[f] = find(name, field(f).optional())
		}
	}
	return l, err
}

// dictionary is a column of text.
type dictionary struct {
	texts []string
	at    []int32 // by row, position in texts
}

// table is what both formats become before it is a trace.
type table struct {
	ints  [fields][]int64 // nil when absent
	words [words]dictionary
	start []int64 // nanoseconds
	dur   []int64
	unit  unit
	where func(row int) input.Pos
}

// opTrace makes the trace of a table, arranged and joined.
func (t *table) opTrace(m *Meta) (*operator.Trace, error) {
	names := &t.words[wordName]
	names.dropUnused()
	o := &operator.Trace{Names: names.texts, Name: names.at, Start: t.start, Dur: t.dur, Units: t.unit.String(), Resolution: t.unit.resolution}
	if err := t.roles(o); err != nil {
		return nil, err
	}
	t.steps(o)
	for f, column := range map[field]*[]int32{fieldSeq: &o.Seq, fieldChunk: &o.Chunk, fieldGlobalChunk: &o.GlobalChunk, fieldMicrobatch: &o.Microbatch} {
		var err error
		if *column, err = t.narrow(f); err != nil {
			return nil, err
		}
	}
	if t.words[wordKernel].at != nil {
		if err := t.launches(o); err != nil {
			return nil, err
		}
	} else {
		t.classLanes(o)
	}
	if err := o.Arrange(t.where); err != nil {
		return nil, input.At(t.where(-1), err)
	}
	o.StepClock = o.Launch == nil && zeroBased(o)
	if err := m.apply(o); err != nil {
		return nil, err
	}
	if o.Launch == nil {
		join(o)
	}
	return o, nil
}

// classLanes sets the lanes that follow from names; groups follow later.
func (t *table) classLanes(o *operator.Trace) {
	n := len(t.start)
	o.Lane, o.Group = make([]int32, n), slices.Repeat([]int32{-1}, n)
	lanes := make([]int32, len(o.Names))
	for i, name := range o.Names {
		lanes[i] = operator.ParseClass(name).Lane()
	}
	for row, name := range o.Name {
		o.Lane[row] = lanes[name]
	}
}

// launches sets what only the traces of profilers have.
func (t *table) launches(o *operator.Trace) (err error) {
	if o.Lane, err = t.narrow(fieldLane); err != nil {
		return err
	}
	if o.Group, err = t.narrow(fieldGroup); err != nil {
		return err
	}
	if row := slices.IndexFunc(o.Group, func(g int32) bool { return int(g) >= len(t.start) }); row >= 0 {
		return input.At(t.where(row), input.Bad(input.ErrTooLarge, "group %d, expected less than the %d rows", o.Group[row], len(t.start)))
	}
	type key struct {
		words [words]int32
		bytes int64
	}
	known := make(map[key]int32)
	o.Launch = make([]int32, len(t.start))
	for row := range o.Launch {
		k := key{bytes: t.ints[fieldBytes][row]}
		for w := wordLaunchedBy; w < words; w++ {
			k.words[w] = t.words[w].at[row]
		}
		at, ok := known[k]
		if !ok {
			at = int32(len(o.Launches))
			known[k] = at
			o.Launches = append(o.Launches, operator.Launch{Stage: t.words[wordLaunchedBy].texts[k.words[wordLaunchedBy]],
				Name: t.words[wordKernel].texts[k.words[wordKernel]], Collective: t.words[wordCollective].texts[k.words[wordCollective]], Bytes: k.bytes})
		}
		o.Launch[row] = at
	}
	return nil
}

// dropUnused drops names that no row has, such as unused categories.
func (d *dictionary) dropUnused() {
	used := make([]bool, len(d.texts))
	for _, at := range d.at {
		used[at] = true
	}
	if !slices.Contains(used, false) {
		return
	}
	to := make([]int32, len(d.texts))
	var kept []string
	for i, text := range d.texts {
		if used[i] {
			to[i] = int32(len(kept))
			kept = append(kept, text)
		}
	}
	d.texts = kept
	for row, at := range d.at {
		d.at[row] = to[at]
	}
}

// join joins operators into groups where the schedule is understood.
func join(o *operator.Trace) {
	g, err := o.Grid()
	if err == nil {
		var w *operator.Wiring
		if w, err = o.Wire(g); err == nil {
			o.Join(g, w)
			o.Notes = append(o.Notes, g.Notes...)
			return
		}
	}
	o.Notes = append(o.Notes, input.Note{Kind: input.NoteUnjoined, Text: "communication could not be joined into groups: " + err.Error()})
}

// narrow returns a column as int32, −1 throughout when it is absent.
func (t *table) narrow(f field) ([]int32, error) {
	if t.ints[f] == nil {
		return slices.Repeat([]int32{-1}, len(t.start)), nil
	}
	out := make([]int32, len(t.start))
	for row, v := range t.ints[f] {
		if out[row] = int32(v); int64(out[row]) != v {
			return nil, input.At(t.where(row), input.Bad(input.ErrOverflow, "%s is %d, expected at most %d", fieldNames[f], v, math.MaxInt32))
		}
	}
	return out, nil
}

// roles makes the ranks, with their roles, and the rank of every row.
func (t *table) roles(o *operator.Trace) error {
	dp, stage, rank := t.ints[fieldDP], t.ints[fieldStage], t.ints[fieldRank]
	highest, stages := int64(-1), int64(0)
	for row, d := range dp {
		if s := stage[row]; d < 0 || s < 0 || d >= trace.MaxRanks || s >= trace.MaxRanks {
			return input.At(t.where(row), input.Bad(input.ErrTooLarge, "dp_rank %d, stage %d, expected 0 to %d", d, s, trace.MaxRanks-1))
		}
		stages = max(stages, stage[row]+1)
	}
	if rank == nil {
		rank = make([]int64, len(dp))
		for row, d := range dp {
			rank[row] = d*stages + stage[row]
		}
	}
	for row, r := range rank {
		if r < 0 || r >= trace.MaxRanks {
			return input.At(t.where(row), input.Bad(input.ErrTooLarge, "rank %d, expected 0 to %d", r, trace.MaxRanks-1))
		}
		highest = max(highest, r)
	}
	first := slices.Repeat([]int32{-1}, int(highest)+1) // row, by rank
	for row, r := range rank {
		at := first[r]
		if at < 0 {
			first[r] = int32(row)
		} else if dp[at] != dp[row] || stage[at] != stage[row] {
			return input.At(t.where(row), input.Bad(input.ErrFormat, "rank %d is dp_rank %d, stage %d here, and dp_rank %d, stage %d at %s",
				r, dp[row], stage[row], dp[at], stage[at], t.where(int(at))))
		}
	}
	position := make([]int32, len(first))
	for r, at := range first {
		if at < 0 {
			continue
		}
		role, err := trace.NewRole(trace.Coord{Axis: trace.DataParallel, Index: int(dp[at])},
			trace.Coord{Axis: trace.PipelineParallel, Index: int(stage[at])})
		if err != nil {
			return input.At(t.where(int(at)), err)
		}
		position[r] = int32(len(o.Ranks))
		o.Ranks = append(o.Ranks, trace.Rank{ID: r, LocalRank: -1, Role: role})
	}
	o.Rank = make([]int32, len(rank))
	for row, r := range rank {
		o.Rank[row] = position[r]
	}
	return nil
}

// steps makes the list of steps and the step of every row.
func (t *table) steps(o *operator.Trace) {
	seen := make(map[int64]int32)
	column := t.ints[fieldStep]
	for row, s := range column {
		if row > 0 && s == column[row-1] {
			continue
		}
		if _, ok := seen[s]; !ok {
			seen[s] = 0
			o.Steps = append(o.Steps, s)
		}
	}
	slices.Sort(o.Steps)
	for i, s := range o.Steps {
		seen[s] = int32(i)
	}
	o.Step = make([]int32, len(column))
	for row, s := range column {
		if row > 0 && s == column[row-1] {
			o.Step[row] = o.Step[row-1]
		} else {
			o.Step[row] = seen[s]
		}
	}
}

// zeroBased reports whether every step starts at zero.
func zeroBased(o *operator.Trace) bool {
	least := slices.Repeat([]int64{math.MaxInt64}, len(o.Steps))
	for row, s := range o.Step {
		least[s] = min(least[s], o.Start[row])
	}
	return !slices.ContainsFunc(least, func(v int64) bool { return v != 0 })
}

// unit is how an input wrote times.
type unit struct {
	seconds    bool
	how        string // the type or form of the numbers
	resolution int64
}

func (u unit) String() string {
	name := "nanoseconds"
	if u.seconds {
		name = "seconds"
	}
	return fmt.Sprintf("%s (%s, good to %s ns)", name, u.how, strconv.FormatInt(u.resolution, 10))
}

// tooLong is a duration, in seconds, that no operator has: times that exceed
// it are in another unit.
const tooLong = 1e5

func errUnits(longest float64) error {
	return input.Bad(input.ErrOverflow, "the longest operator would last %.6g s: times are read as seconds where they are fractions and as nanoseconds where they are integers, convert start_ts and duration to one of these", longest)
}

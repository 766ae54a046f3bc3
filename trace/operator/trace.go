// Package operator holds the operators that ranks ran, as profilers and recorders
// of pipelines time them: one by one as columns ([Trace]), or summed by the stage
// that launched them ([Totals]).
//
// A trace is arranged first ([Trace.Arrange]); [Trace.Grid] finds the program that
// the steps share, [Trace.Wire] which sends and receives belong together, and
// [Trace.Join] who communicates with whom.
package operator

import (
	"cmp"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"math"
	"slices"
)

// Trace is the timed operator instances of one run, as columns of equal
// length with one entry per instance. [Trace.Arrange] checks what is in them and
// sorts them by rank, step and start; every reader calls it.
type Trace struct {
	Run    string
	Layout Layout
	Ranks  []trace.Rank // ascending by ID; where known, roles carry dp and pp
	Steps  []int64      // step indices, ascending
	Names  []string     // distinct operator names

	Rank  []int32 // position in Ranks
	Step  []int32 // position in Steps
	Name  []int32 // position in Names
	Lane  []int32 // serial queue of the rank that the instance ran on
	Seq   []int32 // ordinal of the name in its step on its rank
	Start []int64 // nanoseconds since the clock's zero
	Dur   []int64 // nanoseconds

	Chunk       []int32 // model chunk within the pipeline stage, −1 where meaningless
	GlobalChunk []int32 // depth of that chunk in the whole model, or −1
	Microbatch  []int32 // or −1
	Group       []int32 // instances that communicate together share a number; −1: none known

	// What profilers tell beside the times: distinct launches, and the position
	// in Launches of each instance. Both are nil where the source does not tell.
	Launches []Launch
	Launch   []int32
	Declared []trace.Role // by rank, as the job declares them, where that is more than dp and pp; or nil

	Serial     bool         // every rank runs one operator after another, in the order of the rows, and waits only inside its groups
	StepClock  bool         // Start counts from the start of the step, not from one zero
	Resolution int64        // nanoseconds that the source's numbers can tell apart, at worst
	Units      string       // how the source wrote times, for people
	Notes      []input.Note // what is incomplete
}

// Layout is how a job divides its work: the sizes of its parallel axes. A size
// of zero is unknown.
type Layout struct {
	DP    int `json:"dp"`         // replicas on different data
	PP    int `json:"pp"`         // pipeline stages
	TP    int `json:"tp"`         // ranks that share one operator
	DSP   int `json:"dsp"`        // ranks that share one sequence
	VPP   int `json:"vpp"`        // model chunks in a pipeline stage
	World int `json:"world_size"` // ranks
}

// MaxTotal bounds the sum of all durations of an operator trace, in
// nanoseconds (36 years): low enough that replays, which add recorded and
// replaced durations, cannot overflow int64.
const MaxTotal = trace.MaxTotal / 4

// MaxOps is the largest number of operators in one trace.
const MaxOps = math.MaxInt32 / 4

// maxChunks bounds the numbers of model chunks, so that none overflows when it
// is multiplied by the stages.
const maxChunks = 1 << 20

// RunName implements [trace.Recording].
func (t *Trace) RunName() string { return t.Run }

// Len returns the number of operator instances.
func (t *Trace) Len() int { return len(t.Start) }

// Coordinates returns the dp and pp coordinates of every entry of Ranks, −1 where the role does not have them.
func (t *Trace) Coordinates() (dp, pp []int) {
	dp, pp = make([]int, len(t.Ranks)), make([]int, len(t.Ranks))
	for i, r := range t.Ranks {
		dp[i], pp[i] = coordinate(r.Role, trace.DataParallel), coordinate(r.Role, trace.PipelineParallel)
	}
	return dp, pp
}

func coordinate(r trace.Role, axis string) int {
	if c, ok := r.Coord(axis); ok {
		return c
	}
	return -1
}

// Arrange sorts the instances by rank, step and start (then name and sequence
// number), and refuses what an input may have: negative times, times that
// overflow, and an instance (rank, step, name, sequence number) that is there
// twice. where places a row, counted as the columns were before the call, in
// the input; nil numbers it.
//
// O(n) and a sort within each (rank, step).
func (t *Trace) Arrange(where func(row int) input.Pos) error {
	if err := t.checkTables(); err != nil {
		return err
	}
	if where == nil {
		where = func(row int) input.Pos { return input.Pos{Line: int64(row) + 1} }
	}
	if row, err := t.checkRows(); err != nil {
		return input.At(where(row), err)
	}
	order := t.rowsByRankAndStep()
	for from := 0; from < len(order); {
		to := t.runEnd(order, from)
		run := order[from:to]
		if a, b, twice := t.twins(run); twice {
			return input.At(where(b), input.Bad(input.ErrDuplicate, "%s %d of rank %d in step %d is there twice, first at %s",
				t.Names[t.Name[b]], t.Seq[b], t.Ranks[t.Rank[b]].ID, t.Steps[t.Step[b]], where(a)))
		}
		t.sortByStart(run)
		from = to
	}
	t.permute(order)
	return nil
}

// checkTables checks what is not about a single row.
func (t *Trace) checkTables() error {
	n := len(t.Start)
	if n == 0 {
		return input.Bad(input.ErrEmpty, "no operators")
	}
	if n > MaxOps {
		return input.Bad(input.ErrTooLarge, "%d operators, at most %d are read", n, MaxOps)
	}
	for i, r := range t.Ranks {
		if r.ID < 0 || r.ID >= trace.MaxRanks || i > 0 && r.ID <= t.Ranks[i-1].ID {
			return input.Bad(input.ErrFormat, "rank %d at position %d: ranks must ascend from 0 to %d", r.ID, i, trace.MaxRanks-1)
		}
	}
	for i, s := range t.Steps {
		if s < 0 || i > 0 && s <= t.Steps[i-1] {
			return input.Bad(input.ErrFormat, "step %d at position %d: steps must ascend from 0", s, i)
		}
	}
	return nil
}

// small lists the columns of int32 that the trace has.
func (t *Trace) small() []*[]int32 {
	all := []*[]int32{&t.Rank, &t.Step, &t.Name, &t.Lane, &t.Seq, &t.Chunk, &t.GlobalChunk, &t.Microbatch, &t.Group}
	if t.Launch != nil {
		all = append(all, &t.Launch)
	}
	return all
}

// checkRows returns the first row that is invalid by itself.
func (t *Trace) checkRows() (row int, err error) {
	var total int64
	for i, d := range t.Dur {
		switch start := t.Start[i]; {
		case t.Seq[i] < 0 || t.Lane[i] < 0:
			return i, input.Bad(input.ErrNegative, "sequence number %d, lane %d, expected 0 or more", t.Seq[i], t.Lane[i])
		case d < 0:
			return i, input.Bad(input.ErrNegative, "%s lasts %d ns", t.Names[t.Name[i]], d)
		case start < 0:
			return i, input.Bad(input.ErrNegative, "%s starts %d ns before the clock's zero: shift all times of the trace", t.Names[t.Name[i]], -start)
		case start > trace.MaxTotal || d > MaxTotal || total > MaxTotal-d:
			return i, input.Bad(input.ErrOverflow, "%s starts at %d ns and lasts %d ns, which takes the trace past %d ns of operators: are the units right?",
				t.Names[t.Name[i]], start, d, int64(MaxTotal))
		case max(t.Chunk[i], t.GlobalChunk[i]) >= maxChunks:
			return i, input.Bad(input.ErrTooLarge, "chunk %d, global chunk %d, at most %d are read", t.Chunk[i], t.GlobalChunk[i], maxChunks-1)
		case t.Chunk[i] < -1 || t.GlobalChunk[i] < -1 || t.Microbatch[i] < -1 || t.Group[i] < -1:
			return i, input.Bad(input.ErrNegative, "chunk %d, global chunk %d, microbatch %d, group %d, expected −1 for none",
				t.Chunk[i], t.GlobalChunk[i], t.Microbatch[i], t.Group[i])
		}
		total += d
	}
	return 0, nil
}

// rowsByRankAndStep returns the rows in order of rank, then step, else as they are: two
// passes of counting sort.
func (t *Trace) rowsByRankAndStep() []int32 {
	order := make([]int32, t.Len())
	for i := range order {
		order[i] = int32(i)
	}
	return countingSort(countingSort(order, t.Step, len(t.Steps)), t.Rank, len(t.Ranks))
}

// countingSort sorts rows by key, stably; keys are below n.
func countingSort(rows, key []int32, n int) []int32 {
	next := make([]int32, n+1)
	for _, k := range key {
		next[k+1]++
	}
	for k := range n {
		next[k+1] += next[k]
	}
	sorted := make([]int32, len(rows))
	for _, row := range rows {
		k := key[row]
		sorted[next[k]] = row
		next[k]++
	}
	return sorted
}

// runEnd returns the end of the rows with the rank and step of order[from].
func (t *Trace) runEnd(order []int32, from int) int {
	to, first := from+1, order[from]
	for to < len(order) && t.Rank[order[to]] == t.Rank[first] && t.Step[order[to]] == t.Step[first] {
		to++
	}
	return to
}

// twins finds two rows of one instance among the rows of a rank and step, in
// the order of the input. Sources mostly write names one after the other with
// ascending numbers, and then one look at the neighbours is enough.
func (t *Trace) twins(run []int32) (a, b int, twice bool) {
	key := func(row int32) uint64 { return uint64(t.Name[row])<<32 | uint64(t.Seq[row]) }
	ascending := true
	for i := 1; i < len(run) && ascending; i++ {
		ascending = key(run[i-1]) < key(run[i])
	}
	if ascending {
		return 0, 0, false
	}
	sorted := slices.Clone(run)
	slices.SortFunc(sorted, func(x, y int32) int {
		return cmp.Or(cmp.Compare(key(x), key(y)), cmp.Compare(x, y))
	})
	for i := 1; i < len(sorted); i++ {
		if key(sorted[i-1]) == key(sorted[i]) {
			return int(sorted[i-1]), int(sorted[i]), true
		}
	}
	return 0, 0, false
}

// sortByStart sorts the rows of a rank and step. Each name's rows are mostly in
// order already, so an insertion sort would do badly and pdqsort does well.
func (t *Trace) sortByStart(run []int32) {
	slices.SortFunc(run, func(x, y int32) int {
		if a, b := t.Start[x], t.Start[y]; a != b {
			if a < b {
				return -1
			}
			return 1
		}
		if t.Serial {
			return cmp.Compare(x, y)
		}
		return cmp.Or(cmp.Compare(t.Names[t.Name[x]], t.Names[t.Name[y]]), cmp.Compare(t.Seq[x], t.Seq[y]))
	})
}

// permute puts all columns in the given order.
func (t *Trace) permute(order []int32) {
	if !slices.IsSorted(order) {
		t.keep(order)
	}
}

// keep takes some rows of all columns, in an order, into new memory: others may
// hold the old.
func (t *Trace) keep(rows []int32) {
	for _, c := range t.small() {
		*c = gather(*c, rows)
	}
	t.Start, t.Dur = gather(t.Start, rows), gather(t.Dur, rows)
}

func gather[T any](column []T, order []int32) []T {
	out := make([]T, len(order))
	for i, row := range order {
		out[i] = column[row]
	}
	return out
}

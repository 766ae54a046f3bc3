package comm

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Era is when in a job's life a call was made.
type Era uint8

const (
	EraUnknown     Era = iota // no marks, and no repetition that tells
	Initialisation            // before the first step
	InStep
	Between  // steps that are marked: evaluation, checkpoints
	Shutdown // after the last step
)

var eraNames = [...]string{"unknown", "initialisation", "step", "between steps", "shutdown"}

func (e Era) String() string { return enum.Name(eraNames[:], e) }

// Names returns the names of all values.
func (Era) Names() []string { return eraNames[:] }

// Place is where in the job a call is.
type Place struct {
	Era  Era // when in the job it was
	Step int // number of the step, from 0; negative outside of steps; of its rank's steps
}

// StepSource says what tells steps.
type StepSource uint8

const (
	NoSteps      StepSource = iota
	ByMarks                 // ranges that the program marks as steps
	ByRepetition            // calls that repeat themselves, as those of equal steps do
)

var stepSourceNames = [...]string{"none", "marks", "repetition"}

func (s StepSource) String() string { return enum.Name(stepSourceNames[:], s) }

// Names returns the names of all values.
func (StepSource) Names() []string { return stepSourceNames[:] }

// Steps is the steps of a job: those that the program marks, else the repetition of calls.
type Steps struct {
	Source StepSource  // of the first rank that has any
	Places []Place     // of each of Calls
	Names  []string    // of each step, as marked; its number from 1 where it has no mark
	Whole  []bool      // whether every rank with steps has it
	Totals []StepTotal // initialisation first if there is any, each step, between, shutdown
}

// StepsOf places every call in its step and adds each step up. A call is where the host made it: by the stamp of its launch or range, else by when its kernel
// began; calls without either are where those before them are. Ranks that mark no steps are parted by repetition.
func StepsOf(r *Result) *Steps {
	s := &Steps{Places: make([]Place, len(r.Calls))}
	for i := range s.Places {
		s.Places[i].Step = -1
	}
	at := callTimes(r)
	steps, ranks := map[int]int{}, 0
	for i := range r.Ranks {
		if marks := r.ProfiledProcess(i).Steps; len(marks) > 0 {
			s.Source, ranks = ByMarks, ranks+1
			for k := range s.placeByMarks(r.Ranks[i].Calls, marks, at) {
				steps[k]++
			}
		}
	}
	if s.Source == NoSteps {
		if n := s.placeByRepetition(r); n > 0 {
			s.Source = ByRepetition
			for k := range n {
				steps[k] = ranks
			}
		}
	}
	for k := range len(steps) {
		s.Whole = append(s.Whole, steps[k] == ranks)
	}
	s.name(r)
	s.total(r)
	return s
}

// callTimes returns when the host made each call, as far as known, on the clock of its rank's profiler.
func callTimes(r *Result) map[int]int64 {
	at := make(map[int]int64, len(r.Matches))
	for _, m := range r.Matches {
		k := &r.Kernels(m.Rank)[m.Kernel]
		if at[m.Call] = k.Start; k.HasLaunch {
			at[m.Call] = k.Launch
		}
	}
	return at
}

// placeByMarks places the calls of a rank by its marked steps, and returns how many there are.
func (s *Steps) placeByMarks(calls []int, marks []comms.Span, at map[int]int64) int {
	marks = dropOverlaps(marks)
	first, end := recordedCalls(calls, at)
	last := outside
	for i, c := range calls {
		switch t, known := at[c]; {
		case i < first || i >= end:
			last = outside
		case known:
			last = placeAt(marks, t)
		}
		s.Places[c] = last
	}
	return len(marks)
}

// outside is the place of calls that the recording of times does not reach.
var outside = Place{Era: EraUnknown, Step: -1}

// fewUntimed is how many calls without a kernel, such as those on communicators of one rank, may stand before the first with one.
const fewUntimed = 16

// recordedCalls returns the part of the calls of a rank that its recording of times reaches, end exclusive.
func recordedCalls(calls []int, at map[int]int64) (first, end int) {
	first, end = len(calls), 0
	for i, c := range calls {
		if _, known := at[c]; known {
			first, end = min(first, i), i+1
		}
	}
	if first <= fewUntimed {
		first = 0
	}
	if len(calls)-end <= fewUntimed {
		end = len(calls)
	}
	return first, end
}

// placeAt returns where a time is among marks.
func placeAt(marks []comms.Span, t int64) Place {
	switch n := sort.Search(len(marks), func(k int) bool { return marks[k].Start > t }) - 1; {
	case n < 0:
		return Place{Era: Initialisation, Step: -1}
	case t <= marks[n].End:
		return Place{Era: InStep, Step: n}
	case n == len(marks)-1:
		return Place{Era: Shutdown, Step: -1}
	}
	return Place{Era: Between, Step: -1}
}

// dropOverlaps returns marks by start, of those that overlap, as where several threads mark a step, the longest of the first.
func dropOverlaps(marks []comms.Span) []comms.Span {
	marks = slices.Clone(marks)
	slices.SortFunc(marks, func(a, b comms.Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	return slices.CompactFunc(marks, func(a, b comms.Span) bool { return a.Start < b.End && b.Start < a.End })
}

// likeness is what calls of equal steps have in common.
type likeness struct {
	op    nccl.Op
	group int
	bytes int64
	peer  int
}

func likenessOf(r *Result, call int) likeness {
	x := &r.Calls[call]
	return likeness{x.Op, x.Group, x.Bytes, x.Peer}
}

// placeByRepetition places the calls by where those of each rank repeat themselves, and returns how many steps there are: 0 where ranks do not
// agree on that, or the repetition may be one inside of steps.
func (s *Steps) placeByRepetition(r *Result) int {
	steps := 0
	all := make([]repetitionSpan, len(r.Ranks))
	for i := range r.Ranks {
		calls := r.Ranks[i].Calls
		if len(calls) == 0 {
			continue
		}
		all[i] = repetition(numberAlike(r, calls))
		if n := all[i].times; n == 0 || steps != 0 && n != steps || !areSteps(r, calls, all[i]) {
			return 0
		}
		steps = all[i].times
	}
	for i := range r.Ranks {
		x := all[i]
		for k, c := range r.Ranks[i].Calls {
			switch {
			case k < x.from:
				s.Places[c] = Place{Era: Initialisation, Step: -1}
			case k < x.end():
				s.Places[c] = Place{Era: InStep, Step: (k - x.from) / x.period}
			default:
				s.Places[c] = Place{Era: Shutdown, Step: -1}
			}
		}
	}
	return steps
}

// numberAlike numbers calls: those that equal steps have in common have one number.
func numberAlike(r *Result, calls []int) []int {
	numbers, kinds := make([]int, len(calls)), ordered.Numbers[likeness]{}
	for i, c := range calls {
		numbers[i], _ = kinds.Of(likenessOf(r, c))
	}
	return numbers
}

// repetitionSpan is the part of a sequence that repeats itself: where it begins, its period and how often it comes.
type repetitionSpan struct{ from, period, times int }

func (x repetitionSpan) end() int { return x.from + x.times*x.period }

// mostlySteps is the part of a rank's calls that its steps have at least.
const mostlySteps = 0.8

// areSteps reports whether what repeats itself are steps: most calls are in it, and no large one comes only after it. Layers and microbatches
// repeat themselves too, and gradients are reduced after the last of them.
func areSteps(r *Result, calls []int, x repetitionSpan) bool {
	if float64(x.end()-x.from) < mostlySteps*float64(len(calls)) {
		return false
	}
	inside := map[likeness]bool{}
	for _, c := range calls[x.from:x.end()] {
		inside[likenessOf(r, c)] = true
	}
	for _, c := range calls[x.end():] {
		if r.Calls[c].Bytes >= parallel.LargeBytes && !inside[likenessOf(r, c)] {
			return false
		}
	}
	return true
}

const (
	rareKinds   = 12 // kinds of calls whose distances are tried, the rarest first
	mostTimes   = 64 // that such a kind comes in a step
	leastRepeat = 3
)

// repetition finds the longest part of a sequence that repeats itself at least three times. StepsOf periods that explain nearly as much the shortest wins. O(length) for each of some dozen periods.
func repetition(list []int) repetitionSpan {
	type found struct{ from, period, length int }
	var all []found
	longest := 0
	for _, p := range distances(list) {
		run, best := 0, found{period: p}
		for i := p; i <= len(list); i++ {
			if i < len(list) && list[i] == list[i-p] {
				run++
				continue
			}
			if run > best.length {
				best.from, best.length = i-run-p, run
			}
			run = 0
		}
		if best.length += p; best.length >= leastRepeat*p {
			all = append(all, best)
			longest = max(longest, best.length)
		}
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.period, b.period) })
	for _, f := range all {
		if 10*f.length >= 9*longest {
			return repetitionSpan{f.from, f.period, f.length / f.period}
		}
	}
	return repetitionSpan{}
}

// distances returns the distances between one occurrence and the next of the rarest kinds that come three times or more, each kind's most frequent one.
func distances(list []int) (out []int) {
	where := map[int][]int{}
	for i, k := range list {
		where[k] = append(where[k], i)
	}
	var kinds []int
	for k, at := range where {
		if len(at) >= leastRepeat {
			kinds = append(kinds, k)
		}
	}
	slices.SortFunc(kinds, func(a, b int) int { return cmp.Or(cmp.Compare(len(where[a]), len(where[b])), cmp.Compare(a, b)) })
	for _, k := range kinds[:min(len(kinds), rareKinds)] {
		at, count := where[k], map[int]int{}
		for i := 1; i < len(at); i++ {
			count[at[i]-at[i-1]]++
		}
		best := 0
		for d, n := range count {
			if n > count[best] || n == count[best] && d > best {
				best = d
			}
		}
		for i := 2; i < min(len(at)/2, mostTimes); i++ { // a kind that comes several times a step
			if d := at[len(at)/2+i] - at[len(at)/2]; d <= len(list)/leastRepeat {
				out = append(out, d)
			}
		}
		out = append(out, best)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// name takes the names of steps from the first rank that marks most.
func (s *Steps) name(r *Result) {
	var marks []comms.Span
	for i := range r.Ranks {
		if m := r.ProfiledProcess(i).Steps; len(m) > len(marks) {
			marks = m
		}
	}
	marks = dropOverlaps(marks)
	s.Names = make([]string, len(s.Whole))
	for i := range s.Names {
		if s.Names[i] = stepLabel(i); i < len(marks) {
			s.Names[i] = marks[i].Name
		}
	}
}

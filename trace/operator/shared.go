package operator

import (
	"cmp"
	"fmt"
	"github.com/sfstat/sfstat/trace/input"
	"maps"
	"slices"
	"strings"
)

// HasSchedule reports whether it is known what operators wait for: from the
// schedule of a pipeline, or as they follow one another. What profilers record
// does not tell: kernels and collectives.
func (t *Trace) HasSchedule() bool {
	return t.Serial || slices.ContainsFunc(t.Names, func(name string) bool { return ParseClass(name) != Other })
}

// odd is the part of the names that a step must launch in another number than
// usual to be a step of another kind, which is left to the grid to leave out.
const odd = 0.1

// DropUneven leaves out the operators of a pipeline stage that some rank or some
// step launches in another number than the others, with a note: which instance
// belongs to which cannot be told by the order of the name. Steps that differ
// in many names do not count. A trace that has none is returned as it is. O(n).
func (t *Trace) DropUneven() *Trace {
	counts := t.countLaunches()
	uneven := counts.unevenNames()
	if len(uneven) == 0 {
		return t
	}
	out := *t
	out.keepRows(func(row int) bool {
		_, left := uneven[counts.launchOf(row)]
		return !left
	})
	out.Notes = append(slices.Clone(t.Notes), input.Note{Kind: input.NoteUnjoined, Text: counts.tell(uneven)})
	return &out
}

// launch is an operator name on a pipeline stage.
type launch struct{ stage, name int32 }

// launches counts how often names are launched in each step on each rank.
type launches struct {
	t     *Trace
	stage []int32 // by rank
	count map[launch][]int32
}

func (t *Trace) countLaunches() *launches {
	_, pp := t.Coordinates()
	l := &launches{t: t, stage: make([]int32, len(pp)), count: make(map[launch][]int32)}
	for r, s := range pp {
		l.stage[r] = int32(s)
	}
	for row := range t.Start {
		k := l.launchOf(row)
		if l.count[k] == nil {
			l.count[k] = make([]int32, len(t.Steps)*len(t.Ranks))
		}
		l.count[k][int(t.Step[row])*len(t.Ranks)+int(t.Rank[row])]++
	}
	return l
}

func (l *launches) launchOf(row int) launch { return launch{l.stage[l.t.Rank[row]], l.t.Name[row]} }

// usual returns the most frequent count over the ranks of the stage and all steps.
func (l *launches) usual(k launch) int32 {
	var all []int32
	for at, n := range l.count[k] {
		if l.stage[at%len(l.stage)] == k.stage {
			all = append(all, n)
		}
	}
	return mostFrequent(all)
}

// unevenNames returns the names that differ from their usual count in a step that is not
// odd, each with the place where, the first one.
func (l *launches) unevenNames() map[launch]int {
	keys := slices.SortedFunc(maps.Keys(l.count), func(a, b launch) int { return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.name, b.name)) })
	differs := make([]int, len(l.t.Steps)) // names, by step
	first := make([]map[launch]int, len(l.t.Steps))
	for _, k := range keys {
		usual := l.usual(k)
		for at, n := range l.count[k] {
			step := at / len(l.stage)
			if l.stage[at%len(l.stage)] != k.stage || n == usual {
				continue
			}
			if first[step] == nil {
				first[step] = make(map[launch]int)
			}
			if _, have := first[step][k]; !have {
				first[step][k] = at
				differs[step]++
			}
		}
	}
	out := make(map[launch]int)
	for step, names := range first {
		if float64(differs[step]) > max(1, odd*float64(len(keys))) && 2*l.odd(differs) < len(differs) {
			continue
		}
		for k, at := range names {
			if have, ok := out[k]; !ok || at < have {
				out[k] = at
			}
		}
	}
	return out
}

// odd returns in how many steps many names differ.
func (l *launches) odd(differs []int) int {
	n := 0
	for _, d := range differs {
		if float64(d) > max(1, odd*float64(len(l.count))) {
			n++
		}
	}
	return n
}

// tell returns a note on the launches left out, with a few examples.
func (l *launches) tell(uneven map[launch]int) string {
	var words []string
	keys := slices.SortedFunc(maps.Keys(uneven), func(a, b launch) int { return cmp.Or(cmp.Compare(uneven[a], uneven[b]), cmp.Compare(a.name, b.name)) })
	for _, k := range keys[:min(3, len(keys))] {
		at := uneven[k]
		words = append(words, fmt.Sprintf("%s (rank %d, step %d: %d, mostly %d)", l.t.Names[k.name], l.t.Ranks[at%len(l.stage)].ID,
			l.t.Steps[at/len(l.stage)], l.count[k][at], l.usual(k)))
	}
	if len(keys) > 3 {
		words = append(words, fmt.Sprintf("and %d more", len(keys)-3))
	}
	return fmt.Sprintf("left out, since some rank or step launches them in another number, so that single launches do not match: %d of %d operator names: %s",
		len(keys), len(l.count), strings.Join(words, "; "))
}

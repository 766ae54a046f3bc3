package profiler

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// isDispatch reports whether an operator of this name hands a collective to its
// process group: "c10d::allreduce_".
func isDispatch(name string) bool {
	return (strings.HasPrefix(name, "c10d::") || strings.HasPrefix(name, "_c10d_functional::")) && nccl.OpIn(name) != nccl.UnknownOp
}

// IsDispatch reports whether a host range with this name hands a collective to
// its process group, or is one of another library or of the program; readers give those to Dispatch too.
func (b *Builder) IsDispatch(id NameID) bool { return b.means[id].dispatch || b.means[id].annotates }

// Dispatch adds time that a thread spent in such a range.
func (b *Builder) Dispatch(id NameID, thread, start, end int64) {
	to := &b.dispatched
	if !b.means[id].dispatch {
		to = &b.annotated
	}
	if len(*to) >= maxCalls {
		b.lostEntries++
		return
	}
	name := b.names[id]
	*to = append(*to, Call{Name: name, Op: nccl.OpIn(name), Thread: thread, Start: start, End: max(start, end), Seq: -1, Bytes: -1, Self: -1, Peer: -1})
}

// enteredCollectives returns the collectives of a rank without device work, each once, as its
// host entered them. One collective may stand in a profile as the wrapper that
// has its arguments, as the operator that hands it over, and as what the
// backend does for it on a thread of its own: of these, the first that has most
// collectives is taken for all.
func (b *Builder) enteredCollectives() *record {
	var wrappers, backend []Call
	for _, c := range b.calls {
		switch {
		case c.Op == nccl.UnknownOp:
		case isCall(c.Name):
			backend = append(backend, c)
		default:
			wrappers = append(wrappers, c)
		}
	}
	best := outermostCalls(wrappers)
	for _, other := range [][]Call{outermostCalls(b.dispatched), outermostCalls(backend)} {
		if len(other) > len(best) {
			best = other
		}
	}
	if extra := len(best) - maxCollectives; extra > 0 {
		b.lostEntries += extra
		best = best[:maxCollectives]
	}
	r := newRecord()
	for i := range best {
		r.addEntered(&best[i])
	}
	if b.lostEntries > 0 {
		b.Note(input.NoteRecorder, "collectives that the host entered beyond the first %d, which are not compared between ranks: %d", len(best), b.lostEntries)
	}
	return r
}

// outermostCalls returns the calls that lie in no other on their thread, by start.
func outermostCalls(all []Call) []Call {
	slices.SortStableFunc(all, func(x, y Call) int {
		return cmp.Or(cmp.Compare(x.Thread, y.Thread), cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	out := all[:0]
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].Thread == c.Thread && c.End <= out[n-1].End {
			continue
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(x, y Call) int { return cmp.Compare(x.Start, y.Start) })
	return out
}

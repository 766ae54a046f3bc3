package arrivals

import (
	"cmp"
	"math"
	"slices"
)

// Hang is a job in which some ranks entered a call and others did not, with the
// groups in the order in which they block one another, root cause first.
type Hang struct {
	Groups []Blocked
	Loop   bool  // the groups wait for one another in a circle
	Dumped int64 // the latest time in any record, on the common clock
}

// Blocked is one call that not all members entered.
type Blocked struct {
	Group    string   // name of the process group
	Desc     string   // of the group
	Op       string   // operation as recorded
	Seq      int64    // number of the call in the group
	Line     Line     // line of the program from which the others entered it
	Waiting  []int    // ranks that entered it and wait
	Since    int64    // when the first of them entered, since 1970; on the common clock
	Last     int64    // when the last of them did
	Missing  []Absent // ranks that did not enter
	Unknown  []int    // members without a record, or with an older one, which may be missing or waiting
	WaitsFor int      // index in Groups of the call that the missing ranks wait in; negative: none
}

// Absent is a rank that did not enter.
type Absent struct {
	Rank  int    // global rank
	Host  string // host of the rank
	Seq   int64  // number of its last call in the group; negative: none is recorded
	Op    string // operation of that call
	Line  Line   // line of the program from which that call was entered
	Enter int64  // when that call was entered; 0: not known
	In    string // group that it waits in instead; "": none
	// AtMost is how long after the first of the others entered its record was
	// written at the latest; −1: not known.
	AtMost int64
	// Unrecorded: it has no record at all. What the others wrote shows how long they
	// have waited, and AtMost is that.
	Unrecorded bool
}

// Root is a rank that did not enter a call and waits nowhere: the others wait for it.
type Root struct {
	*Absent
	In *Blocked // the first group that it blocks
}

// Roots are all of a hang, in the order of its groups; where groups wait for one another in a circle
// those that block the first one.
func (h *Hang) Roots() (out []Root) {
	add := func(b *Blocked, a *Absent) {
		if !slices.ContainsFunc(out, func(r Root) bool { return r.Rank == a.Rank }) {
			out = append(out, Root{a, b})
		}
	}
	for i := range h.Groups {
		b := &h.Groups[i]
		for k := range b.Missing {
			if a := &b.Missing[k]; a.In == "" && a.Unrecorded == h.Groups[0].Missing[0].Unrecorded {
				add(b, a)
			}
		}
	}
	if b := &h.Groups[0]; len(out) == 0 {
		for k := range b.Missing {
			add(b, &b.Missing[k])
		}
	}
	return out
}

// Still is how many steps a wait must last to count as a hang rather than a delay.
const Still = 10

// midStep reports whether nothing shows that the missing ranks have been missing for
// longer than a usual wait: their records were written too soon, or they completed
// later steps.
func (b *Blocked) midStep(step int64, lines []fitted) bool {
	return !slices.ContainsFunc(b.Missing, func(a Absent) bool {
		soon := a.AtMost >= 0 && a.AtMost < Still*step
		wentOn := slices.ContainsFunc(lines, func(l fitted) bool {
			return l.exact && l.rank == a.Rank && len(l.begin) > 1 && l.begin[len(l.begin)-2] > b.Since
		})
		return !soon && !wentOn
	})
}

// hang checks the end of every group. Groups whose records were written in the
// middle of a step are counted and are not a hang.
func (s *strikes) hang(r *Result, lines []fitted) {
	h := &Hang{}
	for i := range s.ranks {
		for k := range s.ranks[i].calls {
			h.Dumped = max(h.Dumped, s.at(nth(i, k)))
		}
	}
	for g := range s.groups {
		if b, ok := s.blocked(int32(g)); ok {
			h.Groups = append(h.Groups, b)
		}
	}
	if len(h.Groups) == 0 {
		return
	}
	h.chain()
	if b := &h.Groups[0]; !h.Loop && b.midStep(r.Step, lines) {
		r.MidStep = true
		return
	}
	r.Hang = h
}

// tailEnd is where a rank is in a group: its last call, whether that is done,
// and the last that is.
type tailEnd struct {
	rank      int
	call      int // −1: none
	seq       int64
	done      bool
	completed int64
}

// blocked finds the call at the end of a group in which some ranks wait and which
// others have not entered. A rank is not missing if others completed a call after
// its last one: its dump is older than theirs.
func (t *timed) blocked(g int32) (b Blocked, ok bool) {
	if t.byOrder[g] {
		return b, false
	}
	var ends, waiting, missing []tailEnd
	most, completed := int64(-1), int64(-1)
	for _, r := range t.members[g] {
		if t.ranks[r].windows {
			return b, false
		}
		e := t.end(r, g)
		ends, most, completed = append(ends, e), max(most, e.seq), max(completed, e.completed)
	}
	b = Blocked{Group: t.groups[g].name, Desc: t.groups[g].desc, Seq: most, Unknown: slices.Clone(t.absent[g]), WaitsFor: -1}
	for _, e := range ends {
		switch {
		case e.seq == most && (e.done || e.call < 0): // nobody can be missing from what is done; a count may be of sends and receives
			return b, false
		case e.seq == most:
			waiting = append(waiting, e)
		case e.seq < completed:
			b.Unknown = append(b.Unknown, t.ranks[e.rank].id)
		default:
			missing = append(missing, e)
		}
	}
	// One that waits in an earlier call of the group waits for the same ranks, where there are some that wait
	// in none of it.
	earlier := func(e tailEnd) bool { return e.call >= 0 && !e.done }
	if slices.ContainsFunc(missing, func(e tailEnd) bool { return !earlier(e) }) {
		for _, e := range missing {
			if earlier(e) {
				waiting = append(waiting, e)
			}
		}
		missing = slices.DeleteFunc(missing, earlier)
	}
	gone := t.absent[g]
	alone := len(missing) == 0 && len(gone) > 0 && len(gone) == len(b.Unknown) // all that have a record wait
	if len(waiting) == 0 || len(missing) == 0 && !alone || most < 0 {
		return b, false
	}
	slices.Sort(b.Unknown)
	t.wait(&b, waiting)
	for _, e := range missing {
		b.Missing = append(b.Missing, t.missing(&b, e))
	}
	if alone {
		b.Missing, b.Unknown = t.unrecordedIn(&b, waiting), nil
	}
	return b, true
}

// wait says who waits in a call, since when and where.
func (t *timed) wait(b *Blocked, waiting []tailEnd) {
	for _, e := range waiting {
		b.Waiting = append(b.Waiting, t.ranks[e.rank].id)
		if e.call < 0 {
			continue
		}
		x := nth(e.rank, e.call)
		if k := t.kindOf(x); b.Op == "" {
			b.Op, b.Line = k.name, t.lineAt(k)
		}
		if at := t.at(x); b.Since == 0 || at < b.Since {
			b.Since = at
		}
		b.Last = max(b.Last, t.at(x))
	}
}

// missing is a rank that did not enter a call.
func (t *timed) missing(b *Blocked, e tailEnd) Absent {
	r := &t.ranks[e.rank]
	a := Absent{Rank: r.id, Host: t.hostOf(e.rank), Seq: e.seq, AtMost: -1}
	if b.Since != 0 && r.written > newest(r) {
		a.AtMost = max(0, r.written+t.offset[e.rank]-b.Since)
	}
	if e.call >= 0 {
		x := nth(e.rank, e.call)
		a.Op, a.Line, a.Enter = t.kindOf(x).name, t.lineAt(t.kindOf(x)), t.at(x)
	}
	return a
}

// unrecordedIn are the members of a group without a record, for which all others wait:
// for as long as they had when the first of their records was written.
func (t *timed) unrecordedIn(b *Blocked, waiting []tailEnd) (out []Absent) {
	waited := int64(math.MaxInt64)
	for _, e := range waiting {
		waited = min(waited, max(0, t.ranks[e.rank].written+t.offset[e.rank]-b.Last))
	}
	for _, id := range b.Unknown {
		out = append(out, Absent{Rank: id, Host: t.hosts[id], Seq: -1, AtMost: waited, Unrecorded: true})
	}
	return out
}

// lineAt is where a kind is called.
func (j *Job) lineAt(k *kind) Line {
	if k.stack < 0 {
		return Line{}
	}
	return lineOf(j.stacks[k.stack])
}

// end is the last collective of a rank in a group. The status counts calls that
// the ring may have dropped.
func (t *timed) end(r int, g int32) tailEnd {
	e := tailEnd{rank: r, call: -1, seq: -1, completed: -1}
	calls := t.ranks[r].calls
	for i := len(calls) - 1; i >= 0 && e.completed < 0; i-- {
		c := &calls[i]
		if c.group != g || t.isMessage(c) {
			continue
		}
		if e.call < 0 {
			e.call, e.seq, e.done = i, c.seq, c.done()
		}
		if c.done() {
			e.completed = c.seq
		}
	}
	s, ok := t.ranks[r].status[int(g)]
	ok = ok && !t.silent[g] // else it counts messages too
	if ok {
		e.completed = max(e.completed, s.completed)
	}
	if ok && s.completed >= 0 && e.seq >= 0 && s.completed >= e.seq {
		e.done = true
	}
	if ok && e.call < 0 && s.enqueued > 0 {
		e.seq, e.done = s.enqueued, s.completed >= s.enqueued
	}
	return e
}

// chain orders the groups: a group whose missing ranks wait in another group comes
// after it.
func (h *Hang) chain() {
	waits := map[int]int{} // rank → group that it waits in
	for i := range h.Groups {
		for _, r := range h.Groups[i].Waiting {
			waits[r] = i
		}
	}
	for i := range h.Groups {
		b := &h.Groups[i]
		for k := range b.Missing {
			if w, ok := waits[b.Missing[k].Rank]; ok && w != i {
				b.Missing[k].In, b.WaitsFor = h.Groups[w].Group, w
			}
		}
	}
	depth, order := make([]int, len(h.Groups)), make([]int, len(h.Groups))
	for i := range h.Groups {
		order[i] = i
		for at := i; h.Groups[at].WaitsFor >= 0 && depth[i] <= len(h.Groups); at = h.Groups[at].WaitsFor {
			depth[i]++
		}
		h.Loop = h.Loop || depth[i] > len(h.Groups)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(h.Groups[a].Since, h.Groups[b].Since))
	})
	sorted := make([]Blocked, len(order))
	for i, from := range order {
		if sorted[i] = h.Groups[from]; sorted[i].WaitsFor >= 0 {
			sorted[i].WaitsFor = slices.Index(order, sorted[i].WaitsFor)
		}
	}
	h.Groups = sorted
}

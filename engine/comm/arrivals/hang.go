package arrivals

import (
	"cmp"
	"slices"
	"time"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/enum"
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
	Missing  []Absent // ranks that did not enter; none where it cannot be told who
	Unknown  []int    // members whose record does not show whether they are missing or waiting
	GaveUp   bool     // the ranks that wait say that they did so for too long; when that was is not known
	Lasted   int64    // how long the first of them waited, where GaveUp; 0: not known
	WaitsFor int      // index in Groups of the call that the missing ranks wait in; negative: none

	waited int64 // by those that wait, when the first of their records was written; −1: not known
}

// Numbered reports whether calls of the group have numbers, as those of PyTorch's groups do.
func (b *Blocked) Numbered() bool { return b.Seq > 0 }

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
	// May: nothing shows whether it entered, and it alone may not have. What the others wrote shows how long
	// they have waited, and AtMost is that.
	May bool
	// Dump is what there is of its record.
	Dump Dump
}

// Dump is what there is of a rank's record.
type Dump uint8

const (
	WholeDump   Dump = iota
	NoDump           // there is none
	CutDump          // it ends in the middle
	DamagedDump      // entries of it cannot be read
	EmptyDump        // it has no entries
	LostDump         // the calls of the group left the ring
	OlderDump        // it was written before the others began to wait
)

var dumpNames = [...]string{"whole", "missing", "cut", "damaged", "empty", "overwritten", "older"}

func (d Dump) String() string { return enum.Name(dumpNames[:], d) }

// Names returns all of them.
func (Dump) Names() []string { return dumpNames[:] }

// dumpOf returns what there is of a record of some extent.
func dumpOf(e comms.Extent) Dump {
	switch e {
	case comms.CutOff:
		return CutDump
	case comms.Damaged:
		return DamagedDump
	case comms.NoEntries:
		return EmptyDump
	}
	return WholeDump
}

// Root is a rank that did not enter a call and waits nowhere: the others wait for it.
type Root struct {
	*Absent
	In *Blocked // the first group that it blocks
}

// WaitTime returns how long ranks have waited in a call at least; 0: not known.
func (h *Hang) WaitTime(b *Blocked) int64 {
	switch {
	case b.GaveUp:
		return b.Lasted
	case b.Since == 0:
		return 0
	}
	return h.Dumped - b.Since
}

// Roots returns all roots of a hang, in the order of its groups; where groups wait for one another in a circle, the ranks that
// block the first one. Ranks that may be missing are roots where no certain one is.
func (h *Hang) Roots() (out []Root) {
	each := func(take func(b *Blocked, a *Absent)) {
		for i := range h.Groups {
			for k := range h.Groups[i].Missing {
				take(&h.Groups[i], &h.Groups[i].Missing[k])
			}
		}
	}
	certain := false
	each(func(_ *Blocked, a *Absent) { certain = certain || a.In == "" && !a.May })
	each(func(b *Blocked, a *Absent) {
		if a.In == "" && a.May != certain && !slices.ContainsFunc(out, func(r Root) bool { return r.Rank == a.Rank }) {
			out = append(out, Root{a, b})
		}
	})
	if b := &h.Groups[0]; len(out) == 0 {
		for k := range b.Missing {
			out = append(out, Root{&b.Missing[k], b})
		}
	}
	return out
}

// BlockedByFirst returns the calls whose missing ranks wait in the first of the hang.
func (h *Hang) BlockedByFirst() (out []*Blocked) {
	for i := range h.Groups {
		if h.Groups[i].WaitsFor == 0 {
			out = append(out, &h.Groups[i])
		}
	}
	return out
}

// Still is how many steps a wait must last to count as a hang rather than a delay.
const Still = 10

// soon reports whether a time is known and too short to tell a hang from a delay.
func soon(after, step int64) bool { return after >= 0 && after < Still*step }

// doubtOlder takes ranks back whose records were written too soon after the others entered, where these
// waited for longer.
func (b *Blocked) doubtOlder(step int64) {
	if b.waited < 0 || soon(b.waited, step) {
		return
	}
	var older []Absent
	late := func(a Absent) bool { return !a.May && soon(a.AtMost, step) }
	for _, a := range b.Missing {
		if late(a) {
			a.May, a.Dump, a.AtMost = true, OlderDump, b.waited
			older = append(older, a)
		}
	}
	b.Missing = slices.DeleteFunc(b.Missing, late)
	if len(b.Missing) == 0 && len(older) == 1 && len(b.Unknown) == 0 {
		b.Missing = older
		return
	}
	for _, a := range older {
		b.Unknown = append(b.Unknown, a.Rank)
	}
	slices.Sort(b.Unknown)
}

// midStep reports whether nothing shows that the missing ranks have been missing for
// longer than a usual wait: their records were written too soon, or they completed
// later steps.
func (b *Blocked) midStep(step int64, lines []fitted) bool {
	if len(b.Missing) == 0 {
		return soon(b.waited, step)
	}
	return !slices.ContainsFunc(b.Missing, func(a Absent) bool {
		wentOn := slices.ContainsFunc(lines, func(l fitted) bool {
			return l.exact && l.rank == a.Rank && len(l.begin) > 1 && l.begin[len(l.begin)-2] > b.Since
		})
		return !soon(a.AtMost, step) && !wentOn
	})
}

// hang checks the end of every group. Groups whose records were written in the
// middle of a step are counted and are not a hang.
func (s *strikes) hang(r *Result, lines []fitted) {
	h := &Hang{}
	r.Untold = s.incompleteRanks()
	for i := range s.Ranks {
		for k := range s.Ranks[i].Calls {
			h.Dumped = max(h.Dumped, s.Time(sync.Nth(i, k)))
		}
	}
	for g := range s.Groups {
		if b, ok := s.blockedCall(int32(g)); ok {
			if !b.GaveUp {
				b.doubtOlder(r.Step)
			}
			h.Groups = append(h.Groups, b)
		}
	}
	if len(h.Groups) == 0 {
		return
	}
	h.chain()
	if b := &h.Groups[0]; !h.Loop && !b.GaveUp && b.midStep(r.Step, lines) {
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
	dump      Dump // what of its record leaves open how far it got; WholeDump: nothing
}

// blockedCall finds the call at the end of a group in which some ranks wait and which
// others have not entered, or may not have.
func (t *strikes) blockedCall(g int32) (b Blocked, ok bool) {
	if t.ByOrder[g] {
		return b, false
	}
	var ends []tailEnd
	most, recorded := int64(-1), int64(-1)
	for _, r := range t.Members[g] {
		if t.Ranks[r].FromWindows {
			return b, false
		}
		e := t.end(r, g)
		if ends, most = append(ends, e), max(most, e.seq); e.call >= 0 {
			recorded = max(recorded, e.seq)
		}
	}
	b = Blocked{Group: t.Groups[g].Name, Desc: t.Groups[g].Desc, Seq: most, Unknown: slices.Clone(t.Absent[g]), WaitsFor: -1}
	waiting, missing, open, ok := t.divideEnds(ends, most, recorded)
	if !ok || len(waiting) == 0 || most < 0 {
		return b, false
	}
	for _, e := range open {
		b.Unknown = append(b.Unknown, t.Ranks[e.rank].ID)
	}
	slices.Sort(b.Unknown)
	if len(missing) == 0 && len(b.Unknown) == 0 && !t.gaveUp(waiting, g) {
		return b, false
	}
	t.wait(&b, waiting)
	if b.GaveUp = t.gaveUp(waiting, g); b.GaveUp {
		t.undate(&b, waiting)
	}
	for _, e := range missing {
		b.Missing = append(b.Missing, t.absentRank(&b, e))
	}
	switch {
	case len(missing) > 0:
	case len(open) == 0: // all that have a record wait
		b.Missing, b.Unknown = t.unrecordedIn(&b), nil
	case len(b.Unknown) == 1:
		a := t.absentRank(&b, open[0])
		a.May, a.Dump, a.AtMost = true, open[0].dump, b.waited
		b.Missing, b.Unknown = []Absent{a}, nil
	}
	return b, true
}

// undate takes the times off a call that ranks gave up, but for how long they waited.
func (t *strikes) undate(b *Blocked, waiting []tailEnd) {
	for _, e := range waiting {
		if r := &t.Ranks[e.rank]; e.call >= 0 {
			b.Lasted = max(b.Lasted, r.Written-r.Calls[e.call].Enter)
		}
	}
	if b.Lasted < int64(time.Millisecond) {
		b.Lasted = 0
	}
	b.Since, b.Last, b.waited = 0, 0, -1
}

// gaveUp reports whether a rank that waits in a group says that it did so for too long.
func (t *strikes) gaveUp(waiting []tailEnd, g int32) bool {
	return slices.ContainsFunc(waiting, func(e tailEnd) bool { return t.Ranks[e.rank].Progress[int(g)].TimedOut })
}

// divideEnds divides the members of a group into ranks that wait in its last call, missing ones and undecided ones; ok is false
// where nobody can be missing. recorded is the last call that has an entry. A rank is not missing if others completed a call
// after its last one: its dump is older than theirs.
func (t *strikes) divideEnds(ends []tailEnd, most, recorded int64) (waiting, missing, open []tailEnd, ok bool) {
	completed := int64(-1)
	for i := range ends {
		completed = max(completed, ends[i].completed)
	}
	for _, e := range ends {
		counted := e.call < 0 && most > recorded && t.Ranks[e.rank].Extent == comms.Whole // perhaps of sends and receives
		switch {
		case e.seq == most && (e.done || counted): // nobody can be missing from what is done
			return nil, nil, nil, false
		case e.seq == most:
			waiting = append(waiting, e)
		case e.dump != WholeDump:
			open = append(open, e)
		case e.seq < completed || recorded < 0:
			e.dump = OlderDump
			if recorded < 0 {
				e.dump = EmptyDump
			}
			open = append(open, e)
		default:
			missing = append(missing, e)
		}
	}
	// One that waits in an earlier call of the group waits for the same ranks, where there are some that wait
	// in none of it.
	earlier := func(e tailEnd) bool { return e.call >= 0 && !e.done }
	elsewhere := func(e tailEnd) bool { return !earlier(e) }
	for _, e := range missing {
		behind := func(o tailEnd) bool { return o.seq < e.seq }
		if earlier(e) && (slices.ContainsFunc(missing, elsewhere) || slices.ContainsFunc(open, behind)) {
			waiting = append(waiting, e)
		}
	}
	missing = slices.DeleteFunc(missing, func(e tailEnd) bool {
		return slices.ContainsFunc(waiting, func(w tailEnd) bool { return w.rank == e.rank })
	})
	return waiting, missing, open, true
}

// incompleteRanks returns the ranks whose records do not show how far they got in some group, ascending.
func (t *strikes) incompleteRanks() (ranks []int) {
	for i := range t.Ranks {
		r := &t.Ranks[i]
		if r.Extent == comms.Whole {
			continue
		}
		in, told := 0, 0
		for g := range t.Groups {
			if slices.Contains(t.Members[g], i) {
				if in++; t.end(i, int32(g)).dump == WholeDump {
					told++
				}
			}
		}
		if in == 0 || told < in {
			ranks = append(ranks, r.ID)
		}
	}
	return ranks
}

// wait finds the ranks that wait in a call, since when and where.
func (t *strikes) wait(b *Blocked, waiting []tailEnd) {
	for _, e := range waiting {
		b.Waiting = append(b.Waiting, t.Ranks[e.rank].ID)
		if e.call < 0 {
			continue
		}
		x := sync.Nth(e.rank, e.call)
		if k := t.KindOf(x); b.Op == "" {
			b.Op, b.Line = k.Name, t.lineAt(k)
		}
		if at := t.Time(x); b.Since == 0 || at < b.Since {
			b.Since = at
		}
		b.Last = max(b.Last, t.Time(x))
	}
	b.waited = -1
	for _, e := range waiting {
		if r := &t.Ranks[e.rank]; r.Written > sync.Newest(r) && b.Last != 0 {
			if w := r.Written + t.Offset[e.rank] - b.Last; b.waited < 0 || w < b.waited {
				b.waited = max(0, w)
			}
		}
	}
}

// absentRank returns a rank that did not enter a call.
func (t *strikes) absentRank(b *Blocked, e tailEnd) Absent {
	r := &t.Ranks[e.rank]
	a := Absent{Rank: r.ID, Host: t.HostOf(e.rank), Seq: e.seq, AtMost: -1}
	if b.Since != 0 && r.Written > sync.Newest(r) {
		a.AtMost = max(0, r.Written+t.Offset[e.rank]-b.Since)
	}
	if e.call >= 0 {
		x := sync.Nth(e.rank, e.call)
		a.Op, a.Line, a.Enter = t.KindOf(x).Name, t.lineAt(t.KindOf(x)), t.Time(x)
	}
	return a
}

// unrecordedIn returns the members of a group without a record, for which all others wait: as long as they had when the first
// of their records was written.
func (t *strikes) unrecordedIn(b *Blocked) (out []Absent) {
	for _, id := range b.Unknown {
		out = append(out, Absent{Rank: id, Host: t.Hosts[id], Seq: -1, AtMost: b.waited, May: true, Dump: NoDump})
	}
	return out
}

// lineAt returns the line of the calls of a kind.
func (j *strikes) lineAt(k *sync.Kind) Line {
	if k.Stack < 0 {
		return Line{}
	}
	return lineOf(j.Stacks[k.Stack])
}

// end returns the last collective of a rank in a group. The status counts calls that the ring may have dropped, or that a cut
// or damaged record lacks.
func (t *strikes) end(r int, g int32) tailEnd {
	of := &t.Ranks[r]
	e := tailEnd{rank: r, call: -1, seq: -1, completed: -1}
	for i := len(of.Calls) - 1; i >= 0 && e.completed < 0; i-- {
		c := &of.Calls[i]
		if c.Group != g || t.IsMessage(c) {
			continue
		}
		if e.call < 0 {
			e.call, e.seq, e.done = i, c.Seq, c.IsDone()
		}
		if c.IsDone() {
			e.completed = c.Seq
		}
	}
	s, ok := of.Progress[int(g)]
	ok = ok && !t.Silent[g] // else it counts messages too
	if ok {
		e.completed = max(e.completed, s.Completed)
	}
	if ok && s.Completed >= 0 && e.seq >= 0 && s.Completed >= e.seq {
		e.done = true
	}
	if beyond := s.Enqueued - e.seq; ok && (e.call < 0 && s.Enqueued > 0 || e.call >= 0 && (beyond > sync.MostBehind || beyond > 0 && of.Extent != comms.Whole)) {
		e.call, e.seq, e.done = -1, s.Enqueued, s.Completed >= s.Enqueued
	}
	switch tells := ok && s.Enqueued >= 0; {
	case tells:
	case of.Extent != comms.Whole:
		e.dump = dumpOf(of.Extent)
	case e.call < 0 && of.Lost != 0:
		e.dump = LostDump
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
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(h.Groups[a].doubt(), h.Groups[b].doubt()), cmp.Compare(h.Groups[a].Since, h.Groups[b].Since))
	})
	sorted := make([]Blocked, len(order))
	for i, from := range order {
		if sorted[i] = h.Groups[from]; sorted[i].WaitsFor >= 0 {
			sorted[i].WaitsFor = slices.Index(order, sorted[i].WaitsFor)
		}
	}
	h.Groups = sorted
}

// doubt orders groups by how sure it is who is missing: 0 for certain, 1 perhaps, 2 unknown.
func (b *Blocked) doubt() int {
	switch {
	case len(b.Missing) == 0:
		return 2
	case b.Missing[0].May:
		return 1
	}
	return 0
}

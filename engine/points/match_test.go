package points

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// scripted is a job of processes that make the same calls of their groups, numbered or not, and
// send each other messages. Call IDs are the same in any record of the job.
func scripted(r *rand.Rand, processes, calls int) [][]Call {
	out := make([][]Call, processes)
	numbers := make([]int64, 4)
	for i := range calls {
		c := Call{Group: int32(r.IntN(3)), ID: int32(i), Number: -1, Step: int64(i / 20), Kind: int64(r.IntN(2))}
		if c.Group == 2 {
			c.Kind = 7
			c.Message, c.From, c.To = true, int32(r.IntN(processes)), 0
			c.To = (c.From + 1 + int32(r.IntN(processes-1))) % int32(processes)
		} else if c.Group == 1 {
			c.Number, c.Step = numbers[1], 0
			if numbers[1]++; numbers[1] > 1 && r.IntN(40) == 0 {
				numbers[1] = 0
			}
		}
		for p := range out {
			if c.Sends = c.Message && c.From == int32(p); !c.Message || c.Sends || c.To == int32(p) {
				out[p] = append(out[p], c)
			}
		}
	}
	return out
}

func match(job [][]Call, o MatchOptions) []Set {
	sets, _ := Match(slices.Values(job), o)
	return sets
}

// subset tests that sets are those of the whole job without some entries.
func subset(t *testing.T, what string, whole, got []Set, kept func(Entry) bool) {
	t.Helper()
	of := make(map[Entry]int)
	for i, s := range whole {
		for _, e := range s.Entries {
			of[e] = i
		}
	}
	n := 0
	for _, s := range got {
		had := slices.DeleteFunc(slices.Clone(whole[of[s.Entries[0]]].Entries), func(e Entry) bool { return !kept(e) })
		if n += len(s.Entries); !gocmp.Equal(byProcess(had), byProcess(s.Entries)) {
			t.Fatalf("%s: %+v, want %v", what, s, had)
		}
	}
	for e := range of {
		if kept(e) {
			n--
		}
	}
	if n != 0 {
		t.Fatalf("%s: %d calls too many", what, n)
	}
}

func byProcess(list []Entry) []Entry {
	return slices.SortedFunc(slices.Values(list), func(a, b Entry) int { return cmp.Compare(a.Process, b.Process) })
}

// ids are the calls of a job.
func ids(job [][]Call) map[Entry]bool {
	out := make(map[Entry]bool)
	for p, calls := range job {
		for _, c := range calls {
			out[Entry{int32(p), c.ID}] = true
		}
	}
	return out
}

// TestMatchProperties: every call is in one set, and a complete record has none in doubt; the order of
// processes changes nothing; without a process, sets lack its entries and nothing else; calls
// that are cut off are missing and change no other set.
func TestMatchProperties(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + r.IntN(5)
		job := scripted(r, n, 20+r.IntN(150))
		o := MatchOptions{Restarts: true}
		whole := match(job, o)
		for _, s := range whole {
			sends := func(c Call) bool { return c.ID == s.Entries[0].Call && c.Sends }
			if s.Doubt != Certain || s.Message && (len(s.Entries) != 2 || !slices.ContainsFunc(job[s.Entries[0].Process], sends)) ||
				slices.ContainsFunc(s.Entries, func(e Entry) bool { return e.Call != s.Entries[0].Call }) {
				t.Fatalf("%d: %+v", seed, s)
			}
		}

		order, mixed := r.Perm(n), make([][]Call, n)
		for to, from := range order {
			mixed[to] = job[from]
		}
		again := match(mixed, o)
		for _, s := range again {
			for i := range s.Entries {
				s.Entries[i].Process = int32(order[s.Entries[i].Process])
			}
		}
		all := ids(job)
		subset(t, fmt.Sprint(seed, " in another order"), whole, again, func(e Entry) bool { return all[e] })

		gone := int32(r.IntN(n))
		left := slices.Clone(job)
		left[gone] = nil
		subset(t, fmt.Sprint(seed, " without ", gone), whole, match(left, o), func(e Entry) bool { return e.Process != gone })

		// Rings that end together, with as many of the latest calls as each holds.
		o.Lost = make([]bool, n)
		ring := slices.Clone(job)
		for p := range ring {
			if cut := r.IntN(len(ring[p]) + 1); r.IntN(2) == 0 {
				ring[p], o.Lost[p] = ring[p][cut:], cut > 0
			}
		}
		kept := ids(ring)
		subset(t, fmt.Sprint(seed, " rings"), whole, match(ring, o), func(e Entry) bool { return kept[e] })

		// Records that end early, of groups that did not begin anew.
		early := make([][]Call, n)
		for p := range job {
			for _, c := range job[p] {
				if c.Number >= 0 {
					c.Number = int64(c.ID)
				}
				early[p] = append(early[p], c)
			}
		}
		whole = match(early, MatchOptions{})
		for p := range early {
			early[p] = early[p][:r.IntN(len(early[p])+1)]
		}
		kept = ids(early)
		subset(t, fmt.Sprint(seed, " ending early"), whole, match(early, MatchOptions{}), func(e Entry) bool { return kept[e] })
	}
}

// TestMatchDoubts: what cannot be told says why.
func TestMatchDoubts(t *testing.T) {
	numbered := func(numbers ...int64) (calls []Call) {
		for i, n := range numbers {
			calls = append(calls, Call{ID: int32(i), Number: n})
		}
		return calls
	}
	messages := func(sends bool, sizes ...int64) (calls []Call) {
		for i, bytes := range sizes {
			calls = append(calls, Call{ID: int32(i), Number: -1, Message: true, Sends: sends, From: 1, To: 0, Kind: bytes})
		}
		return calls
	}
	for name, c := range map[string]struct {
		calls [][]Call
		o     MatchOptions
		want  []Set
	}{
		"alone": {calls: [][]Call{numbered(4), numbered(5)}, want: []Set{
			{Number: 4, Doubt: Alone, Entries: []Entry{{0, 0}}}, {Number: 5, Doubt: Alone, Entries: []Entry{{1, 0}}}}},
		"twice": {calls: [][]Call{numbered(4, 4), numbered(4)}, want: []Set{
			{Number: 4, Doubt: Twice, Entries: []Entry{{0, 0}, {0, 1}, {1, 0}}}}},
		"parts": {calls: [][]Call{numbered(4, 4), numbered(4)}, o: MatchOptions{Restarts: true}, want: []Set{
			{Number: 4, Entries: []Entry{{0, 0}, {1, 0}}}, {Number: 4, Part: 1, Doubt: Alone, Entries: []Entry{{0, 1}}}}},
		"ages": {calls: [][]Call{numbered(4, 1), numbered(1)}, o: MatchOptions{Restarts: true}, want: []Set{
			{Number: 4, Age: 1, Doubt: Alone, Entries: []Entry{{0, 0}}}, {Number: 1, Entries: []Entry{{0, 1}, {1, 0}}}}},
		"uneven": {calls: [][]Call{numbered(-1, -1), numbered(-1)}, want: []Set{
			{Doubt: Uneven, Entries: []Entry{{0, 0}, {1, 0}}}, {Number: 1, Doubt: Alone, Entries: []Entry{{0, 1}}}}},
		"lost": {calls: [][]Call{numbered(-1, -1), numbered(-1)}, o: MatchOptions{Lost: []bool{false, true}}, want: []Set{
			{Number: -2, Doubt: Alone, Entries: []Entry{{0, 0}}}, {Number: -1, Doubt: Uneven, Entries: []Entry{{0, 1}, {1, 0}}}}},
		"the sender first": {calls: [][]Call{messages(false, 8), messages(true, 8)}, want: []Set{
			{Message: true, Entries: []Entry{{1, 0}, {0, 0}}}}},
		"other sizes": {calls: [][]Call{messages(false, 8, 8), messages(true, 8, 4)}, want: []Set{
			{Message: true, Doubt: Uneven, Entries: []Entry{{1, 0}, {0, 0}}}, {Message: true, Number: 1, Doubt: Uneven, Entries: []Entry{{1, 1}, {0, 1}}}}},
	} {
		if diff := gocmp.Diff(c.want, match(c.calls, c.o)); diff != "" {
			t.Errorf("%s: want −, got +:\n%s", name, diff)
		}
	}
}

// TestMatchByOrder: where numbers count what is not recorded, and differ between processes by that, order tells.
func TestMatchByOrder(t *testing.T) {
	job := make([][]Call, 2)
	for p := range job {
		for i := range 10 {
			job[p] = append(job[p], Call{ID: int32(i), Number: int64(i * (1 + 2*p)), Kind: int64(i)})
		}
	}
	for _, c := range []struct {
		unsure  []bool
		matched int
	}{{nil, 4}, {[]bool{true}, 10}} {
		sets, byOrder := Match(slices.Values(job), MatchOptions{Unsure: c.unsure})
		n := 0
		for _, s := range sets {
			if s.Doubt != Alone {
				n++
			}
		}
		if n != c.matched || isSet(byOrder, 0) != (c.unsure != nil) {
			t.Errorf("unsure %v: %d sets, want %d; by order: %v", c.unsure, n, c.matched, byOrder)
		}
	}
}

// BenchmarkMatch: 1,024 processes with 200 calls each, of one group and of neighbours.
func BenchmarkMatch(b *testing.B) {
	const processes, each = 1024, 200
	job := make([][]Call, processes)
	for p := range int32(processes) {
		for i := range int32(each) {
			c := Call{ID: i, Number: int64(i)}
			if i%4 == 3 {
				c = Call{ID: i, Number: -1, Message: true, Sends: i%8 == 3, From: p, To: (p + 1) % processes}
				if !c.Sends {
					c.From, c.To = (p+processes-1)%processes, p
				}
			}
			job[p] = append(job[p], c)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		match(job, MatchOptions{Restarts: true})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(processes*each), "ns/call")
}

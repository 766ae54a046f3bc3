package arrivals

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/ordered"
)

// division is what a job repeats, divided where its ranks wait for one another, as package delay
// takes it. The work before a call of the program, without what the rank waited, is a piece of a
// step: what sets of ranks wait for on the way is taken off like that. Calls that all ranks wait for
// are its points.
type division struct {
	points.Division
	cut     *cutting
	at      []int // [point] its place
	peers   []int // [rank] of those who do the same work; nil: all do
	hosts   []int // [rank] −1: not known
	meeting bool  // ranks meet in messages to their neighbours alone, and a step is one piece
}

// fewest is in how many steps a call must be made for its ranks to be judged by it.
const fewest = 4

// differs is the part of a step by which sets of ranks must differ before some call for their work to
// be different.
const differs = 0.05

// division divides the repeating calls of a job; nil where no call is made once a step. recorded is the
// length of a step, ns, as a recorder has it; 0: not known. Time is
// O(calls · log calls), memory 40 bytes for each place, step and rank.
func (t *timed) division(recorded int64) *division {
	if d := t.neighbours(t.repeating()); d != nil {
		return d
	}
	places := slices.DeleteFunc(t.repeating(), t.divided)
	waited := t.waitedFor(places)
	at, ok := t.stepEnd(places, waited, recorded)
	if !ok {
		return nil
	}
	d := &division{cut: t.steps(at, places)}
	d.Ranks = len(t.ranks)
	places = slices.DeleteFunc(places, func(i int) bool {
		in := make(map[int]bool) // the steps in which its calls are entered
		for _, c := range t.places[i].cohorts {
			in[d.cut.step(c[0], t.at(c[0]))] = true
		}
		return len(in) < fewest
	})
	d.layOut(t, places, waited)
	d.fill(t)
	d.compare(t)
	return d
}

// waitedFor are the places whose calls are waited for before later ones, and by how many ranks.
func (t *timed) waitedFor(places []int) map[int]int {
	at, out := t.placesOf(places), map[int]int{}
	for _, i := range places {
		sample, votes := t.sample(t.places[i].cohorts), map[int32]int{}
		for _, c := range sample {
			e := c[0]
			if lag := t.lagOf(e, t.places[i].lag); lag > 0 && int32(lag) <= e.Call {
				votes[at[t.of[e.Process][e.Call-int32(lag)]]]++
			}
		}
		for q, n := range votes {
			if q >= 0 && 2*n > len(sample) {
				out[int(q)] = len(t.places[q].cohorts[0])
			}
		}
	}
	return out
}

// stepEnd is the place whose calls end the steps: one that is entered once a step, waited for if there
// is such a one. Where ranks synchronise in some steps only, these are longer than those recorded.
func (t *timed) stepEnd(places []int, waited map[int]int, recorded int64) (place int, ok bool) {
	v := t.visiting(places)
	list := v.steady(func(one turns) bool { return one.every*4 < recorded*5 })
	if len(list) == 0 {
		list = v.steady(func(turns) bool { return true })
	}
	if len(list) == 0 {
		return 0, false
	}
	best := list[0]
	for _, one := range list[1:] { // of those that hardly a step lacks, one that is waited for
		if n, than := len(one.ends), len(best.ends); n*20 >= than*21 || n*20 >= than*19 && waited[one.place] > waited[best.place] {
			best = one
		}
	}
	return best.place, true
}

// cutting says in which step each call of each rank is.
type cutting struct {
	place int
	ends  []int64     // [step] when half of the ranks had entered the call that ends it
	of    [][]stepEnd // [rank] in the order of its calls
}

type stepEnd struct{ call, step int32 }

// steps cuts the calls of all ranks at those of a place, and of ranks that make none at those
// collectives of the places that they make once a step next to its end.
func (t *timed) steps(place int, places []int) *cutting {
	c := &cutting{place: place, of: make([][]stepEnd, len(t.ranks))}
	by := map[int32][]int64{}
	for _, k := range t.places[place].cohorts {
		g := t.call(k[0]).group
		by[g] = append(by[g], t.middle(k))
	}
	for _, times := range by {
		if slices.Sort(times); len(times) > len(c.ends) || len(times) == len(c.ends) && times[0] < c.ends[0] {
			c.ends = times
		}
	}
	for _, k := range t.places[place].cohorts {
		step := nearestOf(c.ends, t.middle(k))
		for _, e := range k {
			c.of[e.Process] = append(c.of[e.Process], stepEnd{e.Call, int32(step)})
		}
	}
	t.cutOthers(c, places)
	for _, of := range c.of {
		slices.SortFunc(of, func(a, b stepEnd) int { return cmp.Compare(a.call, b.call) })
	}
	return c
}

func (t *timed) cutOthers(c *cutting, places []int) {
	off := map[int]int64{} // of the calls of a place from the nearest end, median
	for _, i := range places {
		all := t.places[i].cohorts
		if i == c.place || t.isMessage(t.call(all[0][0])) || len(c.of[all[0][0].Process]) > 0 {
			continue
		}
		n, x := 0, []int64(nil)
		for _, k := range all {
			at := t.middle(k)
			x = append(x, abs(at-c.ends[nearestOf(c.ends, at)]))
			if t.call(k[0]).group == t.call(all[0][0]).group {
				n++
			}
		}
		if n*20 >= len(c.ends)*19 && n*19 <= len(c.ends)*20 {
			off[i] = median(x)
		}
	}
	near := slices.DeleteFunc(slices.Clone(places), func(i int) bool { _, ok := off[i]; return !ok })
	slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(off[a], off[b]) })
	for _, i := range near {
		cut := make([]bool, len(c.of))
		for r, of := range c.of {
			cut[r] = len(of) > 0
		}
		for _, k := range t.places[i].cohorts {
			step := nearestOf(c.ends, t.middle(k))
			for _, e := range k {
				if !cut[e.Process] {
					c.of[e.Process] = append(c.of[e.Process], stepEnd{e.Call, int32(step)})
				}
			}
		}
	}
}

// step of an entry is the one that its rank's next call at the end of one ends; of a rank that makes
// none the one that ends next; −1: none does.
func (c *cutting) step(e entry, at int64) int {
	if of := c.of[e.Process]; len(of) > 0 {
		i, _ := slices.BinarySearchFunc(of, e.Call, func(x stepEnd, call int32) int { return cmp.Compare(x.call, call) })
		if i == len(of) {
			return -1
		}
		return int(of[i].step)
	}
	i, _ := slices.BinarySearch(c.ends, at)
	if i == len(c.ends) {
		return -1
	}
	return i
}

// middle is when half of the members had entered.
func (t *timed) middle(c cohort) int64 { return middleOf(c, t.at) }

// middleOf is the median of what f says of entries.
func middleOf(c cohort, f func(entry) int64) int64 {
	x := make([]int64, len(c))
	for i, e := range c {
		x[i] = f(e)
	}
	return median(x)
}

// nearestOf is the index of the value of a sorted list that is nearest to x.
func nearestOf(sorted []int64, x int64) int {
	i, _ := slices.BinarySearch(sorted, x)
	if i == len(sorted) || i > 0 && x-sorted[i-1] < sorted[i]-x {
		i--
	}
	return i
}

// layOut puts the pieces and points of a step in the order in which the calls are made. Pieces behind
// the last point lead to the first one of the next step.
func (d *division) layOut(s *timed, places []int, waited map[int]int) {
	into := make(map[int]int64, len(places)) // how long before the end of its step a call is, median
	for _, i := range places {
		var x []int64
		for _, c := range s.places[i].cohorts {
			at := s.middle(c)
			if t := d.cut.step(c[0], at); t >= 0 {
				x = append(x, at-d.cut.ends[t])
			}
		}
		into[i] = median(x)
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(into[a], into[b]) })
	if i := slices.Index(places, d.cut.place); i >= 0 {
		places = append(slices.Delete(places, i, i+1), d.cut.place)
	}
	for i := range s.places {
		stage := points.Stage{}
		if all := s.places[i].cohorts; len(all) > 0 { // of the ranks that are judged
			stage.Name = s.kindOf(all[0][0]).name
		}
		d.Stages = append(d.Stages, stage)
	}
	widest, taking := 0, make(map[int]bool)
	for _, n := range waited {
		widest = max(widest, n)
	}
	var sets [][]int // that synchronise
	for _, i := range places {
		piece := points.Piece{Stage: i, Point: len(d.at)}
		at := s.setsAt(i)
		if ranks := slices.Concat(at...); len(ranks) < d.Ranks {
			piece.Ranks = ranks
		}
		for _, r := range slices.Concat(at...) {
			taking[r] = true
		}
		slices.SortFunc(at, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
		if n := waited[i]; n > 1 && n == widest && (sets == nil || slices.EqualFunc(sets, at, slices.Equal[[]int])) {
			sets = at
			d.at = append(d.at, i)
			d.Points = append(d.Points, points.Point{Stage: len(d.Stages), Evidence: points.Shown, Slope: -1, Low: -1, High: -1})
			d.Stages = append(d.Stages, points.Stage{Name: d.Stages[i].Name, Role: points.Wait})
		}
		d.Pieces = append(d.Pieces, piece)
	}
	for k := range d.Pieces {
		if p := &d.Pieces[k]; p.Point == len(d.at) { // none where there are no points
			p.Point, p.Tail = 0, len(d.at) > 0
		}
	}
	if len(sets) > 1 || len(sets) == 1 && len(sets[0]) < len(taking) {
		d.Peers = sets
	}
}

// setsAt are the ranks that enter calls of a place together.
func (t *timed) setsAt(place int) [][]int {
	of, takes := newTogether(len(t.ranks)), make([]bool, len(t.ranks))
	for _, c := range t.places[place].cohorts {
		for _, e := range c {
			takes[e.Process] = true
			of.join(int(c[0].Process), int(e.Process))
		}
	}
	var sets ordered.List[int, []int]
	for r := range of {
		if takes[r] {
			set, _ := sets.Of(of.first(r))
			*set = append(*set, r)
		}
	}
	return sets.All
}

// fill takes the works of all ranks. Where some of those who make a call lack it in a step, which is at
// the edges of what rings hold, they have the median of the others.
func (d *division) fill(s *timed) {
	T, R := len(d.cut.ends), d.Ranks
	tails := slices.ContainsFunc(d.Pieces, func(p points.Piece) bool { return p.Tail })
	for t := range T {
		d.Head, d.Tail = append(d.Head, t), append(d.Tail, -1)
		if tails {
			d.Tail[t] = t - 1
		}
	}
	if tails {
		d.Head, d.Tail = append(d.Head, -1), append(d.Tail, T-1)
	}
	d.Intervals = len(d.Head)
	for _, piece := range d.Pieces {
		later := 0
		if piece.Tail {
			later = 1
		}
		work, seen := make([]int64, d.Intervals*R), make([]bool, d.Intervals*R)
		s.eachWork(&s.places[piece.Stage], func(e entry, w, _ int64) {
			if t := d.cut.step(e, s.at(e)); t >= 0 {
				i := (t+later)*R + int(e.Process)
				work[i] += w
				seen[i] = true
			}
		})
		d.Work, d.Absent = append(d.Work, work), append(d.Absent, complete(work, seen, R))
	}
	released := slices.Repeat([]int64{math.MinInt64}, T) // of the last point
	for p, place := range d.at {
		spent := make([]int64, d.Intervals*R)
		for _, e := range slices.Concat(s.places[place].cohorts...) {
			t := d.cut.step(e, s.at(e))
			if t < 0 {
				continue
			}
			spent[t*R+int(e.Process)] += max(0, s.releaseFor(e)-s.at(e))
			if p == len(d.at)-1 {
				released[t] = max(released[t], s.at(e))
			}
		}
		d.Spent, d.After = append(d.Spent, spent), append(d.After, make([]int64, d.Intervals))
	}
	d.Arrive()
	if len(d.at) == 0 {
		return
	}
	// What the arrivals do not explain of the time from one last point to the next follows it.
	for t := 1; t < T; t++ {
		if released[t] == math.MinInt64 || released[t-1] == math.MinInt64 {
			continue
		}
		left := released[t] - released[t-1]
		for p := range d.at {
			left -= slices.Max(d.Arrivals[p][t*R : (t+1)*R])
		}
		d.After[len(d.at)-1][t] = max(0, left)
	}
}

// complete gives ranks that lack a value the median of the others of the step, and says which steps have none.
func complete(work []int64, seen []bool, R int) (absent []bool) {
	row := make([]int64, 0, R)
	for n := 0; n < len(work); n += R {
		row = row[:0]
		for r := range R {
			if seen[n+r] {
				row = append(row, work[n+r])
			}
		}
		absent = append(absent, len(row) == 0)
		if len(row) == 0 || len(row) == R {
			continue
		}
		mid := median(row)
		for r := range R {
			if !seen[n+r] {
				work[n+r] = mid
			}
		}
	}
	return absent
}

// compare says which ranks do the same work: all that make a call, but for sets that enter it
// together and differ in the work before it.
func (d *division) compare(s *timed) {
	of := make([][]byte, d.Ranks)
	step := float64(period(d.cut.ends))
	for k, piece := range d.Pieces {
		sets := s.setsAt(piece.Stage)
		least, most := math.Inf(1), math.Inf(-1)
		for _, set := range sets {
			var x []int64
			for n := range d.Intervals {
				if d.Step(n, k) >= 0 {
					for _, r := range set {
						x = append(x, d.Work[k][n*d.Ranks+r])
					}
				}
			}
			m := float64(median(x))
			least, most = min(least, m), max(most, m)
		}
		if most-least < differs*step {
			continue
		}
		for i, set := range sets {
			for _, r := range set {
				of[r] = binary.LittleEndian.AppendUint32(of[r], uint32(i+1))
			}
		}
		for r := range of {
			if piece.Ranks != nil && !slices.Contains(piece.Ranks, r) {
				of[r] = binary.LittleEndian.AppendUint32(of[r], 0)
			}
		}
	}
	var index, hosts ordered.Numbers[string] = map[string]int{}, map[string]int{}
	for r, key := range of {
		set, _ := index.Of(string(key))
		host := -1
		if h := s.hostOf(r); h != "" {
			host, _ = hosts.Of(h)
		}
		d.peers, d.hosts = append(d.peers, set), append(d.hosts, host)
	}
	if len(index) == 1 {
		d.peers = nil
	}
}

package sync

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/ordered"
)

// Division is the steps of a job, divided by its synchronisation points, as package delay takes them. The work of a rank
// before a call, without waits, is a piece of a step. Calls that all ranks wait for are its points; waits for smaller
// sets of ranks are taken off the pieces.
type Division struct {
	points.Division
	Cut        *StepCut
	At         []int // [point] its place
	PeersOf    []int // [rank] of those who do the same work; nil: all do
	HostsOf    []int // [rank] −1: not known
	Neighbours bool  // ranks synchronise by messages to their neighbours alone, and a step is one piece
	Roles      bool  // of these, each rank may have work of its own, as the stages of a pipeline have
}

// minSteps is the number of steps in which a call must be made for its ranks to be judged by it.
const minSteps = 4

// minDifferenceShare is the share of a step by which sets of ranks must differ before some call to have different work.
const minDifferenceShare = 0.05

// Division divides the repeating calls of a job; nil where no call is made once a step. recorded is the length of a
// step as a recorder has it, ns; 0: not known. Time is O(calls · log calls), memory 40 bytes for each place, step and
// rank.
func (t *Waits) Division(recorded int64) *Division {
	if d := t.divideNeighbours(t.Repeating()); d != nil {
		return d
	}
	places := slices.DeleteFunc(t.Repeating(), t.IsMessageAt)
	waited := t.awaitedPlaces(places)
	at, ok := t.StepEnd(places, waited, recorded)
	if !ok {
		return nil
	}
	d := &Division{Cut: t.Cut(at, places)}
	d.Ranks = len(t.Ranks)
	places = slices.DeleteFunc(places, func(i int) bool {
		in := make(map[int]bool) // the steps in which its calls are entered
		for _, c := range t.Places[i].Cohorts {
			in[d.Cut.Step(c[0], t.Time(c[0]))] = true
		}
		return len(in) < minSteps
	})
	d.layOut(t, places, waited)
	d.fill(t)
	d.findPeers(t)
	return d
}

// awaitedPlaces returns the places that later places wait for, and the number of their ranks.
func (t *Waits) awaitedPlaces(places []int) map[int]int {
	at, out := t.placesOf(places), map[int]int{}
	for _, i := range places {
		sample, votes := t.Sample(t.Places[i].Cohorts), map[int32]int{}
		for _, c := range sample {
			e := c[0]
			if w, ok := t.Awaited(e, t.LagOf(e, t.Places[i].Lag)); ok {
				votes[at[t.Of[w.Process][w.Call]]]++
			}
		}
		for q, n := range votes {
			if q >= 0 && 2*n > len(sample) {
				out[int(q)] = len(t.Places[q].Cohorts[0])
			}
		}
	}
	return out
}

// StepEnd returns the place whose calls end the steps: a place that is entered once a step, if possible an awaited one.
// Where ranks synchronise in some steps only, its steps are longer than the recorded ones.
func (t *Waits) StepEnd(places []int, waited map[int]int, recorded int64) (place int, ok bool) {
	v := t.Visits(places)
	list := v.Steady(func(one Turns) bool { return one.Every*4 < recorded*5 })
	if len(list) == 0 {
		list = v.Steady(func(Turns) bool { return true })
	}
	if len(list) == 0 {
		return 0, false
	}
	best := list[0]
	for _, one := range list[1:] { // of those that hardly a step lacks, one that is waited for
		if n, than := len(one.Ends), len(best.Ends); n*20 >= than*21 || n*20 >= than*19 && waited[one.Place] > waited[best.Place] {
			best = one
		}
	}
	return best.Place, true
}

// StepCut maps each call of each rank to its step.
type StepCut struct {
	place int
	Ends  []int64     // [step] when half of the ranks had entered the call that ends it
	of    [][]stepEnd // [rank] in the order of its calls
}

type stepEnd struct{ call, step int32 }

// Cut cuts the calls of all ranks at the calls of a place. Ranks without calls there are cut by collectives that they
// make with ranks already cut, else by the collectives once a step that are nearest to its end.
func (t *Waits) Cut(place int, places []int) *StepCut {
	c := &StepCut{place: place, of: make([][]stepEnd, len(t.Ranks))}
	by := map[int32][]int64{}
	for _, k := range t.Places[place].Cohorts {
		g := t.Call(k[0]).Group
		by[g] = append(by[g], t.Middle(k))
	}
	for _, times := range by {
		if slices.Sort(times); len(times) > len(c.Ends) || len(times) == len(c.Ends) && times[0] < c.Ends[0] {
			c.Ends = times
		}
	}
	for i, step := range t.stepsOf(t.Places[place].Cohorts, c.Ends) {
		for _, e := range t.Places[place].Cohorts[i] {
			c.of[e.Process] = append(c.of[e.Process], stepEnd{e.Call, int32(step)})
		}
	}
	for _, of := range c.of {
		slices.SortFunc(of, func(a, b stepEnd) int { return cmp.Compare(a.call, b.call) })
	}
	for t.cutPartners(c, places) {
	}
	t.cutOthers(c, places)
	for _, of := range c.of {
		slices.SortFunc(of, func(a, b stepEnd) int { return cmp.Compare(a.call, b.call) })
	}
	return c
}

// inOrderShare is the share of a group's calls that must have the group's usual shift from the nearest step end, for the
// rest to follow it.
const inOrderShare = 0.6

// stepsOf returns the step that each cohort ends. Each group makes one call a step, and its calls are numbered in order
// from the usual shift against the nearest ends. A call of a rank that is late by over half a step would be nearer to
// the next end. A group without a usual shift, as where calls are missing, takes the nearest ends.
func (t *Waits) stepsOf(cohorts []Cohort, ends []int64) []int {
	out, groups := make([]int, len(cohorts)), map[int32][]int{}
	for i, k := range cohorts {
		out[i] = nearestOf(ends, t.Middle(k))
		g := t.Call(k[0]).Group
		groups[g] = append(groups[g], i)
	}
	for _, of := range groups {
		slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(t.Middle(cohorts[a]), t.Middle(cohorts[b])) })
		votes, shift := map[int]int{}, 0
		for n, i := range of {
			votes[out[i]-n]++
		}
		for s, n := range votes {
			if n > votes[shift] || n == votes[shift] && s < shift {
				shift = s
			}
		}
		first, last := 0, len(of)-1
		for first < len(of) && out[of[first]]-first != shift {
			first++
		}
		for last >= 0 && out[of[last]]-last != shift {
			last--
		}
		// Behind a call that is lacking all others are off, and so are those before one too many.
		if first > 1 || last < len(of)-2 || float64(votes[shift]) < inOrderShare*float64(len(of)) || shift < 0 || shift+len(of) > len(ends) {
			continue
		}
		for n, i := range of {
			out[i] = n + shift
		}
	}
	return out
}

// cutPartners cuts the calls of uncut ranks that make collectives with cut ranks, and reports whether there were any. A
// collective is in one step for all members, however late one of them is.
func (t *Waits) cutPartners(c *StepCut, places []int) bool {
	ends := make([]map[int]int32, len(c.of)) // [rank][step] its last call
	found := false
	for _, i := range places {
		all := t.Places[i].Cohorts
		if t.IsMessage(t.Call(all[0][0])) {
			continue
		}
		for _, k := range all {
			known := slices.IndexFunc(k, func(e Entry) bool { return len(c.of[e.Process]) > 0 })
			if known < 0 {
				continue
			}
			step := c.Step(k[known], t.Time(k[known]))
			for _, e := range k {
				if step < 0 || len(c.of[e.Process]) > 0 {
					continue
				}
				if ends[e.Process] == nil {
					ends[e.Process], found = map[int]int32{}, true
				}
				ends[e.Process][step] = max(ends[e.Process][step], e.Call)
			}
		}
	}
	for r, of := range ends {
		for step, call := range of {
			c.of[r] = append(c.of[r], stepEnd{call, int32(step)})
		}
		slices.SortFunc(c.of[r], func(a, b stepEnd) int { return cmp.Compare(a.call, b.call) })
	}
	return found
}

func (t *Waits) cutOthers(c *StepCut, places []int) {
	off := map[int]int64{} // of the calls of a place from the nearest end, median
	for _, i := range places {
		all := t.Places[i].Cohorts
		uncut := func(e Entry) bool { return len(c.of[e.Process]) == 0 }
		if i == c.place || t.IsMessage(t.Call(all[0][0])) || !slices.ContainsFunc(all, func(k Cohort) bool { return slices.ContainsFunc(k, uncut) }) {
			continue
		}
		n, x := 0, []int64(nil)
		for _, k := range all {
			at := t.Middle(k)
			x = append(x, abs(at-c.Ends[nearestOf(c.Ends, at)]))
			if t.Call(k[0]).Group == t.Call(all[0][0]).Group {
				n++
			}
		}
		if n*20 >= len(c.Ends)*19 && n*19 <= len(c.Ends)*20 {
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
		for _, k := range t.Places[i].Cohorts {
			step := nearestOf(c.Ends, t.Middle(k))
			for _, e := range k {
				if !cut[e.Process] {
					c.of[e.Process] = append(c.of[e.Process], stepEnd{e.Call, int32(step)})
				}
			}
		}
	}
}

// Step returns the step that contains an entry, −1 behind the last. It is the step of the rank's next step-ending call;
// for a rank without such calls, the step that ends next after at.
func (c *StepCut) Step(e Entry, at int64) int {
	if of := c.of[e.Process]; len(of) > 0 {
		i, _ := slices.BinarySearchFunc(of, e.Call, func(x stepEnd, call int32) int { return cmp.Compare(x.call, call) })
		if i == len(of) {
			return -1
		}
		return int(of[i].step)
	}
	i, _ := slices.BinarySearch(c.Ends, at)
	if i == len(c.Ends) {
		return -1
	}
	return i
}

// Middle returns when half of the members had entered.
func (t *Waits) Middle(c Cohort) int64 { return middleOf(c, t.Time) }

// middleOf returns the median of f over the entries of a cohort.
func middleOf(c Cohort, f func(Entry) int64) int64 {
	x := make([]int64, len(c))
	for i, e := range c {
		x[i] = f(e)
	}
	return median(x)
}

// nearestOf returns the index of the value of a sorted list that is nearest to x.
func nearestOf(sorted []int64, x int64) int {
	i, _ := slices.BinarySearch(sorted, x)
	if i == len(sorted) || i > 0 && x-sorted[i-1] < sorted[i]-x {
		i--
	}
	return i
}

// layOut puts the pieces and points of a step in the order in which the calls are made. Pieces behind
// the last point lead to the first one of the next step.
func (d *Division) layOut(s *Waits, places []int, waited map[int]int) {
	into := make(map[int]int64, len(places)) // how long before the end of its step a call is, median
	for _, i := range places {
		var x []int64
		for _, c := range s.Places[i].Cohorts {
			at := s.Middle(c)
			if t := d.Cut.Step(c[0], at); t >= 0 {
				x = append(x, at-d.Cut.Ends[t])
			}
		}
		into[i] = median(x)
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(into[a], into[b]) })
	if i := slices.Index(places, d.Cut.place); i >= 0 {
		places = append(slices.Delete(places, i, i+1), d.Cut.place)
	}
	for i := range s.Places {
		stage := points.Stage{}
		if all := s.Places[i].Cohorts; len(all) > 0 { // of the ranks that are judged
			stage.Name = s.KindOf(all[0][0]).Name
		}
		d.Stages = append(d.Stages, stage)
	}
	widest, taking := 0, make(map[int]bool)
	for _, n := range waited {
		widest = max(widest, n)
	}
	var sets [][]int // that synchronise
	for _, i := range places {
		piece := points.Piece{Stage: i, Point: len(d.At)}
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
			d.At = append(d.At, i)
			d.Points = append(d.Points, points.Point{Stage: len(d.Stages), Evidence: points.Shown, Slope: -1, Low: -1, High: -1})
			d.Stages = append(d.Stages, points.Stage{Name: d.Stages[i].Name, Role: points.Wait})
		}
		d.Pieces = append(d.Pieces, piece)
	}
	for k := range d.Pieces {
		if p := &d.Pieces[k]; p.Point == len(d.At) { // none where there are no points
			p.Point, p.Tail = 0, len(d.At) > 0
		}
	}
	if len(sets) > 1 || len(sets) == 1 && len(sets[0]) < len(taking) {
		d.Peers = sets
	}
}

// setsAt returns the sets of ranks that enter calls of a place together.
func (t *Waits) setsAt(place int) [][]int {
	of, takes := NewSets(len(t.Ranks)), make([]bool, len(t.Ranks))
	for _, c := range t.Places[place].Cohorts {
		for _, e := range c {
			takes[e.Process] = true
			of.Join(int(c[0].Process), int(e.Process))
		}
	}
	var sets ordered.List[int, []int]
	for r := range of {
		if takes[r] {
			set, _ := sets.Of(of.First(r))
			*set = append(*set, r)
		}
	}
	return sets.All
}

// fill fills in the work of all ranks, ns. A rank that lacks a call in a step, as at the edges of a ring buffer, has the
// median of the others.
func (d *Division) fill(s *Waits) {
	T, R := len(d.Cut.Ends), d.Ranks
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
		s.VisitWork(&s.Places[piece.Stage], func(e Entry, w, _ int64) {
			if t := d.Cut.Step(e, s.Time(e)); t >= 0 {
				i := (t+later)*R + int(e.Process)
				work[i] += w
				seen[i] = true
			}
		})
		d.Work, d.Absent = append(d.Work, work), append(d.Absent, fillAbsent(work, seen, R))
	}
	released := slices.Repeat([]int64{math.MinInt64}, T) // of the last point
	for p, place := range d.At {
		spent := make([]int64, d.Intervals*R)
		for _, e := range slices.Concat(s.Places[place].Cohorts...) {
			t := d.Cut.Step(e, s.Time(e))
			if t < 0 {
				continue
			}
			spent[t*R+int(e.Process)] += max(0, s.ReleaseFor(e)-s.Time(e))
			if p == len(d.At)-1 {
				released[t] = max(released[t], s.Time(e))
			}
		}
		d.Spent, d.After = append(d.Spent, spent), append(d.After, make([]int64, d.Intervals))
	}
	d.Arrive()
	if len(d.At) == 0 {
		return
	}
	// What the arrivals do not explain of the time from one last point to the next follows it.
	for t := 1; t < T; t++ {
		if released[t] == math.MinInt64 || released[t-1] == math.MinInt64 {
			continue
		}
		left := released[t] - released[t-1]
		for p := range d.At {
			left -= slices.Max(d.Arrivals[p][t*R : (t+1)*R])
		}
		d.After[len(d.At)-1][t] = max(0, left)
	}
}

// fillAbsent gives ranks without a value the median of the others in the step, and returns which steps have no value at
// all.
func fillAbsent(work []int64, seen []bool, R int) (absent []bool) {
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

// joinReplicas joins sets of ranks that run one program, in a job without messages. The members of such sets meet, one
// of each, in the groups of another call, as tensor-parallel groups of data-parallel replicas do. The first and last
// stage of a pipeline may meet so, too.
func (d *Division) joinReplicas(s *Waits, sets [][]int) Sets {
	out, of := NewSets(len(sets)), slices.Repeat([]int{-1}, d.Ranks)
	for i, set := range sets {
		for _, r := range set {
			of[r] = i
		}
	}
	if s.Blocks != nil {
		return out
	}
	for _, piece := range d.Pieces {
		for _, group := range s.setsAt(piece.Stage) {
			met := make(map[int]bool, len(group))
			for _, r := range group {
				met[of[r]] = true
			}
			if len(met) < len(group) || met[-1] || len(group) == d.Ranks {
				continue
			}
			for _, r := range group {
				out.Join(of[group[0]], of[r])
			}
		}
	}
	return out
}

// worksOf returns the work of ranks in a piece, ns, over all intervals in which the piece was recorded.
func (d *Division) worksOf(piece int, ranks []int) (out []int64) {
	for n := range d.Intervals {
		if d.Step(n, piece) < 0 {
			continue
		}
		for _, r := range ranks {
			out = append(out, d.Work[piece][n*d.Ranks+r])
		}
	}
	return out
}

// findPeers finds which ranks do the same work: all ranks that make the same calls. Exceptions are sets that enter a
// call together, where all members of one set differ from all members of another in work before the call. A difference
// of one member may be its delay.
func (d *Division) findPeers(s *Waits) {
	of := make([][]byte, d.Ranks)
	step := float64(Period(d.Cut.Ends))
	for k, piece := range d.Pieces {
		sets := s.setsAt(piece.Stage)
		least, most := math.Inf(1), math.Inf(-1) // of the sets the least of the most work of a member, and the most of the least
		for _, set := range sets {
			low, high := math.Inf(1), math.Inf(-1)
			for _, r := range set {
				m := float64(median(d.worksOf(k, []int{r})))
				low, high = min(low, m), max(high, m)
			}
			if len(s.Clocks) > 1 { // what all but one of a set differ by may be the clock of that one
				middle := float64(median(d.worksOf(k, set)))
				low, high = middle, middle
			}
			least, most = min(least, high), max(most, low)
		}
		if most-least < minDifferenceShare*step {
			continue
		}
		replica := d.joinReplicas(s, sets)
		for i, set := range sets {
			for _, r := range set {
				of[r] = binary.LittleEndian.AppendUint32(of[r], uint32(replica.First(i)+1))
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
		if h := s.HostOf(r); h != "" {
			host, _ = hosts.Of(h)
		}
		d.PeersOf, d.HostsOf = append(d.PeersOf, set), append(d.HostsOf, host)
	}
	if len(index) == 1 && d.Peers == nil {
		d.PeersOf = nil
	}
}

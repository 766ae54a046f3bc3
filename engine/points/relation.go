package points

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sfstat/sfstat/internal/robust"
)

// Ranks of one pipeline stage do the same work, those of two do not, and who computes for another or waits for it is longer in
// forward and shorter in backward. In averages that looks like a rank that is late in one stage and another that is late in the next.
// Two ranks of a job without such stages are alike but for a delay, and what they wait for one another is in the stages that they leave together.

const (
	// leastAlike is the part of a step by which two ranks of the same work differ less, all stages together.
	leastAlike = 0.05
	// leastCrossing is the part of a step by which each of two ranks of unlike work takes longer than the other in some stages.
	leastCrossing = 0.03
	// leavesTogether is the largest ratio of how far apart ranks leave a stage to how far apart they arrive at it for them to wait in it.
	leavesTogether = 0.6
	// levelErrors is how many standard errors a difference of two ranks' medians is smaller than it seems.
	levelErrors = 2.6
)

// levels are the medians of what ranks take in stages, [stage][rank], and their standard errors, ns.
type levels struct {
	ranks         int
	step          float64 // median over ranks of all stages
	median, error [][]float64
	points        []bool // [stage]
}

// medianLevels returns what each rank takes in the stages of steps by itself.
func (f *Found) medianLevels(c *Steps) *levels {
	R := c.Ranks
	out := &levels{ranks: R, points: make([]bool, len(c.Stages))}
	for _, p := range f.Points {
		out.points[p.Stage] = true
	}
	T := c.Len()
	own, scratch, steps := make([]int64, R*T), make([]int64, T), make([]float64, R)
	for k := range c.Stages {
		level, se := make([]float64, R), make([]float64, R)
		for t := range T {
			for r, x := range c.At(t, k) {
				own[r*T+t] = x
			}
		}
		for r := range R {
			of := own[r*T : (r+1)*T]
			middle := robust.MedianTimeOf(of, scratch)
			for t, x := range of {
				of[t] = max(x-middle, middle-x)
			}
			level[r] = float64(middle)
			se[r] = 1.25 * robust.SigmaOfMAD * float64(robust.MedianTimeOf(of, scratch)) / math.Sqrt(float64(T))
			steps[r] += level[r]
		}
		out.median, out.error = append(out.median, level), append(out.error, se)
	}
	out.step = robust.Median(steps)
	return out
}

// levelsOf returns the levels of steps, by what each rank takes by itself. Of ranks that leave a stage together it is the least that one of them takes: the others wait. At a
// point all do, or, with the ratios of exits, where that is small.
func (f *Found) levelsOf(c *Steps, own *levels, apart []float64) *levels {
	out := *own
	out.median, out.error = nil, nil
	for k := range c.Stages {
		level, se := slices.Clone(own.median[k]), slices.Clone(own.error[k])
		for _, set := range f.together(c, k, apart) {
			least := set[0]
			for _, r := range set {
				if level[r] < level[least] {
					least = r
				}
			}
			x, e := level[least], se[least]
			for _, r := range set {
				level[r], se[r] = x, e
			}
		}
		out.median, out.error = append(out.median, level), append(out.error, se)
	}
	return &out
}

// together returns the sets of ranks that leave a stage together, by the ratios of exits or, nil, wherever there is a point.
func (f *Found) together(c *Steps, k int, apart []float64) [][]int {
	for _, w := range f.Within {
		if w.Stage == k {
			return w.Sets
		}
	}
	for _, p := range f.Points {
		if p.Stage == k && (p.Evidence == Named || apart == nil || apart[k] < leavesTogether) {
			all := make([]int, c.Ranks)
			for r := range all {
				all[r] = r
			}
			return [][]int{all}
		}
	}
	return nil
}

// exitRatios returns of each point how far apart ranks leave it as a part of how far apart they arrive at it, both by how that changes from one step to
// the next: the median over steps. Sets that leave it together count as one. 0 where it is not known, and of other stages.
func (f *Found) exitRatios(c *Steps) []float64 {
	out := make([]float64, len(c.Stages))
	sets := setsThatLeave(c, !slices.ContainsFunc(c.Stages, func(s Stage) bool { return s.Role == Rest || s.Role == Wait }))
	for _, p := range f.Points {
		of := sets[p.Stage]
		for r := 0; of == nil && r < c.Ranks; r++ {
			of = append(of, []int{r})
		}
		if !c.coarse(p.Stage) {
			out[p.Stage] = c.exitRatio(p.Stage, of)
		}
	}
	return out
}

func (s *Steps) exitRatio(k int, sets [][]int) float64 {
	S := len(sets)
	own, since := make([]int64, s.Ranks), make([]float64, s.Ranks)
	means := func() (out []float64) {
		center(since, own)
		return setMeans(since, s.Ranks, sets)
	}
	var ratios []float64
	for _, at := range s.stretches() {
		var arrived, left []float64
		for t := at[0] + 1; t < at[1]; t++ {
			s.exitToArrival(t, k, own)
			arrive := means()
			add(own, s.At(t, k))
			leave := means()
			if arrived != nil {
				before, after := 0.0, 0.0
				for i := range S {
					x, y := arrive[i]-arrived[i], leave[i]-left[i]
					before, after = before+x*x, after+y*y
				}
				if before > float64(S) {
					ratios = append(ratios, math.Sqrt(after/before))
				}
			}
			arrived, left = arrive, leave
		}
	}
	if len(ratios) == 0 {
		return 0
	}
	return robust.Median(ratios)
}

// difference is by how much two ranks surely differ, ns.
type difference struct {
	over, under float64 // in the stages in which the first takes longer, and shorter
	most        float64 // the largest of a stage
	mostOfWork  float64 // the largest of a stage that is no point
	atPoints    float64
}

// remainder returns what is left but for the stage in which they differ most; of a rank that is late in one stage its shorter waits at points do not
// count either.
func (d *difference) remainder(late bool) float64 {
	if late {
		return d.over + d.under - d.atPoints - d.mostOfWork
	}
	return d.over + d.under - d.most
}

// differ returns how two ranks differ.
func (l *levels) differ(r, q int) (out difference) {
	for k := range l.median {
		d := l.median[k][r] - l.median[k][q]
		sure := max(0, math.Abs(d)-levelErrors*math.Hypot(l.error[k][r], l.error[k][q]))
		if d > 0 {
			out.over += sure
		} else {
			out.under += sure
		}
		out.most = max(out.most, sure)
		if l.points[k] {
			out.atPoints += sure
		} else {
			out.mostOfWork = max(out.mostOfWork, sure)
		}
	}
	return out
}

// areAlike reports whether two ranks differ in nothing.
func (l *levels) areAlike(r, q int) bool {
	d := l.differ(r, q)
	return d.over+d.under < leastAlike*l.step
}

// findClasses finds the sets of ranks whose work is alike: those that reduce gradients apart from the others, or, where no set has more than half of the
// ranks, some that take longer in one stage and shorter in another than others do: stages of a pipeline. All ranks are one class where most are like no other.
// The stages in which they differ may be waits. Where ranks leave a point no nearer than they arrive at it, some must be seen to follow others in a stage.
// O(ranks² · stages).
func (f *Found) findClasses(c *Steps, g Gates) {
	if c.Ranks < 2 || c.Len() <= fewestChanges || f.Meetings.Every > 0 || len(f.Points)+len(f.Within) == 0 {
		return
	}
	own := f.medianLevels(c)
	l := own
	if f.Classes = f.reduceApart(c, own, g); f.Classes == nil {
		if f.Classes, l = f.classesOf(c, own); f.Classes == nil {
			return
		}
	}
	for k, level := range l.median {
		waits := slices.ContainsFunc(f.Points, func(p Point) bool { return p.Stage == k }) || slices.Contains(f.Perhaps, k)
		unlike := slices.Max(level)-slices.Min(level) >= leastAlike*l.step || len(f.Classes) == 1 && c.Stages[k].Role != Data
		if !waits && unlike {
			f.Perhaps = append(f.Perhaps, k)
		}
	}
	slices.Sort(f.Perhaps)
}

// classesOf returns the sets of ranks of like work by the levels of ranks, and those levels, in which ranks that leave a point together, or any point, take no more
// than is needed; nil: all are alike, or may be.
func (f *Found) classesOf(c *Steps, own *levels) ([][]int, *levels) {
	apart := f.exitRatios(c)
	alone := !f.reduceTogether(c, apart)
	for _, of := range [][]float64{nil, apart} {
		l := f.levelsOf(c, own, of)
		if !l.unlike() {
			continue
		}
		sets := l.classes(alone)
		if sets != nil && (of == nil || !f.halfLate(c, l, apart) || f.follow(c)) {
			return sets, l
		}
	}
	return nil, nil
}

// halfLate reports whether levels may be those of ranks of like work of which a part is late, and the others wait for it where gradients are reduced.
func (f *Found) halfLate(c *Steps, l *levels, apart []float64) bool {
	return len(l.alike()) == 2 && !slices.ContainsFunc(f.Points, func(p Point) bool {
		role := c.Stages[p.Stage].Role
		return role != Backward && role != Collective && p.Evidence != Named && apart[p.Stage] >= leavesTogether
	})
}

// unlike reports whether most ranks are not alike, and some take longer in one stage and shorter in another than others do.
func (l *levels) unlike() bool {
	crossing := 0.0
	for r := range l.ranks {
		alike := 0
		for q := range l.ranks {
			d := l.differ(r, q)
			crossing = max(crossing, min(d.over, d.under))
			if l.areAlike(r, q) {
				alike++
			}
		}
		if 2*alike > l.ranks {
			return false
		}
	}
	return crossing >= leastCrossing*l.step
}

// reduceApart returns the sets of ranks that wait for one another where gradients are reduced, and leave that apart from the other sets, as the ranks of a
// pipeline's stage do; nil: there are none, or they are alike, or wait for one another elsewhere too, as tensor-parallel groups do.
func (f *Found) reduceApart(c *Steps, own *levels, g Gates) [][]int {
	if len(own.alike()) == 1 {
		return nil
	}
	open := !slices.ContainsFunc(c.Stages, func(s Stage) bool { return s.Role == Rest || s.Role == Wait })
	for k, of := range pairChangesOf(c, open) {
		if !c.reduces(k) {
			continue
		}
		sets := of.setsThatEnd()
		if sets == nil || ratiosWithin(c, open, sets, g)[k] == 0 {
			continue
		}
		elsewhere := slices.ContainsFunc(f.Within, func(w Within) bool {
			return !c.reduces(w.Stage) && slices.ContainsFunc(sets, func(set []int) bool { return containsSet(w.Sets, set) })
		})
		unlike := slices.ContainsFunc(sets, func(set []int) bool { return !own.areAlike(set[0], sets[0][0]) })
		if unlike && !elsewhere {
			return sets
		}
	}
	return nil
}

// reduceTogether reports whether all ranks leave a point together where gradients are reduced, by the ratios of exits.
func (f *Found) reduceTogether(c *Steps, apart []float64) bool {
	return slices.ContainsFunc(f.Points, func(p Point) bool {
		return c.reduces(p.Stage) && (p.Evidence == Named || apart[p.Stage] < leavesTogether)
	})
}

// reduces reports whether gradients are reduced in a stage, by its role.
func (s *Steps) reduces(k int) bool {
	return s.Stages[k].Role == Backward || s.Stages[k].Role == Collective
}

// containsSet reports whether one of some sets is a given one, both in ascending order.
func containsSet(sets [][]int, set []int) bool {
	return slices.ContainsFunc(sets, func(s []int) bool { return slices.Equal(s, set) })
}

// mostFollowing bounds the ranks of which pairs are compared for one that follows another.
const mostFollowing = 64

// follow reports whether a rank's time in a stage goes with when another one leaves it, from step to step, beyond what all ranks share: Spearman's
// correlation of the time with the other's exit since the rank's arrival is above what is due to chance in one of a hundred of all pairs and stages. Of two ranks, of
// which nobody knows what they share, the other's arrival stands for its exit. Of too many ranks for that it is taken for granted.
func (f *Found) follow(c *Steps) bool {
	R := c.Ranks
	if R > mostFollowing {
		return true
	}
	surely := distuv.UnitNormal.Quantile(1 - 0.01/float64(R*(R-1)*len(c.Stages)))
	for k := range c.Stages {
		if slices.ContainsFunc(f.Points, func(p Point) bool { return p.Stage == k }) {
			continue
		}
		arrive, spent := c.arrivalsAt(k)
		n := len(spent[0]) - 1
		if n <= fewestChanges {
			continue
		}
		own := make([][]float64, R)
		for r := range R {
			own[r] = placesOf(changes(spent[r]))
		}
		since := make([]float64, n+1)
		for r := range R {
			for q := range R {
				if q == r || f.leaveTogether(r, q) {
					continue
				}
				for t := range since {
					since[t] = arrive[q][t] - arrive[r][t]
					if R > 2 {
						since[t] += spent[q][t]
					}
				}
				if correlation(own[r], placesOf(changes(since)))*math.Sqrt(float64(n)/neighbours) > surely {
					return true
				}
			}
		}
	}
	return false
}

// arrivalsAt returns how long after its exit in the step before each rank arrives at a stage, and how long it stays, less the median of all ranks,
// [rank][step].
func (s *Steps) arrivalsAt(k int) (arrive, spent [][]float64) {
	R := s.Ranks
	arrive, spent = make([][]float64, R), make([][]float64, R)
	own, scratch := make([]int64, R), make([]int64, R)
	for _, at := range s.stretches() {
		for t := at[0] + 1; t < at[1]; t++ {
			s.exitToArrival(t, k, own)
			middle := int64(0)
			if R > 2 {
				middle = robust.MiddleOf(s.At(t, k), scratch).Median()
			}
			for r, x := range s.At(t, k) {
				arrive[r], spent[r] = append(arrive[r], float64(own[r])), append(spent[r], float64(x-middle))
			}
		}
	}
	return arrive, spent
}

// changes returns the differences in time.
func changes(v []float64) []float64 {
	out := make([]float64, len(v)-1)
	for i := range out {
		out[i] = v[i+1] - v[i]
	}
	return out
}

// placesOf returns the places of values in their order, less the middle one.
func placesOf(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	out := make([]float64, len(v))
	for i, at := range order {
		out[at] = float64(i) - float64(len(v)-1)/2
	}
	return out
}

// correlation returns that of two series about 0.
func correlation(x, y []float64) float64 {
	xx, yy, xy := 0.0, 0.0, 0.0
	for i := range x {
		xx, yy, xy = xx+x[i]*x[i], yy+y[i]*y[i], xy+x[i]*y[i]
	}
	return xy / math.Sqrt(xx*yy)
}

// leaveTogether reports whether two ranks are in one set that leaves some stage together.
func (f *Found) leaveTogether(r, q int) bool {
	return slices.ContainsFunc(f.Within, func(w Within) bool {
		return slices.ContainsFunc(w.Sets, func(set []int) bool { return slices.Contains(set, r) && slices.Contains(set, q) })
	})
}

// alike returns the sets of ranks that are alike in all stages.
func (l *levels) alike() (sets [][]int) {
	for r := range l.ranks {
		i := slices.IndexFunc(sets, func(set []int) bool { return l.areAlike(r, set[0]) })
		if i < 0 {
			sets = append(sets, []int{r})
		} else {
			sets[i] = append(sets[i], r)
		}
	}
	return sets
}

// minWithoutLike is how many ranks there must be for none to have its like: of two that differ either may be the unusual one.
const minWithoutLike = 3

// classes returns the sets of ranks that are alike in all stages but one: a smaller set of those alike in all, or a rank, is one with a larger one that
// all of its ranks are like but for one stage. nil: all ranks are.
// alone: where most ranks are like no other, as in a pipeline without replicas, all are one class, of which none has its like.
func (l *levels) classes(alone bool) [][]int {
	sets := l.alike()
	single := 0
	for _, set := range sets {
		if len(set) == 1 {
			single++
		}
	}
	if alone && l.ranks >= minWithoutLike && 2*single > l.ranks {
		return [][]int{slices.Sorted(slices.Values(slices.Concat(sets...)))}
	}
	slices.SortStableFunc(sets, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	for i, set := range sets {
		nearest, least := -1, leastAlike*l.step
		for k := i + 1; k < len(sets); k++ {
			if len(set) > 1 && len(set) == len(sets[k]) { // as many are no few that are late
				continue
			}
			left := 0.0
			for _, r := range set {
				d := l.differ(r, sets[k][0])
				left = max(left, d.remainder(len(set) == 1 && len(sets[k]) > 1))
			}
			if left < least {
				nearest, least = k, left
			}
		}
		if nearest >= 0 {
			sets[nearest], sets[i] = append(sets[nearest], set...), nil
		}
	}
	sets = slices.DeleteFunc(sets, func(set []int) bool { return set == nil })
	if len(sets) == 1 {
		return nil
	}
	for _, set := range sets {
		slices.Sort(set)
	}
	return sets
}

// takePossibleWaits takes off the work of ranks in classes what they may have waited for one another: by how much longer than its like a rank takes
// in a piece, as far as a rank of another class was as late at the end of it, or one of its own was so before. Whom a rank waits for in a pipeline is
// not known, but not for its like: those that become late in one piece together do so by a cause of their own. For data nobody waits for ranks that
// become late in it. Of one class, in which none has its like, ranks are compared for data alone. Then it lets the classes arrive together, as far as
// their usual ranks go, so that a rank that is behind its like is behind by as much as that delays the step.
func (d *Division) takePossibleWaits(classes [][]int) {
	R := d.Ranks
	late, excess, scratch := make([]int64, R), make([]int64, R), make([]int64, R)
	begun, after := make([]int64, R), make([]int64, R)
	for p := range max(1, len(d.Points)) {
		order := d.piecesTo(p)
		for n := range d.Intervals {
			clear(late)
			for _, k := range order {
				row := d.Work[k][n*R : (n+1)*R]
				subtractUsual(excess, row, classes, scratch)
				for r, x := range excess {
					after[r] = late[r] + x
					begun[r] = min(late[r], after[r])
				}
				others, role := after, d.Stages[d.Pieces[k].Stage].Role
				if role == Data {
					others = begun
				}
				unlike := len(classes) == 1 && role != Data
				latest := latestOfSets(others, classes)
				for i, set := range classes {
					same := latestOf(begun, set)
					for _, r := range set {
						last := max(latest.without(i), same.without(r))
						if unlike {
							last = after[r]
						}
						row[r] -= max(0, min(last-late[r], excess[r]))
					}
				}
				copy(late, after)
			}
		}
	}
	d.Arrive()
	for p := range d.Points {
		for n := range d.Intervals {
			arrive, spent := d.Arrivals[p][n*R:(n+1)*R], d.Spent[p][n*R:(n+1)*R]
			last := int64(math.MinInt64)
			usual := make([]int64, len(classes))
			for i, set := range classes {
				usual[i] = usualOf(arrive, set, scratch)
				last = max(last, usual[i])
			}
			for i, set := range classes {
				for _, r := range set {
					arrive[r] += last - usual[i]
					spent[r] = max(0, spent[r]-last+usual[i])
				}
			}
		}
	}
}

// usualOf returns the lower median of the values of some ranks.
func usualOf(row []int64, set []int, scratch []int64) int64 {
	own := make([]int64, 0, len(set))
	for _, r := range set {
		own = append(own, row[r])
	}
	return robust.MiddleOf(own, scratch).Lower()
}

// subtractUsual writes values of ranks less the lower median of the others of their class.
func subtractUsual(dst, row []int64, classes [][]int, scratch []int64) {
	own := make([]int64, 0, len(row))
	for _, set := range classes {
		own = own[:0]
		for _, r := range set {
			own = append(own, row[r])
		}
		m := robust.MiddleOf(own, scratch)
		for _, r := range set {
			dst[r] = row[r] - m.LowerWithout(row[r])
		}
	}
}

// piecesTo returns the pieces that lead to a point, in the order of time: those of the step before come first.
func (d *Division) piecesTo(p int) (order []int) {
	for _, tail := range []bool{true, false} {
		for k, piece := range d.Pieces {
			if piece.Point == p && piece.Tail == tail {
				order = append(order, k)
			}
		}
	}
	return order
}

// latest is the two largest values of some, and which the largest is.
type latest struct {
	first, second int64
	at            int
}

// noLatest returns the latest of no values.
func noLatest() latest { return latest{math.MinInt64 / 2, math.MinInt64 / 2, -1} } // differences of it are numbers

// add takes a value, of a rank or of a set, into account.
func (l *latest) add(at int, x int64) {
	if x > l.first {
		l.first, l.second, l.at = x, l.first, at
	} else {
		l.second = max(l.second, x)
	}
}

// without returns the largest value but for one.
func (l *latest) without(at int) int64 {
	if at == l.at {
		return l.second
	}
	return l.first
}

// latestOf returns the latest of the ranks of a set.
func latestOf(v []int64, set []int) latest {
	out := noLatest()
	for _, r := range set {
		out.add(r, v[r])
	}
	return out
}

// latestOfSets returns the latest of sets, each by its latest rank.
func latestOfSets(v []int64, sets [][]int) latest {
	out := noLatest()
	for i, set := range sets {
		of := latestOf(v, set)
		out.add(i, of.first)
	}
	return out
}

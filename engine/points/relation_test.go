package points

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// pipelineJob returns steps of a pipeline of so many stages and replicas, rank = stage · replicas + replica, that takes one batch forward and back, and in whose
// optimizer all ranks meet. Stage s takes work[s] ns forward and twice that backward; noise is its part that varies. late is added to the data of rank 0.
func pipelineJob(seed uint64, replicas int, work []float64, noise float64, late int64) *Steps {
	g := rand.New(rand.NewPCG(seed, 11))
	S := len(work)
	R := S * replicas
	vary := func(x float64) int64 { return int64(x * (1 + noise*g.NormFloat64())) }
	var steps [][][]int64
	for range 100 {
		data, forward, backward, optimizer := make([]int64, R), make([]int64, R), make([]int64, R), make([]int64, R)
		at := make([]int64, R)
		for r := range data {
			data[r] = vary(5e6)
			if r == 0 {
				data[r] += late
			}
			at[r] = data[r]
		}
		for r := range R { // the stage before has the lower numbers
			begun := at[r]
			if r >= replicas {
				at[r] = max(at[r], at[r-replicas])
			}
			at[r] += vary(work[r/replicas])
			forward[r] = at[r] - begun
		}
		for r := R - 1; r >= 0; r-- {
			begun := at[r]
			if r+replicas < R {
				at[r] = max(at[r], at[r+replicas])
			}
			at[r] += vary(2 * work[r/replicas])
			backward[r] = at[r] - begun
		}
		last := slices.Max(at)
		for r := range optimizer {
			optimizer[r] = last + 1e6 - at[r]
		}
		steps = append(steps, [][]int64{data, forward, backward, optimizer})
	}
	s := stepsOf(steps...)
	for k, name := range []string{"data", "forward", "backward", "optimizer"} {
		s.Stages[k] = StageOf(name)
	}
	return s
}

// TestClassesOfPipelines: the ranks of one stage of a pipeline are alike, those of two are not, and a rank that is late in data is one of its stage. Without replicas
// none is like another, and all are one class.
func TestClassesOfPipelines(t *testing.T) {
	for name, c := range map[string]struct {
		replicas int
		work     []float64
		late     int64
		want     [][]int
	}{
		"two stages":                     {2, []float64{20e6, 20e6}, 0, [][]int{{0, 1}, {2, 3}}},
		"three of unequal work":          {3, []float64{20e6, 30e6, 15e6}, 0, [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}},
		"three, a rank of which is late": {3, []float64{20e6, 30e6, 15e6}, 40e6, [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}},
		"without replicas":               {1, []float64{20e6, 30e6, 15e6}, 0, [][]int{{0, 1, 2}}},
	} {
		for seed := range uint64(5) {
			found := Find(pipelineJob(seed, c.replicas, c.work, 0.02, c.late), Gates{})
			got := slices.Clone(found.Classes)
			slices.SortFunc(got, func(a, b []int) int { return a[0] - b[0] })
			if !slices.EqualFunc(got, c.want, slices.Equal[[]int]) {
				t.Errorf("%s, seed %d: %v, want %v", name, seed, got, c.want)
			}
			if !slices.Contains(found.Perhaps, 1) || !slices.Contains(found.Perhaps, 2) {
				t.Errorf("%s, seed %d: ranks may wait in %v, want forward and backward", name, seed, found.Perhaps)
			}
		}
	}
}

// TestPeersOfOneWork: ranks that all meet are peers, however many of them are late in one stage, each of them in another, or meet in sets on the way.
func TestPeersOfOneWork(t *testing.T) {
	flat := func(seed uint64, late [][3]int64) *Steps { // rank, stage, ns
		g := rand.New(rand.NewPCG(seed, 3))
		var steps [][][]int64
		for range 100 {
			rows, last := make([][]int64, 4), int64(0)
			for k, base := range []float64{5e6, 20e6, 0, 2e6} {
				for range 8 {
					rows[k] = append(rows[k], int64(base*(1+0.02*g.NormFloat64())))
				}
			}
			for _, l := range late {
				rows[l[1]][l[0]] += l[2]
			}
			for r := range 8 {
				last = max(last, rows[0][r]+rows[1][r])
			}
			for r := range 8 {
				rows[2][r] = last + 30e6 - rows[0][r] - rows[1][r]
			}
			steps = append(steps, rows)
		}
		s := stepsOf(steps...)
		for k, name := range []string{"data", "forward", "backward", "optimizer"} {
			s.Stages[k] = StageOf(name)
		}
		return s
	}
	for name, late := range map[string][][3]int64{
		"nobody late": nil, "one": {{3, 0, 20e6}}, "half": {{0, 1, 20e6}, {1, 1, 20e6}, {2, 1, 20e6}, {3, 1, 20e6}},
		"two in two stages": {{3, 0, 20e6}, {5, 1, 20e6}}, "half, in two stages": {{0, 0, 20e6}, {1, 0, 20e6}, {2, 1, 20e6}, {3, 1, 20e6}},
		"most, each by its own": {{0, 0, 20e6}, {1, 0, 35e6}, {2, 1, 20e6}, {3, 1, 35e6}, {4, 1, 50e6}},
	} {
		for seed := range uint64(5) {
			if got := Find(flat(seed, late), Gates{}).Classes; got != nil {
				t.Errorf("%s, seed %d: %v", name, seed, got)
			}
		}
	}
	for seed := range uint64(5) {
		if got := Find(setsJob(seed, [][]int{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, 1000), Gates{}).Classes; got != nil {
			t.Errorf("sets, seed %d: %v", seed, got)
		}
	}
}

// TestPossibleWaits: of two classes a rank's longer time counts as far as no other rank was as late at the end of the piece, and classes arrive together.
func TestPossibleWaits(t *testing.T) {
	d := &Division{Stages: make([]Stage, 3), Ranks: 4, Intervals: 1, Points: []Point{{Stage: 2}}, Pieces: []Piece{{Stage: 0}, {Stage: 1}},
		// Rank 0 is 40 late in data, for which rank 2 may have waited the 15 that it takes longer than rank 3 in forward.
		Work:     [][]int64{{50, 10, 10, 10}, {20, 20, 100, 85}},
		Arrivals: [][]int64{make([]int64, 4)}, Spent: [][]int64{{100, 140, 60, 75}}}
	d.takePossibleWaits([][]int{{0, 1}, {2, 3}})
	if want := [][]int64{{50, 10, 10, 10}, {20, 20, 85, 85}}; !slices.EqualFunc(d.Work, want, slices.Equal[[]int64]) {
		t.Errorf("%v, want %v", d.Work, want)
	}
	if want := []int64{135, 95, 95, 95}; !slices.Equal(d.Arrivals[0], want) {
		t.Errorf("arrivals %v, want %v", d.Arrivals[0], want)
	}
	if want := []int64{35, 75, 60, 75}; !slices.Equal(d.Spent[0], want) {
		t.Errorf("spent %v, want %v", d.Spent[0], want)
	}
}

// TestLateTogether: of ranks that become late in one piece together those of one class do not wait for one another, those of two may, but for data; and all
// may for a rank that was late before.
func TestLateTogether(t *testing.T) {
	work := []int64{50, 50, 10, 10, 10, 10, 10, 10}
	two := []int64{50, 10, 10, 10, 50, 10, 10, 10}
	even := []int64{10, 10, 10, 10, 10, 10, 10, 10}
	for name, c := range map[string]struct {
		first, second         []int64
		role                  Role
		wantFirst, wantSecond []int64
	}{
		"one class":           {work, even, Forward, work, even},
		"two classes":         {two, even, Forward, even, even},
		"two classes in data": {two, even, Data, two, even},
		"one after the other": {[]int64{50, 10, 10, 10, 10, 10, 10, 10}, []int64{10, 50, 10, 10, 10, 10, 10, 10}, Data, []int64{50, 10, 10, 10, 10, 10, 10, 10}, even},
	} {
		d := &Division{Stages: []Stage{{Role: c.role}, {Role: Forward}, {Role: Backward}}, Ranks: 8, Intervals: 1, Points: []Point{{Stage: 2}},
			Pieces: []Piece{{Stage: 0}, {Stage: 1}}, Work: [][]int64{slices.Clone(c.first), slices.Clone(c.second)},
			Arrivals: [][]int64{make([]int64, 8)}, Spent: [][]int64{make([]int64, 8)}}
		d.takePossibleWaits([][]int{{0, 1, 2, 3}, {4, 5, 6, 7}})
		if want := [][]int64{c.wantFirst, c.wantSecond}; !slices.EqualFunc(d.Work, want, slices.Equal[[]int64]) {
			t.Errorf("%s: %v, want %v", name, d.Work, want)
		}
	}
}

// TestNoLike: where no rank has its like, ranks that take longer are compared for data, and not where they may wait.
func TestNoLike(t *testing.T) {
	d := &Division{Stages: []Stage{{Role: Data}, {Role: Forward}, {Role: Optimizer}, {Role: Rest}, {Role: Backward}}, Ranks: 4, Intervals: 1, Points: []Point{{Stage: 4}},
		Pieces: []Piece{{Stage: 0}, {Stage: 1}, {Stage: 2}, {Stage: 3}}, Arrivals: [][]int64{make([]int64, 4)}, Spent: [][]int64{make([]int64, 4)}}
	for range d.Pieces {
		d.Work = append(d.Work, []int64{10, 40, 10, 10})
	}
	d.takePossibleWaits([][]int{{0, 1, 2, 3}})
	late, even := []int64{10, 40, 10, 10}, []int64{10, 10, 10, 10}
	if want := [][]int64{late, even, even, even}; !slices.EqualFunc(d.Work, want, slices.Equal[[]int64]) {
		t.Errorf("%v, want %v", d.Work, want)
	}
}

// TestUsualOfMostLate: two of the three ranks of a class, and two of another that may have waited for them, are all later than the third of theirs, which is usual.
func TestUsualOfMostLate(t *testing.T) {
	d := &Division{Stages: make([]Stage, 2), Ranks: 6, Intervals: 1, Points: []Point{{Stage: 1}}, Pieces: []Piece{{Stage: 0}},
		Work: [][]int64{{90, 90, 20, 120, 120, 50}}, Arrivals: [][]int64{make([]int64, 6)}, Spent: [][]int64{make([]int64, 6)}}
	d.takePossibleWaits([][]int{{0, 1, 2}, {3, 4, 5}})
	if want := []int64{20, 20, 20, 50, 50, 50}; !slices.Equal(d.Work[0], want) {
		t.Errorf("%v, want %v", d.Work[0], want)
	}
}

// apartJob returns steps of a pipeline of two stages or more, rank = stage · replicas + replica, whose replicas reduce their gradients at the end of backward, those of a stage among
// themselves. It takes 8 batches forward and then back. No rank meets all others: each stage begins its step when it has reduced, and waits in forward for the stage before it.
func apartJob(seed uint64, replicas, stages int) *Steps {
	g := rand.New(rand.NewPCG(seed, 13))
	const batches = 8
	R := stages * replicas
	vary := func(x float64) int64 { return int64(x * (1 + 0.03*g.NormFloat64())) }
	at, steps := make([]int64, R), [][][]int64(nil)
	for range 100 {
		rows := [][]int64{make([]int64, R), make([]int64, R), make([]int64, R), make([]int64, R)}
		take := func(k, r int, until int64) {
			rows[k][r] += until - at[r]
			at[r] = until
		}
		for r := range R {
			take(0, r, at[r]+vary(2e6))
		}
		var done [batches][]int64 // when a rank has passed on a batch
		for m := range batches {
			for r := range R {
				if r >= replicas {
					take(1, r, max(at[r], done[m][r-replicas]))
				}
				take(1, r, at[r]+vary(20e6/batches))
				done[m] = append(done[m], at[r])
			}
		}
		for m := range batches {
			for r := R - 1; r >= 0; r-- {
				if r+replicas < R {
					take(2, r, max(at[r], done[m][r+replicas]))
				}
				take(2, r, at[r]+vary(40e6/batches))
				done[m][r] = at[r]
			}
		}
		for s := range stages {
			last := slices.Max(at[s*replicas : (s+1)*replicas])
			for r := s * replicas; r < (s+1)*replicas; r++ {
				take(2, r, last+5e6+g.Int64N(20_000))
			}
		}
		for r := range R {
			take(3, r, at[r]+vary(6e6))
		}
		steps = append(steps, rows)
	}
	s := stepsOf(steps...)
	for t := range steps {
		for r := range R {
			s.Wall = append(s.Wall, 0)
			for _, row := range steps[t] {
				s.Wall[t*R+r] += row[r]
			}
		}
	}
	for k, name := range []string{"data", "forward", "backward", "optimizer"} {
		s.Stages[k] = StageOf(name)
	}
	return s
}

// TestClassesThatReduceApart: stages of a pipeline that nothing but the pipeline holds together are told by who leaves backward together, also where just half of the ranks take
// longer in forward, as a late half does, and where stages next to each other leave it nearly together.
func TestClassesThatReduceApart(t *testing.T) {
	for _, c := range []struct{ replicas, stages int }{{2, 2}, {3, 2}, {4, 2}, {3, 4}} {
		var want [][]int
		for s := range c.stages {
			var set []int
			for r := range c.replicas {
				set = append(set, s*c.replicas+r)
			}
			want = append(want, set)
		}
		for seed := range uint64(20) {
			found := Find(apartJob(seed, c.replicas, c.stages), Gates{})
			got := slices.Clone(found.Classes)
			slices.SortFunc(got, func(a, b []int) int { return a[0] - b[0] })
			if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
				t.Errorf("%d stages of %d, seed %d: %v, want %v", c.stages, c.replicas, seed, got, want)
			}
		}
	}
}

// TestNoReplicas: of a pipeline without replicas, in which no rank meets all others, all ranks are one class, and may wait wherever they are not compared.
// In two of these jobs ranks leave backward nearly as if they met there.
func TestNoReplicas(t *testing.T) {
	one := 0
	for seed := range uint64(20) {
		found := Find(apartJob(seed, 1, 4), Gates{})
		if len(found.Classes) != 1 {
			continue
		}
		one++
		for k, want := range []bool{false, true, true, true, true} {
			waits := slices.Contains(found.Perhaps, k) || slices.ContainsFunc(found.Points, func(p Point) bool { return p.Stage == k })
			if waits != want {
				t.Errorf("seed %d: ranks may wait in stage %d: %v, want %v", seed, k, waits, want)
			}
		}
	}
	if one < 18 {
		t.Errorf("all ranks are one class in %d of 20 jobs", one)
	}
}

// TestTwoRanksWithoutLike: of two ranks that differ each is a class, of three all are one.
func TestTwoRanksWithoutLike(t *testing.T) {
	for ranks, want := range map[int]int{2: 2, 3: 1} {
		l := &levels{ranks: ranks, step: 100, points: make([]bool, 2), median: [][]float64{[]float64{20, 40, 60}[:ranks], []float64{60, 40, 20}[:ranks]}, error: [][]float64{make([]float64, ranks), make([]float64, ranks)}}
		if got := l.classes(true); len(got) != want {
			t.Errorf("%d ranks: %v, want %d classes", ranks, got, want)
		}
	}
}

// TestClassesOfOneSize: of sets of as many ranks none is a few late ones of another.
func TestClassesOfOneSize(t *testing.T) {
	l := &levels{ranks: 6, step: 100, points: make([]bool, 3),
		median: [][]float64{{20, 20, 24, 24, 40, 40}, {60, 60, 48, 48, 20, 20}, {10, 10, 10, 10, 10, 10}}, error: [][]float64{make([]float64, 6), make([]float64, 6), make([]float64, 6)}}
	if got, want := l.classes(false), [][]int{{0, 1}, {2, 3}, {4, 5}}; !slices.EqualFunc(got, want, slices.Equal[[]int]) {
		t.Errorf("%v, want %v", got, want)
	}
}

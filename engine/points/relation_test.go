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

// TestClassesOfPipelines: the ranks of one stage of a pipeline are alike, those of two are not, and a rank that is late in data is one of its stage.
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
		"without replicas":               {1, []float64{20e6, 30e6, 15e6}, 0, [][]int{{0}, {1}, {2}}},
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
	d := &Division{Ranks: 4, Intervals: 1, Points: []Point{{Stage: 2}}, Pieces: []Piece{{Stage: 0}, {Stage: 1}},
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

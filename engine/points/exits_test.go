package points

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSignedRanks: by hand. Of changes of 1, −2 and 3 with ranks 1, 2, 3 the first two exceed half of x, the third does not: (1 + 2 − 3) of √(1.5·14).
func TestSignedRanks(t *testing.T) {
	x := []float64{1, -2, 3}
	for _, c := range []struct {
		y    []float64
		want float64
	}{{[]float64{1, -2, 0}, 0}, {[]float64{1, -2, 3}, 6 / math.Sqrt(21)}, {[]float64{0, 0, 0}, -6 / math.Sqrt(21)}, {[]float64{0.5, -1, 3}, 3 / math.Sqrt(21)}} {
		if got := signedRanks(x, c.y, 0.5); !near(got, c.want) {
			t.Errorf("%v: %v, want %v", c.y, got, c.want)
		}
	}
}

// exitJob returns a job of work of each rank's own and a stage that all leave together: after the last has come, by part of how much later that is than usual,
// and some noise. All durations have noise.
func exitJob(seed uint64, ranks, steps int, part, noise float64) *Steps {
	g := rand.New(rand.NewPCG(seed, 5))
	var list [][][]int64
	before := make([]float64, ranks) // when each rank left; all alike
	for range steps {
		work, wait := make([]int64, ranks), make([]int64, ranks)
		last := 0.0
		for r := range work {
			work[r] = int64(20e6 + 1e6*g.NormFloat64())
			last = max(last, float64(work[r]))
		}
		exit := 30e6 + part*(last-20e6) + noise*1e6*g.NormFloat64()
		for r := range wait {
			wait[r] = int64(before[r] + exit - float64(work[r]))
		}
		list = append(list, [][]int64{work, wait})
	}
	return stepsOf(list...)
}

// TestExit: the exit moves with the last arrival, or not, or noise hides it.
func TestExit(t *testing.T) {
	for name, c := range map[string]struct {
		steps       int
		part, noise float64
		want        exitMoves
	}{
		"all of it": {60, 1, 0.1, follows}, "none of it": {60, 0, 0.1, paced}, "a third": {60, 0.33, 0.05, follows}, "a twentieth": {60, 0.05, 0.05, paced},
		"in noise": {60, 1, 30, unknownExit}, "paced in noise": {60, 0, 30, unknownExit}, "twelve steps": {12, 1, 0.01, unknownExit}, "thirteen steps": {13, 1, 0.01, follows},
	} {
		if got := exitOf(exitJob(3, 4, c.steps, c.part, c.noise), 1, nil); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	// Found with the slope of −1 that both have, the paced stage is no point: ranks perhaps wait in it for who is late inside. Where gradients are reduced
	// it is a likely one.
	for part, want := range map[float64]int{1: 1, 0: 0} {
		found := Find(exitJob(3, 4, 100, part, 0.1), Gates{})
		if len(found.Points) != want || part == 0 && (!slices.Equal(found.Perhaps, []int{1}) || !slices.Equal(found.paced, []int{1})) {
			t.Errorf("the exit moves by %v: %+v, want %d points", part, found, want)
		}
		s := exitJob(3, 4, 100, part, 0.1)
		s.Stages[1].Role = Backward
		if found := Find(s, Gates{}); len(found.Points) != 1 || (found.Points[0].Evidence == Shown) != (part == 1) {
			t.Errorf("backward, the exit moves by %v: %+v", part, found)
		}
	}
}

// TestExitOfData: a stage that waits for data is a point only where the exit is seen to move; else ranks perhaps wait there.
func TestExitOfData(t *testing.T) {
	for noise, want := range map[float64]int{0.1: 1, 30: 0} {
		s := exitJob(3, 4, 100, 1, noise)
		s.Stages[1].Role = Data
		if found := Find(s, Gates{}); len(found.Points) != want || len(found.Perhaps) != 1-want {
			t.Errorf("noise %v: %+v, want %d points", noise, found, want)
		}
	}
	s := exitJob(3, 4, 100, 1, 30)
	if found := Find(s, Gates{}); len(found.Points) != 1 {
		t.Errorf("another stage in noise: %+v, want it", found)
	}
}

// TestExitsRefute: of jobs whose ranks do wait, in noise of the exit of all sizes, one in a thousand is thought to be paced.
func TestExitsRefute(t *testing.T) {
	n := 0
	for seed := range uint64(400) {
		if exitOf(exitJob(seed, 2+int(seed%7), 60, 1, []float64{0.3, 1, 3, 10}[seed%4]), 1, nil) == paced {
			n++
		}
	}
	if n > 3 {
		t.Errorf("%d of 400 jobs are thought to be paced", n)
	}
}

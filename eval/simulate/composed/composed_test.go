package composed

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFamilies: every family gives a job, the same for a seed, whose twin shares its noise.
func TestFamilies(t *testing.T) {
	for _, name := range Families() {
		a, err := New(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := New(name, 1)
		other, _ := New(name, 2)
		if text := a.Recording(); !bytes.Equal(text, b.Recording()) || bytes.Equal(text, other.Recording()) || len(text) < 1000 {
			t.Errorf("%s: a seed gives another job, or two give the same", name)
		}
		twin := a.Healthy()
		if len(a.Faults) > 0 && a.Saves > 0 && twin.length >= a.length || twin.Saves != 0 {
			t.Errorf("%s: takes %g with faults, which save %g, and %g without", name, a.length, a.Saves, twin.length)
		}
	}
	if _, err := New("nothing", 1); err == nil {
		t.Error("a family that there is none of gives a job")
	}
}

// still returns a job without noise: 10, 20, 30 and 5 ms, a transfer of 4 in backward.
func still(ranks, steps int) *Job {
	j := &Job{Ranks: ranks, Steps: steps, perHost: 4, at: segments, walled: true}
	m := meeting{segment: backward, every: 1}
	for range steps {
		j.work = append(j.work, slices.Repeat([][segments]float64{{10, 20, 30, 5, 0}}, ranks))
		m.transfer = append(m.transfer, 4)
	}
	j.meetings = []meeting{m}
	return j
}

func stream() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// TestReplay: by hand. Rank 1 takes 7 longer in the optimizer, so that the others wait for it in the backward of the next step.
func TestReplay(t *testing.T) {
	j := still(3, 4)
	j.add(stream(), []int{1}, optim, 7, func(t, r int) bool { return t == 0 && r == 1 })
	x := j.replay(all)
	for _, c := range []struct {
		step, rank int
		want       []float64
	}{{0, 0, []float64{10, 20, 34, 5}}, {1, 0, []float64{10, 20, 41, 5}}, {1, 1, []float64{10, 20, 34, 5}}, {2, 0, []float64{10, 20, 34, 5}}} {
		if got := x.durations[c.step][c.rank]; slices.ContainsFunc(numbers(4), func(k int) bool { return math.Abs(got[k]-c.want[k]) > 1 }) {
			t.Errorf("step %d, rank %d: %v, want %v", c.step, c.rank, got, c.want)
		}
	}
	if j.price(); math.Abs(j.Faults[0].Saves-7.0/283) > 2e-3 || j.Saves != j.Faults[0].Saves {
		t.Errorf("saves %g, want %g", j.Faults[0].Saves, 7.0/283)
	}
}

// TestMeetings: ranks that meet in every second step, in pairs, or not at all, and those that wait for a source.
func TestMeetings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(j *Job)
		want   float64 // length of two steps, of which rank 2's data take 9 longer
		waits  [3]float64
	}{
		"all":         {func(*Job) {}, 2*69 + 18, [3]float64{43, 43, 34}},
		"every other": {func(j *Job) { j.meetings[0].every = 2 }, 2*65 + 18 + 4, [3]float64{30, 30, 30}},
		"a pair":      {func(j *Job) { j.meetings[0].sets = [][]int{{0, 1}} }, 2*65 + 18, [3]float64{34, 34, 30}},
		"nobody":      {func(j *Job) { j.meetings = nil }, 2*65 + 18, [3]float64{30, 30, 30}},
		"a source":    {func(j *Job) { j.release = []float64{19, 119} }, 119 + 59, [3]float64{34, 34, 34}},
	} {
		j := still(3, 2)
		c.change(j)
		j.add(stream(), []int{2}, data, 9, func(_, r int) bool { return r == 2 })
		x := j.replay(all)
		if math.Abs(x.length-c.want) > 1 {
			t.Errorf("%s: %g long, want %g", name, x.length, c.want)
		}
		for r, want := range c.waits {
			if got := x.durations[0][r][backward]; math.Abs(got-want) > 1 {
				t.Errorf("%s: rank %d is in backward for %g, want %g", name, r, got, want)
			}
		}
	}
}

// TestRecording: what recorders leave out, and how they round.
func TestRecording(t *testing.T) {
	whole := still(3, 4)
	lines := func(j *Job) int { return bytes.Count(j.Recording(), []byte("\n")) }
	if n := lines(whole); n != 3 {
		t.Errorf("%d packets, want 3", n)
	}
	sampled := still(3, 4)
	sampled.sampled = 2
	if n := lines(sampled); n != 6 {
		t.Errorf("%d packets of two steps, want 6", n)
	}
	ends := still(3, 4)
	ends.ends = [2]int{1, 2}
	if text := ends.Recording(); bytes.Count(text, []byte("[10,20,34,5]")) != 10 || bytes.Count(text, []byte("69")) != 10 {
		t.Errorf("%s\nwant ten steps of 69", text)
	}
	table := still(3, 4)
	table.table, table.lost = true, [][]bool{{true, false, false}, {false, false, false}, {false, false, false}, {false, false, false}}
	if n := lines(table); n != 12 {
		t.Errorf("%d lines, want a header and 11 rows", n)
	}
	rounded := still(2, 1)
	rounded.clock, rounded.walled = 10, false
	if text := rounded.Recording(); !bytes.Contains(text, []byte("[10,20,30,10]")) || bytes.Contains(text, []byte("wall_ns")) {
		t.Errorf("%s\nwant tens, without wall time", text)
	}
}

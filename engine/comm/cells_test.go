package comm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace/nccl"
)

// groupsOf is groups of four ranks on NVLink that reduce 16 MiB, calls of which take 300 µs, give or take
// 3 %, times slower of the group; and 8 bytes in 12 µs.
func groupsOf(r *rand.Rand, groups, calls int, slower map[int]float64) ([]Subject, []*Collective) {
	var subjects []Subject
	var all []*Collective
	for g := range groups {
		subjects = append(subjects, Subject{Communicator: g, Ranks: 4, Limit: Limit{Link: nccl.NVL, Bandwidth: 120}})
		f := 1.0
		if s := slower[g]; s > 0 {
			f = s
		}
		for range calls {
			big := int64(300_000 * f * math.Exp(0.03*r.NormFloat64()))
			small := int64(12_000 * math.Exp(0.03*r.NormFloat64()))
			wait := int64(r.ExpFloat64() * 1e6)
			all = append(all, &Collective{Subject: g, Op: nccl.AllReduce, Bytes: 16 << 20, Parts: spans(big, 0, -wait, -wait/2, -10)},
				&Collective{Subject: g, Op: nccl.AllReduce, Bytes: 8, Parts: spans(small, 0, -wait, -wait/2, -10)})
		}
	}
	return subjects, all
}

// One group of eight at two thirds of its peers' bandwidth is found, with what it costs, whatever the waits; with two of
// them slow both are.
func TestSlowGroup(t *testing.T) {
	subjects, calls := groupsOf(rand.New(rand.NewPCG(3, 1)), 8, 40, map[int]float64{5: 1.5})
	r := SpeedOf(subjects, calls, Theory{})
	if len(r.Suspects) != 1 || r.Suspects[0].Subject != 5 || r.Suspects[0].P > 0.025 {
		t.Fatalf("suspects: %+v, want subject 5", r.Suspects)
	}
	s := r.Suspects[0]
	if math.Abs(s.Ratio-1/1.5) > 0.03 || math.Abs(float64(s.Cost)/(40*150_000)-1) > 0.1 {
		t.Errorf("ratio %.3f and cost %d ns, want 0.667 and 6 ms", s.Ratio, s.Cost)
	}
	subjects, calls = groupsOf(rand.New(rand.NewPCG(3, 2)), 8, 40, map[int]float64{1: 2, 5: 2})
	if r = SpeedOf(subjects, calls, Theory{}); len(r.Suspects) != 2 {
		t.Errorf("two slow groups: %+v", r.Suspects)
	}
	subjects, calls = groupsOf(rand.New(rand.NewPCG(3, 3)), 2, 40, map[int]float64{1: 3})
	if r = SpeedOf(subjects, calls, Theory{}); len(r.Suspects) > 0 || len(r.Unsettled) != 1 || r.Unsettled[0].Subject != 1 {
		t.Errorf("of two groups one is a suspect: %+v, unsettled %+v, want 1", r.Suspects, r.Unsettled)
	}
}

// A message of 8 bytes is bound by latency and one of 16 MiB is not: 16 MiB · 1.5 in 300 µs are 83.9 GB/s of 120.
func TestCells(t *testing.T) {
	subjects, calls := groupsOf(rand.New(rand.NewPCG(4, 1)), 3, 50, nil)
	subjects[2].Limit = Limit{}
	r := SpeedOf(subjects, calls, Theory{})
	if len(r.Cells) != 6 {
		t.Fatalf("%d cells, want 6", len(r.Cells))
	}
	small, big := r.Cells[0], r.Cells[1]
	if small.Class != 3 || small.Bound != ByLatency || big.Class != 24 || big.Bound != ByBandwidth {
		t.Errorf("class %d by %v and class %d by %v", small.Class, small.Bound, big.Class, big.Bound)
	}
	if math.Abs(big.Bus-83.9) > 2 || math.Abs(big.Efficiency-big.Bus/120) > 1e-9 || big.Bytes != 50*16<<20 {
		t.Errorf("bus %.1f GB/s, efficiency %.3f, %d bytes", big.Bus, big.Efficiency, big.Bytes)
	}
	if l := r.latencies[0]; !l.measured || l.time < 11_500 || l.time > 12_500 {
		t.Errorf("latency %+v, want 12 µs", l)
	}
	if r.Cells[5].Bound != BoundUnknown || r.Cells[5].Efficiency != 0 {
		t.Errorf("without a limit: %+v", r.Cells[5])
	}
	only := SpeedOf(subjects[:1], calls[:1], Theory{})
	if l := only.latencies[0]; l.measured || l.time != assumedLatency {
		t.Errorf("latency without small messages: %+v", l)
	}
}

// Where nothing is slow, something is said to be in at most 2.5 % of jobs, of few groups and calls and of many. Without
// a least material ratio, the chance is to be no more either.
func TestFalseAlarms(t *testing.T) {
	const jobs = 400
	for _, tt := range []struct{ groups, calls int }{{3, 4}, {4, 20}, {7, 34}, {16, 60}} {
		random := rand.New(rand.NewPCG(6, uint64(tt.groups)))
		alarms := 0
		for range jobs {
			subjects, calls := groupsOf(random, tt.groups, tt.calls, nil)
			r := Speed{Subjects: subjects}
			r.compare(calls)
			if len(r.Suspects) > 0 {
				alarms++
			}
		}
		t.Logf("%d groups, %d calls: %d of %d jobs", tt.groups, tt.calls, alarms, jobs)
		if alarms > 20 { // 2.5 % of 400 are 10; more than 20 have a chance of 0.1 %
			t.Errorf("%d groups, %d calls: false alarms in %d of %d jobs", tt.groups, tt.calls, alarms, jobs)
		}
	}
}

// The names of peers do not matter: subjects and calls in another order give the same.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	subjects, calls := groupsOf(random, 6, 9, map[int]float64{2: 1.8})
	want := SpeedOf(subjects, calls, Theory{})
	to := random.Perm(len(subjects))
	moved := make([]Subject, len(subjects))
	for i, k := range to {
		moved[k] = subjects[i]
	}
	for i := range calls {
		calls[i].Subject = to[calls[i].Subject]
	}
	random.Shuffle(len(calls), func(i, k int) { calls[i], calls[k] = calls[k], calls[i] })
	got := SpeedOf(moved, calls, Theory{})
	if len(want.Suspects) != 1 || len(got.Suspects) != 1 || got.Suspects[0].Subject != to[2] || got.Suspects[0].P != want.Suspects[0].P ||
		got.Suspects[0].Cost != want.Suspects[0].Cost {
		t.Errorf("got %+v, want %+v with subject %d", got.Suspects, want.Suspects, to[2])
	}
}

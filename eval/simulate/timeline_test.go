package simulate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSyncPoints: whatever the noise, the ranks of a group leave a synchronisation point
// together, up to their exit jitter and one stall, and never before the last
// one has arrived.
func TestSyncPoints(t *testing.T) {
	tests := []struct {
		name   string
		layout []Axis
		across []string
		group  func(rank int) int
	}{
		{"all", nil, nil, func(int) int { return 0 }},
		{"tp", []Axis{{"tp", 4}, {"dp", 4}}, []string{"tp"}, func(r int) int { return r / 4 }},
		{"dp", []Axis{{"tp", 4}, {"dp", 4}}, []string{"dp"}, func(r int) int { return r % 4 }},
		{"tp of three axes", []Axis{{"tp", 2}, {"dp", 4}, {"pp", 2}}, []string{"tp"}, func(r int) int { return r / 2 }},
		{"dp and pp", []Axis{{"tp", 2}, {"dp", 4}, {"pp", 2}}, []string{"dp", "pp"}, func(r int) int { return r % 2 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := DefaultSpec()
			s.Ranks, s.Layout, s.Clock = 16, test.layout, Clock{}
			s.Schedule = Schedule{Windows: 1, Steps: 200}
			const exit, stall, transfer = 3 * ms, 4 * ms, 10 * ms
			s.Stages[2].SyncPoints = []SyncPoint{{Across: test.across, Transfer: Dist{Mean: 10}, Exit: Dist{Mean: 3},
				Stall: hangs{Probability: 0.5, Length: Dist{Mean: 4}}}}
			w := one(t, s)
			stalls := 0
			for step, end := range ends(w) {
				first, last := make(map[int]int64), make(map[int]int64)
				for r, at := range end[2] {
					n := test.group(r)
					if first[n] == 0 || at < first[n] {
						first[n] = at
					}
					last[n] = max(last[n], at)
				}
				for r, before := range end[1] {
					if out := first[test.group(r)] - exit - transfer; before > out {
						t.Fatalf("step %d: rank %d has not ended forward (%d) when its group leaves backward (%d)", step, r, before, out)
					}
				}
				for n := range first {
					switch spread := last[n] - first[n]; spread {
					case 0:
					case stall:
						stalls++
					default:
						t.Fatalf("step %d: group %d leaves over %d ns, want 0 or %d", step, n, spread, stall)
					}
				}
			}
			groups := 1 + test.group(15)
			if expected := 100 * groups; stalls < expected*7/10 || stalls > expected*13/10 {
				t.Errorf("%d stalls in 200 steps of %d groups, expected about %d", stalls, groups, expected)
			}
		})
	}
}

// TestGroupsWaitForTheirOwn: a delay crosses to those who synchronise with its rank and
// to nobody else.
func TestGroupsWaitForTheirOwn(t *testing.T) {
	s := quiet(8)
	s.Layout = []Axis{{"tp", 2}, {"dp", 4}}
	s.Stages[1].SyncPoints = []SyncPoint{{Across: []string{"tp"}, Transfer: Dist{Mean: 1}}}
	s.Faults = []Fault{{Family: Data, Ranks: []int{3}, Delay: 120}}
	w := one(t, s)
	for r := range 8 {
		forward, backward := 61*ms, 232*ms
		switch r {
		case 3: // hidden: late for both synchronisation points
			backward = 112 * ms
		case 2: // its tensor-parallel peer waits in forward
			forward, backward = 181*ms, 112*ms
		}
		if f, b := at(w, 5, StageForward, r), at(w, 5, StageBackward, r); f != forward || b != backward {
			t.Errorf("rank %d: forward %d, backward %d ns, want %d and %d", r, f, b, forward, backward)
		}
	}
}

// TestOverlap checks the part of the transfer that is seen, by hand:
// backward has 98 ms of work.
func TestOverlap(t *testing.T) {
	tests := []struct {
		overlap, transfer float64
		delay             Millis // of rank 1 in data
		others, hidden    int64  // backward, µs
	}{
		{0, 14, 0, 112_000, 112_000},
		{0.5, 14, 0, 105_000, 105_000},   // 7 ms hidden, 7 ms left
		{1, 14, 0, 98_000, 98_000},       // all hidden
		{1, 98, 0, 98_000, 98_000},       // just hidden
		{1, 200, 0, 200_000, 200_000},    // begins with the work, outlasts it
		{0.5, 200, 0, 249_000, 249_000},  // 49 of work, 100 early, 100 late
		{0.5, 14, 120, 225_000, 105_000}, // the synchronisation point still gates the tail
		{1, 14, 120, 218_000, 98_000},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("overlap=%v/transfer=%v/delay=%v", test.overlap, test.transfer, test.delay), func(t *testing.T) {
			s := quiet(4)
			s.Stages[2].SyncPoints[0] = SyncPoint{Transfer: Dist{Mean: Millis(test.transfer)}, Overlap: test.overlap}
			s.Faults = []Fault{{Family: Data, Ranks: []int{1}, Delay: test.delay}}
			w := one(t, s)
			if got := at(w, 3, StageBackward, 0); got != test.others*1000 {
				t.Errorf("others: backward takes %d ns, want %d µs", got, test.others)
			}
			if got := at(w, 3, StageBackward, 1); got != test.hidden*1000 {
				t.Errorf("hidden rank: backward takes %d ns, want %d µs", got, test.hidden)
			}
		})
	}
}

// TestPrefetch: with a loader of depth k, steps of P = 208 ms and batches of
// L = 50 ms, a single delay D is seen as max(0, D − (k·P − L)): the queue
// covers the rest.
func TestPrefetch(t *testing.T) {
	const P, L = 208 + 1, 50
	for _, depth := range []int{1, 2, 4} {
		slack := Millis(depth*P - L)
		for _, delay := range []Millis{0, 100, slack - 1, slack, slack + 1, slack + 300} {
			t.Run(fmt.Sprintf("depth=%d/delay=%v", depth, delay), func(t *testing.T) {
				s := quiet(4)
				s.Schedule = Schedule{Windows: 1, Steps: 40, Warmup: 10}
				s.Stages[0] = Stage{Name: StageData, Work: Dist{Mean: 17}, Loader: &loaderSpec{Depth: depth, Load: Dist{Mean: L}}}
				s.Faults = []Fault{{Family: Data, Ranks: []int{2}, Delay: delay, When: When{Every: 10, From: 5}}}
				w := one(t, s)
				for step := range w.Steps() {
					want := 17 * ms
					if step%10 == 5 {
						want += max(0, (delay - slack).ns())
					}
					if got := at(w, step, StageData, 2); got != want {
						t.Errorf("step %d: the hidden rank waits %d ns for data, want %d", step, got, want)
					}
					if got := at(w, step, StageData, 1); got != 17*ms {
						t.Errorf("step %d: another rank waits %d ns for data, want 17 ms", step, got)
					}
				}
			})
		}
	}
}

// TestSlowLoader: a loader that is slower than the step sets the pace once its
// queue has drained. Batch m of the fault is ready at −3·208 + 240·(m+1) and
// wanted at 208·m: the queue lasts through m = 12.
func TestSlowLoader(t *testing.T) {
	s := quiet(4)
	s.Schedule = Schedule{Windows: 1, Steps: 20, Warmup: 6}
	s.Stages[0] = Stage{Name: StageData, Work: Dist{Mean: 16}, Loader: &loaderSpec{Depth: 3, Load: Dist{Mean: 50}}}
	s.Faults = []Fault{{Family: Data, Ranks: []int{2}, Delay: 190}} // 240 ms a batch
	w := one(t, s)
	for step := range w.Steps() {
		want := 208 * ms
		if step > 12 {
			want = 240 * ms
		}
		if got := w.WallOf(step)[2]; got != want {
			t.Errorf("step %d takes %d ns, want %d", step, got, want)
		}
	}
	s.Faults[0].Delay = 150 // 200 ms a batch, under the 208 of the step
	w = one(t, s)
	for step := range w.Steps() {
		if got := at(w, step, StageData, 2); got != 16*ms {
			t.Errorf("step %d waits %d ns for data, want 16 ms: the loader keeps up", step, got)
		}
	}
}

func TestAccumulation(t *testing.T) {
	tests := []struct {
		name          string
		lastMicrostep bool
		others        [4]int64 // backward of the microsteps, µs
		hidden        [4]int64
	}{
		// 98/4 = 24.5 of work and 14 of transfer in each; a quarter of the delay each.
		{"in every microstep", false, [4]int64{68_500, 68_500, 68_500, 68_500}, [4]int64{38_500, 38_500, 38_500, 38_500}},
		{"no_sync", true, [4]int64{24_500, 24_500, 24_500, 158_500}, [4]int64{24_500, 24_500, 24_500, 38_500}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := quiet(8)
			s.Accumulation = 4
			s.Stages[2].SyncPoints[0].LastMicrostep = test.lastMicrostep
			s.Faults = []Fault{{Family: Data, Ranks: []int{2}, Delay: 120}}
			windows, truth := generate(t, s)
			w := windows[0]
			want := []string{
				"data.next_wait@0", "model.fwd_loss_cpu_wall@0", "model.backward_cpu_wall@0",
				"data.next_wait@1", "model.fwd_loss_cpu_wall@1", "model.backward_cpu_wall@1",
				"data.next_wait@2", "model.fwd_loss_cpu_wall@2", "model.backward_cpu_wall@2",
				"data.next_wait@3", "model.fwd_loss_cpu_wall@3", "model.backward_cpu_wall@3",
				"callbacks.cpu_wall", "optim.step_cpu_wall"}
			if diff := cmp.Diff(want, w.Schema.Stages); diff != "" {
				t.Fatalf("stages (-want +got):\n%s", diff)
			}
			if w.Accumulation != 4 || truth.Faults[0].Stage != StageData {
				t.Errorf("accumulation %d, seeded stage %q", w.Accumulation, truth.Faults[0].Stage)
			}
			for m := range 4 {
				backward := fmt.Sprintf("%s@%d", StageBackward, m)
				if got := at(w, 5, backward, 0); got != test.others[m]*1000 {
					t.Errorf("others: %s takes %d ns, want %d µs", backward, got, test.others[m])
				}
				if got := at(w, 5, backward, 2); got != test.hidden[m]*1000 {
					t.Errorf("hidden rank: %s takes %d ns, want %d µs", backward, got, test.hidden[m])
				}
				if got := at(w, 5, fmt.Sprintf("%s@%d", StageData, m), 2); got != 34*ms {
					t.Errorf("hidden rank: data of microstep %d takes %d ns, want 34 ms", m, got)
				}
			}
			if got := w.Side[0].Samples[0].Value; got != 60 {
				t.Errorf("device time of the step is %v ms, want 60: the sum of its microsteps", got)
			}
		})
	}
}

// TestRoles: half of the ranks do 1.4 times the work, in all stages but
// backward; the others wait for them, and device time scales with the work.
func TestRoles(t *testing.T) {
	s := quiet(8)
	s.Layout = []Axis{{"dp", 4}, {"pp", 2}}
	s.Work = []WorkFactor{{Where: map[string]int{"pp": 1}, Factor: 1.4, Stages: []string{StageData, StageForward, StageCallbacks, StageOptimizer}}}
	windows, truth := generate(t, s)
	w := windows[0]
	for r := range 8 {
		data, backward, group, event := int64(16_000_000), 112*ms+(16+60+6+14)*ms*4/10, "pp=0", 60.0
		if r >= 4 {
			data, backward, group, event = 22_400_000, 112*ms, "pp=1", 84
		}
		if got := at(w, 5, StageData, r); got != data {
			t.Errorf("rank %d: data takes %d ns, want %d", r, got, data)
		}
		if got := at(w, 5, StageBackward, r); got != backward {
			t.Errorf("rank %d: backward takes %d ns, want %d", r, got, backward)
		}
		if got := w.Ranks[r].Role.Group(); got != group {
			t.Errorf("rank %d is in group %q, want %q", r, got, group)
		}
		if got := w.Side[0].Samples[r].Value; got != event {
			t.Errorf("rank %d: device time %v ms, want %v", r, got, event)
		}
	}
	if truth.Notes != "roles" {
		t.Errorf("notes are %q, want roles", truth.Notes)
	}
}

// TestClocks: a clock that runs fast by 1 % records 1 % more of everything;
// the others, and the timeline, do not change.
func TestClocks(t *testing.T) {
	s := quiet(8)
	s.Schedule = Schedule{Windows: 1, Steps: 100}
	plain := one(t, s)
	s.Clock.DriftPPM = 10000
	w := one(t, s)
	for r := range w.Ranks {
		var true_, read int64
		for step := range w.Steps() {
			true_ += plain.WallOf(step)[r]
			read += w.WallOf(step)[r]
			for stage := range w.Schema.Stages {
				x, y := plain.Step(step)[stage*8+r], w.Step(step)[stage*8+r]
				if rate := float64(y)/float64(x) - 1; rate < -0.05 || rate > 0.05 {
					t.Fatalf("step %d, rank %d, stage %d: read %d ns of %d", step, r, stage, y, x)
				}
			}
		}
		// Deviation 1 %: none of 8 clocks is right to a millionth.
		if rate := float64(read)/float64(true_) - 1; rate > -1e-6 && rate < 1e-6 {
			t.Errorf("the clock of rank %d has a rate error of %g", r, rate)
		}
	}
}

// TestStartSkew: who starts late is waited for in the first synchronisation point, and the
// skew is gone after it.
func TestStartSkew(t *testing.T) {
	s := quiet(8)
	s.Schedule.Warmup = 0
	s.Clock.SkewSD = 50
	w := one(t, s)
	first := w.Step(0)[2*8 : 3*8]
	if spread := slices.Max(first) - slices.Min(first); spread < 40*ms || slices.Min(first) != 112*ms {
		t.Errorf("backward of the first step takes %v ns: want 112 ms on the last to start, and a spread of start times", first)
	}
	for r := range 8 {
		if got := at(w, 1, StageBackward, r); got != 112*ms {
			t.Errorf("rank %d: backward of the second step takes %d ns, want 112 ms", r, got)
		}
	}
}

// TestSideReadiness: without a stage that awaits the device, its work outlasts
// the step and samples are not ready.
func TestSideReadiness(t *testing.T) {
	s := quiet(4)
	s.Stages[2].AwaitDevice = false
	s.Faults = []Fault{{Family: ForwardDevice, Ranks: []int{1}, Delay: 200}}
	w := one(t, s)
	var steps []int64
	for _, sample := range w.Side[0].Samples {
		if ready := sample.Rank != 1; sample.Ready != ready {
			t.Errorf("step %d, rank %d: ready is %v", sample.Step, sample.Rank, sample.Ready)
		}
		if sample.Rank == 0 {
			steps = append(steps, sample.Step)
		}
	}
	if want := []int64{2, 6, 10}; !slices.Equal(steps, want) {
		t.Errorf("sampled steps %v, want %v", steps, want)
	}
	if w.Side[0].Name != "model.fwd_loss_cuda_event_ms" || !slices.Equal(w.Side[0].Times(w.Schema), []int{1}) {
		t.Errorf("channel %q times stages %v", w.Side[0].Name, w.Side[0].Times(w.Schema))
	}
	s = quiet(16)
	s.Schedule.Steps, s.Side = 100, side{Every: 1, Unready: 0.25}
	unready := 0
	for _, sample := range one(t, s).Side[0].Samples {
		if !sample.Ready {
			unready++
		}
	}
	// Binomial(1600, 0.25): mean 400, deviation 17.3.
	if unready < 310 || unready > 490 {
		t.Errorf("%d of 1600 samples are not ready, expected about 400", unready)
	}
}

// TestStallsAreNeighbours: those that a stall holds up are next to each other
// in the ring of their group, from any place on.
func TestStallsAreNeighbours(t *testing.T) {
	s := quiet(16)
	s.Schedule = Schedule{Windows: 1, Steps: 400}
	s.Stages[2].SyncPoints[0].Stall = hangs{Probability: 1, Length: Dist{Mean: 4}}
	late := make([]int, 16)
	for step, end := range ends(one(t, s)) {
		edges := 0
		first := slices.Min(end[2])
		for r, at := range end[2] {
			if at > first {
				late[r]++
			}
			if at != end[2][(r+1)%16] {
				edges++
			}
		}
		if edges != 2 {
			t.Fatalf("step %d: ranks leave at %v, want one arc of the ring later than the rest", step, end[2])
		}
	}
	// On average 8 of 16 are late, every rank alike: 200 of 400, deviation 10.
	for r, n := range late {
		if n < 150 || n > 250 {
			t.Errorf("rank %d is held up %d times of 400, expected about 200", r, n)
		}
	}
}

// TestDeviceQueue: work launched while the device is busy waits its turn. Two
// microsteps launch 150 ms each at 8 and at 109 ms of the step, so the device
// is done at 308, where the optimizer has waited for it since 208.
func TestDeviceQueue(t *testing.T) {
	s := quiet(2)
	s.Accumulation = 2
	s.Stages[1].Device.Mean = 300
	s.Stages[2].AwaitDevice = false
	s.Stages[4].AwaitDevice = true
	w := one(t, s)
	for step := range w.Steps() {
		if got := at(w, step, StageOptimizer, 0); got != 114*ms {
			t.Errorf("step %d: the optimizer takes %d ns, want 114 ms", step, got)
		}
	}
}

// TestDelayOfMicrosteps: a delay that does not divide by the microsteps is
// still given in full, and a delay in communication only where it strikes.
func TestDelayOfMicrosteps(t *testing.T) {
	s := quiet(4)
	s.Accumulation = 3
	s.Faults = []Fault{{Family: Data, Ranks: []int{2}, Delay: 100, When: When{Every: 2}}, {Family: BackwardComm, Ranks: []int{1}, Delay: 10, When: When{Every: 3}}}
	healthy := int64(16+60+98+3*14+6+14) * ms
	w := one(t, s)
	for step := range w.Steps() {
		want := healthy - 4 // 16 and 98 ms do not divide by three
		if step%2 == 0 {
			want += 100 * ms
		}
		if step%3 == 0 {
			want += 10 * ms
		}
		if got := w.WallOf(step)[2]; got < want || got > want+4 {
			t.Errorf("step %d takes %d ns, want %d to 4 more", step, got, want)
		}
	}
	const exact = 100 * 1_000_000
	var data int64
	for m := range 3 {
		name := fmt.Sprintf("%s@%d", StageData, m)
		data += at(w, 0, name, 2) - at(w, 0, name, 1)
	}
	if data != exact {
		t.Errorf("the microsteps are delayed by %d ns in all, want %d", data, exact)
	}
}

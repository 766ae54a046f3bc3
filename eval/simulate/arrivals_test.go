package simulate

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	engine "github.com/sfstat/sfstat/engine/comm/arrivals"
	packets "github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// bucketed is a quiet job with arrivals, whose backward has a bucket that is
// entered before its work ends and two more at its end, and whose callbacks
// have a barrier.
func bucketed(ranks int) Spec {
	s := withBarrier(quiet(ranks))
	s.Arrivals = true
	s.Stages[2].SyncPoints = []SyncPoint{{Transfer: Dist{Mean: 10}, Overlap: 0.5}, {Transfer: Dist{Mean: 4}}}
	return s
}

// point is one synchronisation point of one group.
type point struct {
	group string
	seq   int64
}

// pointsOf are the calls of a window, by what they synchronise with.
func pointsOf(w *trace.Window) map[point]map[int]*comms.Call {
	out := map[point]map[int]*comms.Call{}
	for _, c := range w.Arrivals {
		for i := range c.Calls {
			x := &c.Calls[i]
			p := point{c.Groups[x.Group].Name, x.Seq}
			if out[p] == nil {
				out[p] = map[int]*comms.Call{}
			}
			out[p][c.Processes[0].Rank] = x
		}
	}
	return out
}

// spans are when each stage of each step begins and ends on each rank, on the
// clock of its host: [step][stage][rank].
func spans(w *trace.Window) (begin, end [][][]int64) {
	R := len(w.Ranks)
	now := slices.Clone(w.Epochs)
	for step := range w.Steps() {
		start := slices.Clone(now)
		var b, e [][]int64
		for s := range w.Schema.Stages {
			b = append(b, slices.Clone(now))
			for r := range R {
				now[r] += w.Step(step)[s*R+r]
			}
			e = append(e, slices.Clone(now))
		}
		begin, end = append(begin, b), append(end, e)
		for r := range R {
			now[r] = start[r] + w.WallOf(step)[r]
		}
	}
	return begin, end
}

// TestArrivalsFitTheStages: an entry lies in its stage, and nobody ends the
// stage before the last member has entered.
func TestArrivalsFitTheStages(t *testing.T) {
	noisy := DefaultSpec()
	noisy.Schedule.Steps, noisy.Arrivals, noisy.Clock.DriftPPM = 20, true, 0
	noisy.Stages[2].SyncPoints[0].Overlap = 0.3
	grid := bucketed(8)
	grid.Layout = []Axis{{"tp", 2}, {"dp", 4}}
	grid.Stages[1].SyncPoints = []SyncPoint{{Across: []string{"tp"}, Transfer: Dist{Mean: 3}}}
	grid.Stages[2].SyncPoints[0].Across = []string{"dp"}
	first := bucketed(4)
	first.Stages[0].SyncPoints = []SyncPoint{{Transfer: Dist{Mean: 1}}}
	micro := bucketed(4)
	micro.Accumulation = 3
	micro.Stages[2].SyncPoints[0].LastMicrostep = true
	perStep := map[string]int{"noisy": 2, "buckets": 4, "grid": 5, "first": 5, "microsteps": 6}
	for name, s := range map[string]Spec{"noisy": noisy, "buckets": bucketed(4), "grid": grid, "first": first, "microsteps": micro} {
		for _, family := range []Family{NoFault, Backward, BackwardComm, CallbackSync, ForwardHost} {
			t.Run(fmt.Sprintf("%s/%v", name, family), func(t *testing.T) {
				s := s
				s.Faults = []Fault{{Family: family, Ranks: []int{1}, Delay: 30}}
				w := one(t, s)
				want := perStep[name]
				if family == CallbackSync && name == "noisy" {
					want++ // its barrier
				}
				begin, end := spans(w)
				for _, c := range w.Arrivals {
					if len(c.Calls) != want*w.Steps() {
						t.Fatalf("%d calls in %d steps, expected %d in each", len(c.Calls), w.Steps(), want)
					}
				}
				for p, calls := range pointsOf(w) {
					last := int64(0)
					for r, x := range calls {
						step, stage := int(x.Step-w.FirstStep), w.Schema.Index(x.Stage)
						if x.Enter < begin[step][stage][r] || x.Enter > end[step][stage][r] {
							t.Fatalf("%v: rank %d enters %d ns after the beginning of %s, which takes %d", p, r, x.Enter-begin[step][stage][r],
								x.Stage, end[step][stage][r]-begin[step][stage][r])
						}
						last = max(last, x.Enter)
					}
					for r, x := range calls {
						if e := end[x.Step-w.FirstStep][w.Schema.Index(x.Stage)][r]; e < last {
							t.Fatalf("%v: rank %d ends %s %d ns before the last member entered", p, r, x.Stage, last-e)
						}
					}
				}
			})
		}
	}
}

// TestArrivalsMatch: members of a group enter the same calls in the same order,
// numbered over windows, gaps and warm-up alike.
func TestArrivalsMatch(t *testing.T) {
	s := bucketed(8)
	s.Layout = []Axis{{"tp", 2}, {"dp", 4}}
	s.Stages[1].SyncPoints = []SyncPoint{{Across: []string{"tp"}, Transfer: Dist{Mean: 3}}}
	s.Stages[2].SyncPoints[0].Across = []string{"dp"}
	s.Schedule = Schedule{Windows: 2, Steps: 3, Warmup: 2, Gap: 1}
	windows, _ := generate(t, s)
	for _, w := range windows {
		for p, calls := range pointsOf(w) {
			for r, x := range calls {
				members := w.Arrivals[r].Groups[x.Group].Members
				if len(calls) != len(members) || w.Arrivals[r].Groups[x.Group].Rank != slices.Index(members, r) {
					t.Fatalf("%v: %d calls of members %v", p, len(calls), members)
				}
			}
		}
	}
	seqs := map[string][]int64{}
	for _, x := range windows[1].Arrivals[5].Calls {
		g := windows[1].Arrivals[5].Groups[x.Group].Name
		seqs[g] = append(seqs[g], x.Seq)
	}
	// Before: 2 + 3 + 1 steps. Rank 5 is tp 1 and dp 2: third of the pairs 1 to
	// 4, second of the quadruples 5 and 6.
	want := map[string][]int64{"3": {7, 8, 9}, "6": {13, 14, 15, 16, 17, 18}, "0": {13, 14, 15, 16, 17, 18}}
	if diff := cmp.Diff(want, seqs); diff != "" {
		t.Errorf("sequence numbers of rank 5 in the second window (-want +got):\n%s", diff)
	}
}

// TestArrivalsChangeNothing: a window is the same with arrivals and without.
func TestArrivalsChangeNothing(t *testing.T) {
	s := DefaultSpec()
	s.Run, s.Schedule.Steps, s.Faults = "run", 12, []Fault{{Family: Backward, Delay: 60}}
	without := one(t, s)
	s.Arrivals = true
	with := one(t, s)
	if len(with.Arrivals) != 8 || len(with.Epochs) != 8 {
		t.Fatalf("%d arrivals and %d epochs, expected 8", len(with.Arrivals), len(with.Epochs))
	}
	with.Arrivals, with.Epochs = nil, nil
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("without and with arrivals:\n%s", diff)
	}
}

// TestArrivalsArePackets: what is written is read again.
func TestArrivalsArePackets(t *testing.T) {
	w := one(t, bucketed(3))
	var text bytes.Buffer
	if err := packets.NewWriter(&text).Write(w); err != nil {
		t.Fatal(err)
	}
	in := packets.NewReader([]packets.Stream{{Name: "run.jsonl", R: &text}}, packets.Options{})
	got, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w.Arrivals, got.Arrivals); diff != "" {
		t.Errorf("written and read:\n%s", diff)
	}
	if !slices.Equal(w.Epochs, got.Epochs) {
		t.Errorf("epochs %v, written %v", got.Epochs, w.Epochs)
	}
}

// TestArrivalsNameTheRank: where stage times are the same on all ranks, own
// delay before the collectives is that of the hidden one; a slow transfer is
// nobody's.
func TestArrivalsNameTheRank(t *testing.T) {
	const hidden = 5
	for _, c := range []struct {
		family Family
		stage  string
		late   int // ranks
	}{{NoFault, "", 0}, {Backward, StageBackward, 1}, {CallbackSync, StageCallbacks, 1}, {BackwardComm, StageBackward, 0}} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("%v/%d", c.family, seed), func(t *testing.T) {
				s := DefaultSpec()
				s.Seed, s.Arrivals, s.Schedule.Steps, s.RanksPerHost = seed, true, 60, 4
				s.Faults = []Fault{{Family: c.family, Ranks: []int{hidden}, Delay: 60}}
				w := one(t, s)
				var job engine.Job
				job.AddWindow(w)
				r := job.Analyze(engine.Options{})
				if len(r.Late) != c.late {
					t.Fatalf("%d late ranks, expected %d: %+v", len(r.Late), c.late, r.Late)
				}
				for _, late := range r.Late {
					place := r.Places[late.Entered.Place]
					if late.Rank() != hidden || place.Stage != c.stage || late.Entered.Delay < 50*ms || late.Entered.Delay > 70*ms {
						t.Errorf("rank %d in %s by %d ns, expected rank %d in %s by 60 ms", late.Rank(), place.Stage, late.Entered.Delay, hidden, c.stage)
					}
				}
				if c.stage == "" {
					return
				}
				// Alike: the hidden rank's stage is as long as another's.
				for step := range w.Steps() {
					if own, other := at(w, step, c.stage, hidden), at(w, step, c.stage, 0); own-other > 25*ms || other-own > 25*ms {
						t.Fatalf("step %d: %s takes %d ns on the hidden rank and %d on rank 0", step, c.stage, own, other)
					}
				}
			})
		}
	}
}

func TestTooManyArrivals(t *testing.T) {
	s := bucketed(2)
	s.Schedule.Steps = 1 << 19
	if err := s.Validate(); err == nil {
		t.Error("a window whose packets no reader takes was accepted")
	}
}

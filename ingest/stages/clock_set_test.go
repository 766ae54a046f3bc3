package stages

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// setJob is a job of ranks whose steps are alike, but that the forward kernels
// of rank 1 take 10 µs longer; the clock of one rank is set by so many µs when
// so many of its twelve steps are over. A rank that stands still before a step
// keeps the others waiting.
func setJob(ranks, clock int, by, at, still int64) []*profile.Rank {
	var out []*profile.Rank
	for id := range ranks {
		f := newFeed()
		for s := int64(0); s < 12; s++ {
			t, own := 10_000_000+1000*s, int64(0)
			if id == clock && s >= at {
				t += by
			}
			if s >= at {
				t += still
			}
			if id == 1 {
				own = 10
			}
			f = f.on(1, "ProfilerStep#"+itoa(s), t, t+1000).on(1, "forward", t, t+20).on(1, "backward", t+20, t+30).
				kernel("A", 1, t, t, t+500+own).kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 2, t+25, t+500+own, t+700)
		}
		r := f.finish()
		r.ID, r.World, r.Source = id, ranks, fmt.Sprintf("rank-%d", id)
		out = append(out, r)
	}
	return out
}

// TestClockSet: whoever's clock is set, and to which side, the steps beside it
// are left out on all ranks, the others are what they were, and it is said
// whose it was. Where all stand still together, no clock was set.
func TestClockSet(t *testing.T) {
	for name, c := range map[string]struct {
		ranks, clock int
		by, still    int64 // µs
		note         string
		left         []int64
	}{
		"forward":           {4, 2, 5_000_000, 0, "the clock of rank 2 was set by about 5.000 s", []int64{5, 6}},
		"back":              {4, 2, -5_000_000, 0, "the clock of rank 2 was set by about -5.000 s", []int64{0, 5, 6, 11}},
		"the first rank's":  {4, 0, 5_000_000, 0, "the clock of rank 0 was set by about 5.000 s", []int64{5, 6}},
		"of two":            {2, 1, 60_000, 0, "the clock of rank 1 was set by about 0.060 s", []int64{5, 6}},
		"all stand still":   {4, 2, 0, 5_000_000, "", nil},
		"nothing of a kind": {4, 2, 0, 0, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			jobs := Jobs(setJob(c.ranks, c.clock, c.by, 6, c.still))
			if len(jobs) != 1 {
				t.Fatalf("%d jobs", len(jobs))
			}
			said := slices.IndexFunc(jobs[0].Notes, func(n input.Note) bool { return strings.Contains(n.Text, "was set by about") })
			if c.note == "" && said >= 0 || c.note != "" && (said < 0 || !strings.HasPrefix(jobs[0].Notes[said].Text, c.note)) {
				t.Errorf("notes %v, want %q", jobs[0].Notes, c.note)
			}
			checkSet(t, jobs[0].Ranks, c.left)
		})
	}
}

// checkSet checks that windows have all steps but those that are left out, and
// that nobody's are longer for a clock: forward 500 µs, and 510 on rank 1.
func checkSet(t *testing.T, ranks []*profile.Rank, left []int64) {
	t.Helper()
	divided, err := Divide(ranks, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, w := range divided.Windows {
		forward, wait := w.Schema.Index("model.fwd_loss_device"), w.Schema.Index("wait.model.backward")
		for s := range w.Steps() {
			got = append(got, w.FirstStep+int64(s))
			for r := range ranks {
				longer := int64(0)
				if r == 1 {
					longer = 10 * us
				}
				if own, waited := w.Step(s)[forward*len(ranks)+r], w.Step(s)[wait*len(ranks)+r]; own != 500*us+longer || waited != 10*us-longer {
					t.Errorf("step %d: forward of rank %d takes %d ns, and it waits %d", got[len(got)-1], r, own, waited)
				}
			}
		}
	}
	var want []int64
	for s := range int64(12) {
		if !slices.Contains(left, s) {
			want = append(want, s)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
	d, err := Divide(ranks, Options{Run: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Devices.Ranks {
		for _, s := range r.Steps {
			if s.End-s.Start > 2000*us && len(left) > 0 {
				t.Errorf("step %d of rank %d takes %d ns", s.Step, r.Rank.ID, s.End-s.Start)
			}
		}
	}
}

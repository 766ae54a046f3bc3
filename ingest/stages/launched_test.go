package stages

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLaunched: what ran behind the stages of the windows, by name, under the
// stages' names: kernels with the stage, collectives with its communication and
// the wait for the last member. Clocks that are apart make no difference.
func TestLaunched(t *testing.T) {
	for _, clock := range []int64{0, 1_000_000} {
		for timeline, want := range map[Timeline][]string{
			OnDevice: {"model.fwd_loss_device rank 0: 1 of 40 µs", "model.fwd_loss_device rank 1: 1 of 60 µs",
				"comm.model.backward rank 0: 1 of 30 µs, 20 µs wait", "comm.model.backward rank 1: 1 of 10 µs"},
			OnHost: {"model.fwd_loss_cpu_wall rank 0: 1 of 40 µs", "model.fwd_loss_cpu_wall rank 1: 1 of 60 µs",
				"model.backward_cpu_wall rank 0: 1 of 30 µs, 20 µs wait", "model.backward_cpu_wall rank 1: 1 of 10 µs"},
		} {
			d, err := Divide(job(clock), Options{Run: "job", Timeline: timeline})
			if err != nil {
				t.Fatal(err)
			}
			o := d.Launched
			if o == nil || o.Run != "job" || len(o.Ranks) != 2 || len(o.Steps) != 3 || len(d.Windows) != 1 {
				t.Fatalf("launched %+v", o)
			}
			var got []string
			for _, row := range o.Rows {
				if row.Step != 1 {
					continue
				}
				text := fmt.Sprintf("%s rank %d: %d of %d µs", o.Stages[row.Stage], o.Ranks[row.Rank].ID, row.Count, row.Dur/us)
				if row.Wait > 0 {
					text += fmt.Sprintf(", %d µs wait", row.Wait/us)
				}
				if (row.Communicates > 0) != (row.Stage == 1) || row.Joined != row.Communicates {
					t.Errorf("%s: %d communicate, %d joined", text, row.Communicates, row.Joined)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("clock %d, timeline %d (-want +got):\n%s", clock, timeline, diff)
			}
		}
	}
}

// TestLaunchedNeedsNoOps: windows are made without single operators, which
// take much memory; a rank that had too many to keep apart tells nothing.
func TestLaunchedNeedsNoOps(t *testing.T) {
	ranks := job(0)
	want, err := Divide(ranks, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ranks {
		r.Ops = nil
	}
	got, err := Divide(ranks, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Launched.Rows, want.Launched.Rows) {
		t.Errorf("%d rows, %d with operators", len(got.Launched.Rows), len(want.Launched.Rows))
	}
	ranks[1].TalliesLost = true
	if got, err = Divide(ranks, Options{}); err != nil || got.Launched != nil || len(got.Windows) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

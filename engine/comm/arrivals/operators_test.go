package arrivals

import (
	"errors"
	"testing"

	"github.com/sfstat/sfstat/trace/input"
)

// What ranks do between their entries is a serial trace: work, then the wait for the
// last member, one after the other, with the delay in the work of the late rank.
func TestOperators(t *testing.T) {
	s := synthetic{seed: 5, ranks: 4, steps: 30, buckets: 2, barrier: true, jitter: 1, perHost: 4, delay: 40, late: []int{2}, frames: true}
	got, err := s.job().Operators("job")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Steps) < 27 || len(got.Ranks) != 4 || !got.Serial {
		t.Fatalf("%d steps of %d ranks, serial: %v", len(got.Steps), len(got.Ranks), got.Serial)
	}
	members, work := map[int32]int{}, map[int32]int64{}
	for i := range got.Start {
		if i > 0 && got.Rank[i] == got.Rank[i-1] && got.Step[i] == got.Step[i-1] && got.Start[i] != got.Start[i-1]+got.Dur[i-1] {
			t.Fatalf("%s of rank %d begins at %d, the one before it ends at %d", got.Names[got.Name[i]], got.Rank[i], got.Start[i], got.Start[i-1]+got.Dur[i-1])
		}
		if got.Group[i] >= 0 {
			members[got.Group[i]]++
		} else {
			work[got.Rank[i]] += got.Dur[i]
		}
	}
	for _, n := range members {
		if n != 4 {
			t.Errorf("a wait of %d ranks, expected 4", n)
		}
	}
	if len(members) == 0 {
		t.Error("nobody waits")
	}
	for r := range int32(4) {
		if more := float64(work[2]-work[r]) / float64(len(got.Steps)) / ms; r != 2 && (more < 37 || more > 43) {
			t.Errorf("rank 2 works %.1f ms a step longer than rank %d, expected 40", more, r)
		}
	}
	if _, err := got.Grid(); err != nil {
		t.Error(err)
	}
}

// Jobs that cannot be cut into steps of alike calls are refused.
func TestOperatorsRefused(t *testing.T) {
	one := synthetic{seed: 5, ranks: 1, steps: 30, buckets: 2, barrier: true}
	short := synthetic{seed: 5, ranks: 4, steps: 2, buckets: 2, barrier: true, perHost: 4}
	for name, j := range map[string]*Job{"empty": {}, "one rank": one.job(), "two steps": short.job(), "a pipeline": chain(1, 4, 1, true), "not recorded": chain(1, 4, 1, false)} {
		t.Run(name, func(t *testing.T) {
			if _, err := j.Operators("job"); !errors.Is(err, input.ErrMissing) {
				t.Errorf("error %v, expected %v", err, input.ErrMissing)
			}
		})
	}
}

package profile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
)

// TestExposures: what is added comes back, shifted and joined.
func TestExposures(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var x Exposures
	var want []Exposure
	at := int64(-1 << 61)
	for range 1000 {
		e := Exposure{Stage: rng.IntN(5) - 1, Microstep: rng.IntN(3), Call: rng.IntN(1<<18) - 1, Start: at + rng.Int64N(1<<50), Before: rng.Int64N(1 << 60)}
		e.End = e.Start + 1 + rng.Int64N(1<<rng.IntN(50))
		at = e.End
		x.Add(e)
		want = append(want, e)
	}
	if got := slices.Collect(x.All()); !slices.Equal(got, want) {
		t.Error("not what was added")
	}
	r := &Rank{Steps: []Step{{Device: &Device{Exposed: x}}}}
	r.Shift(1000)
	first := &Rank{Comm: comms.Record{Calls: make([]comms.Call, 7)}}
	first.Append(r)
	for i := range want {
		want[i].Start, want[i].End = want[i].Start+1000, want[i].End+1000
		if want[i].Call >= 0 {
			want[i].Call += 7
		}
	}
	if got := slices.Collect(first.Steps[0].Device.Exposed.All()); !slices.Equal(got, want) {
		t.Error("not what was added, shifted and joined")
	}
	for e := range x.All() {
		if e != (Exposure{}) {
			break // a reader may stop
		}
	}
}

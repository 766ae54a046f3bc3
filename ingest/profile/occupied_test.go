package profile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPack: intervals in any order come out by start and apart; closed gaps
// are noted where they were.
func TestPack(t *testing.T) {
	var o occupied
	for _, i := range []interval{{50, 60}, {10, 20}, {20, 30}, {12, 15}, {1000, 1010}, {58, 70}} {
		o.add(Memory, i.start, i.end)
	}
	o.pack(Memory, 10)
	if diff := cmp.Diff([]interval{{10, 30}, {50, 70}, {1000, 1010}}, o.of[Memory], cmp.AllowUnexported(interval{})); diff != "" || len(o.blurs) > 0 {
		t.Errorf("%v (-want +got):\n%s", o.blurs, diff)
	}
	o.pack(Memory, 2)
	want := []interval{{10, 70}, {1000, 1010}}
	if diff := cmp.Diff(want, o.of[Memory], cmp.AllowUnexported(interval{})); diff != "" || len(o.blurs) != 1 || o.blurs[0] != (blur{30, 20, 1}) {
		t.Errorf("%v (-want +got):\n%s", o.blurs, diff)
	}
}

// TestEitherAndBoth against counting moments.
func TestEitherAndBoth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var o occupied
		var in [kinds][100]bool
		for range rng.IntN(12) {
			kind, start := Kind(rng.IntN(int(kinds))), rng.Int64N(90)
			end := start + 1 + rng.Int64N(9)
			o.add(kind, start, end)
			for m := start; m < end; m++ {
				in[kind][m] = true
			}
		}
		for kind := range kinds {
			o.pack(kind, 100)
		}
		var any, two [100]bool
		for i := range either(o.of[0], o.of[1], o.of[2]) {
			for m := i.start; m < i.end; m++ {
				any[m] = true
			}
		}
		for i := range both(o.of[0], o.of[1]) {
			for m := i.start; m < i.end; m++ {
				two[m] = true
			}
		}
		for m := range 100 {
			if any[m] != (in[0][m] || in[1][m] || in[2][m]) || two[m] != (in[0][m] && in[1][m]) {
				t.Fatalf("moment %d: either %v, both %v of %v %v %v", m, any[m], two[m], in[0][m], in[1][m], in[2][m])
			}
		}
		apart := slices.Collect(either(o.of[0], o.of[1], o.of[2]))
		for i := 1; i < len(apart); i++ {
			if apart[i].start <= apart[i-1].end {
				t.Fatalf("not apart: %v", apart)
			}
		}
	}
}

// TestBlurred: closed gaps are told where they lie, 64 of them together, and
// bound what is missing.
func TestBlurred(t *testing.T) {
	steps := []Step{{Time: &Categories{Start: 0, End: 100_000}}, {Time: &Categories{Start: 100_000, End: 200_000}}}
	var o occupied
	for at := int64(0); at < 200_000; at += 1000 {
		o.add(Compute, at, at+900)
	}
	o.pack(Compute, 10)
	o.categories(steps)
	for i, s := range steps {
		if idle := s.Time.Idle + s.Time.Blurred; idle < 10_000-64*100 || idle > 10_000+64*100 || s.Time.Blurred == 0 {
			t.Errorf("step %d: idle %d, blurred %d", i, s.Time.Idle, s.Time.Blurred)
		}
	}
}

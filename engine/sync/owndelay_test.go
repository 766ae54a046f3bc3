package sync

import (
	"slices"
	"testing"
)

// TestOverOthers: a rank is late by what it works longer than the lower median of the others, itself not among them.
func TestOverOthers(t *testing.T) {
	for _, c := range []struct{ work, want []int64 }{
		{[]int64{10, 20, 100}, []int64{-10, 10, 90}},
		{[]int64{30, 10}, []int64{20, -20}},
		{[]int64{5, 5, 5, 9}, []int64{0, 0, 0, 4}},
	} {
		got := slices.Clone(c.work)
		if subtractOthers(got, new([]int64)); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.work, got, c.want)
		}
	}
}

package sync

import "testing"

// TestRegular: the numbers of a group's calls at which one kind comes back, by literals.
func TestRegular(t *testing.T) {
	for _, c := range []struct {
		at   []int32
		want bool
	}{
		{[]int32{3, 6, 9, 12, 15}, true},                         // once a step of three calls
		{[]int32{1, 2, 3, 7, 8, 9, 13, 14, 15, 19, 20}, true},    // three in a row, then three others
		{[]int32{1, 5, 11, 15, 21, 25, 31, 35, 41}, true},        // twice a step, at unequal distances
		{[]int32{2, 11, 14, 26, 29, 44, 62}, false},              // now and then
		{[]int32{3, 6, 9, 12}, false},                            // too few
		{[]int32{3, 6, 9, 15, 18, 30, 33, 42, 45, 57}, false},    // four of ten steps, at random
		{[]int32{3, 6, 9, 12, 15, 18, 21, 27, 30, 33, 36}, true}, // nearly every step
	} {
		var k cycle
		for _, n := range c.at {
			k.add(0, n)
		}
		if k.regular() != c.want {
			t.Errorf("%v: %v, want %v", c.at, k.regular(), c.want)
		}
	}
}

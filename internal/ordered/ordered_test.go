package ordered

import (
	"slices"
	"testing"
)

func TestList(t *testing.T) {
	var l List[string, []int]
	for i, key := range []string{"b", "a", "b", "c", "a", "b"} {
		list, first := l.Of(key)
		if first != (*list == nil) {
			t.Errorf("%s: %v at first: %v", key, *list, first)
		}
		*list = append(*list, i)
	}
	if want := [][]int{{0, 2, 5}, {1, 4}, {3}}; !slices.EqualFunc(l.All, want, slices.Equal) {
		t.Errorf("%v, want %v", l.All, want)
	}
}

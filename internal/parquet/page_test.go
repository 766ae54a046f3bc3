package parquet

import (
	"slices"
	"testing"
)

// TestPrefixed: bytes that their number comes before end where there are no more.
func TestPrefixed(t *testing.T) {
	part, rest, ok := cutPrefixed([]byte{2, 0, 0, 0, 7, 8, 9})
	if !ok || !slices.Equal(part, []byte{7, 8}) || !slices.Equal(rest, []byte{9}) {
		t.Errorf("%v, %v, %v; want 7 8, then 9", part, rest, ok)
	}
	if part, rest, ok := cutPrefixed([]byte{2, 0, 0, 0, 7, 8}); !ok || len(part) != 2 || len(rest) != 0 {
		t.Errorf("all of them: %v, %v, %v", part, rest, ok)
	}
	for _, b := range [][]byte{nil, {2, 0, 0}, {2, 0, 0, 0, 7}, {3, 0, 0, 0, 7, 8}, {6, 0, 0, 0, 7, 8}, {0, 0, 0, 0x80, 1}, {0xff, 0xff, 0xff, 0xff, 1}} {
		if _, _, ok := cutPrefixed(b); ok {
			t.Errorf("%v: accepted", b)
		}
	}
}

package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

func TestDistinct(t *testing.T) {
	for _, c := range []struct {
		name, names string
		width       int
		want        string
	}{
		{"as they are", "data forward", 10, "data forward"},
		{"without the common suffix", "model.backward_cpu_wall data.next_wait", 16, "model.backward… data.next_wait"},
		{"in the middle", "a-very-long-name-of-a-run another-very-long-name", 11, "a-ver…a-run anoth…-name"},
		{"at what differs", "e3-backward-r8-s0 e3-callback-r8-s0 e3-data-r8-s0", 10, "…backward… …callback… …data…"},
		{"at what differs, some fit", "run-0000-a-0000 run-0000-b-0000 run-c", 9, "…000-a-0000 x x"},
		{"by number", "abc0000000def1111111ghi abc0000000deg1111111ghi xbc0000000def1111111gh0", 9, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			names := strings.Fields(c.names)
			cuts := distinct(names, c.width)
			var got []string
			for _, name := range names {
				got = append(got, cuts[name])
				if columns(cuts[name]) > c.width {
					t.Errorf("%q is wider than %d", cuts[name], c.width)
				}
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(unique) != len(names) {
				t.Errorf("%q became %q", names, got)
			}
			if text := strings.Join(got, " "); c.want != "" && !strings.Contains(c.want, " x") && text != c.want {
				t.Errorf("%q, expected %q", text, c.want)
			}
		})
	}
}

// Names that differ are shown as different ones, whatever they are, in any width
// that has room for their numbers.
func TestDistinctAlways(t *testing.T) {
	if err := quick.Check(func(prefix string, seeds []uint16, wide uint8) bool {
		prefix = Visible(prefix)
		n := 8 + int(wide%30)
		var names []string
		for _, seed := range seeds {
			if name := fmt.Sprint(prefix, strings.Repeat("é", int(seed%7)), seed/7%5, prefix, seed%3); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		seen := make(map[string]bool)
		for _, cut := range distinct(append(names, "x"), n) {
			if seen[cut] || columns(cut) > n {
				return false
			}
			seen[cut] = true
		}
		return true
	}, nil); err != nil {
		t.Error(err)
	}
}

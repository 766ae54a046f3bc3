package natural_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/internal/natural"
)

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"host_9", "host_10", -1},
		{"host_09", "host_9", 0},
		{"a", "a1", -1},
		{"a2b3", "a2b20", -1},
		{"b", "a10", 1},
		{"", "", 0},
		{"1", "x", -1},
		{"123456789012345678901234567890", "99", 1},
	} {
		t.Run(c.a+" "+c.b, func(t *testing.T) {
			if got := natural.Compare(c.a, c.b); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
			if got := natural.Compare(c.b, c.a); got != -c.want {
				t.Errorf("turned round %d, want %d", got, -c.want)
			}
		})
	}
}

func ExampleCompare() {
	names := []string{"rank10.json", "rank9.json", "rank1.json"}
	slices.SortFunc(names, natural.Compare)
	fmt.Println(names)
	// Output: [rank1.json rank9.json rank10.json]
}

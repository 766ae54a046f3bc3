package clock

import "math"

// leastJump is how much, in ns, counts as a clock that was set, and clearJump by
// how much that must exceed any other change from one point to the next.
const (
	leastJump = 10_000_000
	clearJump = 20
)

// Jump finds where a clock was set while it was read: the largest change of all
// between two points, which come by time, with two or more on either side. The
// clock was by ahead more from points[first] on. O(n).
func Jump(points []Point) (first int, by int64, ok bool) {
	largest, second := int64(0), int64(0)
	for i := 1; i < len(points); i++ {
		change := points[i].Ahead - points[i-1].Ahead
		if change = max(change, -change); change > largest {
			largest, second, first = change, largest, i
		} else {
			second = max(second, change)
		}
	}
	if largest < leastJump || largest/clearJump < second || largest > math.MaxInt64/4 || first < 2 || first > len(points)-2 {
		return 0, 0, false
	}
	return first, points[first].Ahead - points[first-1].Ahead, true
}

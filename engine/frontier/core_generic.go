//go:build !amd64

package frontier

// addMax adds d to p and returns the maximum of the sums, which are not
// negative; p and d have the same length.
func addMax(p, d []int64) int64 { return addMaxGo(p, d) }

// stepMaxima leaves all columns to the portable code.
func stepMaxima([]int64, int, int, []int64) (columns int) { return 0 }

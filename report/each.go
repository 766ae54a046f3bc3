package report

import "fmt"

// each returns what of makes of every item, never nil.
func each[In, T any](items []In, of func(In) T) []T {
	out := make([]T, len(items))
	for i, x := range items {
		out[i] = of(x)
	}
	return out
}

// strs returns the names of values that name themselves; never nil.
func strs[T fmt.Stringer](v []T) []string { return each(v, T.String) }

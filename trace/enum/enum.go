// Package enum writes the names of closed sets of values.
package enum

import "fmt"

// Name is the i-th of the names; of a value outside the set it says which.
func Name[T ~uint8 | ~int](names []string, i T) string {
	if int(i) >= 0 && int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", int(i))
}

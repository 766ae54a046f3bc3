// Package enum writes and reads the names of closed sets of values.
package enum

import (
	"fmt"
	"slices"
	"strings"
)

// Name returns the i-th of the names, and for a value outside the set its number.
func Name[T ~uint8 | ~int](names []string, i T) string {
	if int(i) >= 0 && int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", int(i))
}

// Parse returns the value of a name, the inverse of Name; what is the noun for it in the error.
func Parse[T ~uint8 | ~int](what string, names []string, name string) (T, error) {
	if i := slices.Index(names, name); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("%s is %q, expected one of %s", what, name, strings.Join(names, ", "))
}

// Names returns String of 0, 1, …, up to the first value outside the set, without empty ones.
func Names(of func(i int) string) (names []string) {
	for i := range 256 {
		name := of(i)
		if name == Name(nil, i) {
			return names
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return nil
}

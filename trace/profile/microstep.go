package profile

import "sort"

// MicrostepCount returns the number of microsteps.
func (s *Step) MicrostepCount() int { return len(s.Microsteps) + 1 }

// MicrostepAt returns the microstep of a moment on the host.
func (s *Step) MicrostepAt(t int64) int {
	return sort.Search(len(s.Microsteps), func(i int) bool { return s.Microsteps[i] > t })
}

package profile

import "sort"

// MicrostepCount is how many there are.
func (s *Step) MicrostepCount() int { return len(s.Microsteps) + 1 }

// MicrostepAt is the one that a moment of the host is in.
func (s *Step) MicrostepAt(t int64) int {
	return sort.Search(len(s.Microsteps), func(i int) bool { return s.Microsteps[i] > t })
}

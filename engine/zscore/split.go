package zscore

import "fmt"

// Split divides the durations of one collective's members into the wait for the
// last of them to start and the transfer after it:
//
//	wait_i = max_j start_j − start_i,  transfer_i = start_i + duration_i − max_j start_j.
//
// All starts must be of one clock. A transfer below zero says that they are not.
// Members whose start or duration is Absent have neither.
func Split(start, duration []int64) (wait, transfer []int64, err error) {
	if len(start) != len(duration) {
		return nil, nil, fmt.Errorf("zscore: %d starts and %d durations of one collective", len(start), len(duration))
	}
	last := int64(Absent)
	for i, s := range start {
		if s != Absent && duration[i] != Absent {
			last = max(last, s)
		}
	}
	wait, transfer = make([]int64, len(start)), make([]int64, len(start))
	for i, s := range start {
		wait[i], transfer[i] = Absent, Absent
		if s != Absent && duration[i] != Absent {
			wait[i], transfer[i] = last-s, duration[i]-(last-s)
		}
	}
	return wait, transfer, nil
}

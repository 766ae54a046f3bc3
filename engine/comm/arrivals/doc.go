// Package arrivals finds which rank arrives last at synchronisation points, and why, from the times at which each rank
// entered its collectives, sends and receives. If the record ends in the middle of a collective, it finds which rank is
// missing.
//
// Package sync says who waits for whom and divides the calls into steps, package delay judges the division. Here the
// claims get the place of the program, the stage and the line at which a rank is late. What may equally be a clock
// offset is not reported as a delay.
//
// The numbers that decide whose clock is off are set by hand; jobs of known truth hold them together: the generated ones
// of this package's tests, and the recordings of real jobs of go test ./cmd/sfstat -run DumpsOfRealJobs.
package arrivals

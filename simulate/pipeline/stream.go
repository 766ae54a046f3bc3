package pipeline

import "math/rand/v2"

// purpose keeps the streams of different uses apart.
type purpose uint64

const (
	forWork     purpose = iota + 1 // durations on one worker in one step
	forLaunch                      // launch delays on one worker in one step
	forTransfer                    // transfers between stages from one worker in one step
	forGroup                       // transfers of collectives over replicas in one step
	forBetween                     // time before a step on one worker
	forSpeed                       // persistent speed of one worker
	forClock                       // clock of one worker
	forLength                      // lengths of the microbatches of one replica in one step
	forStrike                      // whether a random fault strikes in one step
	forHidden                      // where a fault hides
)

// stream is a random source that is cheap to point at another stream.
type stream struct {
	pcg rand.PCG
	*rand.Rand
}

func newStream() *stream {
	s := &stream{}
	s.Rand = rand.New(&s.pcg)
	return s
}

// at points the stream at its beginning for (seed, use, who, step). Seeds are
// mixed, since PCG states that differ in few bits begin alike.
func (s *stream) at(seed uint64, use purpose, who uint64, step int64) *stream {
	a := mix(seed + uint64(use)*0x9e3779b97f4a7c15)
	s.pcg.Seed(mix(a^who), mix(a+uint64(step)))
	return s
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection
// that turns neighbours into strangers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// worker names a worker to the streams; the name does not change when the job
// has more replicas.
func worker(dp, pp int) uint64 { return uint64(dp)<<32 | uint64(pp) }

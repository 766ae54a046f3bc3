package simulate

import "math/rand/v2"

// purpose keeps the streams of different uses apart.
type purpose uint64

const (
	forRank   purpose = iota + 1 // work and exit jitter of one rank in one step
	forGroup                     // transfer times of one group in one step
	forHost                      // noise spikes on one host in one step
	forDrift                     // slow drift of one rank or host in one step
	forFault                     // whether a random fault strikes in one step
	forHidden                    // which rank a fault hides on
	forSpeed                     // persistent speed of one rank
	forClock                     // start skew and clock drift of one rank
	forSide                      // readiness of the side channel of one rank in one step
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
func (s *stream) at(seed uint64, use purpose, who int, step int64) *stream {
	a := mix(seed + uint64(use)*0x9e3779b97f4a7c15)
	s.pcg.Seed(mix(a^uint64(who)), mix(a+uint64(step)))
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

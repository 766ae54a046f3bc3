// Package streams gives every draw of a simulation a random source of its own,
// named by what it is for, whom and when: a draw more in one place changes
// nothing in another, and the number of threads changes nothing at all.
package streams

import "math/rand/v2"

// Purpose keeps the streams of different uses apart. Every simulator numbers
// its own, from 1.
type Purpose uint64

// Stream is a random source that is cheap to point at another stream.
type Stream struct {
	pcg rand.PCG
	*rand.Rand
}

// New returns a stream, to be positioned by At before use.
func New() *Stream {
	s := &Stream{}
	s.Rand = rand.New(&s.pcg)
	return s
}

// Restart points the stream at its beginning for (seed, use, who, step). Seeds are
// mixed, since PCG states that differ in few bits begin alike.
func (s *Stream) Restart(seed uint64, use Purpose, who uint64, step int64) *Stream {
	a := mix(seed + uint64(use)*0x9e3779b97f4a7c15)
	s.pcg.Seed(mix(a^who), mix(a+uint64(step)))
	return s
}

// mix applies the finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that turns neighbours into strangers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

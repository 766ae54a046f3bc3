package simulate

import "github.com/sfstat/sfstat/eval/simulate/internal/streams"

// What streams are for.
const (
	forRank      streams.Purpose = iota + 1 // work and exit jitter of one rank in one step
	forGroup                                // transfer times of one group in one step
	forHost                                 // noise spikes on one host in one step
	forDrift                                // slow drift of one rank or host in one step
	forFault                                // whether a random fault strikes in one step
	forHidden                               // which rank a fault hides on
	forSpeed                                // persistent speed of one rank
	forClock                                // start skew and clock drift of one rank
	forSide                                 // readiness of the side channel of one rank in one step
	forWallClock                            // skew and drift of the wall clock of one host
)

package points_test

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/points"
)

// Two processes call two collectives, and the first sends the second a message. The record of the second lacks a
// collective that has no number.
func ExampleMatch() {
	const broadcast, allReduce = 1, 2
	first := []points.Call{
		{ID: 0, Number: 17, Kind: allReduce},
		{ID: 1, Number: -1, Kind: broadcast},
		{ID: 2, Number: -1, Message: true, From: 0, To: 1, Sends: true},
	}
	second := []points.Call{
		{ID: 0, Number: -1, Message: true, From: 0, To: 1},
		{ID: 1, Number: 17, Kind: allReduce},
	}
	sets, _ := points.Match(slices.Values([][]points.Call{first, second}), points.MatchOptions{})
	for _, s := range sets {
		fmt.Println(s.Message, s.Doubt == points.Certain, s.Entries)
	}
	// Output:
	// false true [{0 0} {1 1}]
	// false false [{0 1}]
	// true true [{0 2} {1 0}]
}

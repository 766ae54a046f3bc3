package labels

import (
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
)

// Two values are one in a ranking when they differ by less than this fraction
// of the largest, so that rounding cannot decide an order.
const rankSlack = 1e-12

// Rank orders stage indices by descending score; equal scores keep their
// order, upstream first. O(S²).
func Rank(score []float64) []int {
	out := make([]int, 0, len(score))
	if len(score) == 0 {
		return out
	}
	slack := slices.Max(score) * rankSlack
	left := make([]int, len(score))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		top := score[left[0]]
		for _, s := range left {
			top = max(top, score[s])
		}
		for i, s := range left {
			if score[s] >= top-slack {
				out = append(out, s)
				left = append(left[:i], left[i+1:]...)
				break
			}
		}
	}
	return out
}

// RoutingSet returns the smallest prefix of the ranking of shares whose cumulative share reaches tau (StageFrontier, section
// 4): the stages to look into. The shares sum to 1, and tau is in (0, 1], as gates.Gates.Validate demands. O(S²).
func RoutingSet(share []float64, tau float64) []int {
	cum := 0.0
	order := Rank(share)
	for n, s := range order {
		cum += share[s]
		if gates.AtLeast(cum, tau) {
			return order[:n+1]
		}
	}
	return order
}

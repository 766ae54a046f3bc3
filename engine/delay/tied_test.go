package delay_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
)

// TestTiedRanks: two ranks that are late alike and end the stage together in every step are one claim, of both, since one may keep the other waiting. Two that
// take as much longer each by itself are two.
func TestTiedRanks(t *testing.T) {
	for name, tied := range map[string]bool{"together": true, "each by itself": false} {
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 9))
			run := &delay.Run{}
			run.Stages, run.Ranks = stages, 6
			for range 60 {
				row, last := make([][]int64, 4), int64(0)
				for k, ms := range usual {
					for range run.Ranks {
						row[k] = append(row[k], int64(ms*1e6*(1+0.02*rng.NormFloat64())))
					}
				}
				row[3] = slices.Repeat([]int64{10e6}, run.Ranks) // all begin the next step together
				row[1][0], row[1][1] = row[1][0]+40e6, row[1][1]+40e6
				if tied {
					end := max(row[0][0]+row[1][0], row[0][1]+row[1][1])
					row[1][0], row[1][1] = end-row[0][0], end-row[0][1]
				}
				for r := range run.Ranks {
					last = max(last, row[0][r]+row[1][r])
				}
				for r := range run.Ranks {
					row[2][r] = last + 120e6 - row[0][r] - row[1][r]
				}
				run.Durations = append(run.Durations, slices.Concat(row...)...)
			}
			result, err := delay.Analyze(run, delay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var late []claim.Claim
			for _, c := range result.Claims {
				if c.Cause == claim.Late {
					late = append(late, c)
				}
			}
			switch {
			case tied && (len(late) != 1 || !slices.Equal(late[0].Ranks, []int{0, 1}) || late[0].Certainty != claim.Supported):
				t.Errorf("%s, seed %d: %+v, want ranks 0 and 1, supported", name, seed, late)
			case !tied && (len(late) != 2 || late[0].Certainty != claim.Strong || late[1].Certainty != claim.Strong):
				t.Errorf("%s, seed %d: %+v, want two claims, strong", name, seed, late)
			}
		}
	}
}

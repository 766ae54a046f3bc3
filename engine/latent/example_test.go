package latent_test

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/latent"
)

// Of four ranks the last works 3 ms longer than its peers in each of 40 steps of 100 ms, which vary by up to 0.4 ms.
func Example() {
	own := make([]int64, 4*40)
	for i := range own {
		own[i] = 60e6 + int64(i*7919%400)*1e3
		if i%4 == 3 {
			own[i] += 3e6
		}
	}
	w := latent.Work{Ranks: 4, Pieces: []latent.Piece{{Stage: 0}}, Own: [][]int64{own}, Points: 1, Step: 100e6}
	r, err := latent.Test(&w, latent.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range r.Claims() {
		fmt.Printf("rank %d: %.1f ms beyond its peers, %v\n", c.Rank(), float64(c.Difference.Level)/1e6, c.Certainty)
	}
	// Output: rank 3: 3.0 ms beyond its peers, strong
}

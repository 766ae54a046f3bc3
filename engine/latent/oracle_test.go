package latent

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/sfstat/sfstat/engine/blocks"
)

// TestOracle: correlation, blocks, levels, departures, shares, quarters and pieces are those of the prototype to rounding; its P,
// by draws of its own, within four standard errors.
func TestOracle(t *testing.T) {
	data, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	var oracle struct {
		Draws int
		Cases []struct {
			Job    job
			Expect struct {
				Tau                  float64
				Length, Blocks       int
				Can                  bool
				Level, D, P          [][]float64 // [piece and sum][rank]
				Blame, Share, Hybrid []float64
				Quarters, Piece      []int
			}
		}
	}
	if err := json.Unmarshal(data, &oracle); err != nil {
		t.Fatal(err)
	}
	close := func(what string, got, want, within float64) {
		t.Helper()
		if !(math.Abs(got-want) <= within) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, c := range oracle.Cases {
		// At level 1 all draws are made.
		r, err := Test(c.Job.work(), Options{Draws: oracle.Draws, Many: oracle.Draws, Level: 1 - 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		e := c.Expect
		if !e.Can {
			if r.Blocks.Refused == blocks.Judged || r.Claims() != nil {
				t.Errorf("%+v: judged by %+v", c.Job, r.Blocks)
			}
			continue
		}
		close("tau", r.Blocks.Tau, e.Tau, 1e-6)
		close("length", float64(r.Blocks.Length), float64(e.Length), 0)
		close("blocks", float64(r.Blocks.N), float64(e.Blocks), 0)
		for k := range e.P {
			for rank, p := range e.P[k] {
				s := r.Score(rank, k)
				close("level", s.Level, e.Level[k][rank], 1e-3)
				close("D", s.D, e.D[k][rank], 1e-6)
				close("P", s.P, p, 4*math.Sqrt(2*p*(1-p)/float64(oracle.Draws))+2/float64(oracle.Draws))
			}
		}
		for rank, p := range e.Blame {
			close("blame", r.Blame[rank].P, p, 4*math.Sqrt(2*p*(1-p)/float64(oracle.Draws))+2/float64(oracle.Draws))
			close("share", float64(r.Blame[rank].Last)/float64(r.Blame[rank].Of), e.Share[rank], 1e-9)
		}
		r.o = Options{}.orDefault()
		claimed := map[int]bool{}
		for _, x := range r.Claims() {
			rank := x.Rank()
			if claimed[rank] = x.Certainty > 0; !claimed[rank] {
				continue
			}
			if stage := e.Piece[rank]; x.Difference.Sum != (stage == 4) || stage < 4 && x.Parts[0].Stage != stage {
				t.Errorf("%+v: rank %d in %+v, sum %v, want piece %d", c.Job, rank, x.Parts, x.Difference.Sum, stage)
			}
		}
		for rank, p := range e.Hybrid {
			if near := math.Abs(p-r.o.Level) < 0.005; !near && claimed[rank] != (p <= r.o.Level) {
				t.Errorf("%+v: rank %d claimed %v, want P %v", c.Job, rank, claimed[rank], p)
			}
		}
	}
}

package needleman

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// classes scores pairs by the classes of row and column: the profile of each class over all
// columns is made once.
type classes struct {
	rows    []uint8
	columns int
	profile [][]int32
}

func newClasses(rows, columns []uint8, match, mismatch int32) *classes {
	c := &classes{rows: rows, columns: len(columns), profile: make([][]int32, 256)}
	for _, k := range rows {
		if c.profile[k] != nil {
			continue
		}
		c.profile[k] = make([]int32, len(columns))
		for j, s := range columns {
			c.profile[k][j] = mismatch
			if s == k {
				c.profile[k][j] = match
			}
		}
	}
	return c
}

func (c *classes) Size() (int, int)               { return len(c.rows), c.columns }
func (c *classes) Window(int) (int, int)          { return 0, c.columns }
func (c *classes) Row(dst []int32, row, from int) { copy(dst, c.profile[c.rows[row]][from:]) }
func (c *classes) Best(int) int32                 { return 5 }

// job is n operations that repeat with a period of 300, as training does, with 8 kinds; each is
// lost on either side with the probability.
func job(n int, lost float64) (rows, columns []uint8) {
	rng := rand.New(rand.NewPCG(1, 1))
	period := make([]uint8, 300)
	for i := range period {
		period[i] = uint8(rng.IntN(8))
	}
	for i := range n {
		if rng.Float64() >= lost {
			rows = append(rows, period[i%len(period)])
		}
		if rng.Float64() >= lost {
			columns = append(columns, period[i%len(period)])
		}
	}
	return rows, columns
}

// BenchmarkSolve: rows/s by length and by what is lost; "worst" has nothing in common, so that
// the whole table is needed.
func BenchmarkSolve(b *testing.B) {
	for _, lost := range []float64{0, 0.001, 0.01, 0.2} {
		for _, n := range []int{2000, 6000, 20000, 60000} {
			b.Run(fmt.Sprintf("lost=%g/n=%d", lost, n), func(b *testing.B) {
				rows, columns := job(n, lost)
				timed(b, newClasses(rows, columns, 5, -15))
			})
		}
	}
	for _, n := range []int{2000, 6000, 20000, 60000} {
		b.Run(fmt.Sprintf("worst/n=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(2, 2))
			rows, columns := make([]uint8, n), make([]uint8, n)
			for i := range rows {
				rows[i], columns[i] = uint8(rng.IntN(8)), uint8(8+rng.IntN(8))
			}
			timed(b, newClasses(rows, columns, 5, -15))
		})
	}
}

func timed(b *testing.B, s Scores) {
	n, _ := s.Size()
	var r *Result
	var peak uint64
	for b.Loop() {
		var err error
		if r, err = Solve(s, 5); err != nil {
			b.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapSys)
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(r.cells), "cells")
	b.ReportMetric(float64(peak)/1e6, "MB-heap")
}

package main

import (
	"encoding/csv"
	"io"
	"math/rand/v2"
	"os"

	"github.com/sfstat/sfstat/engine/comm/gotoh"
	"github.com/sfstat/sfstat/eval/internal/runtimes"
	"github.com/sfstat/sfstat/internal/atomicfile"
)

// shortest is the least length that is measured.
const shortest = 1000

// names is a sequence of operations by name on either side, the thesis's scores for them.
type names struct {
	calls   []uint8
	columns int
	profile [][]int32 // of each name against the kernels
}

var _ gotoh.Scores = (*names)(nil)

func (s *names) Size() (rows, columns int)      { return len(s.calls), s.columns }
func (s *names) Window(int) (from, to int)      { return 0, s.columns }
func (s *names) Row(dst []int32, row, from int) { copy(dst, s.profile[s.calls[row]][from:]) }
func (s *names) Best(int) int32                 { return equal }

// The thesis's scores: of equal and of different names, and for each without partner.
const (
	equal     = 5
	different = -15
	unpaired  = 5
)

// kinds is how many operations a job has, period after how many it repeats itself.
const (
	kinds  = 8
	period = 300
)

// job is n operations that repeat, of which either side lacks some.
func job(n int, lost float64) *names {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	iteration := make([]uint8, period)
	for i := range iteration {
		iteration[i] = uint8(r.IntN(kinds))
	}
	s := &names{profile: make([][]int32, kinds)}
	for i := range n {
		op := iteration[i%period]
		if r.Float64() >= lost {
			s.calls = append(s.calls, op)
		}
		if r.Float64() < lost {
			continue
		}
		s.columns++
		for k := range s.profile {
			score := int32(different)
			if k == int(op) {
				score = equal
			}
			s.profile[k] = append(s.profile[k], score)
		}
	}
	return s
}

// losses are the series: how much of either side is lost.
var losses = []struct {
	name string
	lost float64
}{{"0.1 % lost", 0.001}, {"1 % lost", 0.01}, {"20 % lost", 0.2}}

// measure writes how much processor time the alignment of one sequence takes, by operations.
func measure(path string, most, times int) error {
	var series []runtimes.Series
	for _, s := range losses {
		series = append(series, runtimes.Series{Name: s.name, Prepare: func(n int) func() error { return alignment(job(n, s.lost)) }})
	}
	rows, err := runtimes.Measurement{Kind: "alignment-by-length", Least: shortest, Most: most, Times: times, Clock: processorTime, Log: os.Stderr}.Rows(series)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

func alignment(s *names) func() error {
	gap := gotoh.Gap{Extend: unpaired}
	return func() error {
		_, err := gotoh.Solve(s, gotoh.Options{Rows: gap, Columns: gap, Width: gotoh.DefaultWidth})
		return err
	}
}

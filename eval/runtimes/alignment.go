package main

import (
	"math/rand/v2"

	"github.com/sfstat/sfstat/engine/comm/gotoh"
)

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

// operations is how many a job has, period after how many it repeats itself.
const (
	operations = 8
	period     = 300
)

// job is n operations that repeat, of which either side lacks some.
func job(n int, lost float64) *names {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	iteration := make([]uint8, period)
	for i := range iteration {
		iteration[i] = uint8(r.IntN(operations))
	}
	s := &names{profile: make([][]int32, operations)}
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

// alignments are of sequences of which either side lacks so much.
var alignments = []series{
	{name: "0.1 % lost", prepare: alignment(0.001)},
	{name: "1 % lost", prepare: alignment(0.01)},
	{name: "20 % lost", prepare: alignment(0.2)},
}

func alignment(lost float64) func(int) func() error {
	return func(n int) func() error {
		s, gap := job(n, lost), gotoh.Gap{Extend: unpaired}
		return func() error {
			_, err := gotoh.Solve(s, gotoh.Options{Rows: gap, Columns: gap, Width: gotoh.DefaultWidth})
			return err
		}
	}
}

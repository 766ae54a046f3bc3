package sums

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sfstat/sfstat/trace"
)

const (
	nearlyAll   = 0.95 // of the rows
	leastVaried = 10   // rows that tell a sum from a stage which is as long by chance
	leastParts  = 2    // that take time
	floatDigits = 1e-6 // of a time, by which 32-bit floats round it
	vague       = 0.05 // of a sum: where rounding takes more, nothing is said
	noisier     = 1.15 // by which what is left varies more than rounding makes it, at most

	spotRows       = 24  // that are looked at before all are
	spotMisses     = 4   // of these
	mostFreeStages = 12  // any of which may be parts; of more, neighbours and all together
	mostStages     = 128 // among which sums are looked for
	mostCandidates = 64  // sets of parts of one stage: with more, times are too coarse to tell
)

// search is a look for sums in the rows of windows.
type search struct {
	stages  []string
	windows []*trace.Window
	ends    []int // of the rows of each window
	rows    int
	coarse  []float64 // half of the last digit of each stage, in nanoseconds
	active  []int     // stages that take time
	spots   []int     // rows
	medians []int64   // of stages; −1: not known yet
	found   []Sum
}

// newSearch returns a search of the rows of windows of the same stages, in which nothing was found.
func newSearch(windows []*trace.Window) *search {
	s := &search{stages: windows[0].Schema.Stages, windows: windows}
	for _, w := range windows {
		s.rows += w.Steps() * len(w.Ranks)
		s.ends = append(s.ends, s.rows)
	}
	n := min(spotRows, s.rows)
	for i := range n {
		s.spots = append(s.spots, i*s.rows/n+i%max(1, s.rows/n))
	}
	return s
}

// look finds how coarse the stages are and which take time.
func (s *search) look() {
	s.round()
	for stage := range s.stages {
		s.medians = append(s.medians, -1)
		if slices.ContainsFunc(s.spots, func(row int) bool { return s.timeAt(row, stage) != 0 }) {
			s.active = append(s.active, stage)
		}
	}
}

// timeAt returns the time of a stage in a row.
func (s *search) timeAt(row, stage int) int64 {
	i := 0
	if len(s.windows) > 1 {
		i, _ = slices.BinarySearch(s.ends, row+1)
	}
	w := s.windows[i]
	R := len(w.Ranks)
	row -= s.ends[i] - w.Steps()*R
	return w.Durations[(row/R*len(s.stages)+stage)*R+row%R]
}

// round finds the last decimal digit that each stage was recorded with. One that hardly
// varies takes that of the finest.
func (s *search) round() {
	s.coarse = make([]float64, len(s.stages))
	finest := math.Inf(1)
	varies := make([]bool, len(s.stages))
	for stage := range s.stages {
		digit, values := int64(1e9), make(map[int64]bool, leastVaried)
		for row := 0; row < s.rows && (digit > 1 || len(values) < leastVaried); row++ {
			v := s.timeAt(row, stage)
			for v%digit != 0 {
				digit /= 10
			}
			if len(values) < leastVaried {
				values[v] = true
			}
		}
		s.coarse[stage], varies[stage] = float64(digit)/2, len(values) >= leastVaried
		finest = min(finest, s.coarse[stage])
	}
	for stage, v := range varies {
		if !v {
			s.coarse[stage] = finest
		}
	}
}

// isSum reports whether a stage was found to be a sum.
func (s *search) isSum(stage int) bool {
	return slices.ContainsFunc(s.found, func(f Sum) bool { return f.Stage == stage })
}

// leaves returns the stages that are no sums, but for one.
func (s *search) leaves(but int) []int {
	return slices.DeleteFunc(slices.Clone(s.active), func(stage int) bool { return stage == but || s.isSum(stage) })
}

// tolerance returns by how much rounding moves a sum from its parts at most.
func (s *search) tolerance(stage int, parts []int) float64 {
	tol := s.coarse[stage]
	for _, p := range parts {
		tol += s.coarse[p]
	}
	return tol
}

// rest returns what parts leave of a stage in a row.
func (s *search) rest(row, stage int, parts []int) int64 {
	left := s.timeAt(row, stage)
	for _, p := range parts {
		left -= s.timeAt(row, p)
	}
	return left
}

// median returns that of a stage's times.
func (s *search) median(stage int) int64 {
	if s.medians[stage] < 0 {
		times := make([]int64, s.rows)
		for row := range times {
			times[row] = s.timeAt(row, stage)
		}
		slices.Sort(times)
		s.medians[stage] = times[len(times)/2]
	}
	return s.medians[stage]
}

// exact finds the stages that are sums of others but for rounding.
func (s *search) exact() {
	for _, stage := range s.active {
		if s.isSum(stage) {
			continue
		}
		best, most := Sum{}, 0
		for _, parts := range s.candidates(stage, 0) {
			n := s.agreeingRows(stage, parts)
			if n > most || n == most && len(parts) > len(best.Parts) {
				best, most = Sum{Stage: stage, Parts: parts}, n
			}
		}
		if most > 0 {
			s.found = append(s.found, best)
		}
	}
}

// agreeingRows returns in how many rows a stage is the sum of parts, 0 where these are too
// few, do not vary, or differ by more than rounding explains.
func (s *search) agreeingRows(stage int, parts []int) int {
	tol, median := s.tolerance(stage, parts), s.median(stage)
	var rounding, sum, squares float64
	for _, p := range append([]int{stage}, parts...) {
		rounding += s.coarse[p] * s.coarse[p] / 3
	}
	agree, varied, variedAgree := 0, 0, 0
	taking := make([]int, len(parts))
	for row := range s.rows {
		x := s.timeAt(row, stage)
		off, most := float64(s.rest(row, stage, parts)), tol+floatDigits*float64(x)
		varies := math.Abs(float64(x-median)) > most
		if varies {
			varied++
		}
		if math.Abs(off) <= most {
			agree++
			sum, squares = sum+off, squares+off*off
			if varies {
				variedAgree++
			}
		} else if row+1-agree > int((1-nearlyAll)*float64(s.rows)) {
			return 0
		}
		for i, p := range parts {
			if float64(s.timeAt(row, p)) > tol {
				taking[i]++
			}
		}
	}
	take := 0
	for _, n := range taking {
		if 2*n > s.rows {
			take++
		}
	}
	n := float64(max(1, agree))
	spread := math.Sqrt(max(0, squares/n-sum/n*sum/n))
	if take < leastParts || tol > vague*float64(median) || spread > noisier*math.Sqrt(rounding)+floatDigits*float64(median) ||
		variedAgree < leastVaried || float64(variedAgree) < nearlyAll*float64(varied) {
		return 0
	}
	return agree
}

// candidates returns sets of stages that a stage is as long as in most of a few rows, or
// longer by a part of it at most.
func (s *search) candidates(stage int, most float64) (out [][]int) {
	others := slices.DeleteFunc(slices.Clone(s.active), func(o int) bool { return o == stage })
	if len(others) < mostFreeStages {
		return s.passingSets(stage, others, most)
	}
	for _, parts := range append(neighbours(stage, len(s.stages)), others, s.leaves(stage)) {
		if tol, misses := s.tolerance(stage, parts), 0; !slices.ContainsFunc(s.spots, func(row int) bool {
			if !s.fits(row, stage, parts, tol, most) {
				misses++
			}
			return misses > spotMisses
		}) {
			out = append(out, parts)
		}
	}
	return out
}

// fits reports whether a stage is as long as others in a row but for rounding, or longer
// by a part of it at most.
func (s *search) fits(row, stage int, parts []int, tol, most float64) bool {
	x, rest := float64(s.timeAt(row, stage)), float64(s.rest(row, stage, parts))
	return sumFits(x, rest, tol, most)
}

func sumFits(x, rest, tol, most float64) bool {
	return x > 0 && rest >= -tol-floatDigits*x && rest <= tol+(most+floatDigits)*x
}

// neighbours returns the sets of two or more stages right before a stage, or after it.
func neighbours(stage, S int) (out [][]int) {
	run := func(from, to int) {
		parts := make([]int, 0, to-from)
		for p := from; p < to; p++ {
			parts = append(parts, p)
		}
		out = append(out, parts)
	}
	for k := leastParts; k < S-1; k++ {
		if stage+1+k <= S {
			run(stage+1, stage+1+k)
		}
		if stage-k >= 0 {
			run(stage-k, stage)
		}
	}
	return out
}

// passingSets returns the sets of any of a few stages that pass, none where too many do.
func (s *search) passingSets(stage int, others []int, most float64) (out [][]int) {
	n := len(others)
	sums := make([]int64, 1<<n)
	tol := make([]float64, 1<<n)
	misses := make([]uint8, 1<<n)
	tol[0] = s.coarse[stage]
	for set := 1; set < 1<<n; set++ {
		tol[set] = tol[set&(set-1)] + s.coarse[others[bits.TrailingZeros(uint(set))]]
	}
	left := len(sums)
	for _, row := range s.spots {
		x := s.timeAt(row, stage)
		for set := 1; set < 1<<n; set++ {
			sums[set] = sums[set&(set-1)] + s.timeAt(row, others[bits.TrailingZeros(uint(set))])
			if misses[set] <= spotMisses && !sumFits(float64(x), float64(x-sums[set]), tol[set], most) {
				if misses[set]++; misses[set] > spotMisses {
					left--
				}
			}
		}
		if left == 1 { // the empty set
			return nil
		}
	}
	for set := 1; set < 1<<n; set++ {
		if misses[set] > spotMisses || set&(set-1) == 0 {
			continue
		}
		if len(out) == mostCandidates {
			return nil
		}
		var parts []int
		for i, o := range others {
			if set>>i&1 == 1 {
				parts = append(parts, o)
			}
		}
		out = append(out, parts)
	}
	return out
}

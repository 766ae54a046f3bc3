// Package breakdown divides the time of accelerators as Holistic Trace Analysis
// does: how much of it computes, communicates, moves memory, and idles, and how
// much communication nothing covers.
//
// Over the time from the first moment in which something ran on a rank to the
// last, streams merged before they are summed,
//
//	span    = busy + idle
//	busy    = compute ∪ communication ∪ memory
//	exposed communication = communication less what compute covers
//	exposed memory        = what is left: busy less compute and exposed communication
//
// so that compute, exposed communication, exposed memory and idle add up to the
// span. HTA calls the middle two together "non-compute", and the part of
// communication that is not exposed "overlap". A single step is divided whole,
// from its beginning on the device to that of the next, so that the steps of a
// rank add up to its span and the idle time before its first and after its last
// work.
//
// # Which ranks stand out
//
// A rank's shares x are held against those of its peers, the ranks of the same
// role group. With mean m and standard deviation s of the N − 1 others,
//
//	t = (x − m) / (s·√(1 + 1/(N − 1))),  N − 2 degrees of freedom,
//
// is Student's t when all are normal about one level (the externally
// studentised residual; Grubbs 1950, Ann. Math. Stat. 21:27–58). That holds for
// few ranks too, where the usual three standard deviations cannot be reached. P
// is two-sided and multiplied by the number of comparisons (Bonferroni), and a
// difference must be worth a look besides. Steps are not used as repeats: those
// of one rank are not independent. With fewer than MinPeers ranks nothing is
// marked.
package breakdown

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Category is a kind of time.
type Category uint8

const (
	Compute       Category = iota // kernels that do not communicate
	Communication                 // covered or not
	Memory                        // copies and fills, covered or not
	Idle                          // nothing runs
	ExposedComm                   // communication that no compute covers
	ExposedMemory                 // copies and fills that neither covers
	categories
)

var categoryNames = [...]string{"compute", "communication", "memory", "idle", "exposed communication", "exposed memory"}

func (c Category) String() string { return enum.Name(categoryNames[:], c) }

// Word returns String without spaces, for lists.
func (c Category) Word() string { return strings.ReplaceAll(c.String(), " ", "_") }

// Times divides a stretch of time, in nanoseconds.
type Times struct {
	Span int64
	In   [categories]int64 // by Category
}

// Share returns a category's part of the span, 0 to 1; NaN where there is none.
func (t *Times) Share(c Category) float64 { return float64(t.In[c]) / float64(t.Span) }

// ExposedShare returns the part of communication that nothing covers; NaN where there is no communication.
func (t *Times) ExposedShare() float64 {
	return float64(t.In[ExposedComm]) / float64(t.In[Communication])
}

// Step is one step of a rank.
type Step struct {
	Step int64
	Times
}

// Rank is the device time of one rank.
type Rank struct {
	trace.Rank
	Times // from its first work to its last
	Steps []Step
}

// Whole returns the time of all steps from beginning to end, the idle time before the first work and after the last with it.
func (r *Rank) Whole() Times {
	var t Times
	for i := range r.Steps {
		s := &r.Steps[i]
		t.Span += s.Span
		for c, ns := range s.In {
			t.In[c] += ns
		}
	}
	return t
}

// Options of Analyze.
type Options struct {
	Alpha float64 // chance that any rank of a healthy run is marked, (0, 1)
	Least float64 // difference of shares that is worth a mark, [0, 1)
}

// DefaultOptions returns the options that Analyze is meant to be used with.
func DefaultOptions() Options {
	return Options{Alpha: gates.Strong, Least: 0.01}
}

// Result is the breakdown of a run.
type Result struct {
	Run    string
	Ranks  []Rank // ascending by ID
	Marks  []Mark // who stands out, the largest difference first
	Tests  int    // comparisons that were made; 0: all role groups are smaller than MinPeers
	Notes  []input.Note
	Option Options // that it was made with
}

// Analyze divides the device time of a run. Ranks without a step are
// left out; without ranks the error is input.ErrMissing. O(ranks × steps).
func Analyze(d *profile.DeviceTimes, o Options) (*Result, error) {
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return nil, fmt.Errorf("breakdown: Alpha %v outside (0, 1)", o.Alpha)
	}
	if !(o.Least >= 0 && o.Least < 1) {
		return nil, fmt.Errorf("breakdown: Least %v outside [0, 1)", o.Least)
	}
	r := &Result{Run: d.Run, Notes: d.Notes, Option: o}
	for i := range d.Ranks {
		if rank := &d.Ranks[i]; len(rank.Steps) > 0 {
			r.Ranks = append(r.Ranks, rankOf(rank))
		}
	}
	if len(r.Ranks) == 0 {
		return nil, input.Bad(input.ErrMissing, "no step of run %q was recorded", d.Run)
	}
	r.mark()
	return r, nil
}

func rankOf(d *profile.DeviceRank) Rank {
	r := Rank{Rank: d.Rank}
	for from := 0; from < len(d.Steps); {
		to := from + 1
		for to < len(d.Steps) && d.Steps[to].Start == d.Steps[to-1].End {
			to++
		}
		r.Times.addRun(d.Steps[from:to])
		from = to
	}
	for i := range d.Steps {
		one := Times{}
		one.add(&d.Steps[i])
		r.Steps = append(r.Steps, Step{d.Steps[i].Step, one})
	}
	return r
}

// addRun adds steps that touch, from the first work to the last.
func (t *Times) addRun(steps []profile.DeviceStep) {
	idle := func(s *profile.DeviceStep) bool { return s.First == s.Last }
	for len(steps) > 0 && idle(&steps[0]) {
		steps = steps[1:]
	}
	for len(steps) > 0 && idle(&steps[len(steps)-1]) {
		steps = steps[:len(steps)-1]
	}
	if len(steps) == 0 {
		return
	}
	for i := range steps {
		t.add(&steps[i])
	}
	first, last := &steps[0], &steps[len(steps)-1]
	outside := first.First - first.Start + last.End - last.Last
	t.Span -= outside
	t.In[Idle] -= outside
}

func (t *Times) add(s *profile.DeviceStep) {
	span := s.End - s.Start
	t.Span += span
	for c, ns := range [categories]int64{Compute: s.Compute, Communication: s.Communication, Memory: s.Memory, Idle: s.Idle,
		ExposedComm: s.ExposedComm, ExposedMemory: span - s.Idle - s.Compute - s.ExposedComm} {
		t.In[c] += ns
	}
}

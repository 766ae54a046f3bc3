package main

import (
	"slices"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
)

// kind says what is wrong with a job, which decides what its verdict has to say.
type kind string

const (
	healthy  kind = "healthy"  // nobody is slow; a value that was recorded wrong is nobody's delay
	uneven   kind = "uneven"   // work differs by design: nobody is named
	late     kind = "late"     // some ranks are slow
	hidden   kind = "hidden"   // a rank is slow inside the stage where ranks synchronise, which stage times show on all alike
	everyone kind = "everyone" // all ranks are slow in a stage, in all steps or in some
	transfer kind = "transfer" // the network is slow, which stage times show where ranks synchronise
	turns    kind = "turns"    // another rank is slow in each stretch of steps
	startUp  kind = "start-up" // the first steps are slow
	quiet    kind = "quiet"    // nobody is slow, in a recording that may be too short to say so
	free     kind = "free"     // a rank is slow where nobody waits for anybody: it ends the job later
	coarse   kind = "coarse"   // some ranks are slow, on a clock that may be too coarse to show who waits
	hang     kind = "hang"     // a rank never enters a collective
	// operators: workers, stages, groups or links of an operator trace are slow.
	operators kind = "operators"
)

// truth lists the faults that a job hides.
type truth struct {
	kind   kind
	faults []fault
}

// fault is one cause.
type fault struct {
	what   pipeline.Kind // of an operator trace
	ranks  []int         // that are slow; none: all, or none in particular
	stages []string      // to be named, one of them; none: any, as where a rank is slow in all
	op     string        // of a slow link: the transfers in its direction
	saves  *float64      // part of the run that fixing it alone saves; nil where it is not known
	due    bool          // it is so large that it has to be named
	listed bool          // of an operator trace: that it has to be the first finding, however small or unsure
	from   int64         // step at which it begins, −1 where that is not asked
	hides  float64       // nanoseconds of each step, where it is in a stage in which it may hide
}

// job is a case: what it is called in the table, its truth, and where it lies, or the packets
// that are written to the program.
type job struct {
	as      row
	truth   truth
	path    string
	packets []byte
}

// score returns the row of one job.
func (p program) score(j job) row {
	r := j.as.addTruth(j.truth)
	v, err := p.diagnose(j)
	if err != nil {
		return r.withoutVerdict(err)
	}
	return r.addVerdict(v, judge(j.truth, v))
}

// leastDue is the part of the run from which on a fault has to be named: the threshold of
// a verdict is 10 %, and what it estimates may come out just below.
const leastDue = 0.12

// guilty returns the ranks that are slow.
func (t truth) guilty() []int {
	var out []int
	for _, f := range t.faults {
		out = append(out, f.ranks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// due returns the faults that a verdict has to name.
func (t truth) due() []fault {
	return slices.DeleteFunc(slices.Clone(t.faults), func(f fault) bool { return !f.due })
}

package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/latent"
	"github.com/sfstat/sfstat/trace/health"
)

// judge is what the recordings of a run show, each by itself. Nothing in it changes once [run.judge] has
// collected it: the merge table reads it.
type judge struct {
	*run
	gates    gates.Gates
	minGain  float64
	entered  *arrivals.Result // nil: no entries of calls
	late     []Finding        // ranks that entries show late
	traffic  *comm.Result     // nil: no calls and kernels of NCCL
	heard    *RunVerdict      // what these show by themselves; nil likewise
	traced   *RunVerdict      // what a profiler's traces of the same steps show by themselves; nil: none
	found    []*Finding       // of the steps
	byWindow []*windowFinding
	// differences from the baseline, by stage; nil without one.
	differences    map[string]compare.Difference
	modelled       *delay.Result  // of the steps; nil: passes over windows judge
	single         *delay.Result  // what the steps of the only rank show; nil where there are several
	differs        *latent.Result // of their own work, the second stage; nil: nothing was tested
	differsEntered *latent.Result // the same between calls, of a run without windows; nil likewise
	placed         stepPlaces     // where its steps are
	noted          []answer.Problem
}

// analyzeEntries returns what the entries of calls show; nil where there are none. It keeps the result until the run is
// judged.
func (r *run) analyzeEntries(minGain float64) *arrivals.Result {
	if r.entered == nil && !r.entries.Empty() {
		r.entered = r.entries.Analyze(arrivals.Options{MinGain: minGain})
	}
	return r.entered
}

// judge returns the verdict on what was read of a run, beside what monitoring recorded.
func (r *run) judge(g gates.Gates, minGain float64, monitoring []*health.Record) RunVerdict {
	defer r.dropPassing()
	entered := r.analyzeEntries(minGain)
	r.entered = nil
	r = r.forVerdict()
	j := &judge{run: r, gates: g, minGain: minGain, entered: entered}
	if j.steps != nil {
		j.lookAtSteps()
	}
	j.operations()
	if r.profiled != nil && len(r.windows) > 0 {
		v := r.profiled.judge(g, minGain, nil)
		j.traced = &v
	}
	if j.traffic = j.analyzeTraffic(); j.traffic != nil {
		v := communicationBy(j.traffic, g, minGain)
		j.heard = &v
	}
	if j.entered != nil {
		j.late = j.lateArrivals(j.entered)
		j.differsEntered = differEntered(j.entered, len(j.windows) > 0)
	}
	return j.merge(monitoring)
}

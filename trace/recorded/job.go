// Package recorded has all that was recorded of a run as one value, whatever the sources were.
//
// Long runs are read in pieces: jobs of one name are of one run, and their windows follow
// one another. Of what is no window there is one piece.
package recorded

import (
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/profile"
)

// Job is what was recorded of one run, or a piece of it. What no source recorded is nil.
type Job struct {
	Windows []*trace.Window // times of steps by stage, in order
	// Profiled are windows of a profiler's traces of steps that Windows have too: a second account of them.
	Profiled  []*trace.Window
	Operators *operator.Trace // named by its file where its source has no name for it
	// Launched are the operators behind the stages of all windows. Of a profile that was converted, Operators has them too.
	Launched *operator.Totals
	Devices  *profile.DeviceTimes
	Calls    *comms.Record  // of one process, or of the whole job
	Readings *health.Record // of monitoring, which are of no run
	Path     string         // of the input; "" for packets, which may come from several files
}

// Recordings returns the parts of a job, each by itself. Operators behind stages stand for the operator trace that
// they were summed from.
func (j *Job) Recordings() (all []trace.Recording) {
	for _, w := range j.Windows {
		all = append(all, w)
	}
	for _, w := range j.Profiled {
		all = append(all, trace.ProfiledWindow{Window: w})
	}
	if j.Launched != nil {
		all = append(all, j.Launched)
	} else if j.Operators != nil {
		all = append(all, j.Operators)
	}
	if j.Devices != nil {
		all = append(all, j.Devices)
	}
	if j.Calls != nil {
		all = append(all, j.Calls)
	}
	if j.Readings != nil {
		all = append(all, j.Readings)
	}
	return all
}

// Empty reports whether a job has nothing.
func (j *Job) Empty() bool { return len(j.Recordings()) == 0 }

// Run returns the name of the run; "" of readings, and of a job that has nothing.
func (j *Job) Run() string {
	if all := j.Recordings(); len(all) > 0 {
		return all[0].RunName()
	}
	return ""
}

// Select returns what is selected of a job. Calls are of a whole run: they are left out where a part of it is
// selected, and so is what stands behind windows of which none is; operators stand for themselves.
func (j *Job) Select(s *trace.Selection) Job {
	if s.All() || j.Readings != nil {
		return *j
	}
	out := *j
	out.Windows, out.Profiled = selectWindows(j.Windows, s), selectWindows(j.Profiled, s)
	out.Devices, out.Launched = j.Devices.Select(s), j.Launched.Select(s)
	if j.Operators != nil {
		out.Operators = j.Operators.Select(s)
	}
	if j.Calls != nil && !s.Comm(j.Calls) {
		out.Calls = nil
	}
	switch {
	case len(out.Windows) > 0, len(j.Windows) == 0 && (j.Operators == nil || out.Operators != nil):
		return out
	case out.Operators != nil:
		return Job{Operators: out.Operators, Launched: out.Launched, Path: j.Path}
	}
	return Job{Path: j.Path}
}

func selectWindows(all []*trace.Window, s *trace.Selection) (out []*trace.Window) {
	for _, w := range all {
		if w = s.Window(w); w != nil {
			out = append(out, w)
		}
	}
	return out
}

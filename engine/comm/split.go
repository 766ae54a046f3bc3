package comm

import (
	"github.com/sfstat/sfstat/trace/comms"
)

// profiledCalls is what profilers recorded of calls, beside the logs.
type profiledCalls struct {
	calls  [][]int // of each process, indices of Recorded.Calls
	logged [][]int // of each process that logged, indices of Result.Calls
}

// split takes the calls and communicators of logs for those of the job, and leaves those of profilers to [Result.reconcile]. What
// other sources recorded says nothing of kernels or sizes, and is left out.
func (r *Result) split() *profiledCalls {
	c := r.Recorded
	of := &profiledCalls{calls: make([][]int, len(c.Processes)), logged: make([][]int, len(c.Processes))}
	log := func(process int) bool { return process != comms.None && r.kindOf(process) == comms.SourceNCCLLog }
	others := false
	group := make([]int, len(c.Groups))
	r.sideOf = group
	for g := range c.Groups {
		group[g] = len(r.Groups)
		if log(c.Groups[g].Process) {
			r.Groups = append(r.Groups, c.Groups[g])
		} else {
			others = true
		}
	}
	for g := range r.Groups {
		if s := r.Groups[g].Split; s != nil && s.Parent != comms.None && group[s.Parent] != s.Parent {
			moved := *s
			moved.Parent = group[s.Parent]
			r.Groups[g].Split = &moved
		}
	}
	for i := range c.Calls {
		if p := c.Calls[i].Process; !log(p) {
			others = true
			if p != comms.None {
				of.calls[p] = append(of.calls[p], i)
			}
		}
	}
	if r.Calls = c.Calls; others {
		r.Calls = nil
		for _, x := range c.Calls {
			if log(x.Process) {
				if x.Group != comms.None {
					x.Group = group[x.Group]
				}
				r.Calls = append(r.Calls, x)
			}
		}
	}
	for i := range r.Calls {
		p := r.Calls[i].Process
		of.logged[p] = append(of.logged[p], i)
	}
	return of
}

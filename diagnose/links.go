package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/comms"
)

// addComm takes communication: when ranks entered their calls, or NCCL's calls and
// kernels, in which it is to be found who is who. A run without windows is judged by
// that alone.
func (r *run) addComm(c *comms.Record) error {
	r.seeProcesses(c)
	if c.Entries() {
		return r.entries.Add(c)
	}
	r.calls = append(r.calls, c)
	return nil
}

// together is what the calls and kernels of a run say; nil where there are no
// kernels, by which alone times are known, or no calls.
func (r *run) together(v *RunVerdict) *comm.Result {
	all := comms.Join(r.calls...)
	logs := 0
	for _, s := range all.Sources {
		if s.Kind == comms.SourceNCCLLog {
			logs++
		}
	}
	if !slices.ContainsFunc(all.Processes, func(p comms.Process) bool { return len(p.Kernels) > 0 }) {
		if len(all.Calls) > 0 || logs > 0 {
			v.Problems = append(v.Problems, answer.Problem{Problem: answer.CallsWithoutKernels, N: len(all.Sources), Of: len(all.Calls)})
		}
		return nil
	}
	t, err := comm.Analyze(all, comm.Options{Theory: comm.Theory{Benchmarks: r.limits}})
	switch {
	case err != nil:
		v.Problems = append(v.Problems, answer.Problem{Problem: answer.CallsRefused, Path: all.Sources[0].Path, Text: err.Error()})
		return nil
	case len(t.Calls) == 0 && logs == 0:
		return nil // NCCL's ranges were not what they seemed
	}
	return t
}

// heard joins the findings of the windows with those of the communication. Windows show who is late and where time goes, and not
// why; of communication the calls and kernels show more: a rank that both find late is one finding, with the evidence of both.
func (j *judge) heard(v *RunVerdict) {
	c := communicationBy(j.traffic, j.gates)
	if len(j.windows) == 0 && j.operators == nil {
		c.Run, c.MinGain = v.Run, v.MinGain
		*v = c
		return
	}
	late, others := split(c.Findings)
	late = v.join(testimony{late: late, says: func(*Finding) evidence.Witness { return evidence.Witness{Source: evidence.FromNCCL} }})
	if len(c.Findings) == 0 && j.traffic.Speed.Compared > 0 {
		v.Observed = append(v.Observed, evidence.Witness{Source: evidence.FromNCCL})
		v.Undecided = slices.DeleteFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() })
	}
	v.Findings = append(v.Findings, slices.Concat(others, late)...)
	slices.SortStableFunc(v.Findings, func(a, b Finding) int { return byWeight(&a, &b) })
	v.Undecided = append(v.Undecided, c.Undecided...)
	if len(v.Findings) == 0 {
		return
	}
	first := &v.Findings[0]
	v.Confidence = first.Confidence
	if !first.heard() {
		return
	}
	// Who is late in a stage is known now.
	v.Undecided = slices.DeleteFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() })
	if first.Rank == nil || first.Stage == "" {
		v.Next = c.Next
	}
}

// heard reports whether a finding is that of the communication alone.
func (f *Finding) heard() bool {
	_, byStages := evidence.Find[evidence.LastToArrive](f.Evidence)
	_, late := evidence.EntersLast(f.Evidence, evidence.FromNCCL)
	_, slow := evidence.Find[evidence.SlowLink](f.Evidence)
	return slow || late && !byStages
}

// split is the findings of the communication: ranks that are late for certain, and the others.
func split(all []Finding) (late, others []Finding) {
	for _, f := range all {
		if f.Kind == KindRank && f.Confidence >= evidence.Supported {
			late = append(late, f)
		} else {
			others = append(others, f)
		}
	}
	return late, others
}

package diagnose

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/stagename"
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
// why; of communication the calls and kernels show more:
//
//   - a rank that both find late is one finding, with the evidence of both;
//   - where a link or communicator is slow, ranks that arrive late with no delay of their own, and stages of waiting or
//     communicating, are its victims and not reported.
func (j *judge) heard(v *RunVerdict) {
	c := communicationBy(j.traffic, j.gates)
	if len(j.windows) == 0 && j.operators == nil {
		c.Run, c.MinGain = v.Run, v.MinGain
		*v = c
		return
	}
	late, slow, rest := split(c.Findings)
	late = v.join(testimony{late: late, says: func(*Finding) evidence.Witness { return evidence.Witness{Source: evidence.FromNCCL} }})
	for i := range v.Findings {
		f := &v.Findings[i]
		if _, agreed := evidence.WitnessOf(f.Evidence, evidence.FromNCCL); !agreed && len(slow) > 0 && j.victim(f) {
			link, _ := evidence.Find[evidence.SlowLink](slow[0].Evidence)
			link.Elsewhere = true
			f.Confidence, f.Evidence = evidence.Insufficient, append(f.Evidence, link)
		}
	}
	if len(c.Findings) == 0 && j.traffic.Speed.Compared > 0 {
		v.Observed = append(v.Observed, evidence.Witness{Source: evidence.FromNCCL})
		v.Undecided = slices.DeleteFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() })
	}
	v.Findings = append(v.Findings, slices.Concat(slow, late, rest)...)
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
	_, slow := evidence.FindIf(f.Evidence, func(e evidence.SlowLink) bool { return !e.Elsewhere })
	return slow || late && !byStages
}

// split is the findings of the communication: ranks and links or communicators that are reported, and the rest.
func split(all []Finding) (late, slow, rest []Finding) {
	for _, f := range all {
		switch {
		case f.Confidence < evidence.Supported:
			rest = append(rest, f)
		case f.Kind == KindRank:
			late = append(late, f)
		default:
			slow = append(slow, f)
		}
	}
	return late, slow, rest
}

// transferStem begins the stages that profiler traces have of communication with all ranks there.
const transferStem = "comm."

// victim reports whether a finding of the windows is what a slow link makes of it: a stage of waiting or communicating, or
// a rank that is not late of its own.
func (j *judge) victim(f *Finding) bool {
	if f.Rank != nil {
		return !j.ownLate(*f.Rank)
	}
	return (f.Kind == KindStage || f.Kind == KindWorkload) && (stagename.IsWait(f.Stage) || strings.HasPrefix(f.Stage, transferStem))
}

// ownLate reports whether the own delay of the rank exceeds that of the median rank
// by a reportable amount.
func (j *judge) ownLate(rank int) bool {
	late, shares := suspects.Latecomers(j.traffic)
	for i, l := range late {
		if j.traffic.Ranks[l.Rank].Rank == rank && shares[i] >= enoughShare {
			return true
		}
	}
	return false
}

package diagnose

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
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

// analyzeTraffic returns what the calls and kernels of a run say; nil where there are no kernels, by which alone
// times are known, or no calls. What cannot be used is noted.
func (j *judge) analyzeTraffic() *comm.Result {
	all := comms.Join(j.calls...)
	logs := 0
	for _, s := range all.Sources {
		if s.Kind == comms.SourceNCCLLog {
			logs++
		}
	}
	if !slices.ContainsFunc(all.Processes, func(p comms.Process) bool { return len(p.Kernels) > 0 }) {
		if len(all.Calls) > 0 || logs > 0 {
			j.noted = append(j.noted, answer.Problem{Problem: answer.CallsWithoutKernels, N: len(all.Sources), Of: len(all.Calls)})
		}
		return nil
	}
	t, err := comm.Analyze(all, comm.Options{Theory: comm.Theory{Benchmarks: j.limits}})
	switch {
	case err != nil:
		j.noted = append(j.noted, answer.Problem{Problem: answer.CallsRefused, Path: all.Sources[0].Path, Text: err.Error()})
		return nil
	case len(t.Calls) == 0 && logs == 0:
		return nil // NCCL's ranges were not what they seemed
	}
	return t
}

// joinsKernels reports whether kernels of NCCL stand beside another recording of the steps.
func (j *judge) joinsKernels() bool {
	return j.heard != nil && (len(j.windows) > 0 || j.operators != nil)
}

// joinKernels joins the claims with those of NCCL's calls and kernels. Windows show who is late and where time
// goes, and not why; of communication the calls and kernels show more.
func (j *judge) joinKernels(claims []Finding) []Finding {
	if !j.joinsKernels() {
		return claims
	}
	late, slow, rest := split(j.heard.Findings)
	return j.join(claims, testimony{late: late, rest: slices.Concat(slow, rest),
		agrees: func(*Finding) evidence.Witness { return evidence.Witness{Source: evidence.FromNCCL} }})
}

// doubtVictims names nobody who waits behind a slow link or communicator: ranks that arrive late with no delay of
// their own, and stages of waiting or communicating.
func (j *judge) doubtVictims(claims []Finding) []Finding {
	if !j.joinsKernels() {
		return claims
	}
	_, slow, _ := split(j.heard.Findings)
	if len(slow) == 0 {
		return claims
	}
	link, _ := evidence.Find[evidence.SlowLink](slow[0].Evidence)
	link.Elsewhere = true
	out := slices.Clone(claims)
	for i := range out {
		f := &out[i]
		if _, agreed := evidence.WitnessOf(f.Evidence, evidence.FromNCCL); !agreed && f.source != evidence.FromNCCL && j.victim(f) {
			f.Confidence, f.Evidence = evidence.Insufficient, append(slices.Clip(f.Evidence), link)
		}
	}
	return j.order(out)
}

// communicationsAlone returns what there was to compare of a run that is judged by calls and kernels of NCCL alone;
// nil: it is not.
func (j *judge) communicationsAlone() *Communications {
	if j.heard == nil || j.joinsKernels() {
		return nil
	}
	return j.heard.Communications
}

// isCommunicationOnly reports whether a finding is that of the communication alone.
func (f *Finding) isCommunicationOnly() bool {
	_, byStages := evidence.Find[evidence.LastToArrive](f.Evidence)
	_, late := evidence.EntersLast(f.Evidence, evidence.FromNCCL)
	_, slow := evidence.FindIf(f.Evidence, func(e evidence.SlowLink) bool { return !e.Elsewhere })
	return slow || late && !byStages
}

// split returns the findings of the communication: ranks and links or communicators that are reported, and the rest.
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
		return !j.isOwnDelayReportable(*f.Rank)
	}
	return (f.Kind == KindStage || f.Kind == KindWorkload) && (stagename.IsWait(f.Stage) || strings.HasPrefix(f.Stage, transferStem))
}

// isOwnDelayReportable reports whether the own delay of the rank exceeds that of the median rank
// by a reportable amount.
func (j *judge) isOwnDelayReportable(rank int) bool {
	return slices.ContainsFunc(suspects.Latecomers(j.traffic), func(c claim.Claim) bool { return c.Rank() == rank && c.Saves.Largest() >= minReportedShare })
}

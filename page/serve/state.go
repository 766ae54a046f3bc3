package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/report"
)

// state is what is served until the next change. It is never written to.
type state struct {
	Recorded
	Failure string // why it could not be read anew
	version uint64
	jobs    []job // those that cost most first
}

// job is all verdicts of one name: of its windows, of an operator trace.
type job struct {
	key  string
	runs []diagnose.RunVerdict
}

func newState(version uint64, r Recorded) *state {
	s := &state{Recorded: r, version: version}
	if r.Verdict == nil {
		return s
	}
	place := map[string]int{}
	for _, run := range r.Verdict.Runs {
		at, known := place[run.Run]
		if !known {
			at = len(s.jobs)
			place[run.Run] = at
			s.jobs = append(s.jobs, job{key: keyOf(run.Run)})
		}
		s.jobs[at].runs = append(s.jobs[at].runs, run)
	}
	slices.SortStableFunc(s.jobs, func(a, b job) int {
		return cmp.Or(cmp.Compare(b.gain(), a.gain()), strings.Compare(a.key, b.key))
	})
	return s
}

// mostName is how long a name may be, bytes, before a hash stands for it.
const mostName = 200

// keyOf is the name of a run where a URL or a label has it. What a browser takes for
// a place in a path, or is too long or no text, has a hash.
func keyOf(run string) string {
	if run != "" && run != "." && run != ".." && len(run) <= mostName && report.Visible(run) == run {
		return run
	}
	sum := sha256.Sum256([]byte(run))
	return "~" + hex.EncodeToString(sum[:8])
}

// escaped is the key in a path.
func (j *job) escaped() string { return url.PathEscape(j.key) }

// lead is the verdict with the largest gain.
func (j *job) lead() *diagnose.RunVerdict {
	best := 0
	for i := range j.runs {
		if gainOf(&j.runs[i]) > gainOf(&j.runs[best]) {
			best = i
		}
	}
	return &j.runs[best]
}

func (j *job) gain() float64 { return gainOf(j.lead()) }

// gainOf is the part of a run that fixing its first suspect saves.
func gainOf(r *diagnose.RunVerdict) float64 {
	if len(r.Suspects) == 0 {
		return 0
	}
	return r.Suspects[0].RunGain
}

func (s *state) find(key string) (*job, error) {
	i := slices.IndexFunc(s.jobs, func(j job) bool { return j.key == key })
	if i < 0 {
		return nil, errNoRun
	}
	return &s.jobs[i], nil
}

// chosen is what was read of the run of a key, or everything where it is "".
func (s *state) chosen(key string) (Recorded, error) {
	out := s.Recorded
	switch {
	case out.Verdict == nil:
		return out, errNoRun
	case key == "":
		return out, nil
	}
	j, err := s.find(key)
	if err != nil {
		return out, err
	}
	out.Verdict = &diagnose.Verdict{RunVerdict: *j.lead(), Runs: j.runs, Gates: s.Verdict.Gates}
	return out, nil
}

func verdictJSON(_ context.Context, r Recorded) ([]byte, error) {
	var b bytes.Buffer
	err := report.Output{W: &b, Format: report.JSON, Problems: r.Problems}.Verdict(r.Verdict)
	return b.Bytes(), err
}

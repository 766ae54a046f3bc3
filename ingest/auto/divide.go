package auto

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
	"github.com/sfstat/sfstat/trace/recorded"
)

// divide returns what the profiles of one job come to.
func (u *unit) divide(j stages.Profiles, run string) (p part, err error) {
	path := j.Ranks[0].Source
	defer bug.Contain(path, &err)
	if slices.ContainsFunc(j.Ranks, func(other *profile.Rank) bool { return other.Source != path }) {
		path = filepath.Dir(path)
	}
	o := stages.Options{Run: run, Timeline: u.r.o.Timeline, Each: u.r.o.Detail != profiler.Totals}
	timed := u.r.runs.timedRunOf(j.Ranks)
	if timed != nil {
		o = stages.Options{Run: timed.run, Timeline: u.r.o.Timeline, Operators: stages.OnHost} // as the recorder times them
	}
	got, err := stages.Divide(j.Ranks, o)
	if errors.Is(err, input.ErrTooLarge) && len(got.Windows) > 0 {
		err = u.loseOperators(path, &got, err)
	}
	if err != nil {
		return part{}, err
	}
	noteAll(&got, j.Notes)
	if got.Path = path; timed != nil {
		return part{Job: profilerJob(got, j.Ranks, timed), run: timed.run, of: operatorsByFile(&got, j.Ranks)}, nil
	}
	if !u.r.o.Kinds.has(Entries) {
		got.Calls = nil
	}
	if got.Calls != nil {
		got.Windows[0].Notes = append(got.Windows[0].Notes, got.Calls.Notes...)
	}
	return part{Job: got, folder: dirOf(j.Ranks[0].Source), of: operatorsByFile(&got, j.Ranks)}, nil
}

// noteAll puts what is noted of the profiles of a job on what they come to.
func noteAll(j *recorded.Job, notes []input.Note) {
	for _, w := range j.Windows {
		w.Notes = append(w.Notes, notes...)
	}
	if j.Operators != nil {
		j.Operators.Notes = append(j.Operators.Notes, notes...)
	}
	if j.Devices != nil {
		j.Devices.Notes = append(j.Devices.Notes, notes...)
	}
}

// loseOperators notes that a job is given without its operators, of which some rank has too many. Of an overview that
// is no loss.
func (u *unit) loseOperators(path string, j *recorded.Job, why error) error {
	if u.r.o.Detail != profiler.EachOperator {
		return nil
	}
	w := j.Windows[len(j.Windows)-1]
	w.Notes = append(w.Notes, input.Note{Kind: input.NoteRecorder, Text: "operators are left out: " + why.Error()})
	u.r.unwhole = append(u.r.unwhole, Problem{path, why})
	if u.r.o.Strict == ingest.FirstError {
		return why
	}
	return nil
}

// profilerJob returns a profiler's part of a run that a recorder timed: a second account of its steps, operators, device
// times, and entries of collectives where the recorder has none.
func profilerJob(j recorded.Job, ranks []*profile.Rank, timed *timedRun) recorded.Job {
	j.Profiled, j.Windows = j.Windows, nil
	if len(ranks) < len(timed.hosts) {
		j.Profiled = nil // late among few is not late
	}
	if timed.arrivals {
		j.Calls = nil
	}
	return j
}

// operatorsByFile returns how many operators of a job each of the files has that it is made of.
func operatorsByFile(j *recorded.Job, ranks []*profile.Rank) map[string]int {
	n := make(map[string]int)
	sources := make(map[int]string)
	for _, r := range ranks {
		n[r.Source], sources[r.ID] = 0, r.Source
	}
	if j.Operators != nil {
		for _, at := range j.Operators.Rank {
			n[sources[j.Operators.Ranks[at].ID]]++
		}
	}
	return n
}

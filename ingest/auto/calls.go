package auto

import (
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// addLog puts a debug log of NCCL to the others; it is opened by its path.
func (r *Reader) addLog(in *Input, src *metered) {
	if src.Close(); in.Bytes == ingest.UnknownSize {
		r.passOver([]*Input{in})
		return
	}
	r.logs = append(r.logs, in)
}

// addInspected puts a dump of NCCL's Inspector to the others; it is opened by its path.
func (r *Reader) addInspected(in *Input, src *metered) {
	if src.Close(); in.Bytes == ingest.UnknownSize {
		r.passOver([]*Input{in})
		return
	}
	r.inspected = append(r.inspected, in)
}

// callJobs are the calls and kernels of NCCL as items, one for each job that has a
// debug log, a dump of NCCL's Inspector, or an export of Nsight Systems with what NCCL attached to its ranges.
// Jobs are told apart when the runs are known.
type callJobs struct {
	r     *Reader
	jobs  []callJob
	alone bool // there is one
	told  bool
}

// callJob is logs, dumps of the Inspector and exports of one job.
type callJob struct{ logs, inspected, exports []*Input }

func (j *callJob) paths() (all []string) {
	for _, in := range slices.Concat(j.logs, j.inspected, j.exports) {
		all = append(all, in.Path)
	}
	return all
}

// tells reports whether there are calls.
func (j *callJob) tells() bool {
	return len(j.logs)+len(j.inspected) > 0 || slices.ContainsFunc(j.exports, func(in *Input) bool {
		tells, err := nsight.HasCalls(in.Path)
		return tells && err == nil
	})
}

func (q *callJobs) Close() error { return nil }

func (q *callJobs) Next() (Item, error) {
	if !q.told {
		q.told, q.jobs = true, q.r.callJobs()
		q.alone = len(q.jobs) == 1
	}
	for len(q.jobs) > 0 {
		j := q.jobs[0]
		q.jobs = q.jobs[1:]
		if c := q.r.load(&j, q.alone); c != nil {
			return Item{Comm: c, Path: filepath.Dir(j.paths()[0])}, nil
		}
	}
	return Item{}, io.EOF
}

// callJobs are the jobs: one for each folder, or of all folders where these are of
// one run.
func (r *Reader) callJobs() []callJob {
	folders := make(map[string]*callJob)
	var order []string
	var all callJob
	of := func(in *Input) *callJob {
		folder := dirOf(in.Path)
		if folders[folder] == nil {
			order, folders[folder] = append(order, folder), &callJob{}
		}
		return folders[folder]
	}
	for _, in := range r.logs {
		j := of(in)
		j.logs, all.logs = append(j.logs, in), append(all.logs, in)
	}
	for _, in := range r.inspected {
		j := of(in)
		j.inspected, all.inspected = append(j.inspected, in), append(all.inspected, in)
	}
	for _, in := range r.nsight {
		j := of(in)
		j.exports, all.exports = append(j.exports, in), append(all.exports, in)
	}
	runs := r.runs.all()
	if len(all.exports) > 0 {
		runs = slices.Compact(slices.Sorted(maps.Values(r.exported)))
	}
	switch {
	case len(order) == 0:
		return nil
	case len(runs) < 2:
		return []callJob{all}
	}
	var jobs []callJob
	for _, folder := range order {
		jobs = append(jobs, *folders[folder])
	}
	return jobs
}

// load reads a job; nil where it has nothing of use. Logs without kernels are of
// use beside windows or operators alone.
func (r *Reader) load(j *callJob, alone bool) *comms.Record {
	run := r.runOfCalls(j, alone)
	switch {
	case len(j.exports)+len(j.inspected) == 0 && !slices.Contains(r.runs.all(), run):
		r.passOver(j.logs)
		return nil
	case !j.tells():
		return nil
	}
	found, err := ReadComm(j.paths(), r.o.Limits)
	switch {
	case len(j.logs)+len(j.inspected) == 0 && (err != nil || len(found.Comm.Calls) == 0):
		return nil // kernels without calls: the windows of the exports were read all the same
	case err != nil:
		r.problems = append(r.problems, Problem{filepath.Dir(j.paths()[0]), err})
		return nil
	}
	found.Comm.Run = run
	return found.Comm
}

// runOfCalls is the run of a job: that of the windows of its exports, where there
// are any.
func (r *Reader) runOfCalls(j *callJob, alone bool) string {
	for _, in := range j.exports {
		if run, ok := r.exported[dirOf(in.Path)]; ok {
			return run
		}
	}
	return r.runs.nameless(dirOf(j.paths()[0]), alone)
}

// passOver refuses inputs that turned out to be of no use, if they were named, and
// skips them in folders.
func (r *Reader) passOver(list []*Input) {
	for _, in := range list {
		if in.named {
			r.problems = append(r.problems, Problem{in.Path, input.At(input.Pos{File: in.Path}, in.Format.refusal(r.o.Want))})
			continue
		}
		in.Skipped = in.Format.row().noun
		r.given--
	}
}

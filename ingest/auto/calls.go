package auto

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

// callJob is the logs of one job, then dumps of the Inspector, then exports.
type callJob []*Input

func (j callJob) has(f Format) bool {
	return slices.ContainsFunc(j, func(in *Input) bool { return in.Format == f })
}

// hasCalls reports whether a job has calls.
func (r *Reader) hasCalls(j callJob) bool {
	return slices.ContainsFunc(j, func(in *Input) bool { return in.Format != SQLite || r.exportComm[in.Path] != nil })
}

// calls passes on the calls and kernels of NCCL, one part for each job with a debug log, an Inspector dump, or an Nsight
// export with NCCL's ranges. It runs last, because runs distinguish jobs.
func (u *unit) calls(give func(part) bool) error {
	r, jobs := u.r, u.r.callJobs()
	for _, j := range jobs {
		folder := filepath.Dir(j[0].Path)
		c, err := r.loadJob(j, len(jobs), folder)
		if err != nil {
			if err := r.refuseFile(folder, err); err != nil {
				return err
			}
		}
		if c != nil && !give(part{Job: recorded.Job{Calls: c, Path: folder}}) {
			return nil
		}
	}
	return nil
}

// callJobs returns the jobs: one for each folder, or of all folders where these are of one run.
func (r *Reader) callJobs() []callJob {
	slices.SortStableFunc(r.recorded, func(a, b *Input) int { return cmp.Compare(a.Format, b.Format) })
	all := slices.Concat(callJob(r.recorded), r.nsight)
	folders := make(map[string]callJob)
	var order []string
	for _, in := range all {
		folder := dirOf(in.Path)
		if folders[folder] == nil {
			order = append(order, folder)
		}
		folders[folder] = append(folders[folder], in)
	}
	runs := r.runs.runsWithSteps()
	if len(r.nsight) > 0 {
		runs = slices.Compact(slices.Sorted(maps.Values(r.exported)))
	}
	switch {
	case len(order) == 0:
		return nil
	case len(runs) < 2 || !r.o.Joined:
		return []callJob{all}
	}
	var jobs []callJob
	for _, folder := range order {
		jobs = append(jobs, folders[folder])
	}
	return jobs
}

// loadJob reads one of so many jobs; nil where the job has nothing usable. Logs without kernels are usable only with
// windows or operators.
func (r *Reader) loadJob(j callJob, of int, folder string) (_ *comms.Record, err error) {
	defer bug.Contain(folder, &err)
	run := r.runOfCalls(j, of)
	switch {
	case r.o.Kinds == Calls:
		return r.joinFiles(j)
	case !r.o.Joined:
	case !j.has(SQLite) && !j.has(InspectorDump) && !slices.Contains(r.runs.runsWithSteps(), run):
		r.passOver(j)
		return nil, nil
	}
	if !r.hasCalls(j) {
		return nil, nil
	}
	c, err := r.joinFiles(j)
	if err != nil || c == nil || !j.has(NCCLLog) && !j.has(InspectorDump) && len(c.Calls) == 0 {
		return nil, err // kernels without calls: the windows of the exports were read all the same
	}
	c.Run = run
	return c, nil
}

// runOfCalls returns the run of a job: the run of its exports' windows, where there are any.
func (r *Reader) runOfCalls(j callJob, of int) string {
	for _, in := range j {
		if run, ok := r.exported[dirOf(in.Path)]; ok && in.Format == SQLite {
			return run
		}
	}
	return r.runs.unnamedRun(dirOf(j[0].Path), of)
}

// passOver refuses named inputs without use, and skips such inputs of folders. If nothing else was read, the connections
// in logs of NCCL are kept.
func (r *Reader) passOver(list callJob) {
	if r.emitted == 0 {
		if shows := r.connectivity(list); len(shows) > 0 {
			r.said = append(r.said, shows...)
			return
		}
	}
	for _, in := range list {
		if in.named {
			r.problems = append(r.problems, Problem{in.Path, input.At(input.Pos{File: in.Path}, r.callsAlone(in))})
			continue
		}
		in.Skipped = in.Format.row().noun
		r.given--
	}
}

// connectivity returns over what channels ranks reach each other, by logs of NCCL without a recording of the job.
func (r *Reader) connectivity(list callJob) []string {
	b := nccllog.NewBuilder(r.o.Limits)
	for _, in := range list {
		if in.Format != NCCLLog {
			continue
		}
		src, err := r.source(in.Path)
		if err != nil {
			return nil
		}
		err = b.Read(src, in.name)
		if src.Close(); err != nil {
			return nil
		}
	}
	shows := b.Concludes()
	if len(shows) > 0 {
		shows = append(shows, "its calls sfstat comm reads, where they are logged (NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING), and sfstat hang says who is behind or absent")
	}
	return shows
}

// callsAlone returns the refusal of calls of NCCL without a recording of the job.
func (r *Reader) callsAlone(in *Input) error {
	if in.Format != NCCLLog {
		return in.Format.refusal(r.o.Kinds)
	}
	return input.Bad(input.ErrMissing, "a debug log of NCCL. It has no times of steps, so whether anything slows the job is not shown: give it beside a recording of the job. "+
		"By itself sfstat comm reads its calls (logged with NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING), and sfstat hang says who is behind or absent. %s", whatToRecord)
}

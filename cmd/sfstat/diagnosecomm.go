package main

import (
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/report"
)

// profiledRuns is the run that an input became, or the inputs of a folder.
type profiledRuns map[string]string

// see notes the run of a window; what has no path is of no profiler.
func (r profiledRuns) see(item auto.Item) {
	if item.Window != nil && item.Path != "" {
		r[item.Path] = item.Window.Run
	}
}

// addTraffic adds what logs of NCCL say together with exports of Nsight Systems, or those exports alone that have what NCCL attached to its
// ranges: of all inputs where these are one run, else of each folder. Where there was nothing else to judge, failed, this may be enough.
func (p *program) addTraffic(c *cli.Context, s *diagnose.Session, runs profiledRuns, in *inputs, failed error) error {
	if s := in.chosen; s != nil && (len(s.Windows) > 0 || len(s.Ranks) > 0 || s.Steps != nil) {
		return failed // what they say is of the whole run
	}
	jobs := trafficJobs(in.read)
	if len(jobs) == 0 || failed != nil && c.Bool("strict") {
		return failed
	}
	if len(runs) < 2 {
		jobs = []trafficJob{together(jobs)}
	}
	heard := 0
	for _, j := range jobs {
		if !j.tells() || in.chosen != nil && !in.chosen.Run(j.run(runs)) {
			continue
		}
		t, err := p.traffic(j)
		if err != nil && len(j.logs) == 0 {
			continue // calls without kernels: the windows of the exports were read all the same
		}
		if err != nil {
			p.say("%s: %s", prefix(c.Command.Name), oneLine(err))
			in.problems = append(in.problems, report.Problem{Path: j.folder, Err: err})
			continue
		}
		if len(t.Calls) == 0 && len(j.logs) == 0 {
			continue // NCCL's ranges were not what they seemed
		}
		s.AddTraffic(j.run(runs), t)
		heard++
	}
	if heard > 0 {
		return nil
	}
	return failed
}

// trafficJob is logs and exports of one folder.
type trafficJob struct {
	folder        string
	logs, exports []string
}

// tells says whether it has both kernels and calls. An export that cannot be searched for calls was refused before, or has none.
func (j *trafficJob) tells() bool {
	if len(j.logs) > 0 {
		return len(j.exports) > 0
	}
	return slices.ContainsFunc(j.exports, func(path string) bool {
		tells, err := nsight.HasCalls(path)
		return tells && err == nil
	})
}

// run is the name of its run: that of the windows, where there are any.
func (j *trafficJob) run(runs profiledRuns) string {
	for _, path := range append(slices.Clone(j.exports), j.folder) {
		if run, ok := runs[path]; ok {
			return run
		}
	}
	if len(runs) == 1 {
		for _, run := range runs {
			return run
		}
	}
	return filepath.Base(j.folder)
}

// trafficJobs are the logs and exports among the inputs, by folder.
func trafficJobs(read []auto.Input) (jobs []trafficJob) {
	for _, in := range read {
		if in.Format != auto.NCCLLog && in.Format != auto.SQLite {
			continue
		}
		dir := filepath.Dir(in.Path)
		i := slices.IndexFunc(jobs, func(j trafficJob) bool { return j.folder == dir })
		if i < 0 {
			i = len(jobs)
			jobs = append(jobs, trafficJob{folder: dir})
		}
		if in.Format == auto.NCCLLog {
			jobs[i].logs = append(jobs[i].logs, in.Path)
		} else {
			jobs[i].exports = append(jobs[i].exports, in.Path)
		}
	}
	return jobs
}

// together is all folders as one job.
func together(jobs []trafficJob) trafficJob {
	all := trafficJob{folder: jobs[0].folder}
	for _, j := range jobs {
		all.logs, all.exports = append(all.logs, j.logs...), append(all.exports, j.exports...)
	}
	return all
}

func (p *program) traffic(j trafficJob) (*comm.Result, error) {
	found, err := auto.ReadComm(slices.Concat(j.logs, j.exports), ingest.Limits{})
	if err != nil {
		return nil, err
	}
	return comm.Analyze(found.Comm, comm.Options{})
}

// passedOver says what NCCL left in the folders given that no verdict is made of. What was named is told as refused.
func (p *program) passedOver(c *cli.Context, in inputs) {
	left := map[auto.Format]int{}
	for _, x := range in.read {
		if !slices.ContainsFunc(in.problems, func(y report.Problem) bool { return y.Path == x.Path }) {
			left[x.Format]++
		}
	}
	say := func(n int, one, many, reader string) {
		switch {
		case n == 1:
			p.remark(c, "%s: passed over 1 %s of %s", prefix(c.Command.Name), one, reader)
		case n > 1:
			p.remark(c, "%s: passed over %d %s of %s", prefix(c.Command.Name), n, many, reader)
		}
	}
	say(left[auto.InspectorDump], "dump", "dumps", "NCCL's Inspector, which sfstat comm reads")
	if left[auto.SQLite] == 0 { // else they were read with them
		say(left[auto.NCCLLog], "debug log", "debug logs", "NCCL, which sfstat comm reads, and sfstat diagnose beside exports of Nsight Systems")
	}
}

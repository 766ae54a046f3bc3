package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
)

// Jobs that eval/realjobs/jobs.py ran: a folder for each, with the plan of the job in
// "done", packets, and for each rank how long the kernel kept it off the processors. They
// are scored with what was recorded, and without the arrivals in their packets.

// realJob is the plan of a job, which jobs.py writes when the job has ended well.
type realJob struct {
	Name      string  `json:"name"`
	Framework string  `json:"framework"`
	Family    string  `json:"family"` // "": nobody is slow
	Ranks     int     `json:"ranks"`
	Slow      []int   `json:"slow"`
	Millis    float64 `json:"ms"`
	Every     int     `json:"every"`
	Recording string  `json:"recording"`
	Stage     string  `json:"stage"` // where a recording shows the delay, "" for where those of frameworks do
	Calls     float64 `json:"calls"` // how often a step passes the place of the delay; 0: once
}

// stages returns the stages in which the delay shows. Without a stage for callbacks, the recorder leaves them to what no stage
// covers.
func (j *realJob) stages() []string {
	if j.Stage != "" {
		return []string{j.Stage}
	}
	if j.Family == "callback" && j.Recording == "module" && (j.Framework == "ddp" || j.Framework == "fsdp") {
		return []string{"step.other_cpu_wall"}
	}
	for begins, stage := range stageOf {
		if strings.HasPrefix(j.Family, begins) {
			return []string{stage}
		}
	}
	return nil
}

// stageOf is the stage of a family, by how its name begins.
var stageOf = map[string]string{"data": simulate.StageData, "forward": simulate.StageForward, "backward": simulate.StageBackward,
	"callback": simulate.StageCallbacks, "optimizer": simulate.StageOptimizer}

// realJobs returns the jobs in a folder.
func realJobs(dir string) ([]task, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "done"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: no job that eval/realjobs/jobs.py ran to its end", dir)
	}
	if err != nil {
		return nil, err
	}
	var out []task
	for _, path := range paths {
		out = append(out, func(p program) ([]row, error) { return scoreRealJob(p, path) })
	}
	return out, nil
}

func scoreRealJob(p program, done string) ([]row, error) {
	var j realJob
	if err := readJSON(done, &j); err != nil {
		return nil, err
	}
	folder := filepath.Dir(done)
	packets := filepath.Join(folder, "packets")
	seen, err := look(packets)
	if err != nil {
		return nil, err
	}
	t := truth{kind: healthy}
	as := row{Source: "jobs", Family: j.Framework + ", healthy", Job: j.Name}
	if j.Family != "" {
		as.Family = j.Framework + ", " + j.Family
		f := fault{ranks: j.Slow, stages: j.stages(), hides: j.Millis * 1e6 * cmp.Or(j.Calls, 1) / float64(j.Every), from: -1}
		f.due = seen.step == 0 || f.hides/seen.step >= leastDue
		t = truth{late, []fault{f}}
	}
	starved, err := starvedRanks(folder, j.Ranks)
	if err != nil {
		return nil, err
	}
	if len(starved) > 0 {
		if t.kind == healthy {
			t.kind = late
		}
		t.faults = append(t.faults, fault{ranks: starved, from: -1})
	}
	for _, w := range seen.windows {
		w.Arrivals = nil
	}
	rows := []row{p.score(job{as: as, truth: t, path: packets})}
	if strings.HasPrefix(j.Family, "backward") { // what stage times show on all ranks alike
		t.kind = hidden
	}
	as.Variant = "without arrivals"
	return append(rows, p.score(job{as: as, truth: t, packets: packetsOf(seen.windows...)})), nil
}

// starvedRanks returns the ranks that waited for a processor, more than the others, for a tenth of the run: they are late,
// though nobody made them so.
func starvedRanks(folder string, ranks int) ([]int, error) {
	waits := map[int]float64{}
	for rank := range ranks {
		var queue struct {
			Waited float64 `json:"waited_ns"`
			Wall   float64 `json:"wall_ns"`
		}
		err := readJSON(filepath.Join(folder, fmt.Sprintf("queue%d.json", rank)), &queue)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		waits[rank] = queue.Waited / queue.Wall
	}
	var out []int
	for rank := range ranks {
		var others []float64
		for r, w := range waits {
			if r != rank {
				others = append(others, w)
			}
		}
		slices.Sort(others)
		if wait, ok := waits[rank]; ok && len(others) > 0 && wait-others[(len(others)-1)/2] >= 0.1 {
			out = append(out, rank)
		}
	}
	return out, nil
}

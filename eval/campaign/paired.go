package campaign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/eval/overhead"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace/input"
)

// pairsName is the file, in the folder of a run's packets, in which a paired run
// leaves the time of a step of each window without the recorder and with it, as
// sfstat overhead reads it.
const pairsName = "pairs.csv"

// pairedName is the folder, in that of measurements, of the pairs of runs.
const pairedName = "runs"

// paired reports whether runs carry out each window with and without the recorder.
func (g *Group) paired() bool { return slices.Contains(g.Recorder, recorderOff) }

func (g *Group) validateRecorder(r Runner) error {
	switch {
	case !g.paired():
		return nil
	case r == Simulator:
		return input.Bad(input.ErrFormat, "group %s: recorder is off, which is for runners local and slurm: a simulated job has no recorder", g.Name)
	case len(g.Recorder) != 2 || !slices.Contains(g.Recorder, recorderOn):
		return input.Bad(input.ErrFormat, "group %s: recorder is %v, expected [off, on]: what it costs is measured in pairs", g.Name, g.Recorder)
	case g.Profiler != NoProfiler:
		return input.Bad(input.ErrFormat, "group %s: a profiler (%v) would count as cost of the recorder: leave it out", g.Name, g.Profiler)
	}
	return nil
}

// pairs is where the times of a paired run lie in the folder of a campaign.
func (t *Task) pairs(dir string) string {
	return filepath.Join(dir, overheadName, pairedName, t.ID+".csv")
}

// KeepPairs puts the times that a paired run left beside its packets into the folder
// of its campaign. Of other runs nothing is kept. It is for makers.
func KeepPairs(dir string, t *Task, packets string) error {
	if !t.Paired {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(packets, pairsName))
	if err != nil {
		return fmt.Errorf("times without the recorder and with it: %w", err)
	}
	path := t.pairs(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// what names what a run records.
func (t *Task) what() string {
	if t.Spec.Side.Every > 0 {
		return "events"
	}
	return "cpu"
}

// pairedArms are what recording costs by the paired runs of a campaign. A run is a
// block.
func (f *folder) pairedArms() (arms []arm, inputs []Provenance, err error) {
	var measured [][]overhead.Measurement
	for i := range f.tasks {
		t := &f.tasks[i]
		if !t.Paired {
			continue
		}
		path := t.pairs(f.path)
		pairs, err := readPairs(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, input.At(input.Pos{File: path}, input.Bad(input.ErrMissing, "the times of a paired run that was done are gone: remove %s, and sfstat campaign run makes it anew", f.row(t)))
		}
		if err != nil {
			return nil, nil, err
		}
		for k := range pairs {
			pairs[k].Pair = t.ID
		}
		at := slices.IndexFunc(arms, func(a arm) bool { return a.Ranks == t.Spec.Ranks && a.What == t.what() })
		if at < 0 {
			at = len(arms)
			arms, measured = append(arms, arm{Ranks: t.Spec.Ranks, Gather: "gloo", What: t.what()}), append(measured, nil)
		}
		measured[at] = append(measured[at], pairs...)
		from, err := f.from(path)
		if err != nil {
			return nil, nil, err
		}
		from.Run, from.Group, from.SpecHash = t.ID, t.Group, t.Hash
		inputs = append(inputs, from)
	}
	for i := range arms {
		if arms[i].Account, err = examine(measured[i]); err != nil {
			return nil, nil, input.At(input.Pos{File: filepath.Join(f.path, overheadName, pairedName)}, err)
		}
	}
	return arms, inputs, nil
}

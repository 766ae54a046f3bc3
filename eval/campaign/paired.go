package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace/input"
)

// pairsName is the file, in the folder of a run's packets, in which a paired run
// leaves the time of a step of each window without the recorder and with it, as
// sfstat overhead reads it.
const pairsName = "pairs.csv"

// paired reports whether runs carry out each window with and without the recorder.
func (g *Group) paired() bool { return slices.Contains(g.Recorder, off) }

func (g *Group) validateRecorder(r Runner) error {
	switch {
	case !g.paired():
		return nil
	case r == Simulator:
		return input.Bad(input.ErrFormat, "group %s: recorder is off, which is for runners local and slurm: a simulated job has no recorder", g.Name)
	case len(g.Recorder) != 2 || !slices.Contains(g.Recorder, on):
		return input.Bad(input.ErrFormat, "group %s: recorder is %v, expected [off, on]: what it costs is measured in pairs", g.Name, g.Recorder)
	case g.Profiler != NoProfiler:
		return input.Bad(input.ErrFormat, "group %s: a profiler (%v) would count as cost of the recorder: leave it out", g.Name, g.Profiler)
	}
	return nil
}

// Pairs is where the times of a paired run lie in the folder of a campaign.
func (t *Task) Pairs(dir string) string {
	return filepath.Join(dir, OverheadName, PairedName, t.ID+".csv")
}

// KeepPairs puts the times that a paired run left beside its packets into the folder
// of its campaign. Of other runs nothing is kept. It is for makers.
func (t *Task) KeepPairs(dir, packets string) error {
	if !t.Paired {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(packets, pairsName))
	if err != nil {
		return fmt.Errorf("times without the recorder and with it: %w", err)
	}
	path := t.Pairs(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.WriteText(path, text)
}

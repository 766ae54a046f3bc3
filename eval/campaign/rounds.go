package campaign

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/input"
)

// roundsName is the file, in the folder of a run's packets, in which a run that carries its
// windows out under several arms leaves what they took.
const roundsName = "rounds.csv"

// Chunk is the timed steps of a window under an arm. Times are ns per step; NaN was not measured.
type Chunk struct {
	Place     int     // in the order of the round's arms, from 0
	Wall      float64 // of the slowest rank
	Thread    float64 // processor time of the training thread, mean of ranks
	Process   float64 // processor time of all threads of a rank, mean of ranks
	Others    float64 // processor time of the machines that neither ranks nor sfstat sample used
	Steal     float64 // processor time that the hosts of virtual machines took away
	Throttled float64 // time for which heat or power slowed a GPU, the sum of GPUs
}

// Round is a window under an arm beside the same window without the recorder.
type Round struct {
	Run        string
	Number     int // from 1: the window before is the warm-up of all arms
	Arm        Arm
	Base, With Chunk
	Closing    float64 // ns per step in which the training thread closes windows and hands them over, slowest rank
	Writing    float64 // ns per step of the writer's thread, which encodes, gathers and writes, slowest rank
	StageCall  float64 // ns of the training thread for one empty stage
}

// roundsHead is what [WriteRounds] writes: sfstat overhead reads the pair and its two times.
var roundsHead = []string{"pair", "arm", "base_ns", "with_ns", "round", "base_place", "with_place", "base_thread_cpu_ns", "with_thread_cpu_ns",
	"base_process_cpu_ns", "with_process_cpu_ns", "base_others_ns", "with_others_ns", "base_steal_ns", "with_steal_ns",
	"base_throttled_ns", "with_throttled_ns", "closing_ns", "writing_ns", "stage_call_ns"}

// numbers returns pointers to the cells of a round behind pair and arm, in the order of roundsHead.
func (r *Round) numbers() []*float64 {
	b, w := &r.Base, &r.With
	return []*float64{&b.Wall, &w.Wall, nil, nil, nil, &b.Thread, &w.Thread, &b.Process, &w.Process, &b.Others, &w.Others, &b.Steal, &w.Steal,
		&b.Throttled, &w.Throttled, &r.Closing, &r.Writing, &r.StageCall}
}

// places returns pointers to the whole numbers among them.
func (r *Round) places() []*int { return []*int{&r.Number, &r.Base.Place, &r.With.Place} }

// firstPlace is where in numbers the whole ones stand.
const firstPlace = 2

// mayLack reports whether a cell may be empty: not every machine measures what disturbs a chunk.
func mayLack(column string) bool {
	return strings.HasSuffix(column, "_others_ns") || strings.HasSuffix(column, "_steal_ns") || strings.HasSuffix(column, "_throttled_ns")
}

// WriteRounds writes rounds as CSV.
func WriteRounds(w io.Writer, rounds []Round) error {
	var rows [][]string
	for i := range rounds {
		r := &rounds[i]
		row := []string{r.Run, r.Arm.String()}
		for k, x := range r.numbers() {
			switch {
			case x == nil:
				row = append(row, strconv.Itoa(*r.places()[k-firstPlace]))
			case math.IsNaN(*x):
				row = append(row, "")
			default:
				row = append(row, strconv.FormatFloat(*x, 'f', -1, 64))
			}
		}
		rows = append(rows, row)
	}
	return table.WriteCSV(w, roundsHead, rows)
}

// ReadRounds reads rounds as [WriteRounds] and the job write them; name is the file in errors.
func ReadRounds(name string, in io.Reader) ([]Round, error) {
	var rounds []Round
	err := input.Table(name, in, roundsHead, func(cells []string) error {
		r, err := parseRound(cells)
		rounds = append(rounds, r)
		return err
	})
	if err == nil && len(rounds) == 0 {
		err = input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "the file has no rounds"))
	}
	return rounds, err
}

// parseRound reads a row whose cells stand in the order of roundsHead.
func parseRound(cells []string) (r Round, err error) {
	if r.Run = cells[0]; r.Run == "" {
		return r, input.Bad(input.ErrMissing, "column pair is empty, expected the name of the run")
	}
	if r.Run = strings.Clone(r.Run); r.Arm.UnmarshalText([]byte(cells[1])) != nil || r.Arm == Off {
		return r, input.Bad(input.ErrType, "column arm is %q, expected one of wall, events, sample", cells[1])
	}
	for k, x := range r.numbers() {
		column, cell := roundsHead[k+2], cells[k+2]
		switch {
		case x == nil:
			n, err := strconv.Atoi(cell)
			if err != nil || n < 0 {
				return r, input.Bad(input.ErrType, "column %s is %q, expected a whole number from 0", column, cell)
			}
			*r.places()[k-firstPlace] = n
		case cell == "" && mayLack(column):
			*x = math.NaN()
		default:
			if *x, err = strconv.ParseFloat(cell, 64); err != nil || !table.Finite(*x) {
				return r, input.Bad(input.ErrType, "column %s is %q, expected nanoseconds", column, cell)
			}
			if k < firstPlace && *x <= 0 {
				return r, input.Bad(input.ErrNegative, "column %s is %q, expected more than 0", column, cell)
			}
		}
	}
	return r, nil
}

// isPaired reports whether runs carry each window out under several arms.
func (g *Group) isPaired() bool { return len(g.Recorder) > 0 }

// validateRecorder refuses arms that the runner cannot carry out, or that measure nothing.
func (g *Group) validateRecorder(r Runner) error {
	beyond := func(why string, args ...any) error {
		return input.Bad(input.ErrFormat, "group %s: %s", g.Name, fmt.Sprintf(why, args...))
	}
	switch twice := slices.Sorted(slices.Values(g.Recorder)); {
	case !g.isPaired() && g.Realtime:
		return beyond("realtime is for groups with recorder: [off, wall]: it is for measuring what the recorder costs")
	case !g.isPaired():
		return nil
	case r == Simulator:
		return beyond("recorder is for runners local and slurm: a simulated job has no recorder")
	case len(g.Recorder) < 2 || !slices.Contains(g.Recorder, Off) || len(slices.Compact(twice)) < len(g.Recorder):
		return beyond("recorder is %v, expected off and some of wall, events, sample, each once: what it costs is measured in pairs", g.Recorder)
	case slices.Contains(g.Recorder, Sample) && r != Local:
		return beyond("arm sample is for runner local, and the runner is %v", r)
	case g.Realtime && r != Local:
		return beyond("realtime is for runner local, and the runner is %v", r)
	case slices.Contains(g.Recorder, Events) && g.Events == off:
		return beyond("arm events needs device times, and events is off: leave one out")
	case g.Profiler != NoProfiler:
		return beyond("a profiler (%v) would count as cost of the recorder: leave it out", g.Profiler)
	case g.Windows < 2:
		return beyond("recorder has arms, and windows is %d, expected 2 or more: the first is their warm-up", max(1, g.Windows))
	}
	return nil
}

// HasArms reports whether the run carries each window out under several arms.
func (t *Task) HasArms() bool { return len(t.Arms) > 0 }

// PacketFolder returns the folder of the packets that stand for the run, below that of its job's output: of several arms
// those of the first with the recorder.
func (t *Task) PacketFolder(out string) string {
	for _, a := range t.Arms {
		if a != Off {
			return filepath.Join(out, a.String())
		}
	}
	return out
}

// RoundsPath returns where the rounds of a run lie in the folder of a campaign.
func (t *Task) RoundsPath(dir string) string {
	return filepath.Join(dir, OverheadName, PairedName, t.ID+".csv")
}

// Rounds reads the rounds of a run from the folder of its campaign, in the order of windows.
func (t *Task) Rounds(on disk.Disk, dir string) ([]Round, error) {
	path := t.RoundsPath(dir)
	file, err := disk.Or(on).Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rounds, err := ReadRounds(path, file)
	for i := range rounds {
		if err == nil && !slices.Contains(t.Arms, rounds[i].Arm) {
			err = input.At(input.Pos{File: path}, input.Bad(input.ErrFormat,
				"arm %v, expected some of %v: remove %s, and sfstat campaign run makes the run anew",
				rounds[i].Arm, t.Arms, path))
		}
	}
	return rounds, err
}

// KeepRounds puts the rounds that a run left in the folder of its job's output into that of its campaign. Of runs
// without arms nothing is kept. It is for makers.
func (t *Task) KeepRounds(dir, out string) error {
	if !t.HasArms() {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(out, roundsName))
	if err != nil {
		return fmt.Errorf("what the arms took: %w", err)
	}
	path := t.RoundsPath(dir)
	if _, err := ReadRounds(path, strings.NewReader(string(text))); err != nil {
		return errors.Join(errors.New("the job wrote rounds that cannot be read"), err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.WriteText(path, string(text))
}

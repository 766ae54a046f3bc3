package ddp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Recording is what the job records.
type Recording uint8

const (
	CPUWall    Recording = iota // wall times of stages and steps
	WithEvents                  // device times of some steps besides, as the spec's side says
	Off                         // nothing: the loop without a recorder
)

var recordingNames = [...]string{"cpu", "events", "off"}

func (r Recording) String() string { return enum.Name(recordingNames[:], r) }

// RecordingOf is how a job of the specification records: with device times where
// the specification samples them.
func RecordingOf(s simulate.Spec) Recording {
	if s.Side.Every == 0 {
		return CPUWall
	}
	return WithEvents
}

// Gathering is how packets come together.
type Gathering uint8

const (
	OwnFiles Gathering = iota // every rank writes a file
	OnRank0                   // over Gloo, into one file that rank 0 writes
)

var gatheringNames = [...]string{"files", "gather"}

func (g Gathering) String() string { return enum.Name(gatheringNames[:], g) }

// Options of a job.
type Options struct {
	Python    string // interpreter that has PyTorch; "": Python()
	Spec      simulate.Spec
	Out       string // folder of the packets; made if it is not there
	Recording Recording
	Gathering Gathering
	Profile   string // folder for the traces of PyTorch's profiler, which runs beside the recorder; "": it does not
	Nsight    string // folder for the exports of Nsight Systems, which then runs around every rank; "": it does not
	// Paired has the job carry each window out twice, without the recorder and
	// with it, and write the time of a step of both to pairs.csv in Out.
	Paired bool
	// Dir is where the job and its specification are put, of one launch at a
	// time; "": a temporary folder, which stays behind when this program is
	// killed.
	Dir string
}

// Python is the interpreter to use where nothing else is said: that of
// $SFSTAT_PYTHON, or python3.
func Python() string {
	if python := os.Getenv("SFSTAT_PYTHON"); python != "" {
		return python
	}
	return "python3"
}

// Launch runs a job on this machine, every rank a process, and returns when
// all have ended. When one fails, or ctx ends, it kills them all with all that
// they have started. A failure is a [*RankError].
func Launch(ctx context.Context, o Options) error {
	spec, err := Check(o.Spec)
	if err != nil {
		return err
	}
	out, err := freshFolder(o.Out)
	if err != nil {
		return err
	}
	if o.Dir == "" {
		if o.Dir, err = os.MkdirTemp("", "sfstat-ddp-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.Dir)
	}
	installed, err := Install(o.Dir)
	if err != nil {
		return err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	file := filepath.Join(installed.PythonPath, "spec.json")
	if err := writeFile(file, text); err != nil {
		return err
	}
	args := []string{installed.Job, "--spec", file, "--out", out, "--recording", o.Recording.String(), "--group", o.Gathering.String()}
	if o.Profile != "" {
		profile, err := madeFolder(o.Profile)
		if err != nil {
			return err
		}
		args = append(args, "--profile", profile)
	}
	w := World{Python: o.Python, Ranks: spec.Ranks, PythonPath: installed.PythonPath}
	if o.Nsight != "" {
		folder, err := madeFolder(o.Nsight)
		if err != nil {
			return err
		}
		args, w.Under = append(args, "--nvtx"), nsys(folder)
	}
	if o.Paired {
		args = append(args, "--pairs")
	}
	w.Args = args
	return w.Run(ctx)
}

// nsys is the command that records what runs after it, ranges alone, and leaves
// its report and the export of that in a folder, by rank.
func nsys(folder string) []string {
	return []string{"nsys", "profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--export=sqlite",
		"--output=" + filepath.Join(folder, "rank-%q{RANK}")}
}

// freshFolder is the absolute path of a folder without packets. Those of
// another launch would count as the same run's, and be refused by readers.
func freshFolder(path string) (string, error) {
	path, err := madeFolder(path)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			return "", input.At(input.Pos{File: filepath.Join(path, e.Name())}, input.Bad(input.ErrDuplicate,
				"packets of another launch: give each launch a folder of its own, or remove them"))
		}
	}
	return path, nil
}

// madeFolder is the absolute path of a folder, which is made if it is not there.
func madeFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, os.MkdirAll(path, 0o777)
}

package ddp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/atomicfile"
	"github.com/sfstat/sfstat/trace/input"
)

// Options of a job.
type Options struct {
	Python  string        // interpreter that has PyTorch; "": Python()
	Spec    simulate.Spec // device times are recorded where it samples them
	Out     string        // folder of the packets; made if it is not there
	Profile string        // folder for the traces of PyTorch's profiler, which runs beside the recorder; "": it does not
	Nsight  string        // folder for the exports of Nsight Systems, which then runs around every rank; "": it does not
	// Paired has the job carry each window out twice, without the recorder and
	// with it, and write the time of a step of both to pairs.csv in Out. Packets
	// are gathered on rank 0 then; else every rank writes a file.
	Paired bool
	// Dir is where the job and its specification are put, of one launch at a
	// time; "": a temporary folder, which stays behind when this program is
	// killed.
	Dir string
}

// Arguments are the words for the program of a rank that say what it records and how,
// behind those that name specification and output.
func (o *Options) Arguments() []string {
	words := []string{"--recording", "events"}
	if o.Spec.Side.Every == 0 {
		words[1] = "cpu"
	}
	if o.Paired {
		words = append(words, "--group", "gather", "--pairs")
	}
	return words
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
	if err := atomicfile.WriteText(file, text); err != nil {
		return err
	}
	args := append([]string{installed.Job, "--spec", file, "--out", out}, o.Arguments()...)
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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace"
)

// truthName is the table of what runs hide, in a folder of runs.
const truthName = "truth.csv"

// specLimit bounds a specification file.
const specLimit = 16 << 20

// readSpec reads a specification from a file.
func readSpec[T any](path string, parse func(path string, text []byte) (T, error)) (spec T, err error) {
	text, err := readSmall(path, specLimit)
	if err == nil {
		spec, err = parse(path, text)
	}
	return spec, badInput(err)
}

func families() []string {
	names := []string{""}
	for f := simulate.NoFault; f <= simulate.OptimizerHost; f++ {
		names = append(names, f.String())
	}
	return names
}

func (p *program) simulateCommand() *cli.Command {
	d := simulate.DefaultSpec()
	return &cli.Command{
		Name: "simulate", Usage: "generate windows of a job with a known culprit",
		Description: "Runs an event timeline with real synchronisation and writes what recorders would have written, and " +
			"beside it the truth. The same specification gives the same bytes. Flags change the specification of --spec, or " +
			"the default: 8 data-parallel ranks, 120 steps of about 0.2 s. Into a folder it writes RUN.jsonl and adds to truth.csv.",
		Flags: join([]cli.Flag{
			&cli.StringFlag{Name: "spec", Category: forInput, Usage: "read the specification from `FILE` (YAML); --print-spec shows one"},
			&cli.BoolFlag{Name: "print-spec", Usage: "print the effective specification and exit"},
			&cli.StringFlag{Name: "run", Usage: "`NAME` of the run; without it, fault, ranks and seed name it"},
			&cli.IntFlag{Name: "ranks", Usage: "`N` ranks", Value: d.Ranks},
			&cli.IntFlag{Name: "windows", Usage: "`N` windows", Value: d.Schedule.Windows},
			&cli.IntFlag{Name: "steps", Usage: "`N` steps in each window", Value: d.Schedule.Steps},
			&cli.IntFlag{Name: "accumulation", Usage: "microsteps per step", Value: d.Accumulation},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of all randomness"},
			choice("fault", "the fault to hide", families()...),
			&cli.Float64Flag{Name: "delay", Usage: "delay of the fault in `MS` per step", Value: 120},
			&cli.IntSliceFlag{Name: "fault-rank", Usage: "`RANK` that is slow (may be repeated); without it the seed chooses one"},
			&cli.Int64Flag{Name: "every", Usage: "the fault strikes every `N`-th step", Value: 1},
			&cli.BoolFlag{Name: "arrivals", Usage: "record when each rank enters each collective; which lies beside CSV and Parquet"},
			&cli.StringFlag{Name: "truth", Usage: "write what the run hides to `FILE`: .csv, or .json with the steps"},
		}, targetFlags(), screenFlags()),
		UsageText: `sfstat simulate --fault data --delay 60 -o run.jsonl --truth truth.csv
sfstat simulate --fault callback_host --ranks 32 --seed 7 -o runs/
sfstat simulate --print-spec > spec.yaml
sfstat simulate --spec spec.yaml -o - | sfstat diagnose -`,
		Action: p.simulate,
	}
}

func (p *program) simulate(c *cli.Context) error {
	if err := noOperands(c); err != nil {
		return err
	}
	spec, err := loadSpec(c)
	if err != nil {
		return err
	}
	if c.Bool("print-spec") {
		return p.emit(c, func(w io.Writer) error { return strictyaml.Encode(w, spec) })
	}
	g, err := simulate.New(spec)
	if err != nil {
		return badInput(err)
	}
	if c.String("output") == "" {
		return badUsage("needs -o OUT; - writes to standard output")
	}
	truth := g.Truth()
	t, truthPath, err := simulatedTarget(c, spec, truth.Run)
	if err != nil {
		return err
	}
	s := newSink(p, t)
	windows := 0
	err = g.Each(func(w *trace.Window) error { windows++; return s.Write(w) })
	if err == nil && truthPath != "" {
		err = p.writeTruth(truthPath, truth)
	}
	if err != nil {
		s.Discard()
		return err
	}
	names, err := s.Commit()
	if err != nil {
		return err
	}
	if t.path != "-" {
		p.remark(c, "%s of run %s written to %s", counted(windows, "window"), truth.Run, strings.Join(names, ", "))
	}
	return nil
}

// loadSpec is the specification of --spec, or the default, changed by the
// flags that are given.
func loadSpec(c *cli.Context) (spec simulate.Spec, err error) {
	spec = simulate.DefaultSpec()
	if path := c.String("spec"); path != "" {
		if spec, err = readSpec(path, simulate.ParseSpec); err != nil {
			return spec, err
		}
	}
	for name, set := range map[string]func(){
		"run":          func() { spec.Run = c.String("run") },
		"ranks":        func() { spec.Ranks = c.Int("ranks") },
		"windows":      func() { spec.Schedule.Windows = c.Int("windows") },
		"steps":        func() { spec.Schedule.Steps = c.Int("steps") },
		"accumulation": func() { spec.Accumulation = c.Int("accumulation") },
		"seed":         func() { spec.Seed = c.Uint64("seed") },
		"arrivals":     func() { spec.Arrivals = c.Bool("arrivals") },
	} {
		if c.IsSet(name) {
			set()
		}
	}
	err = plainRun(c)
	if err == nil {
		err = addFault(c, &spec)
	}
	if err == nil {
		err = badInput(spec.Validate())
	}
	return spec, err
}

// plainRun refuses a name of --run that would lead files of its name elsewhere.
func plainRun(c *cli.Context) error {
	if name := c.String("run"); strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") {
		return badUsage("--run is %q, expected a name without / and \\ that does not begin with a dot: files are named by it", name)
	}
	return nil
}

// addFault replaces the faults of the specification by the one of the flags.
func addFault(c *cli.Context, spec *simulate.Spec) error {
	if !c.IsSet("fault") {
		for _, name := range []string{"delay", "fault-rank", "every"} {
			if c.IsSet(name) {
				return badUsage("--%s needs --fault", name)
			}
		}
		return nil
	}
	family, err := simulate.ParseFamily(c.String("fault"))
	if err != nil {
		return badInput(err)
	}
	spec.Faults = nil
	if family == simulate.NoFault {
		for _, name := range []string{"delay", "fault-rank", "every"} {
			if c.IsSet(name) {
				return badUsage("--%s is of a fault, and --fault is %v", name, family)
			}
		}
	}
	if c.IsSet("every") && c.Int64("every") < 1 {
		return badUsage("--every is %d, expected 1 or more steps", c.Int64("every"))
	}
	if family != simulate.NoFault {
		spec.Faults = []simulate.Fault{{Family: family, Delay: simulate.Millis(c.Float64("delay")),
			Ranks: c.IntSlice("fault-rank"), Every: c.Int64("every")}}
	}
	return nil
}

// simulatedTarget is where a run goes: into a folder, under its name and with
// the truth beside it, or where --output says.
func simulatedTarget(c *cli.Context, spec simulate.Spec, run string) (t target, truth string, err error) {
	path := c.String("output")
	t, err = newTarget(path, c.String("to"))
	if err == nil && spec.Arrivals && t.container != packets && t.path == "-" {
		err = badUsage("--to %s has no columns for arrivals, which lie beside a file: name a file, or write packets (--to packets)", containers[t.container].name)
	}
	if err != nil || !t.folder {
		return t, c.String("truth"), err
	}
	if err := os.Mkdir(path, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return t, "", badInput(err)
	}
	t.folder = false
	t.path = filepath.Join(path, strings.ReplaceAll(run, string(filepath.Separator), "_")+containers[t.container].extension)
	if truth = c.String("truth"); truth == "" {
		truth = filepath.Join(path, truthName)
	}
	return t, truth, nil
}

// writeTruth writes what a run hides: JSON with the steps, or a row in a
// table, where it replaces what the table said about the run.
func (p *program) writeTruth(path string, truth simulate.Truth) error {
	if strings.HasSuffix(path, ".json") {
		return p.writeTo(path, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(truth)
		})
	}
	rows, err := knownTruth(path)
	if err != nil {
		return badInput(fmt.Errorf("cannot add to the truth table: %w", err))
	}
	rows = slices.DeleteFunc(rows, func(r simulate.TruthRow) bool { return r.Run == truth.Run })
	rows = append(rows, truth.Rows()...)
	return p.writeTo(path, func(w io.Writer) error { return simulate.WriteTruth(w, rows) })
}

func knownTruth(path string) ([]simulate.TruthRow, error) {
	rows, err := tables.ReadTruth(path)
	if errors.Is(err, os.ErrNotExist) || path == "-" {
		return nil, nil
	}
	return rows, err
}

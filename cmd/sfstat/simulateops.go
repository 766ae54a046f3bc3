package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/input"
)

func (p *program) simulateOpsCommand() *cli.Command {
	d := pipeline.DefaultSpec()
	return &cli.Command{
		Name: "simulate-ops", Usage: "generate operator traces of a hybrid-parallel job with a known culprit", ArgsUsage: "[SPEC.yaml|-]",
		Description: "Writes into a folder what a profiler on every worker would have written: the trace, its layout, and the " +
			"truth as JSON and as rows of truth.csv. The same specification gives the same bytes. Flags change the " +
			"specification that is given, or the default: dp 4 × pp 4 × tp 4 with 32 microbatches, about 23 s a step.",
		Flags: join([]cli.Flag{
			&cli.BoolFlag{Name: "print-spec", Usage: "print the effective specification and exit"},
			&cli.StringFlag{Name: "run", Usage: "`NAME` of the run; without it, fault, layout and seed name it"},
			&cli.StringFlag{Name: "layout", Usage: "replicas × pipeline stages × tensor-parallel ranks, as `DPxPPxTP`", Value: fmt.Sprintf("%dx%dx%d", d.Layout.DP, d.Layout.PP, d.Layout.TP)},
			&cli.IntFlag{Name: "chunks", Usage: "model chunks on a stage; above 1 the schedule is interleaved", Value: d.Layout.Chunks},
			&cli.IntFlag{Name: "microbatches", Usage: "microbatches of a replica in a step", Value: d.Layout.Microbatches},
			&cli.IntFlag{Name: "steps", Usage: "recorded steps", Value: d.Steps.Count},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of all randomness"},
			faultFlag(),
			outputFlag("write into the folder `DIR`: trace-RUN, meta-RUN.yaml, truth-RUN.json, and RUN's rows of truth.csv"),
			choiceFor(forOutput, choice("to", "what to write", containers[parquet].name, containers[wideCSV].name)),
		}, screenFlags()),
		UsageText: `sfstat simulate-ops --fault slow-worker,dp=1,pp=2,factor=1.5 -o runs/
sfstat simulate-ops --layout 8x4x2 --steps 20 --seed 7 --fault late-start,delay_ms=300,every=5 -o runs/
sfstat simulate-ops --print-spec > spec.yaml
sfstat simulate-ops spec.yaml --to csv -o runs/`,
		Action: p.simulateOps,
	}
}

func (p *program) simulateOps(c *cli.Context) error {
	spec, err := p.loadOpsSpec(c)
	if err != nil {
		return err
	}
	if c.Bool("print-spec") {
		return p.emit(c, func(w io.Writer) error { return strictyaml.Encode(w, spec) })
	}
	t, err := opsTarget(c)
	if err != nil {
		return err
	}
	o, truth, err := pipeline.Make(spec)
	if err != nil {
		return badInput(err)
	}
	s := newSink(p, t)
	err = s.WriteTrace(o)
	if err == nil {
		err = s.writeOpsTruth(truth)
	}
	if err == nil {
		_, err = s.Commit()
	}
	if err != nil {
		s.Discard()
		return err
	}
	p.remark(c, "run %s: %s of %s in %s written to %s, layout and truth beside them", truth.Run, counted(o.Len(), "operator"),
		counted(len(o.Ranks), "worker"), counted(len(o.Steps), "step"), s.traceName(o))
	return nil
}

// opsTarget is the folder of --output.
func opsTarget(c *cli.Context) (target, error) {
	path := c.String("output")
	switch ext := filepath.Ext(path); {
	case path == "" || path == "-":
		return target{}, badUsage("needs -o DIR, the folder for the trace, its layout and its truth")
	case slices.Contains([]string{".csv", ".parquet", ".gz", ".zst"}, ext):
		return target{}, badUsage("-o %s: expected a folder, into which the trace goes under the name of its run; --run names it, --to csv or --to parquet is its format", path)
	}
	t := target{path: path, folder: true, container: parquet}
	if c.String("to") == containers[wideCSV].name {
		t.container = wideCSV
	}
	return t, nil
}

// loadOpsSpec is the specification that is given, or the default, changed by
// the flags that are given.
func (p *program) loadOpsSpec(c *cli.Context) (pipeline.Spec, error) {
	spec := pipeline.DefaultSpec()
	if c.NArg() > 1 {
		return spec, badUsage("takes one specification, found %q too", c.Args().Get(1))
	}
	if path := c.Args().First(); path != "" {
		text, err := p.readSpec(path)
		if err == nil {
			spec, err = pipeline.ParseSpec(path, text)
		}
		if err != nil {
			return spec, badInput(err)
		}
	}
	for name, set := range map[string]func(){
		"run":          func() { spec.Run = c.String("run") },
		"chunks":       func() { spec.Layout.Chunks = c.Int("chunks") },
		"microbatches": func() { spec.Layout.Microbatches = c.Int("microbatches") },
		"steps":        func() { spec.Steps.Count = c.Int("steps") },
		"seed":         func() { spec.Seed = c.Uint64("seed") },
	} {
		if c.IsSet(name) {
			set()
		}
	}
	if err := plainRun(c); err != nil {
		return spec, err
	}
	if c.IsSet("layout") {
		if err := parseLayout(c.String("layout"), &spec.Layout); err != nil {
			return spec, err
		}
	}
	faults := listed(c, "fault")
	if len(faults) > 0 {
		spec.Faults = nil
	}
	for _, typed := range faults {
		f, err := parseOpsFault(typed)
		if err != nil {
			return spec, err
		}
		if f.Kind != pipeline.NoFault {
			spec.Faults = append(spec.Faults, f)
		}
	}
	return spec, badInput(spec.Validate())
}

// readSpec reads a specification from a file or standard input.
func (p *program) readSpec(path string) ([]byte, error) {
	if path != ingest.Stdin {
		return readSmall(path, specLimit)
	}
	text, err := io.ReadAll(io.LimitReader(p.in, specLimit+1))
	if err == nil && len(text) > specLimit {
		err = input.At(input.Pos{File: path}, input.Bad(input.ErrTooLarge, "more than %d bytes", specLimit))
	}
	return text, err
}

// parseLayout sets the sizes that text gives: DPxPPxTP, or DPxPP with one rank
// a worker.
func parseLayout(text string, l *pipeline.Layout) error {
	sizes := []int{1, 1, 1}
	parts := strings.Split(strings.ReplaceAll(text, "×", "x"), "x")
	bad := len(parts) < 2 || len(parts) > 3
	for i := 0; i < len(parts) && !bad; i++ {
		n, err := strconv.Atoi(strings.TrimSpace(parts[i]))
		sizes[i] = n
		bad = err != nil || n < 1
	}
	if bad {
		return badUsage("--layout is %q, expected DPxPPxTP, such as 8x4x2 for 8 replicas of 4 stages of 2 ranks", text)
	}
	l.DP, l.PP, l.TP = sizes[0], sizes[1], sizes[2]
	return nil
}

// writeOpsTruth writes what a run hides: JSON of its own, and its rows of the
// folder's table, where they replace what the table said about the run.
func (s *sink) writeOpsTruth(truth pipeline.Truth) error {
	err := s.writeFile(filepath.Join(s.target.path, "truth-"+fileName(truth.Run)+".json"), "", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(truth)
	})
	if err != nil {
		return err
	}
	path := filepath.Join(s.target.path, truthName)
	rows, err := withTruth(path, truth)
	if err != nil {
		return err
	}
	return s.writeFile(path, "", func(w io.Writer) error {
		out := csv.NewWriter(w)
		return errors.Join(out.WriteAll(rows), out.Error())
	})
}

// withTruth is the table at path with the rows of a run in place of those that
// it had. The first row is the header.
func withTruth(path string, truth pipeline.Truth) ([][]string, error) {
	var text bytes.Buffer
	if err := truth.WriteCSV(&text); err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		return nil, err
	}
	had, err := readSmall(path, specLimit)
	if errors.Is(err, os.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, badInput(fmt.Errorf("cannot add to the truth table: %w", err))
	}
	old, err := csv.NewReader(bytes.NewReader(had)).ReadAll()
	if err != nil || len(old) == 0 || !slices.Equal(old[0], rows[0]) {
		return nil, badInput(fmt.Errorf("cannot add to the truth table: %s is not one of operator traces, whose header is %s: write into another folder",
			path, strings.Join(rows[0], ",")))
	}
	old = slices.DeleteFunc(old, func(row []string) bool { return row[0] == truth.Run })
	return append(old, rows[1:]...), nil
}

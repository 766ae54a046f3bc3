package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/fixtures/comm/job"
	"github.com/sfstat/sfstat/fixtures/flightrecorder/dumps"
	csvtable "github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/trace"
)

// Generated jobs are simulated: windows in all forms that there are of them, operator traces, Flight Recorder dumps,
// and NCCL's logs with exports of Nsight Systems.

const (
	generatedRanks = 8
	generatedSteps = 40
	generatedSeed  = 1
)

// generatedFaults are the jobs of windows, by name: families on one rank, two faults at once, and a slow host.
var generatedFaults = []struct {
	name     string
	faults   []simulate.Fault
	arrivals bool
}{
	{"nofault", nil, false},
	{"data", []simulate.Fault{{Family: simulate.Data, Ranks: []int{3}, Delay: 60}}, false},
	{"forward", []simulate.Fault{{Family: simulate.ForwardHost, Ranks: []int{6}, Delay: 60}}, false},
	{"callback", []simulate.Fault{{Family: simulate.CallbackHost, Ranks: []int{1}, Delay: 60}}, false},
	{"optimizer", []simulate.Fault{{Family: simulate.OptimizerHost, Ranks: []int{5}, Delay: 60}}, false},
	{"two", []simulate.Fault{{Family: simulate.Data, Ranks: []int{1}, Delay: 60}, {Family: simulate.ForwardHost, Ranks: []int{5}, Delay: 90}}, false},
	{"host", []simulate.Fault{{Family: simulate.Data, Ranks: []int{4, 5, 6, 7}, Delay: 60}}, false},
	{"backward-arrivals", []simulate.Fault{{Family: simulate.Backward, Ranks: []int{2}, Delay: 60}}, true},
	{"nofault-arrivals", nil, true},
}

// generatedTraces are the operator traces, by name.
var generatedTraces = []struct {
	name  string
	fault pipeline.Fault
}{
	{"nofault", pipeline.Fault{}},
	{"slow-worker", pipeline.Fault{Kind: pipeline.SlowWorker, Size: pipeline.Size{Factor: 1.5}}},
	{"slow-stage", pipeline.Fault{Kind: pipeline.SlowStage, Size: pipeline.Size{Factor: 1.5}}},
	{"slow-edge", pipeline.Fault{Kind: pipeline.SlowEdge, Size: pipeline.Size{Delay: 400}}},
	{"late-start", pipeline.Fault{Kind: pipeline.LateStart, Size: pipeline.Size{Delay: 1500}}},
}

// generatedDumps are the jobs of Flight Recorder dumps, by name.
var generatedDumps = map[string]dumps.Job{
	"healthy": {Late: -1, Missing: -1},
	"late":    {Late: 5, Missing: -1, Delay: 40},
	"hang":    {Late: -1, Missing: 6},
}

// generate writes all generated jobs into a folder, where each file or folder is a recording, and returns their paths.
func generate(folder string) (out []string, err error) {
	to := func(name string) string {
		at := filepath.Join(folder, filepath.FromSlash(name))
		out = append(out, at)
		return at
	}
	for _, g := range generatedFaults {
		w, err := simulatedWindow(g.name, g.faults, g.arrivals)
		if err != nil {
			return nil, err
		}
		for _, form := range windowForms {
			if err := form.write(to(path.Join(form.name, g.name+form.ext)), w); err != nil {
				return nil, err
			}
		}
	}
	for _, g := range generatedTraces {
		s := pipeline.DefaultSpec()
		s.Run, s.Seed, s.Layout.DP, s.Layout.PP, s.Layout.TP, s.Layout.Microbatches, s.Steps.Count = g.name, generatedSeed, 4, 2, 1, 4, 10
		s.Faults = []pipeline.Fault{g.fault}
		for _, ext := range []string{".csv", ".parquet"} {
			if err := writeSimulatedTrace(to("operators/trace-"+g.name+ext), s); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(generatedDumps)) {
		j := generatedDumps[name]
		j.Ranks, j.Steps, j.Ring, j.Seed = generatedRanks, 20, 2000, generatedSeed
		if err := j.Write(to("dumps/" + name)); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"healthy", "late-rank", "slow-card"} {
		s, err := job.Scenario(name, 2, generatedSeed)
		if err != nil {
			return nil, err
		}
		if err := job.Write(to("nccl/"+name), s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// generatedIn returns all generated jobs, written into a folder.
func generatedIn(folder string) (all []*recording, err error) {
	paths, err := generate(folder)
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		rel, err := filepath.Rel(folder, p)
		if err != nil {
			return nil, err
		}
		all = append(all, &recording{name: path.Join("generated", filepath.ToSlash(rel)), path: p})
	}
	return all, nil
}

func simulatedWindow(name string, faults []simulate.Fault, arrivals bool) (w *trace.Window, err error) {
	s := simulate.DefaultSpec()
	s.Run, s.Seed, s.Ranks, s.RanksPerHost, s.Arrivals, s.Faults = name, generatedSeed, generatedRanks, 4, arrivals, faults
	s.Schedule = simulate.Schedule{Windows: 1, Steps: generatedSteps}
	g, err := simulate.New(s)
	if err != nil {
		return nil, err
	}
	return g.Next()
}

// windowForms are the ways in which a window is written.
var windowForms = []struct {
	name, ext string
	write     func(path string, w *trace.Window) error
}{
	{"packets", ".jsonl", func(path string, w *trace.Window) error {
		return writeTo(path, func(to io.Writer) error { return packet.NewWriter(to).Write(w) })
	}},
	{"ranks", "", writePerRank},
	{"tables", ".csv", func(path string, w *trace.Window) error {
		return writeTo(path, func(to io.Writer) error {
			out := csvtable.NewWriter(to)
			if err := out.Write(w); err != nil {
				return err
			}
			return out.Close()
		})
	}},
	{"loops", ".csv", func(path string, w *trace.Window) error {
		return writeTo(path, func(to io.Writer) error { return writeLoop(to, w) })
	}},
	{"archives", ".parquet", writeArchive},
}

// writeTo writes a file, whose folder is made.
func writeTo(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := write(&out); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o666)
}

// writePerRank writes the packets of each rank into a file of its own, as recorders do.
func writePerRank(folder string, w *trace.Window) error {
	var all bytes.Buffer
	if err := packet.NewWriter(&all).Write(w); err != nil {
		return err
	}
	for _, line := range linesOf(all.Bytes()) {
		rank, ok := rankOfLine(line)
		if !ok {
			return fmt.Errorf("%s: a packet without a rank", folder)
		}
		name := fmt.Sprintf("%s.rank%05d.jsonl", w.Run, rank)
		if err := writeTo(filepath.Join(folder, name), func(to io.Writer) error { _, err := to.Write(line); return err }); err != nil {
			return err
		}
	}
	return nil
}

// writeLoop writes a window as a training loop of one's own would: milliseconds to three digits, and the step.
func writeLoop(to io.Writer, w *trace.Window) error {
	out := csv.NewWriter(to)
	head := []string{"step", "rank"}
	for s := range w.Schema.Stages {
		head = append(head, []string{"data_ms", "forward_ms", "backward_ms", "callbacks_ms", "optim_ms"}[s])
	}
	if err := out.Write(append(head, "wall_ms")); err != nil {
		return err
	}
	ms := func(ns int64) string { return strconv.FormatFloat(float64(ns)/simulate.NsPerMilli, 'f', 3, 64) }
	for t := range w.Steps() {
		for r, rank := range w.Ranks {
			row := []string{strconv.FormatInt(w.FirstStep+int64(t), 10), strconv.Itoa(rank.ID)}
			for s := range w.Schema.Stages {
				row = append(row, ms(w.Step(t)[s*len(w.Ranks)+r]))
			}
			if err := out.Write(append(row, ms(w.WallOf(t)[r]))); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func writeArchive(path string, w *trace.Window) error {
	err := writeTo(path, func(to io.Writer) error {
		out := archive.NewWriter(to)
		if err := out.Write(w); err != nil {
			return err
		}
		return out.Close()
	})
	if err != nil || !packet.NeedsSidecar(w) {
		return err
	}
	var lines bytes.Buffer
	if err := packet.NewSidecarWriter(&lines).Write(w); err != nil {
		return err
	}
	beside, err := (&file{name: "lines", stored: lines.Bytes(), form: partner}).compress(".zst")
	if err != nil {
		return err
	}
	return os.WriteFile(packet.SidecarPath(path), beside.stored, 0o666)
}

func writeSimulatedTrace(path string, s pipeline.Spec) error {
	t, _, err := pipeline.Make(s)
	if err != nil {
		return err
	}
	err = writeTo(path, func(to io.Writer) error {
		if filepath.Ext(path) == ".csv" {
			return optrace.WriteCSV(to, t)
		}
		return optrace.WriteParquet(to, t)
	})
	if err != nil {
		return err
	}
	return writeTo(optrace.MetaFor(path), func(to io.Writer) error { return optrace.WriteMeta(to, t) })
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
)

// A comparison is of five simulated runs with five others in which everything takes longer
// by a known part, or by none. Runs of one pair share what their host and hour do; each
// has some of its own. A comparison is right if step time is called different where it is,
// and not where it is not: of the family "0 %", what is wrong are false alarms, of the
// others, changes that are too small to be seen.

const (
	runsEach, compareRanks, compareSteps = 5, 4, 60
	pairSpread, runSpread                = 0.01, 0.004
)

// changes are the parts by which all steps are longer.
var changes = []float64{0, 0.005, 0.01, 0.02, 0.05}

// ways to compare: runs of one name as pairs, and runs in any order. One run of each side decides nothing,
// as it cannot know how runs differ.
var ways = []struct {
	name string
	args []string
}{{"", nil}, {"not paired", []string{"--match", "none"}}}

// comparisons returns the first n of all changes, which share their noise.
func comparisons(n int) []task {
	var out []task
	for _, change := range changes {
		for i := range n {
			out = append(out, func(p program) ([]row, error) { return scoreComparison(p, i, change) })
		}
	}
	return out
}

func scoreComparison(p program, i int, change float64) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "accuracy")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := writePair(dir, i, change); err != nil {
		return nil, err
	}
	for _, way := range ways {
		r := row{Source: "comparisons", Family: fmt.Sprintf("%g %%", 100*change), Job: fmt.Sprint(i), Variant: way.name, Truth: "change", TrueGain: &change}
		args := append([]string{"compare", "--format", "json", filepath.Join(dir, "base"), filepath.Join(dir, "new")}, way.args...)
		text, err := p.output(nil, args...)
		if err != nil {
			rows = append(rows, r.withoutVerdict(err))
			continue
		}
		if err := r.fillComparison(text, change); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// fillComparison fills the row with the answer of sfstat compare on step time: its verdict, the
// change with what it is within, and p.
func (r *row) fillComparison(text []byte, change float64) error {
	var doc struct {
		Rows []struct {
			Measure, Verdict  string
			Change, Low, High *float64
			P                 *float64
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Rows) == 0 || doc.Rows[0].Measure != "step_time" {
		return errors.New("no row on step time, expected it first")
	}
	step := doc.Rows[0]
	r.Gain, r.RunGain, r.AtMost, r.P = short(step.Change), short(step.Low), short(step.High), short(step.P)
	r.judgeChange(step.Verdict, change)
	return nil
}

// judgeChange judges a verdict on a change.
func (r *row) judgeChange(verdict string, change float64) {
	r.Status = verdict
	called := verdict == "regression" || verdict == "improvement"
	switch {
	case called && change == 0:
		r.Wrong = "false alarm"
	case !called && change > 0:
		r.Wrong = "change not seen"
	case verdict == "improvement":
		r.Wrong = "wrong direction"
	}
	r.Right = r.Wrong == ""
}

// writePair writes the runs of both sides into the folders base and new.
func writePair(dir string, i int, change float64) error {
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	for k := range runsEach {
		shared := 1 + pairSpread*rng.NormFloat64()
		for side, name := range []string{"base", "new"} {
			spec := simulate.DefaultSpec()
			spec.Run, spec.Ranks, spec.Seed = fmt.Sprint("job-", k), compareRanks, uint64((i*runsEach+k)*2+side)
			spec.Schedule = simulate.Schedule{Windows: 1, Steps: compareSteps}
			factor := shared * (1 + runSpread*rng.NormFloat64()) * (1 + change*float64(side))
			text, err := simulatedPackets(spec, func(w *trace.Window) { simulate.Scale(w, factor) })
			if err != nil {
				return err
			}
			folder := filepath.Join(dir, name)
			if err := os.MkdirAll(folder, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, spec.Run+".jsonl"), text, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

package trainlog

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Lightning's simple profiler prints how long each action took in all, in a table at the end of a fit:
//
//	|  [_TrainingEpochLoop].train_dataloader_next  |  0.48   |  100  |  48.04  |  78.5  |
//
// Until 1.4 no bar stands before a row, and until 1.0 it does not say how often an action ran, which its mean tells.
//
// Its actions contain others: the step of the optimizer runs the closure, which is the training step and the backward pass.
// Per batch they are a step.

// actions are Lightning's by the end of their names, of 0.9 to 2.6.
var actions = map[string]string{
	"train_dataloader_next": "data", "get_train_batch": "data", "run_training_batch": "batch",
	"training_step": "forward", "model_forward": "forward", "backward": "backward", "model_backward": "backward", "optimizer_step": "optimizer",
	"optimizer_step_and_closure_0": "optimizer", "optimizer_step_with_closure_0": "optimizer",
}

// tableWords are in the head of the table.
var tableWords = []string{"Action", "Total time (s)"}

// profilerTable is a table that is open.
type profilerTable struct {
	open  bool
	bar   bool               // rows begin with one
	head  []string           // its columns
	total map[string]float64 // seconds of each stage
	calls float64            // of the batch
}

// profilerLine takes a line of the table; done where it is one.
func (l *lineReader) profilerLine(line []byte, head bool) (done bool, err error) {
	if !head && !l.profiled.open {
		return false, nil
	}
	text := bytes.TrimSpace(line)
	switch {
	case head && bytes.IndexByte(text, '|') >= 0:
		err = l.endProfiler()
		l.profiled = profilerTable{open: true, bar: text[0] == '|', head: cellsOfTable(text), total: map[string]float64{}}
		return true, err
	case !l.profiled.open:
		return false, nil
	case bytes.HasPrefix(text, []byte("--")):
		return true, nil
	case bytes.IndexByte(text, '|') < 0, l.profiled.bar && text[0] != '|':
		return false, l.endProfiler()
	}
	cells := cellsOfTable(text)
	name := cells[0]
	name = name[strings.LastIndexAny(name, ".] ")+1:]
	number := func(column string) (float64, error) {
		at := slices.Index(l.profiled.head, column)
		if at < 0 || at >= len(cells) {
			return 0, strconv.ErrSyntax
		}
		return strconv.ParseFloat(cells[at], 64)
	}
	total, errT := number("Total time (s)")
	calls, errC := number("Num calls")
	if mean, err := number("Mean duration (s)"); errC != nil && err == nil && mean > 0 {
		calls, errC = math.Round(total/mean), nil
	}
	of, known := actions[name]
	if _, twice := l.profiled.total[of]; !known || twice || errC != nil || errT != nil || !(calls >= 0 && total >= 0) {
		return true, nil
	}
	if l.profiled.total[of] = total; of == "batch" {
		l.profiled.calls = calls
	}
	return true, nil
}

// cellsOfTable returns the cells of a row between bars.
func cellsOfTable(text []byte) []string {
	cells := strings.Split(strings.Trim(string(text), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// endProfiler keeps the open table as one step, the mean of all.
func (l *lineReader) endProfiler() error {
	p := l.profiled
	l.profiled = profilerTable{}
	if !p.open || !(p.calls >= 1) || l.b == nil {
		return nil
	}
	whole := p.total["batch"] + p.total["data"]
	p.total["optimizer"] = max(0, p.total["optimizer"]-p.total["forward"]-p.total["backward"])
	times := []measurement{}
	for _, s := range stageNames {
		if of, ok := p.total[s.word]; ok {
			if ns := of / p.calls * 1e9; ns < maxTime {
				times = append(times, measurement{s.word, int64(ns)})
			}
		}
	}
	if ns := whole / p.calls * 1e9; ns < maxTime {
		times = append(times, measurement{ofStep, int64(ns)})
	}
	t, err := l.b.trackOf(&l.b.tracks, l, track{rank: l.rank})
	if err != nil {
		return err
	}
	l.b.summed = int64(p.calls)
	return l.b.add(t, nil, -1, times)
}

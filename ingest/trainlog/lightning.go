package trainlog

import (
	"bytes"
	"strconv"
	"strings"
)

// Lightning's simple profiler prints how often each action ran and how long it took in all, in a table at the end of a fit:
//
//	|  [_TrainingEpochLoop].train_dataloader_next  |  0.48   |  100  |  48.04  |  78.5  |
//
// Its actions contain others: the step of the optimizer runs the closure, which is the training step and the backward pass.
// Per batch they are a step.

// actions are Lightning's by the end of their names, of 0.9 to 2.6.
var actions = map[string]string{
	"train_dataloader_next": "data", "get_train_batch": "data", "run_training_batch": "batch",
	"training_step": "forward", "model_forward": "forward", "backward": "backward", "model_backward": "backward", "optimizer_step": "optimizer",
}

// tableWords are in the head of the table.
var tableWords = []string{"Action", "Total time (s)"}

// profiled is a table that is open.
type profiled struct {
	open  bool
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
	case head && bytes.HasPrefix(text, []byte("|")):
		err = l.endProfiler()
		l.profiled = profiled{open: true, total: map[string]float64{}}
		return true, err
	case !l.profiled.open:
		return false, nil
	case bytes.HasPrefix(text, []byte("--")):
		return true, nil
	case !bytes.HasPrefix(text, []byte("|")):
		return false, l.endProfiler()
	}
	cells := strings.Split(strings.Trim(string(text), "|"), "|")
	if len(cells) < 4 {
		return true, nil
	}
	name := strings.TrimSpace(cells[0])
	name = name[strings.LastIndexAny(name, ".] ")+1:]
	calls, errC := strconv.ParseFloat(strings.TrimSpace(cells[len(cells)-3]), 64)
	total, errT := strconv.ParseFloat(strings.TrimSpace(cells[len(cells)-2]), 64)
	of, known := actions[name]
	if _, twice := l.profiled.total[of]; !known || twice || errC != nil || errT != nil || !(calls >= 0 && total >= 0) {
		return true, nil
	}
	if l.profiled.total[of] = total; of == "batch" {
		l.profiled.calls = calls
	}
	return true, nil
}

// endProfiler keeps the open table as one step, the mean of all.
func (l *lineReader) endProfiler() error {
	p := l.profiled
	l.profiled = profiled{}
	if !p.open || !(p.calls >= 1) || l.b == nil {
		return nil
	}
	whole := p.total["batch"] + p.total["data"]
	p.total["optimizer"] = max(0, p.total["optimizer"]-p.total["forward"]-p.total["backward"])
	times := []measured{}
	for _, s := range stageNames {
		if of, ok := p.total[s.word]; ok {
			if ns := of / p.calls * 1e9; ns < longest {
				times = append(times, measured{s.word, int64(ns)})
			}
		}
	}
	if ns := whole / p.calls * 1e9; ns < longest {
		times = append(times, measured{ofStep, int64(ns)})
	}
	t, err := l.b.trackOf(&l.b.tracks, l, l.rank, false)
	if err != nil {
		return err
	}
	l.b.summed = int64(p.calls)
	return l.b.add(t, nil, -1, times)
}

// Package trainlog reads what training programs print of their steps, and makes a window of the logs of all
// ranks. Three forms are known:
//
//	step 12/500 … data_time: 0.003 … time: 0.381            a line for each step and rank: xtuner, MMEngine, own loops
//	iteration 12/ 500 | elapsed time per iteration (ms): …  the same of Megatron-LM
//	times across ranks (ms):                                Megatron's timers of all ranks, --timing-log-option all
//	  forward-compute:
//	     rank  0: 812.40
//
// A line counts if it has a number behind step or iteration, and a time behind a name that [times] knows. A
// time without a unit is in seconds. The rank stands in the line ("[RANK 12]") or in the name of the file.
//
// Parts of a step that are timed are stages, in the order of [Stage]; what is left of the whole step is
// step.rest. MMEngine's time of a step includes the wait for data, xtuner's does not: which one a log has is
// told by which sum is more alike on the ranks, since steps of a synchronous job end together.
//
// Whole steps alone are as long on a late rank as on those that wait for it: they are one stage, in which
// ranks synchronise.
//
// Cost: O(bytes); memory grows with the steps and ranks.
//
// Sources of the forms: xtuner/v1/train/trainer.py and .dev_scripts/analyze_train_logs.py of xtuner,
// mmengine/hooks/iter_timer_hook.py, megatron/training/training.py and megatron/core/timers.py of Megatron-LM 0.8 to 0.16.
package trainlog

import (
	"bytes"
	"io"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Stage is a part of a step that logs time.
type Stage uint8

const (
	Data Stage = iota
	Forward
	Backward
	ForwardBackward // where the two are not timed apart
	Pipeline        // what of the two is neither: waiting and sending between pipeline stages
	Gradients       // reduced over the replicas, behind a barrier
	Optimizer
	Rest // of the whole step
	stages
)

var stageNames = [stages]string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "model.forward_backward", "pipeline.wait",
	"gradients.reduce", "optim.step_cpu_wall", stagename.Remainder}

// maxRows bounds what is held: 128 bytes each.
const maxRows = 1 << 22

// notTimed is the time of what a line does not have.
const notTimed = -1

// row is what was logged of a step of a rank, in nanoseconds.
type row struct {
	stage [stages]int64
	whole int64
}

func newRow() row {
	r := row{whole: notTimed}
	for s := range r.stage {
		r.stage[s] = notTimed
	}
	return r
}

// rankKey is where a row belongs.
type rankKey struct {
	step int64
	rank int
}

// Builder takes the logs of a job, one after the other. Its zero value is ready.
type Builder struct {
	Limits  ingest.Limits
	rows    map[rankKey]row
	timers  map[rankKey]row // of Megatron's timers, which count where there are any
	hosts   map[int]string
	from    map[int]string    // ranks that a file's name tells, by rank
	spreads map[string]spread // of timers without ranks, by timer
	again   int               // steps that were logged twice
	assumed bool              // a time had no unit
	blocks  int64             // of timers, so far
}

// Recognise reports whether text, the beginning of a file, is a log with times of steps.
func Recognise(text []byte) bool {
	var l lineReader
	for line := range bytes.Lines(text) {
		if isTimersHead(line) || l.known(line) {
			return true
		}
		if text[0] == '{' {
			return false // JSON: a log has a line for each step
		}
	}
	return false
}

// Read reads a log, whose rank and host the name of its file told; −1 and "" where it did not.
func (b *Builder) Read(src io.Reader, name string, rank int, host string) error {
	if b.rows == nil {
		b.rows, b.timers, b.spreads, b.hosts, b.from = map[rankKey]row{}, map[rankKey]row{}, map[string]spread{}, map[int]string{}, map[int]string{}
	}
	before := len(b.rows) + len(b.timers) + len(b.spreads)
	l := lineReader{b: b, file: name, rank: rank, host: host}
	lines := ingest.NewLines(src, name, b.Limits, nil)
	for {
		line, _, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = l.line(line)
		}
		if err != nil {
			return input.At(lines.Pos(), err)
		}
	}
	if err := l.endTimers(); err != nil {
		return input.At(lines.Pos(), err)
	}
	switch {
	case len(b.rows)+len(b.timers)+len(b.spreads) > before:
	case l.unranked:
		return input.At(lines.Pos(), input.Bad(input.ErrMissing, "neither a line nor the name of the file tells the rank: name it rank_RANK.log, or say where the rank stands with --rank-pattern"))
	default:
		return input.At(lines.Pos(), input.Bad(input.ErrEmpty, "no line up to here has the number of a step and a time, as in \"step 12 data_time: 0.003 time: 0.381\""))
	}
	return nil
}

// add keeps a row. Of a step that is logged again, as after a restart, the later counts.
func (b *Builder) add(to map[rankKey]row, k rankKey, r row) error {
	if k.rank >= trace.MaxRanks || k.step < 0 {
		return input.Bad(input.ErrRange, "step %d of rank %d", k.step, k.rank)
	}
	if _, seen := to[k]; seen {
		b.again++
	} else if len(to) >= maxRows {
		return input.Bad(input.ErrTooLarge, "more than %d steps of ranks: give fewer files", maxRows)
	}
	to[k] = r
	return nil
}

// ranksOf are those that logged something, ascending.
func ranksOf(rows map[rankKey]row) []int {
	seen := map[int]bool{}
	for k := range rows {
		seen[k.rank] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

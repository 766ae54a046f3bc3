package trainlog

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
)

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// whole is where times of whole steps go.
const whole = stages

// times leads the names of times to stages: in lower case, words joined by an underscore.
var times = map[string]Stage{
	"data_time": Data, "data_wait": Data, "data_load_time": Data, "data_loading_time": Data, "dataloader_time": Data, "load_time": Data, "batch_load_time": Data,
	"forward_time": Forward, "fwd_time": Forward, "backward_time": Backward, "bwd_time": Backward,
	"optimizer_time": Optimizer, "optim_time": Optimizer, "opt_time": Optimizer,
	"time": whole, "step_time": whole, "iter_time": whole, "iteration_time": whole, "batch_time": whole, "train_step_timing": whole, "time_per_step": whole,
	"elapsed_time_per_iteration": whole,
}

// lineReader reads the lines of one log.
type lineReader struct {
	b          *Builder
	file, host string
	rank       int
	unranked   bool  // a line had no rank
	step       int64 // of the line before, for timers
	block      block // of timers, that is open
}

// known reports whether a line has the number of a step and a time of it.
func (l *lineReader) known(line []byte) bool {
	_, _, n := l.parse(line)
	return n > 0
}

// parse reads a line with the number of a step, and how many times it has.
func (l *lineReader) parse(line []byte) (step int64, r row, n int) {
	line = line[:min(len(line), 1<<14)]
	if !hasAny(line, "tep", "ter", "TEP", "TER") || !hasAny(line, "ime", "iming", "TIME") {
		return 0, r, 0 // as nearly all lines
	}
	step, ok := stepOf(line)
	if !ok {
		return 0, r, 0
	}
	r = newRow()
	for from := 0; ; {
		var t timing
		if t, from = nextTiming(line, from); from < 0 {
			return step, r, n
		}
		stage, unit, known := stageOf(t.name)
		if !known {
			continue
		}
		if unit == "" {
			unit = t.unit
		}
		ns, ok := nanoseconds(string(t.number), unit)
		if !ok {
			continue
		}
		if n++; unit == "" && l.b != nil {
			l.b.assumed = true
		}
		if stage == whole {
			r.whole = ns
		} else {
			r.stage[stage] = ns
		}
	}
}

func hasAny(line []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(line, []byte(w)) })
}

// stageOf is the stage of a time's name, of which words that belong to something else may stand before and a unit
// behind.
func stageOf(name []byte) (s Stage, unit string, known bool) {
	var buffer [64]byte // longer than any name that is known
	words := buffer[:0]
	for i := len(name); i > 0 && len(words) < len(buffer); i-- {
		c := name[i-1]
		switch {
		case c != ' ' && c != '_' && c != '/':
			words = append(words, lower(c))
		case len(words) > 0 && words[len(words)-1] != '_':
			words = append(words, '_')
		}
	}
	slices.Reverse(words)
	words = bytes.TrimPrefix(words, []byte("_"))
	for _, u := range [...]string{"ms", "us", "s"} {
		if n := len(words) - len(u) - 1; n >= 0 && words[n] == '_' && string(words[n+1:]) == u {
			words, unit = words[:n], u
			break
		}
	}
	for from := 0; ; from++ {
		if s, known = times[string(words[from:])]; known {
			return s, unit, true
		}
		next := bytes.IndexByte(words[from:], '_')
		if next < 0 {
			return 0, "", false
		}
		from += next
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// nanoseconds reads a time.
func nanoseconds(number, unit string) (int64, bool) {
	scale := 1e9
	switch unit {
	case "ms":
		scale = 1e6
	case "us":
		scale = 1e3
	}
	x, err := strconv.ParseFloat(number, 64)
	if x *= scale; err != nil || !(x < 1<<54) { // 200 days
		return 0, false
	}
	return int64(math.Round(x)), true
}

// line takes a line.
func (l *lineReader) line(line []byte) error {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = colour.ReplaceAll(line, nil)
	}
	if done, err := l.timerLine(line); done {
		return err
	}
	step, r, n := l.parse(line)
	if n == 0 {
		return nil
	}
	l.step = step
	rank, err := l.rankOf(line)
	if err != nil || rank < 0 {
		return err
	}
	return l.b.add(l.b.rows, rankKey{step, rank}, r)
}

// rankOf is the rank that a line or the file's name tells, −1 where neither does.
func (l *lineReader) rankOf(line []byte) (int, error) {
	rank := l.rank
	if told, ok := rankIn(line[:min(len(line), 1<<12)]); ok {
		rank = told
	}
	if rank < 0 {
		l.unranked = true
		return rank, nil
	}
	if of, ok := l.b.from[rank]; ok && of != l.file {
		return 0, input.Bad(input.ErrDuplicate, "rank %d is in %s too: name files by global ranks, and give one run only", rank, of)
	}
	l.b.from[rank] = l.file
	if l.host != "" {
		l.b.hosts[rank] = l.host
	}
	return rank, nil
}

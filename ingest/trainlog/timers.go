package trainlog

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
)

var (
	timersHead = regexp.MustCompile(`(\(min, max\) time|max time|times) across ranks \(ms\):\s*$`)
	timerName  = regexp.MustCompile(`^\s{2,}([a-z][a-z0-9/-]*):\s*$`)
	timerRank  = regexp.MustCompile(`^\s+rank\s+(\d{1,7}): (\d+(?:\.\d+)?)\s*$`)
	timerRange = regexp.MustCompile(`^\s+([a-z][a-z0-9/-]*) \.*: \(?(\d+(?:\.\d+)?)(?:, (\d+(?:\.\d+)?)\))?\s*$`)
	launcher   = regexp.MustCompile(`^\s*(?:\d+: ?|\[[a-z]+\d+\]:)`) // srun -l, torchrun
)

// timerStages are Megatron's timers by what they measure. Some contain others: batch-generator is in
// forward-compute, and that with backward-compute in forward-backward.
var timerStages = map[string]string{
	"batch-generator": "data", "forward-compute": "forward", "backward-compute": "backward", "forward-backward": "forward_backward",
	"all-grads-sync": "gradients", "grads-all-reduce": "gradients", "backward-params-all-reduce": "gradients", "optimizer": "optimizer",
}

// block is one of timers.
type block struct {
	open bool
	name string                   // of the timer whose ranks come
	rows map[int]map[string]int64 // by rank and stage
}

// spread is the sums of a timer that tells the least and the most over the ranks, ms.
type spread struct{ n, min, max float64 }

// widest is the timer whose ranks differ most, with its least and most, ms on average; "" without timers.
func (b *Builder) widest() (name string, least, most float64) {
	for _, k := range slices.Sorted(maps.Keys(b.spreads)) {
		if s := b.spreads[k]; name == "" || (s.max-s.min)/s.n > most-least {
			name, least, most = k, s.min/s.n, s.max/s.n
		}
	}
	return name, least, most
}

// timersWord is in the head of timers.
const timersWord = "across ranks (ms):"

// timerLine takes a line of timers; done where it is one.
func (l *lineReader) timerLine(line []byte, head bool) (done bool, err error) {
	if head && timersHead.Match(line) {
		err = l.endTimers()
		l.block = block{open: true, rows: map[int]map[string]int64{}}
		return true, err
	}
	if !l.block.open {
		return false, nil
	}
	text := string(launcher.ReplaceAll(line, nil))
	if m := timerName.FindStringSubmatch(text); m != nil {
		l.block.name = m[1]
		return true, nil
	}
	if m := timerRank.FindStringSubmatch(text); m != nil && l.block.name != "" {
		return true, l.timed(m[1], m[2])
	}
	if m := timerRange.FindStringSubmatch(text); m != nil {
		l.ranged(m)
		return true, nil
	}
	return false, l.endTimers()
}

// timed takes the time of a rank.
func (l *lineReader) timed(rank, ms string) error {
	id, _ := strconv.Atoi(rank)
	ns, ok := nanoseconds(ms, "ms")
	stage, known := timerStages[l.block.name]
	if !ok || !known {
		return nil
	}
	if l.block.rows[id] == nil {
		l.block.rows[id] = map[string]int64{}
	}
	l.block.rows[id][stage] = ns
	return nil
}

// ranged takes the least and the most of a timer over the ranks.
func (l *lineReader) ranged(m []string) {
	if _, known := timerStages[m[1]]; !known || m[3] == "" || l.b == nil {
		return
	}
	least, _ := strconv.ParseFloat(m[2], 64)
	most, _ := strconv.ParseFloat(m[3], 64)
	s := l.b.spreads[m[1]]
	l.b.spreads[m[1]] = spread{s.n + 1, s.min + least, s.max + most}
}

// endTimers keeps the open block as a step. Timers contain others, of which each has its own stage.
func (l *lineReader) endTimers() error {
	rows := l.block.rows
	l.block = block{}
	if len(rows) == 0 || l.b == nil {
		return nil
	}
	l.b.blocks++
	step := l.b.blocks
	if l.step > 0 {
		step = l.step
	}
	for _, rank := range slices.Sorted(maps.Keys(rows)) {
		r := rows[rank]
		if data, ok := r["data"]; ok {
			if forward, ok := r["forward"]; ok {
				r["forward"] = max(0, forward-data)
			}
		}
		all, whole := r["forward_backward"]
		if _, ok := r["forward"]; whole && ok {
			r["pipeline"] = max(0, all-r["data"]-r["forward"]-r["backward"])
			delete(r, "forward_backward")
			if 100*r["pipeline"] < all { // of reading clocks
				r["pipeline"] = 0
			}
		}
		t, err := l.b.trackOf(&l.b.timers, l, rank, false)
		if err != nil {
			return err
		}
		var times []measured
		for _, s := range stageNames {
			if ns, ok := r[s.word]; ok {
				times = append(times, measured{s.word, ns})
			}
		}
		if err := l.b.add(t, nil, step, times); err != nil {
			return err
		}
	}
	return nil
}

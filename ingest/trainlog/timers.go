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
	most map[string]int64         // by stage, of the slowest rank, where no ranks are told
}

// spread is the sums of a timer that tells the least and the most over the ranks, ms.
type spread struct{ n, min, max float64 }

// mostSpreadTimer returns the timer whose ranks differ most, with its least and most, ms on average; "" without timers.
// Timers of work precede timers in which ranks wait.
func (b *Builder) mostSpreadTimer() (name string, least, most float64) {
	works := false
	for _, k := range slices.Sorted(maps.Keys(b.spreads)) {
		s, work := b.spreads[k], timerStages[k] != "gradients" && k != "forward-backward" // in which ranks wait for each other
		if name == "" || work && !works || work == works && (s.max-s.min)/s.n > most-least {
			name, least, most, works = k, s.min/s.n, s.max/s.n, work
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
		return true, l.addRankTime(m[1], m[2])
	}
	if m := timerRange.FindStringSubmatch(text); m != nil {
		l.addRange(m)
		return true, nil
	}
	return false, l.endTimers()
}

// addRankTime takes the time of a rank.
func (l *lineReader) addRankTime(rank, ms string) error {
	id, _ := strconv.Atoi(rank)
	ns, ok := nanoseconds([]byte(ms), "ms")
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

// addRange takes the least and the most of a timer over the ranks.
func (l *lineReader) addRange(m []string) {
	stage, known := timerStages[m[1]]
	if !known || m[3] == "" || l.b == nil {
		return
	}
	of := m[3]
	if stage == "gradients" { // of the rank that comes last, which waits for nobody
		of = m[2]
	}
	if ns, ok := nanoseconds([]byte(of), "ms"); ok {
		if l.block.most == nil {
			l.block.most = map[string]int64{}
		}
		l.block.most[stage] = ns
	}
	least, _ := strconv.ParseFloat(m[2], 64)
	most, _ := strconv.ParseFloat(m[3], 64)
	s := l.b.spreads[m[1]]
	l.b.spreads[m[1]] = spread{s.n + 1, s.min + least, s.max + most}
}

// endTimers keeps the open block as a step. Timers contain others, of which each has its own stage.
func (l *lineReader) endTimers() error {
	rows, most := l.block.rows, l.block.most
	l.block = block{}
	switch {
	case l.b == nil:
		return nil
	case len(rows) == 0:
		return l.addSlowest(most)
	}
	l.b.blocks++
	step := l.b.blocks
	if l.step > 0 {
		step = l.step
	}
	for _, rank := range slices.Sorted(maps.Keys(rows)) {
		r := rows[rank]
		separate(r)
		t, err := l.b.trackOf(&l.b.timers, l, track{rank: rank})
		if err != nil {
			return err
		}
		if err := l.b.add(t, nil, step, timesInOrder(r)); err != nil {
			return err
		}
	}
	return nil
}

// separate subtracts nested timers from the timers around them.
func separate(r map[string]int64) {
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
}

// timesInOrder returns the times of stages in the order of a step.
func timesInOrder(r map[string]int64) (times []measurement) {
	for _, s := range stageNames {
		if ns, ok := r[s.word]; ok {
			times = append(times, measurement{s.word, ns})
		}
	}
	return times
}

// addSlowest adds the times of the slowest rank as those of the job, to the step of the line before.
func (l *lineReader) addSlowest(most map[string]int64) error {
	if l.step <= 0 || len(most) == 0 {
		return nil
	}
	if all, passes := most["forward_backward"], most["forward"]+most["backward"]; 0 < all && all < passes { // of different ranks
		most["forward"] = int64(float64(most["forward"]) * float64(all) / float64(passes))
		most["backward"] = all - most["forward"]
	}
	separate(most)
	t, err := l.b.trackOf(&l.b.tracks, l, track{rank: l.rank})
	if err != nil {
		return err
	}
	return l.b.add(t, nil, l.step, timesInOrder(most))
}

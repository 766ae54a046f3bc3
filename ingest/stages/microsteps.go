package stages

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// microstepping is which stages of a run's windows stand for microsteps.
type microstepping struct {
	n      int    // microsteps of every step; 1: stages are of whole steps
	staged []bool // by stage: it has a part in every microstep
}

// chooseMicrosteps lets stages carry an index where all ranks run the same
// number of microsteps in all steps that are used.
func (c *converter) chooseMicrosteps() {
	c.micro = microstepping{n: 1}
	fewest, most := 0, 0
	for r, rank := range c.ranks {
		for _, at := range c.steps[r] {
			n := rank.Steps[at].MicrostepCount()
			if fewest == 0 || n < fewest {
				fewest = n
			}
			most = max(most, n)
		}
	}
	switch {
	case fewest != most:
		c.note(input.NoteRecorder, "between %d and %d runs of backward passes in a step, not the same on all ranks and in all steps, as in a pipeline or at the end of an epoch: "+
			"stages are sums over microsteps", fewest, most)
		return
	case most < 2:
		return
	}
	c.micro = microstepping{n: most, staged: c.stagesInAllMicrosteps()}
	if !slices.Contains(c.micro.staged, true) {
		c.micro.n = 1
	}
}

// stagesInAllMicrosteps reports of every stage whether each microstep has a part of it.
// The optimizer's have none: it works once in a step.
func (c *converter) stagesInAllMicrosteps() []bool {
	names := c.ranks[0].Stages
	in := slices.Repeat([]bool{true}, len(names))
	if at := slices.Index(names, profile.OptimizerStage); at >= 0 {
		in[at] = false
	}
	for r, rank := range c.ranks {
		for _, at := range c.steps[r] {
			s := &rank.Steps[at]
			seen := make([]bool, s.MicrostepCount()*len(names))
			for _, span := range s.Spans {
				seen[s.MicrostepAt(span.Start)*len(names)+span.Stage] = true
			}
			for i, ok := range seen {
				in[i%len(names)] = in[i%len(names)] && ok
			}
		}
	}
	return in
}

// wholeStep is the microstep of what stands for all of them.
const wholeStep = -1

// part is a stage of a microstep, or of whole steps.
type part struct{ stage, micro int }

// stageParts returns the parts in the order of a step: microstep by microstep, and
// before and after them what belongs to the whole step.
func (c *converter) stageParts() []part {
	var out, after []part
	first := slices.Index(c.micro.staged, true)
	for s := range c.ranks[0].Stages {
		switch {
		case c.micro.n == 1 || s < first:
			out = append(out, part{s, wholeStep})
		case !c.micro.staged[s]:
			after = append(after, part{s, wholeStep})
		}
	}
	if c.micro.n == 1 {
		return out
	}
	for m := range c.micro.n {
		for s, staged := range c.micro.staged {
			if staged {
				out = append(out, part{s, m})
			}
		}
	}
	return append(out, after...)
}

// has reports whether a part takes in what a microstep has of a stage.
func (p part) has(stage, micro int) bool {
	return p.stage == stage && (p.micro == wholeStep || p.micro == micro)
}

// sum returns the sum of a part in an account by microstep and stage.
func (p part) sum(account []int64, stages int) int64 {
	if p.micro != wholeStep {
		return account[p.micro*stages+p.stage]
	}
	total := int64(0)
	for at := p.stage; at < len(account); at += stages {
		total += account[at]
	}
	return total
}

// nameOf returns the name of a stage's part.
func (p part) nameOf(stage string) string {
	if p.micro == wholeStep {
		return stage
	}
	return stage + "@" + strconv.Itoa(p.micro)
}

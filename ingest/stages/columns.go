package stages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// chooseStages sets the stages of the windows.
func (c *converter) chooseStages() {
	if c.o.Timeline == OnDevice {
		c.deviceColumns()
	}
	if len(c.stages) > 0 {
		c.tellClocks()
	} else {
		switch recorded := c.anyStep(func(_ *profile.Rank, s *profile.Step) bool { return s.Device != nil }); {
		case c.o.Timeline != OnDevice:
		case recorded:
			c.note(input.NoteRecorder, "no annotation that is a stage launched the work on the device: stages are measured on the host")
		default:
			c.note(input.NoteRecorder, "no device work was recorded: stages are measured on the host")
		}
		c.o.Timeline = OnHost
		c.hostColumns()
	}
	if len(c.stages) == 0 {
		c.micro.n = 1
		c.add(column{what: stepTime}, unmappedStage)
		c.note(input.NoteRecorder, "no annotation is mapped to a stage: a step is one stage; map names with a stage map")
	}
}

func (c *converter) add(col column, name string) {
	c.stages, c.names = append(c.stages, col), append(c.names, name)
}

func (c *converter) note(kind input.NoteKind, format string, args ...any) {
	c.notes = append(c.notes, input.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (c *converter) hostColumns() {
	for _, p := range c.stageParts() {
		if c.anyStep(func(_ *profile.Rank, step *profile.Step) bool {
			return slices.ContainsFunc(step.Spans, func(span profile.Span) bool { return p.has(span.Stage, step.MicrostepAt(span.Start)) })
		}) {
			c.add(column{p, hostTime}, p.nameOf(c.ranks[0].Stages[p.stage]))
		}
	}
}

func (c *converter) anyStep(is func(r *profile.Rank, s *profile.Step) bool) bool {
	for _, r := range c.ranks {
		for i := range r.Steps {
			if is(r, &r.Steps[i]) {
				return true
			}
		}
	}
	return false
}

// deviceColumns makes the stages on the device, each with its exposed communication: before or after, wherever most of it lies.
// A stage that communicates in one microstep of several, as gradients are reduced in the last, does so once in a step: its
// communication carries no index.
func (c *converter) deviceColumns() {
	parts := c.stageParts()
	exposing := make([]exposure, len(parts))
	often := make(map[int]int) // by stage: parts that expose communication
	for i, p := range parts {
		if exposing[i] = c.exposedBy(p); exposing[i].isExposed() {
			often[p.stage]++
		}
	}
	c.severalGroups = c.waitInSeveral()
	c.addUnmapped()
	last := lastExposing(exposing)
	for i, p := range parts {
		name := c.ranks[0].Stages[p.stage]
		stem := strings.TrimSuffix(name, hostSuffix)
		exposed := func() {
			as := p
			if often[p.stage] == 1 {
				as.micro = wholeStep
			}
			if !c.severalGroups {
				c.add(column{p, waitTime}, as.nameOf(waitStem+stem))
			}
			c.add(column{p, transferTime}, as.nameOf(transferStem+stem))
		}
		shown := exposing[i].isExposed() || often[p.stage] > 1
		if shown && exposing[i].before > exposing[i].after {
			exposed()
		}
		if c.anyStep(func(_ *profile.Rank, step *profile.Step) bool {
			return step.Device != nil && part{p.stage, wholeStep}.sum(step.Device.Own, len(c.ranks[0].Stages)) > 0
		}) {
			if stem != name {
				name = stem + deviceSuffix
			}
			c.add(column{p, deviceTime}, p.nameOf(name))
		}
		if c.severalGroups && i == last {
			c.add(column{part{p.stage, wholeStep}, wholeWait}, RankWait)
		}
		if shown && exposing[i].before <= exposing[i].after {
			exposed()
		}
	}
}

// leastUnmapped is the part of a rank's time from which on what lies in no
// stage before its communication is one of its own.
const leastUnmapped = 0.05

// addUnmapped adds a stage for time of no stage that others wait for, where
// some rank has much of it.
func (c *converter) addUnmapped() {
	most, whose := 0.0, 0
	for _, r := range c.ranks {
		var loose, all int64
		for i := range r.Steps {
			if d := r.Steps[i].Device; d != nil {
				loose += d.Unmapped
				all += d.End - d.Start
			}
		}
		if part := float64(loose) / float64(max(all, 1)); part > most {
			most, whose = part, r.ID
		}
	}
	if most < leastUnmapped {
		return
	}
	c.add(column{what: unmappedTime}, unmappedDevice)
	c.note(input.NoteRecorder, "%s is what lies in no stage before the last communication of a step, %.1f %% of the time of rank %d, who has most: annotations or a stage map tell what it is",
		unmappedDevice, 100*most, whose)
}

// exposure is the communication that a stage exposes in the first and in the
// second half of its own time, ns.
type exposure struct{ before, after int64 }

func (e exposure) isExposed() bool { return e.before > 0 || e.after > 0 }

// exposedBy returns the exposed communication of a part on all ranks in all steps.
func (c *converter) exposedBy(p part) (sum exposure) {
	c.anyStep(func(r *profile.Rank, s *profile.Step) bool {
		if s.Device == nil {
			return false
		}
		for x := range s.Device.Exposed.All() {
			switch {
			case !p.has(x.Stage, x.Microstep):
			case 2*x.Before < s.Device.Own[x.Microstep*len(r.Stages)+x.Stage]:
				sum.before += x.End - x.Start
			default:
				sum.after += x.End - x.Start
			}
		}
		return false
	})
	return sum
}

// waitInSeveral reports whether exposed communication whose members were found
// is of more than one group, or between single ranks. O(exposures).
func (c *converter) waitInSeveral() bool {
	group := ""
	for r, rank := range c.ranks {
		keys := rank.GroupKeys()
		for i := range rank.Steps {
			d := rank.Steps[i].Device
			if d == nil {
				continue
			}
			for e := range d.Exposed.All() {
				if e.Call < 0 || e.Stage < 0 || !c.matched.isComplete(r, e.Call) {
					continue
				}
				call := &rank.Comm.Calls[e.Call]
				key := keys[call.Group]
				if call.Op.Message() || group != "" && key != group {
					return true
				}
				group = key
			}
		}
	}
	return false
}

// lastExposing returns the last part that ends with exposed communication, or else the last with any; −1 without: by its end
// a rank has waited for others.
func lastExposing(exposing []exposure) int {
	last, ending := -1, -1
	for i, e := range exposing {
		if e.isExposed() {
			last = i
			if e.after >= e.before {
				ending = i
			}
		}
	}
	if ending >= 0 {
		return ending
	}
	return last
}

// tellClocks notes what the windows rest on.
func (c *converter) tellClocks() {
	most, residual, told, sent := int64(0), int64(0), 0, 0
	for _, k := range c.clocks {
		if k.HasReference() {
			told++
			most, residual = max(most, k.Offset, -k.Offset), max(residual, k.Residual)
		}
		if k.Bounds > 0 {
			sent++
			if k.HalfWidth != clock.Unknown {
				residual = max(residual, k.HalfWidth)
			}
		}
	}
	c.note(input.NoteRecorder, "stages are measured on the device, by the work that they launched; idle time is the stage's that the host was in")
	if len(c.ranks) > 1 && len(c.ranks) < c.world {
		c.note(input.NoteRecorder, "of a collective with members that did not record, the wait is at least what is given: one of them may have entered last")
	}
	switch {
	case len(c.ranks) == 1:
	case told < len(c.ranks)-1:
		c.note(input.NoteRecorder, "ranks that share no collective and no matched message with the others: %d of %d; how long they waited in exposed communication cannot be told from the transfer",
			len(c.ranks)-1-told, len(c.ranks))
	case sent > 0:
		c.note(input.NoteRecorder, "clocks were brought together by sends and receives where ranks share no collective, %d of %d: at most %.3f ms apart before, and right to %.3f ms",
			sent, len(c.ranks), float64(most)/1e6, float64(residual)/1e6)
	default:
		c.note(input.NoteRecorder, "clocks were brought together by the ends of collectives: at most %.3f ms apart before, %.3f ms after", float64(most)/1e6, float64(residual)/1e6)
	}
}

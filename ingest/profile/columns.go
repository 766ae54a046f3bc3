package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// chooseStages sets the stages of the windows.
func (c *converter) chooseStages() {
	if c.o.Timeline == OnDevice {
		c.deviceColumns()
	}
	if len(c.stages) > 0 {
		c.tellClocks()
	} else {
		if c.o.Timeline == OnDevice {
			c.note(trace.NoteRecorder, "no device work was recorded: stages are measured on the host")
		}
		c.o.Timeline = OnHost
		c.hostColumns()
	}
	if len(c.stages) == 0 {
		c.add(column{what: stepTime}, Unmapped)
		c.note(trace.NoteRecorder, "no annotation is mapped to a stage: a step is one stage; map names with a stage map")
	}
}

func (c *converter) add(col column, name string) {
	c.stages, c.names = append(c.stages, col), append(c.names, name)
}

func (c *converter) note(kind trace.NoteKind, format string, args ...any) {
	c.notes = append(c.notes, trace.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (c *converter) hostColumns() {
	for s, name := range c.ranks[0].Stages {
		if c.anyStep(func(_ *Rank, step *Step) bool {
			return slices.ContainsFunc(step.Spans, func(p Span) bool { return p.Stage == s })
		}) {
			c.add(column{s, hostTime}, name)
		}
	}
}

func (c *converter) anyStep(is func(r *Rank, s *Step) bool) bool {
	for _, r := range c.ranks {
		for i := range r.Steps {
			if is(r, &r.Steps[i]) {
				return true
			}
		}
	}
	return false
}

// deviceColumns are the stages on the device, each with the communication that
// it exposes: before it or after, wherever most of it lies.
func (c *converter) deviceColumns() {
	for s, name := range c.ranks[0].Stages {
		stem := strings.TrimSuffix(name, hostSuffix)
		var before, after int64
		for _, r := range c.ranks {
			for i := range r.Steps {
				if d := r.Steps[i].Device; d != nil {
					b, a := d.exposedOf(s)
					before, after = before+b, after+a
				}
			}
		}
		exposed := func() {
			c.add(column{s, waitTime}, WaitStem+stem)
			c.add(column{s, transferTime}, TransferStem+stem)
		}
		if before > after {
			exposed()
		}
		if c.anyStep(func(_ *Rank, step *Step) bool { return step.Device != nil && step.Device.Own[s] > 0 }) {
			if stem != name {
				name = stem + deviceSuffix
			}
			c.add(column{s, deviceTime}, name)
		}
		if after > 0 && after >= before {
			exposed()
		}
	}
}

// exposedOf is the exposed communication of a stage in the first and in the
// second half of its own time.
func (d *Device) exposedOf(stage int) (before, after int64) {
	for _, e := range d.Exposed {
		switch {
		case e.Stage != stage:
		case 2*e.Before < d.Own[stage]:
			before += e.End - e.Start
		default:
			after += e.End - e.Start
		}
	}
	return before, after
}

// tellClocks notes what the windows rest on.
func (c *converter) tellClocks() {
	most, residual, told := int64(0), int64(0), 0
	for _, k := range c.clocks {
		if k.Matches > 0 {
			told++
			most, residual = max(most, k.Offset, -k.Offset), max(residual, k.Residual)
		}
	}
	c.note(trace.NoteRecorder, "stages are measured on the device, by the work that they launched; idle time is the stage's that the host was in")
	if len(c.ranks) > 1 && len(c.ranks) < c.world {
		c.note(trace.NoteRecorder, "of a collective with members that did not record, the wait is at least what is given: one of them may have come last")
	}
	switch {
	case len(c.ranks) == 1:
	case told < len(c.ranks)-1:
		c.note(trace.NoteRecorder, "%d of %d ranks share no collective with the others: how long they waited in exposed communication cannot be told from the transfer",
			len(c.ranks)-1-told, len(c.ranks))
	default:
		c.note(trace.NoteRecorder, "clocks were brought together by the ends of collectives: at most %.3f ms apart before, %.3f ms after", float64(most)/1e6, float64(residual)/1e6)
	}
}

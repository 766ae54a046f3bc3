package stages

import "github.com/sfstat/sfstat/trace/profile"

// stepTimes is the time of a step of one rank; slices by microstep and stage,
// stage fastest, ns.
type stepTimes struct {
	own, wait, transfer []int64
	whole               int64 // wait in all groups, where it is one stage
	unmapped            int64 // as in Device
}

// fill sets the durations of one step.
func (c *converter) fill(row []int64, r int, s *profile.Step) {
	stages := len(c.ranks[r].Stages)
	d := c.divide(r, s)
	for i, col := range c.stages {
		switch col.what {
		case waitTime:
			row[i] = col.sum(d.wait, stages)
		case transferTime:
			row[i] = col.sum(d.transfer, stages)
		case wholeWait:
			row[i] = d.whole
		case stepTime:
			row[i] = c.wall(s)
		case unmappedTime:
			row[i] = d.unmapped
		default:
			row[i] = col.sum(d.own, stages)
		}
	}
}

// divide divides a step on the timeline that was chosen. O(spans + exposures).
func (c *converter) divide(r int, s *profile.Step) stepTimes {
	stages := len(c.ranks[r].Stages)
	n := stages * s.MicrostepCount()
	d := stepTimes{own: make([]int64, n), wait: make([]int64, n), transfer: make([]int64, n)}
	if c.o.Timeline != OnDevice || s.Device == nil {
		for _, span := range s.Spans {
			d.own[s.MicrostepAt(span.Start)*stages+span.Stage] += span.End - span.Start
		}
		return d
	}
	copy(d.own, s.Device.Own)
	d.unmapped = s.Device.Unmapped
	for e := range s.Device.Exposed.All() {
		if e.Stage < 0 {
			continue
		}
		until := e.End // transfer; then wait
		if e.Call >= 0 {
			until = max(e.Start, min(e.End, c.unawaited[r][e.Call]))
		}
		at := e.Microstep*stages + e.Stage
		d.transfer[at] += until - e.Start
		if c.severalGroups {
			d.whole += e.End - until
		} else {
			d.wait[at] += e.End - until
		}
	}
	return d
}

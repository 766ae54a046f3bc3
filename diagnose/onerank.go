package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/trace"
)

// AddDevice adds how the devices of a run spent its steps, after its first
// window. Only a run of one rank is judged by it: where ranks can be compared,
// their stages say more.
func (s *Session) AddDevice(d *trace.DeviceRun) error {
	i := slices.IndexFunc(s.runs, func(r *run) bool { return r.name == d.Run && r.judged == nil })
	if i < 0 || len(d.Ranks) != 1 {
		return nil
	}
	b, err := breakdown.Analyze(d, breakdown.DefaultOptions())
	if err != nil {
		return err
	}
	t := b.Ranks[0].Whole()
	if t.Span <= 0 {
		return nil
	}
	r := s.runs[i]
	r.alone = &t
	quality := &r.windows[0].Main.Quality
	quality.Notes = append(quality.Notes, fmt.Sprintf("of whole steps the device computes %s, communicates %s (%s with nothing to cover it), moves memory %s and idles %s; sfstat breakdown divides its time further",
		percent(t.Share(breakdown.Compute)), percent(t.Share(breakdown.Communication)), percent(t.Share(breakdown.ExposedComm)),
		percent(t.Share(breakdown.Memory)), percent(t.Share(breakdown.Idle))))
	return nil
}

// oneRank is the headline where nobody can be compared. It names no cause.
func (j *judge) oneRank() string {
	first := j.windows[0].Main
	step := ms(first.Makespan / int64(max(1, first.Steps)))
	if j.alone == nil {
		return fmt.Sprintf("One rank only: a step takes %s; which rank holds up a group cannot be said.", step)
	}
	s := fmt.Sprintf("One rank only, so nobody can be compared: its device idles %s of a %s step", percent(j.alone.Share(breakdown.Idle)), step)
	if exposed := j.alone.Share(breakdown.ExposedComm); exposed >= trivial {
		return s + fmt.Sprintf("; communication that nothing covers takes %s.", percent(exposed))
	}
	return s + fmt.Sprintf(" and computes %s.", percent(j.alone.Share(breakdown.Compute)))
}

package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
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
	s.runs[i].alone = &evidence.DeviceShares{Compute: t.Share(breakdown.Compute), Communication: t.Share(breakdown.Communication),
		Exposed: t.Share(breakdown.ExposedComm), Memory: t.Share(breakdown.Memory), Idle: t.Share(breakdown.Idle)}
	return nil
}

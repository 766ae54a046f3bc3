package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/trace/profile"
)

// addDevice adds how the devices of a run spent its steps. Only a run of one rank
// is judged by it: where ranks can be compared, their stages say more.
func (r *run) addDevice(d *profile.DeviceTimes) error {
	if len(d.Ranks) != 1 {
		return nil
	}
	b, err := breakdown.Analyze(d, breakdown.DefaultOptions())
	if err != nil {
		return err
	}
	t := b.Ranks[0].Whole()
	if t.Span > 0 {
		r.alone = &evidence.DeviceShares{Compute: t.Share(breakdown.Compute), Communication: t.Share(breakdown.Communication),
			Exposed: t.Share(breakdown.ExposedComm), Memory: t.Share(breakdown.Memory), Idle: t.Share(breakdown.Idle)}
	}
	return nil
}

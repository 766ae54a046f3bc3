package diagnose

import (
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/trace/profile"
)

// Device is how the device of a rank spent its time, from its first work to its last, as shares of that time.
// What runs beside something else counts in both.
type Device struct {
	Rank          int      // global rank
	Span          int64    // from the first work on the device in these steps to the last
	Compute       float64  // kernels that do not communicate run; NaN: the device did nothing, here and below
	Communication float64  // communication runs, covered by compute or not
	Memory        float64  // copies and fills run, covered or not
	Idle          float64  // nothing runs
	Exposed       float64  // communication runs and no compute
	OfComm        float64  // part of communication that no compute covers; NaN: there is none
	Unlike        []string // shares that are unlike those of the ranks of the same role: p < 1 % over all comparisons of the run
}

// addDevice adds how the devices of a run spent its steps. Only a run of one rank is judged by it: where ranks
// can be compared, their stages say more.
func (r *run) addDevice(d *profile.DeviceTimes) error {
	b, err := breakdown.Analyze(d, breakdown.DefaultOptions())
	if err != nil {
		return err
	}
	r.devices = make([]Device, len(b.Ranks))
	for i := range b.Ranks {
		t := &b.Ranks[i].Times
		r.devices[i] = Device{Rank: b.Ranks[i].ID, Span: t.Span, Compute: t.Share(breakdown.Compute), Communication: t.Share(breakdown.Communication),
			Memory: t.Share(breakdown.Memory), Idle: t.Share(breakdown.Idle), Exposed: t.Share(breakdown.ExposedComm), OfComm: t.ExposedShare()}
	}
	for _, m := range b.Marks {
		r.devices[m.Rank].Unlike = append(r.devices[m.Rank].Unlike, m.Category.Word())
	}
	if t := b.Ranks[0].Whole(); len(b.Ranks) == 1 && t.Span > 0 {
		var idle profile.IdleTimes
		for i := range d.Ranks[0].Steps {
			idle.Add(&d.Ranks[0].Steps[i].Idling)
		}
		share := func(ns int64) float64 { return float64(ns) / float64(t.Span) }
		r.alone = &evidence.DeviceShares{Compute: t.Share(breakdown.Compute), Communication: t.Share(breakdown.Communication),
			Exposed: t.Share(breakdown.ExposedComm), Memory: t.Share(breakdown.Memory), ExposedMemory: t.Share(breakdown.ExposedMemory), Idle: t.Share(breakdown.Idle),
			IdleHost: share(idle.Host), IdleSync: share(idle.Synchronised), IdleData: share(idle.Data), IdleLaunched: share(idle.Launched)}
	}
	return nil
}

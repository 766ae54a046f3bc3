package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
)

// hostOverhead names a stage that every rank's host spends longer in than its
// device works: launching, Python, synchronous copies, emulated arithmetic. What one rank spends there
// beyond its peers is that rank's, and of no account here.
func (j *judge) hostOverhead(m *frontier.Result) {
	d := m.Device
	if d == nil || len(d.Stages) == 0 || m.Steps == 0 || !slices.Contains(m.Labels, labels.ForwardHostOverheadSuspected) {
		return
	}
	s := m.Stages[d.Stages[0]]
	host, device := d.PeerWall, d.Peers
	if len(m.Ranks) == 1 {
		host, device = d.Wall, d.Time
	}
	explained := int64(host-device) * int64(m.Steps)
	share := part(m, explained)
	if s.Share == nil || *s.Share < j.gates.DominanceShare || share < j.minGain || s.Syncs {
		return
	}
	j.add(m, Finding{Kind: KindStage, Cause: CauseHost, Place: Place{Stage: s.Name}, Cost: Cost{Explained: explained, Gain: share},
		Confidence: evidence.Supported, Evidence: []evidence.Observation{
			evidence.DeviceTime{Channel: d.Channel, Stage: s.Name, Host: int64(host), Device: int64(device), Samples: d.Ready},
			evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported}}})
}

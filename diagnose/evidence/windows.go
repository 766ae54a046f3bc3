package evidence

// The evidence that windows of stage times give. Times are nanoseconds.

// LastToArrive: the group waited for a rank at synchronisation points, because
// of one stage or (Stage "") of several, most of it in Mainly.
type LastToArrive struct {
	Rank   int     `json:"rank"`
	Stage  string  `json:"stage,omitempty"`
	Mainly string  `json:"mainly,omitempty"`
	N      int     `json:"n"`         // synchronisation points at which it was late for that
	Of     int     `json:"of"`        // those at which any rank was
	Excess int64   `json:"excess_ns"` // mean over its peers' median, where it was late
	P      float64 `json:"p"`         // were all ranks alike; corrected for ranks and stages
}

// ProfileAgrees: a profiler's traces of the run find the rank late too, by
// themselves.
type ProfileAgrees struct {
	Rank       int        `json:"rank"`
	Stage      string     `json:"stage,omitempty"` // as the traces divide a step
	Excess     int64      `json:"excess_ns"`       // a step
	Step       int64      `json:"step_ns"`
	Steps      int        `json:"steps"` // of the traces
	Confidence Confidence `json:"confidence"`
	Raised     bool       `json:"raised"` // from less without them
}

// Replay: the steps with ranks brought to their peers' median.
type Replay struct {
	Ranks   []int   `json:"ranks"`
	Saves   float64 `json:"saves"`   // fraction of the exposed time
	Charged float64 `json:"charged"` // fraction charged to them
}

// LateTogether: several ranks are late for the same reason, and what fixing all
// of them saves, as Cost.Gain and Cost.RunGain.
type LateTogether struct {
	Ranks   []int   `json:"ranks"`
	Gain    float64 `json:"gain"`
	RunGain float64 `json:"run_gain"`
}

// SharedPlace: the late ranks are all ranks of one host or role group.
type SharedPlace struct {
	Ranks []int  `json:"ranks"`
	Host  string `json:"host,omitempty"`
	Group string `json:"group,omitempty"`
}

// SyncPoint: where the ranks synchronise, and how that is known.
type SyncPoint struct {
	Stage string `json:"stage"`
	By    string `json:"by"` // named, slope, leads or name
	// By slope: a rank that arrives 1 ms later spends this less in the stage.
	Slope float64 `json:"slope,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	// By leads: the last rank's lead over the median when it begins and ends.
	Before int64 `json:"before_ns,omitempty"`
	After  int64 `json:"after_ns,omitempty"`
}

// DeviceTime: device events of one stage, on a rank and its peers.
type DeviceTime struct {
	Channel string `json:"channel"`
	Stage   string `json:"stage"`
	Rank    int    `json:"rank"`
	Own     int64  `json:"own_ns"`   // a step
	Peers   int64  `json:"peers_ns"` // median
	Host    int64  `json:"host_ns"`  // of the rank's host in that stage
	Samples int    `json:"samples"`
}

// GroupWork: the time that the ranks of a role group do not wait, a step.
type GroupWork struct {
	Group  string `json:"group"`
	Own    int64  `json:"own_ns"`
	Others int64  `json:"others_ns"` // median
}

// LatestInStage: a rank is the latest at the end of a stage and pulls away there.
type LatestInStage struct {
	Rank  int    `json:"rank"`
	Stage string `json:"stage"`
	N     int    `json:"n"`
	Of    int    `json:"of"`
}

// Clipped: the steps with a stage at its median in all of them.
type Clipped struct {
	Stage string  `json:"stage"`
	Saves float64 `json:"saves"`
	// The stage that is charged most, where that is another.
	Lead      string  `json:"lead,omitempty"`
	LeadSaves float64 `json:"lead_saves,omitempty"`
	Agrees    bool    `json:"agrees,omitempty"` // raw durations and spread point at the stage too
}

// Growth: a stage takes longer in one window than in another of the run.
type Growth struct {
	Stage      string   `json:"stage"`
	Window     int64    `json:"window"`
	Steps      [2]int64 `json:"steps"`
	Time       int64    `json:"ns"` // a step
	BaseWindow int64    `json:"base_window"`
	BaseSteps  [2]int64 `json:"base_steps"`
	BaseTime   int64    `json:"base_ns"`
}

// SlowerThanBaseline: a stage takes longer on all ranks than in a healthy run.
type SlowerThanBaseline struct {
	Stage    string `json:"stage"`
	Time     int64  `json:"ns"` // a step, mean
	BaseTime int64  `json:"base_ns"`
	Low      int64  `json:"low_ns"` // bounds of the difference, 95 % for all stages together
	High     int64  `json:"high_ns"`
	Steps    int    `json:"n"` // of the healthy run
}

// SlowSteps: steps that are longer on all ranks alike, in several stages.
type SlowSteps struct {
	N      int     `json:"n"`
	Of     int     `json:"of"`
	Factor float64 `json:"factor"` // to the other steps
	Excess int64   `json:"excess_ns"`
	First  int64   `json:"first"`
	Last   int64   `json:"last"`
}

// HostOverhead: a stage is long on the host of every rank and short on the device.
type HostOverhead struct {
	Stage   string `json:"stage"`
	Host    int64  `json:"host_ns"` // a step
	Device  int64  `json:"device_ns"`
	Samples int    `json:"samples"`
}

// LateByTurns: ranks are late because of a stage, none more than chance allows.
type LateByTurns struct {
	Stage string  `json:"stage"`
	Saves float64 `json:"saves"` // fraction of the exposed time, were none late
	Ranks int     `json:"ranks"`
}

// Moving: the same delay on another rank in each stretch of the run.
type Moving struct {
	Stage string   `json:"stage"`
	Ranks []int    `json:"ranks"` // in order of time
	Hosts []string `json:"hosts"` // that they are on, each once
	Saves float64  `json:"saves"` // fraction of the run, with all of them fixed
	P     float64  `json:"p"`     // if the stretch of each lay anywhere: of none at the same time
}

// RecurringHost: late ranks of several stretches or runs are all on one host.
type RecurringHost struct {
	Host string `json:"host"`
	N    int    `json:"n"`  // runs, or stretches of one
	Of   int    `json:"of"` // with a late rank
	Runs bool   `json:"runs,omitempty"`
	// P: if the late rank of every run were on any host alike, corrected for the
	// number of hosts; 0 for stretches.
	P float64 `json:"p,omitempty"`
}

// NobodyLate: what was looked for and not found.
type NobodyLate struct {
	Ranks int   `json:"ranks"`
	Steps int   `json:"steps"`
	Skew  int64 `json:"skew_ns"` // arrival skew at the synchronisation point, median over steps; 0: not known
	// Detectable is the least delay a step that would have been reported; 0: not known.
	Detectable int64 `json:"detectable_ns,omitempty"`
	Step       int64 `json:"step_ns"`
}

// DeviceShares: how the device of the only rank spends its steps.
// Fractions of whole steps; kinds of work overlap.
type DeviceShares struct {
	Compute       float64 `json:"compute"`
	Communication float64 `json:"communication"`
	Exposed       float64 `json:"exposed_communication"` // with nothing to cover it
	Memory        float64 `json:"memory"`
	Idle          float64 `json:"idle"`
}

func (DeviceShares) Kind() Kind       { return "device_shares" }
func (ProfileAgrees) Kind() Kind      { return "profile_agrees" }
func (LastToArrive) Kind() Kind       { return "last_to_arrive" }
func (Replay) Kind() Kind             { return "replay" }
func (LateTogether) Kind() Kind       { return "late_together" }
func (SharedPlace) Kind() Kind        { return "shared_place" }
func (SyncPoint) Kind() Kind          { return "synchronisation_point" }
func (DeviceTime) Kind() Kind         { return "device_time" }
func (GroupWork) Kind() Kind          { return "group_work" }
func (LatestInStage) Kind() Kind      { return "latest_in_stage" }
func (Clipped) Kind() Kind            { return "clipped" }
func (Growth) Kind() Kind             { return "growth" }
func (SlowerThanBaseline) Kind() Kind { return "slower_than_baseline" }
func (SlowSteps) Kind() Kind          { return "slow_steps" }
func (HostOverhead) Kind() Kind       { return "forward_host_overhead" }
func (LateByTurns) Kind() Kind        { return "late_by_turns" }
func (Moving) Kind() Kind             { return "moving" }
func (RecurringHost) Kind() Kind      { return "recurring_host" }
func (NobodyLate) Kind() Kind         { return "nobody_late" }

// Why a finding from windows is not more certain.
const (
	ReasonEverywhere      Reason = "slow_in_all_stages"
	ReasonNotLatest       Reason = "not_clearly_latest"
	ReasonChance          Reason = "chance_not_excluded"
	ReasonSyncUnknown     Reason = "synchronisation_not_shown"
	ReasonSyncLikely      Reason = "synchronisation_likely"
	ReasonNoWall          Reason = "no_wall_time"
	ReasonUndeclaredRoles Reason = "roles_not_declared"
	ReasonTelemetry       Reason = "telemetry_limited"
	ReasonMixedRoles      Reason = "roles_mixed"
	ReasonWithinRole      Reason = "within_one_role"
	ReasonAccumulation    Reason = "accumulation_summed"
	ReasonSamplesOnly     Reason = "device_samples_only"
	ReasonByDesign        Reason = "may_be_by_design"
	ReasonRankHidden      Reason = "rank_hidden_in_stage"
	ReasonManyCauses      Reason = "several_causes_fit"
	ReasonOtherSteps      Reason = "shorter_in_other_steps"
	ReasonNoWaitShown     Reason = "no_wait_shown"
	// N: the rank that a profiler's traces of the run find instead.
	ReasonProfileDisagrees Reason = "profile_disagrees"
)

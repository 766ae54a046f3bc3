// Package labels says what an account of stages permits to be said of a window:
// its labels, the reasons why there are no stronger ones, the stages to look into,
// and those that cannot be told apart (StageFrontier, App. B and C, Table 12).
package labels

import (
	"slices"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace/enum"
)

// Label is one finding on one of the paper's axes; a window carries a set of
// them (StageFrontier, Tables 2 and 12).
type Label uint8

// The twelve labels, in the order in which they are printed.
const (
	Unknown Label = iota
	FrontierAccounting
	DirectExposure
	SyncWaitDependent
	LikelySyncWait
	ForwardDeviceSupported
	ForwardSpilloverSuspected
	ForwardHostOverheadSuspected
	ForwardEventScopeLimited
	CoCritical
	GradientAccumulationAmbiguous
	RoleAwareNeeded
	TelemetryLimited
)

var labelNames = [...]string{"unknown", "frontier_accounting", "direct_exposure", "sync_wait_dependent", "likely_sync_wait",
	"forward_device_supported", "forward_spillover_suspected", "forward_host_overhead_suspected", "forward_event_scope_limited",
	"co_critical", "gradient_accumulation_ambiguous", "role_aware_needed", "telemetry_limited"}

func (l Label) String() string { return enum.Name(labelNames[:], l) }

// Names returns all labels.
func (Label) Names() []string { return labelNames[:] }

// Strong reports whether the label is a diagnosis rather than an accounting
// statement or a doubt.
func (l Label) Strong() bool {
	return l == DirectExposure || l == SyncWaitDependent || l == LikelySyncWait
}

// Reason says why a stronger label was not given.
type Reason uint8

// The reasons, in alphabetical order of their names.
const (
	ReasonUnknown Reason = iota
	AccumulationCollapsed
	BelowDominance
	ClosureResidual
	DataWaitUnassigned
	DenominatorBelowFloor
	DirectEvidenceDisagrees
	EventScope
	GainLeaderDiffers
	GainTie
	GatherFailed
	LeaderSwitches
	LowGainNoModelFit
	MissingRanks
	NoBaseline
	OverlapError
	RoleMix
	SchemaMismatch
	ShareTie
	SingleRank
	VectorUnusable
)

var reasonNames = [...]string{"unknown", "accumulation_collapsed", "below_dominance", "closure_residual", "data_wait_unassigned",
	"denominator_below_floor", "direct_evidence_disagrees", "event_scope", "gain_leader_differs", "gain_tie", "gather_failed",
	"leader_switches", "low_gain_no_model_fit", "missing_ranks", "no_baseline", "overlap_error", "role_mix", "schema_mismatch",
	"share_tie", "single_rank", "vector_unusable"}

func (r Reason) String() string { return enum.Name(reasonNames[:], r) }

// Names returns all reasons.
func (Reason) Names() []string { return reasonNames[:] }

// Roles is what is known about the roles of the ranks in one frontier.
type Roles uint8

const (
	RolesHomogeneous Roles = iota // declared, and all ranks are peers
	RolesGrouped                  // declared and different; this frontier is one group of peers
	RolesUndeclared               // not declared, and nothing shows that they differ
	RolesMixed                    // different work in one frontier
)

// Evidence is everything that the labels are decided from. Shares and gains
// are per stage, in order; a nil Shares means the makespan is below the floor,
// a nil Gains that no baseline is feasible.
type Evidence struct {
	Unusable bool // no aligned, validated vectors exist
	Ranks    int

	GatherFailed    bool
	MissingRanks    int
	SchemaMismatch  bool
	DataWaitUnsafe  bool
	ClosureResidual float64 // share of wall time, worst rank
	OverlapError    float64 // share of wall time, worst rank

	Roles  Roles
	Folded bool // gradient-accumulation microsteps are summed or mixed before the frontier

	Shares, Gains []float64
	Raw           Agreement // largest raw per-stage max against the leading stage
	Spread        Agreement // raw rank spread against the leading stage
	LagShare      *float64  // of the leading stage; nil when its advance is 0
	SwitchRate    *float64  // nil with fewer than two confident leaders
	ModelFit      bool      // later wait is shown (or said) to be induced by the leading stage
	Events        *Events   // nil: no device-event channel
	DeviceExcess  float64   // event time less that of the other ranks ÷ exposed step; 0 of one rank
	Reference     bool      // gains are against another run
	Forward       []int     // stages that the channel times
}

// Agreement is whether a second signal points at the leading stage.
type Agreement uint8

const (
	Agrees     Agreement = iota
	Disagrees            // it points elsewhere
	Negligible           // it is too small to say; no objection
)

// Events summarises a device-event channel.
type Events struct {
	Sampled     int     // samples taken
	Ready       int     // samples whose event had completed
	SideStreams bool    // work runs on streams that the events do not cover
	Share       float64 // event time ÷ exposed step, on the rank with the longest stage
	OverWall    float64 // event time ÷ host wall time of the stage, same rank
}

// Decision is what follows from the evidence.
type Decision struct {
	Routing    []int    // stages, by descending share; empty when a frontier over these ranks is unsafe
	CoCritical []int    // stages that cannot be told apart, ascending; only with the label
	Labels     []Label  // what the evidence permits to say; docs/method-accounting.md explains each label
	Reasons    []Reason // why no stronger label was given; docs/method-accounting.md explains each reason
}

// Strong reports whether a strong label was given.
func (d Decision) Strong() bool { return slices.ContainsFunc(d.Labels, Label.Strong) }

// Decide gives the labels that the evidence permits (StageFrontier, App. B
// and C, Table 12). It is deterministic, and it never claims more when
// evidence is taken away. O(S²).
func Decide(e Evidence, g gates.Gates) Decision {
	d := &decider{Evidence: e, gates: g}
	if e.Unusable {
		d.label(TelemetryLimited)
		d.reason(VectorUnusable)
		return d.decision()
	}
	d.label(FrontierAccounting)
	d.telemetry()
	if e.Roles == RolesMixed {
		d.label(RoleAwareNeeded)
		d.reason(RoleMix)
	}
	if e.Folded {
		d.label(GradientAccumulationAmbiguous)
		d.reason(AccumulationCollapsed)
	}
	if e.Shares == nil {
		d.reason(DenominatorBelowFloor)
	}
	d.interpretable = !d.incomplete && e.Roles != RolesMixed && e.Shares != nil
	if d.interpretable {
		d.routing = RoutingSet(e.Shares, g.Tau)
		d.lead = Rank(e.Shares)[0]
		if e.Ranks >= 2 {
			d.ambiguity()
			d.strong()
		} else {
			d.reason(SingleRank)
		}
	}
	d.events()
	return d.decision()
}

type decider struct {
	Evidence
	gates gates.Gates

	labels  []Label
	reasons []Reason

	limited       bool // some telemetry reason
	incomplete    bool // ranks, gather or schema: a frontier over all ranks is unsafe
	interpretable bool
	routing       []int
	coCritical    []int
	lead          int

	shareTie, gainTie, gainDiffers, switching bool
}

func (d *decider) label(l Label) { d.labels = append(d.labels, l) }

func (d *decider) reason(r Reason) {
	if !slices.Contains(d.reasons, r) {
		d.reasons = append(d.reasons, r)
	}
}

func (d *decider) decision() Decision {
	slices.Sort(d.labels)
	slices.Sort(d.reasons)
	return Decision{Labels: d.labels, Reasons: d.reasons, Routing: d.routing, CoCritical: d.coCritical}
}

func (d *decider) telemetry() {
	checks := []struct {
		failed, incomplete bool
		reason             Reason
	}{
		{d.GatherFailed, true, GatherFailed},
		{d.MissingRanks > d.gates.MissingRanks, true, MissingRanks},
		{d.SchemaMismatch, true, SchemaMismatch},
		{d.DataWaitUnsafe, false, DataWaitUnassigned},
		{gates.Above(d.ClosureResidual, d.gates.ClosureResidual), false, ClosureResidual},
		{gates.Above(d.OverlapError, d.gates.OverlapError), false, OverlapError},
	}
	for _, c := range checks {
		if c.failed {
			d.limited = true
			d.incomplete = d.incomplete || c.incomplete
			d.reason(c.reason)
		}
	}
	if d.limited {
		d.label(TelemetryLimited)
	}
}

// dominant reports whether the leading stage is large enough to be called.
func (d *decider) dominant() bool {
	return gates.AtLeast(d.Shares[d.lead], d.gates.DominanceShare)
}

// ambiguity finds the stages that cannot be told apart (App. C): near-ties by
// share or by gain, a gain that is led by another stage, leaders that change
// from step to step, or a share that no gain and no model fit supports.
func (d *decider) ambiguity() {
	g, tie := d.gates, d.gates.TieTolerance
	byShare := largestWithin(d.Shares, tie)
	d.shareTie = len(byShare) >= 2
	var byGain []int
	if d.Gains != nil {
		top := largestWithin(d.Gains, tie)
		for _, s := range top {
			// An idle stage ties at gain 0 with every other idle stage; that is
			// not evidence about it.
			if gates.Above(d.Gains[s], tie) || gates.Above(d.Shares[s], tie) {
				byGain = append(byGain, s)
			}
		}
		if gates.AtLeast(slices.Max(d.Gains), g.StaticGain) {
			d.gainDiffers = !slices.Contains(top, d.lead)
			d.gainTie = len(top) >= 2
		}
	}
	d.switching = d.SwitchRate != nil && d.dominant() && gates.AtLeast(*d.SwitchRate, g.Leader.SwitchRate)
	lowGain := d.Gains != nil && d.dominant() && !gates.AtLeast(d.Gains[d.lead], g.StaticGain) && !d.ModelFit

	found := false
	for _, c := range []struct {
		holds  bool
		reason Reason
	}{
		{d.shareTie, ShareTie}, {d.gainTie, GainTie}, {d.gainDiffers, GainLeaderDiffers},
		{d.switching, LeaderSwitches}, {lowGain, LowGainNoModelFit},
	} {
		if c.holds {
			found = true
			d.reason(c.reason)
		}
	}
	if found {
		d.label(CoCritical)
		d.coCritical = union(byShare, byGain)
	}
}

func (d *decider) strong() {
	switch {
	case !d.dominant():
		d.reason(BelowDominance)
	case d.Gains == nil:
		d.reason(NoBaseline)
	case d.limited || d.Folded || d.shareTie || d.switching:
		// The cause is among the reasons already.
	case gates.AtLeast(d.Gains[d.lead], d.gates.StaticGain):
		switch {
		case d.gainTie || d.gainDiffers:
		case d.Raw == Agrees && d.Spread != Disagrees:
			d.label(DirectExposure)
		default:
			d.reason(DirectEvidenceDisagrees)
		}
	case d.ModelFit && !d.gainDiffers:
		d.label(SyncWaitDependent)
		declared := d.Roles == RolesHomogeneous || d.Roles == RolesGrouped
		if declared && d.LagShare != nil && gates.AtLeast(*d.LagShare, d.gates.LagShare) {
			d.label(LikelySyncWait)
		}
	}
}

// events reads the device channel (App. B, Table 5). "Low" wins over "high":
// a device time far below the host's is host overhead however long it is.
func (d *decider) events() {
	e, g := d.Events, d.gates.Event
	if e == nil {
		return
	}
	ratio := 0.0
	if e.Sampled > 0 {
		ratio = float64(e.Ready) / float64(e.Sampled)
	}
	if !gates.AtLeast(ratio, g.ReadyRatio) || e.Ready < g.Samples || e.SideStreams {
		d.label(ForwardEventScopeLimited)
		d.reason(EventScope)
		return
	}
	if !d.interpretable || d.limited || len(d.Forward) == 0 {
		return
	}
	low := !gates.Above(e.OverWall, g.LowOverWall)
	high := gates.AtLeast(e.Share, g.HighShare) && !low && d.longer()
	routed := slices.ContainsFunc(d.Forward, func(s int) bool { return slices.Contains(d.routing, s) })
	switch {
	case high && routed:
		d.label(ForwardDeviceSupported)
	case high && d.lead > slices.Max(d.Forward):
		d.label(ForwardSpilloverSuspected)
	case low && routed:
		d.label(ForwardHostOverheadSuspected)
	}
}

// longer reports whether the timed stages take longer than elsewhere: the device's time than
// on the other ranks, or the stage than in the run that gains are against. A forward that has much of
// the step on all ranks alike is how most jobs are.
func (d *decider) longer() bool {
	least := d.gates.StaticGain
	return gates.AtLeast(d.DeviceExcess, least) ||
		d.Reference && d.Gains != nil && slices.ContainsFunc(d.Forward, func(s int) bool { return gates.AtLeast(d.Gains[s], least) })
}

// largestWithin lists the indices whose value lies within tol of the largest.
func largestWithin(v []float64, tol float64) []int {
	top := slices.Max(v)
	var out []int
	for i, x := range v {
		if !gates.Above(top-x, tol) {
			out = append(out, i)
		}
	}
	return out
}

func union(a, b []int) []int {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

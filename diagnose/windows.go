package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/robust"
)

// windowFinding is a finding that single windows show, with what it comes to over them.
type windowFinding struct {
	Finding
	most     int64   // that it explains in the window that the evidence is from
	seen     []int   // indices of the windows that show it
	makespan int64   // of these
	steps    int     // of these
	saved    float64 // ns that fixing it alone saves
	share    float64 // of the window in which it explains most
}

// add merges what a window shows: Explained and Gain are of that window. The same finding in several windows is
// one. The evidence is that of the window in which it is surest, and among those explains most.
func (j *judge) add(w *frontier.Result, s Finding) {
	same := func(have *windowFinding) bool {
		return have.Cause == s.Cause && have.Kind == s.Kind && have.Stage == s.Stage && have.Group == s.Group && (s.Rank == nil || *have.Rank == *s.Rank)
	}
	i := slices.IndexFunc(j.byWindow, same)
	if i < 0 {
		i = len(j.byWindow)
		j.byWindow = append(j.byWindow, &windowFinding{Finding: s})
		j.byWindow[i].Explained = 0
		j.byWindow[i].place(w)
	}
	f := j.byWindow[i]
	at := slices.IndexFunc(j.windows, func(have Window) bool { return have.Main == w })
	f.seen = append(f.seen, at)
	if !slices.Contains(f.Windows, w.Window) { // parts of a window have its number
		f.Windows = append(f.Windows, w.Window)
	}
	f.Explained += s.Explained
	f.makespan += w.Makespan
	f.steps += w.Steps
	f.saved += s.Gain * float64(w.Makespan)
	f.share = max(f.share, part(w, s.Explained))
	if len(f.seen) == 1 || s.Confidence > f.Confidence || s.Confidence == f.Confidence && s.Explained > f.most {
		f.most, f.Confidence, f.Evidence, f.Detail = s.Explained, s.Confidence, s.Evidence, at
	}
}

// place fills the host, local rank and role of a rank, as far as a window has them.
func (f *Finding) place(w *frontier.Result) {
	if f.Rank == nil {
		return
	}
	for _, m := range w.Members {
		if m.ID != *f.Rank {
			continue
		}
		f.Host, f.Role = cmp.Or(m.Host, f.Host), cmp.Or(f.Role, m.Role.String())
		if m.LocalRank >= 0 && m.Host != "" {
			f.LocalRank = &m.LocalRank
		}
	}
}

// windowFindings returns the findings of windows, with their cost to the run.
func (j *judge) windowFindings() (out []*Finding) {
	whole, steps := 0, 0
	for _, w := range j.windows {
		whole, steps = whole+int(w.Main.Makespan), steps+w.Main.Steps
	}
	for _, f := range j.byWindow {
		struck := max(1, f.steps)
		f.Excess = f.Explained / int64(struck)
		f.Step = (f.makespan-f.Explained)/int64(struck) + f.Excess
		f.Score = float64(f.Explained) / float64(max(1, f.makespan))
		f.Gain = min(1, f.saved/float64(max(1, int64(struck)*f.Step)))
		f.RunGain = min(1, f.saved/float64(max(1, whole)))
		f.BelowMinGain = f.share < j.minGain
		f.Struck = j.struck(f, struck, steps)
		out = append(out, &f.Finding)
	}
	return out
}

// mostSteps is the part of the steps from which on a fault is constant.
const mostSteps = 0.8

// struck returns which steps of the run a finding struck, of how many: of all windows that show it.
func (j *judge) struck(f *windowFinding, n, of int) Struck {
	s := Struck{Count: n, Of: of, First: -1, Last: -1, Pattern: PatternWindow}
	for _, i := range f.seen {
		m := j.windows[i].Main
		if m.Steps == 0 {
			continue
		}
		if s.First < 0 {
			s.First = m.FirstStep
		}
		s.First, s.Last = min(s.First, m.FirstStep), max(s.Last, m.LastStep())
	}
	if float64(n) >= mostSteps*float64(of) {
		s.Pattern = PatternConstant
	}
	return s
}

func part(w *frontier.Result, ns int64) float64 { return float64(ns) / float64(max(1, w.Makespan)) }

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

// device names a rank whose stage is long on the device, where the host does
// not show it.
func (j *judge) device(w *frontier.Result) {
	d := w.Device
	if d == nil || len(d.Stages) == 0 || w.Steps == 0 || w.Makespan == 0 ||
		slices.Contains(w.Labels, labels.ForwardEventScopeLimited) || slices.Contains(w.Labels, labels.RoleAwareNeeded) {
		return
	}
	stage := w.Stages[d.Stages[0]].Name
	perStep := max(0, d.PerStep-w.Slack(d.Stages[0]))
	if host := j.waitsForDevice(w); host != nil && d.P <= gates.Supported {
		charged := float64(host.timePerStep())
		if charged >= (1-chiefStage)*d.PerStep {
			j.nameDeviceStage(host, w)
			return
		}
		perStep = max(0, perStep-charged)
	}
	excess := perStep * float64(w.Steps)
	share := excess / float64(w.Makespan)
	// Longer than the step itself is not a time but a mistake of units.
	if share < leastTold || share >= 1 || d.P > gates.Supported || slices.ContainsFunc(j.found, func(f *Finding) bool {
		return f.Kind == KindRank && *f.Rank == d.Rank && f.Stage == stage
	}) {
		return
	}
	rank := d.Rank
	f := Finding{Kind: KindRank, Cause: CauseDevice, Place: Place{Rank: &rank, Stage: stage}, Cost: Cost{Explained: int64(excess), Gain: share}, Confidence: evidence.Supported,
		Evidence: []evidence.Observation{
			evidence.DeviceTime{Channel: d.Channel, Stage: stage, Rank: &rank, Device: int64(d.Time), Peers: int64(d.Peers), Host: int64(d.Wall), Samples: d.Ready},
			evidence.Lack{Reason: evidence.Unconfirmed, AtMost: evidence.Supported},
		}}
	if hasUntrustedTimes(w) {
		f.Confidence = evidence.Ambiguous
		f.Evidence = append(f.Evidence, evidence.Lack{Reason: evidence.Incomplete, AtMost: evidence.Ambiguous})
	}
	j.add(w, f)
}

// waitsForDevice returns the finding of host time of the rank that is long on the device, in a stage behind the one that
// is timed there: launched work returns at once, and the host waits for it later. Of a stage that all ranks leave
// together only microsteps that do not synchronise show it. nil: none.
func (j *judge) waitsForDevice(w *frontier.Result) *Finding {
	i := slices.IndexFunc(j.found, func(f *Finding) bool {
		if !f.modelled || f.Kind != KindRank || f.Cause != CauseLate || *f.Rank != w.Device.Rank {
			return false
		}
		at := slices.IndexFunc(w.Stages, func(s frontier.Stage) bool { return s.Name == f.hostStage() })
		return at > w.Device.Stages[0] && (!w.Stages[at].Syncs || j.microsteps() > 1)
	})
	if i < 0 {
		return nil
	}
	return j.found[i]
}

// nameDeviceStage names the stage that is timed on the device as where the rank of a finding loses its time, if it is
// most of what its host waits behind it; of about half of that no stage. Device time is charged once.
func (j *judge) nameDeviceStage(f *Finding, w *frontier.Result) {
	d := w.Device
	if f.isOnDevice() {
		return
	}
	stage, seen := w.Stages[d.Stages[0]].Name, d.PerStep
	if at := slices.IndexFunc(w.Stages, func(s frontier.Stage) bool { return s.Name == f.hostStage() }); at >= 0 && w.Stages[at].Syncs {
		k := float64(j.microsteps())
		seen *= (k - 1) / k
	}
	switch charged := float64(f.timePerStep()); {
	case seen >= chiefStage*charged:
		f.Stage = stage
	case seen >= (1-chiefStage)*charged:
		f.Stage = ""
	}
	f.RunAtMost = max(f.RunAtMost, d.PerStep*float64(w.Steps)/float64(w.Makespan))
	f.BelowMinGain = f.BelowMinGain && f.RunAtMost < j.minGain
	rank := d.Rank
	f.Evidence = append(f.Evidence, evidence.DeviceTime{Channel: d.Channel, Stage: stage, Rank: &rank, Device: int64(d.Time), Peers: int64(d.Peers), Host: int64(d.Wall), Samples: d.Ready})
}

// microsteps returns how many microsteps a step of the run has.
func (j *judge) microsteps() int {
	most := 1
	for _, b := range j.books {
		most = max(most, b.accum)
	}
	return most
}

// hostStage returns the stage with most of the host time of a finding of the model.
func (f *Finding) hostStage() string {
	last, _ := evidence.Find[evidence.LastToArrive](f.Evidence)
	return cmp.Or(last.Stage, last.Mainly)
}

// isOnDevice reports whether device times say where the rank of a finding loses its time.
func (f *Finding) isOnDevice() bool {
	_, found := evidence.Find[evidence.DeviceTime](f.Evidence)
	return found
}

// groups names a role group that does more work than the others.
func (j *judge) groups(w Window) {
	if len(w.Groups) < 2 || w.Main.SyncPoint.WithinPeers {
		return
	}
	work := make([]int64, len(w.Groups))
	heavy := 0
	for i, g := range w.Groups {
		if work[i] = medianWork(w.Main, g.Ranks); work[i] > work[heavy] {
			heavy = i
		}
	}
	others := slices.Delete(slices.Clone(work), heavy, heavy+1)
	usual := robust.Upper(others)
	main := w.Main
	more := min(work[heavy]-usual, main.Makespan)
	share := float64(more) / float64(max(1, main.Makespan))
	if share < trivial {
		return
	}
	steps := int64(max(1, main.Steps))
	// Roles may differ by design: whether this is a fault or the model's
	// balance cannot be told from times.
	j.add(main, Finding{Kind: KindGroup, Cause: CauseMoreWork, Place: Place{Group: w.Groups[heavy].Group, Ranks: w.Groups[heavy].Ranks},
		Cost: Cost{Explained: more, Gain: share}, Confidence: evidence.Ambiguous, Evidence: []evidence.Observation{
			evidence.GroupWork{Group: w.Groups[heavy].Group, Own: work[heavy] / steps, Others: usual / steps},
			evidence.Lack{Reason: evidence.MayBeByDesign, AtMost: evidence.Ambiguous}}})
}

// medianWork returns the median over some ranks of the time that they did not wait.
func medianWork(w *frontier.Result, ranks []int) int64 {
	var work []int64
	for r, id := range w.Ranks {
		if slices.Contains(ranks, id) {
			work = append(work, w.Work[r])
		}
	}
	return robust.Upper(work)
}

// Package inventory says what inputs hold before anything is analysed: runs,
// windows, steps, ranks, roles, stages, side channels, operators and their
// groups, what is incomplete, and which analyses that leaves out.
//
// Times are in nanoseconds. Counts of steps, ranks and samples are sums over
// the windows of a run; operator traces are counted each by itself. Nothing is judged: a need says what an analysis asks
// for and these windows, or this trace, lack.
package inventory

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Inventory is what all inputs hold together.
type Inventory struct {
	Runs   []*Run   `json:"runs"`            // of windows, in order of first appearance
	Traces []*Trace `json:"operator_traces"` // in the order of the inputs
	// Entered are files of the calls that ranks entered, by source.
	Entered []*Entered `json:"entered_calls"`
}

// Run is what is known about one run.
type Run struct {
	Run       string `json:"run"`
	Windows   int    `json:"windows"`
	Steps     int64  `json:"steps"`
	FirstStep int64  `json:"first_step"`
	LastStep  int64  `json:"last_step"`
	WorldSize int    `json:"world_size"` // the largest, if it changes
	// Reporting is how many ranks reported in the windows: the fewest and the
	// most.
	Reporting  [2]int      `json:"reporting_ranks"`
	Missing    string      `json:"missing_ranks"` // ranks that some window lacks, as "3,5-7"
	Hosts      int         `json:"hosts"`         // that are named
	Groups     []Group     `json:"role_groups"`
	StageLists []StageList `json:"stage_lists"`
	Wall       int         `json:"windows_with_wall_time"`
	Side       []Channel   `json:"side_channels"`
	Notes      []Note      `json:"notes"`
	Needs      []Need      `json:"lacks"`

	missing map[int]bool
	hosts   map[string]bool
	ranks   map[int]trace.Rank
	failed  bool
}

// Group is a role group and the ranks in it.
type Group struct {
	Group string `json:"group"` // "" when no role is declared, or none but dp
	Ranks string `json:"ranks"`
}

// StageList is one ordered list of stages.
type StageList struct {
	Hash    string   `json:"hash"`
	Stages  []string `json:"stages"`
	Windows int      `json:"windows"`
}

// Channel is a side channel.
type Channel struct {
	Name    string   `json:"name"`
	Samples int64    `json:"samples"`
	Ready   int64    `json:"ready"`
	Times   []string `json:"times_stages"`
}

// Note is one incompleteness and the number of windows that have it.
type Note struct {
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	Windows int    `json:"windows"`
}

// Need is an analysis that asks for more than the run recorded.
type Need struct {
	Analysis string `json:"analysis"`
	Lacks    string `json:"lacks"`
}

// Add counts a window in. It keeps nothing of it.
func (inv *Inventory) Add(w *trace.Window) error {
	i := slices.IndexFunc(inv.Runs, func(r *Run) bool { return r.Run == w.Run })
	if i < 0 {
		i = len(inv.Runs)
		inv.Runs = append(inv.Runs, &Run{Run: w.Run, FirstStep: w.FirstStep, Reporting: [2]int{len(w.Ranks), 0},
			missing: map[int]bool{}, hosts: map[string]bool{}, ranks: map[int]trace.Rank{}})
	}
	inv.Runs[i].add(w)
	return nil
}

func (r *Run) add(w *trace.Window) {
	r.Windows++
	r.Steps += int64(w.Steps())
	r.FirstStep = min(r.FirstStep, w.FirstStep)
	r.LastStep = max(r.LastStep, w.FirstStep+int64(w.Steps())-1)
	r.WorldSize = max(r.WorldSize, w.WorldSize)
	r.Reporting = [2]int{min(r.Reporting[0], len(w.Ranks)), max(r.Reporting[1], len(w.Ranks))}
	r.failed = r.failed || len(w.GatherFailed) > 0
	if w.Wall != nil {
		r.Wall++
	}
	for _, id := range w.Missing() {
		r.missing[id] = true
	}
	for _, rank := range w.Ranks {
		r.ranks[rank.ID] = rank
		if rank.Host != "" {
			r.hosts[rank.Host] = true
		}
	}
	r.addStages(w)
	r.addSide(w)
	r.addNotes(w)
}

func (r *Run) addStages(w *trace.Window) {
	hash := w.Schema.Hash()
	i := slices.IndexFunc(r.StageLists, func(l StageList) bool { return l.Hash == hash })
	if i < 0 {
		i = len(r.StageLists)
		r.StageLists = append(r.StageLists, StageList{Hash: hash, Stages: slices.Clone(w.Schema.Stages)})
	}
	r.StageLists[i].Windows++
}

func (r *Run) addSide(w *trace.Window) {
	for _, c := range w.Side {
		i := slices.IndexFunc(r.Side, func(have Channel) bool { return have.Name == c.Name })
		if i < 0 {
			i = len(r.Side)
			r.Side = append(r.Side, Channel{Name: c.Name})
		}
		have := &r.Side[i]
		have.Samples += int64(len(c.Samples))
		for _, s := range c.Samples {
			if s.Ready {
				have.Ready++
			}
		}
		for _, s := range c.Times(w.Schema) {
			if name := w.Schema.Stages[s]; !slices.Contains(have.Times, name) {
				have.Times = append(have.Times, name)
			}
		}
	}
}

// maxRemarks is how many different sentences of recorders are listed.
const maxRemarks = 8

// addNotes counts the windows that have each kind of note. What a recorder
// says is a note of its own for each sentence.
func (r *Run) addNotes(w *trace.Window) {
	counted := make(map[int]bool)
	remarks := 0
	for _, n := range r.Notes {
		if n.Kind == input.NoteRecorder.String() {
			remarks++
		}
	}
	for _, n := range w.Notes {
		i := slices.IndexFunc(r.Notes, func(have Note) bool {
			return have.Kind == n.Kind.String() && (n.Kind != input.NoteRecorder || have.Text == n.Text || remarks >= maxRemarks && have.Text == otherRemarks)
		})
		if i < 0 {
			text := n.Text
			if n.Kind == input.NoteRecorder {
				if remarks++; remarks >= maxRemarks {
					text = otherRemarks
				}
			}
			i = len(r.Notes)
			r.Notes = append(r.Notes, Note{Kind: n.Kind.String(), Text: text})
		}
		if !counted[i] {
			r.Notes[i].Windows++
			counted[i] = true
		}
	}
}

// otherRemarks stands for sentences beyond the limit.
const otherRemarks = "and others"

// Finish sums up after the last window.
func (inv *Inventory) Finish() {
	for _, r := range inv.Runs {
		r.Missing = trace.RankList(slices.Sorted(maps.Keys(r.missing)))
		r.Hosts = len(r.hosts)
		r.group()
		r.Needs = r.needs(inv.Traces)
	}
}

func (r *Run) group() {
	members := make(map[string][]int)
	for _, id := range slices.Sorted(maps.Keys(r.ranks)) {
		g := r.ranks[id].Role.Group()
		members[g] = append(members[g], id)
	}
	for _, g := range slices.Sorted(maps.Keys(members)) {
		r.Groups = append(r.Groups, Group{Group: g, Ranks: trace.RankList(members[g])})
	}
}

// Package inventory says what inputs hold before anything is analysed: runs,
// windows, steps, ranks, roles, stages, side channels, operators and their
// groups, and what is incomplete.
//
// Times are in nanoseconds. Counts of steps, ranks and samples are sums over
// the windows of a run; operator traces are counted each by itself. Nothing is judged.
package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Inventory is what all inputs hold together.
type Inventory struct {
	Runs   []Run    `json:"runs"`            // of windows, in order of first appearance
	Traces []*Trace `json:"operator_traces"` // in the order of the inputs
	// Entered are files of the calls that ranks entered, by source.
	Entered []Entered `json:"entered_calls"`

	place map[string]int // of runs in Runs, by name
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

	missing trace.RankSet
	absent  []absence
	lacks   trace.RankSet // of the last window
	hosts   map[string]bool
	ranks   map[int]trace.Rank
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

// entry returns the matching entry of a list, or a fresh one at its end.
func entry[T any](list *[]T, meant func(*T) bool, fresh T) *T {
	for i := range *list {
		if meant(&(*list)[i]) {
			return &(*list)[i]
		}
	}
	*list = append(*list, fresh)
	return &(*list)[len(*list)-1]
}

// run returns the run of a window.
func (inv *Inventory) run(w *trace.Window) *Run {
	i, known := inv.place[w.Run]
	if !known {
		if inv.place == nil {
			inv.place = make(map[string]int)
		}
		i = len(inv.Runs)
		inv.place[w.Run] = i
		inv.Runs = append(inv.Runs, Run{Run: w.Run, FirstStep: w.FirstStep, Reporting: [2]int{len(w.Ranks), 0},
			hosts: map[string]bool{}, ranks: map[int]trace.Rank{}})
	}
	return &inv.Runs[i]
}

// mostRuns is how many runs are listed together.
const mostRuns = 1 << 16

// Add counts a window in. It keeps nothing of it.
func (inv *Inventory) Add(w *trace.Window) error {
	if _, known := inv.place[w.Run]; !known && len(inv.Runs) == mostRuns {
		return input.Bad(input.ErrTooLarge, "more than %d runs, which are listed together: give fewer inputs", mostRuns)
	}
	r := inv.run(w)
	r.Windows++
	r.Steps += int64(w.Steps())
	r.FirstStep = min(r.FirstStep, w.FirstStep)
	r.LastStep = max(r.LastStep, w.StepAt(w.Steps()-1))
	r.WorldSize = max(r.WorldSize, w.WorldSize)
	r.Reporting = [2]int{min(r.Reporting[0], len(w.Ranks)), max(r.Reporting[1], len(w.Ranks))}
	if w.Wall != nil {
		r.Wall++
	}
	if lacks := w.Missing(); !slices.Equal(lacks, r.lacks) {
		r.missing, r.lacks = r.missing.Union(lacks), lacks
	}
	if len(r.lacks) > 0 {
		r.addAbsence(int64(w.Steps()))
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
	return nil
}

// absence is how many steps some ranks did not report.
type absence struct {
	ranks string
	steps int64
}

// mostAbsences is how many sets of ranks are told apart by the steps that they did not report.
const mostAbsences = 8

// addAbsence counts steps that the ranks which the last window lacks did not report.
func (r *Run) addAbsence(steps int64) {
	ranks := fmt.Sprintf("%d ranks", r.lacks.Len())
	if r.lacks.Len() <= mostNamed {
		ranks = trace.Ranks(r.lacks.IDs())
	}
	if len(r.absent) == mostAbsences && !slices.ContainsFunc(r.absent, func(a absence) bool { return a.ranks == ranks }) {
		ranks = "others"
	}
	entry(&r.absent, func(a *absence) bool { return a.ranks == ranks }, absence{ranks: ranks}).steps += steps
}

// mostNamed is how many ranks that lack steps are named.
const mostNamed = 64

// sumAbsences gives the note on missing ranks of several windows the steps of all of them.
func (r *Run) sumAbsences() {
	i := slices.IndexFunc(r.Notes, func(n Note) bool { return n.Kind == input.NoteMissingRanks.String() })
	if i < 0 || r.Notes[i].Windows < 2 || len(r.absent) == 0 {
		return
	}
	var each []string
	for _, a := range r.absent {
		each = append(each, fmt.Sprintf("%s did not report %d", a.ranks, a.steps))
	}
	r.Notes[i].Text = fmt.Sprintf("of %d steps %s", r.Steps, strings.Join(each, ", "))
}

func (r *Run) addStages(w *trace.Window) {
	hash := w.Schema.Hash()
	entry(&r.StageLists, func(l *StageList) bool { return l.Hash == hash }, StageList{Hash: hash, Stages: slices.Clone(w.Schema.Stages)}).Windows++
}

func (r *Run) addSide(w *trace.Window) {
	for _, c := range w.Side {
		have := entry(&r.Side, func(have *Channel) bool { return have.Name == c.Name }, Channel{Name: c.Name})
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
	counted := make(map[Note]bool)
	for _, n := range w.Notes {
		is := Note{Kind: n.Kind.String(), Text: n.Text}
		if n.Kind == input.NoteRecorder {
			remarks := slices.DeleteFunc(slices.Clone(r.Notes), func(have Note) bool { return have.Kind != is.Kind })
			if len(remarks) >= maxRemarks-1 && !slices.ContainsFunc(remarks, func(have Note) bool { return have.Text == is.Text }) {
				is.Text = otherRemarks
			}
		}
		have := entry(&r.Notes, func(have *Note) bool {
			return have.Kind == is.Kind && (n.Kind != input.NoteRecorder || have.Text == is.Text)
		}, is)
		if key := (Note{Kind: have.Kind, Text: have.Text}); !counted[key] {
			have.Windows++
			counted[key] = true
		}
	}
}

// otherRemarks stands for sentences beyond the limit.
const otherRemarks = "and others"

// Finish sums up after the last window.
func (inv *Inventory) Finish() {
	for i := range inv.Runs {
		r := &inv.Runs[i]
		r.Missing = r.missing.String()
		r.sumAbsences()
		r.Hosts = len(r.hosts)
		r.group()
		present(&r.Groups)
		present(&r.StageLists)
		present(&r.Side)
		present(&r.Notes)
		for k := range r.StageLists {
			present(&r.StageLists[k].Stages)
		}
		for k := range r.Side {
			present(&r.Side[k].Times)
		}
	}
	for _, t := range inv.Traces {
		present(&t.Names)
		present(&t.Notes)
	}
}

// present makes a list that is nil an empty one, which JSON writes as a list.
func present[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
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

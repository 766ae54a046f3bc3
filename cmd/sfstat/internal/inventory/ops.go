package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/operator"
)

// Trace is what is known about one operator trace.
type Trace struct {
	Run       string          `json:"run"`
	Path      string          `json:"path"`
	Layout    operator.Layout `json:"layout"`          // 0: not known
	Workers   int             `json:"workers"`         // ranks that recorded operators
	Missing   string          `json:"missing_workers"` // places of the layout without a rank, as "dp=1,pp=0 dp=1,pp=2"
	Steps     int             `json:"steps"`
	FirstStep int64           `json:"first_step"`
	LastStep  int64           `json:"last_step"`
	Operators int             `json:"operators"`
	// Groups is how many groups of operators communicate together, and Joined how many operators are in them.
	Groups     int      `json:"groups"`
	Joined     int      `json:"joined"`
	Units      string   `json:"units"` // how the source wrote times
	Resolution int64    `json:"resolution_ns"`
	StepClock  bool     `json:"step_clock"` // starts count from the beginning of each step
	Names      []OpName `json:"names"`
	Notes      []Note   `json:"notes"`
}

// OpName is one name of operators.
type OpName struct {
	Name    string `json:"name"`
	Kind    OpKind `json:"kind"`
	Count   int    `json:"count"`
	TotalNS int64  `json:"total_ns"`
}

// OpKind is what an operator does, by its name.
type OpKind string

// The kinds of operators.
const (
	UnknownKind OpKind = "unknown"  // a name without a part in the schedule
	Compute     OpKind = "compute"  // a forward or backward pass
	Transfer    OpKind = "transfer" // from or to another stage
	Collective  OpKind = "collective"
	Other       OpKind = "other" // the optimizer and the garbage collector: work that belongs to no pass
)

func kindOf(name string) OpKind {
	switch c := operator.ParseClass(name); {
	case c.IsCompute():
		return Compute
	case c.IsTransfer():
		return Transfer
	case c.IsCommunication():
		return Collective
	case c != operator.Other:
		return Other
	}
	return UnknownKind
}

// AddTrace counts an operator trace in. It keeps nothing of it.
func (inv *Inventory) AddTrace(path string, o *operator.Trace) {
	t := &Trace{Run: o.Run, Path: path, Workers: len(o.Ranks), Steps: len(o.Steps), FirstStep: o.Steps[0], LastStep: o.Steps[len(o.Steps)-1],
		Layout: o.Layout, Operators: o.Len(), Units: o.Units, Resolution: o.Resolution, StepClock: o.StepClock,
		Missing: absent(o), Notes: []Note{}}
	t.addOperators(o)
	for _, n := range o.Notes {
		t.Notes = append(t.Notes, Note{Kind: n.Kind.String(), Text: n.Text})
	}
	inv.Traces = append(inv.Traces, t)
}

func (t *Trace) addOperators(o *operator.Trace) {
	for _, name := range o.Names {
		t.Names = append(t.Names, OpName{Name: name, Kind: kindOf(name)})
	}
	for row, at := range o.Name {
		n := &t.Names[at]
		n.Count++
		n.TotalNS += o.Dur[row]
		if o.Group[row] >= 0 {
			t.Joined++
		}
	}
	groups := slices.Clone(o.Group)
	slices.Sort(groups)
	for i, g := range groups {
		if g >= 0 && (i == 0 || groups[i-1] != g) {
			t.Groups++
		}
	}
	slices.SortStableFunc(t.Names, func(a, b OpName) int { return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Name, b.Name)) })
}

// absent names the places of the layout where no rank recorded anything.
func absent(o *operator.Trace) string {
	dp, pp := o.Coordinates()
	have := make(map[[2]int]bool, len(dp))
	for i := range dp {
		have[[2]int{dp[i], pp[i]}] = true
	}
	var places []string
	for d := range o.Layout.DP {
		for p := range o.Layout.PP {
			if !have[[2]int{d, p}] {
				places = append(places, fmt.Sprintf("dp=%d,pp=%d", d, p))
			}
		}
	}
	const most = 8
	if n := len(places) - most; n > 0 {
		places = append(places[:most:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(places, " ")
}

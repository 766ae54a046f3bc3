// Package blame walks from an operator that was late or long back to what made
// it so, over the graph of one step.
//
// Edges are the order of a lane, the launch of a kernel, and a message; the
// members of a collective wait for each other. Given which operators were
// abnormally long and which started abnormally late, against their peers (KAIR,
// ASE 2025, stage 3):
//
//  1. an operator that is long is a culprit, and the walk ends there;
//  2. one that is late and not long was held up: the walk goes on to the
//     predecessors that gated it. If they are late or long, to those; if all
//     were on time, the edge between is the culprit.
//
// The gate of an operator is the predecessor that ended last (with a tolerance
// for ties): work that ended before cannot have held it up. The paper's text
// applies rule 2 to every predecessor, and counts an abnormally short operator as
// abnormal; it adds an edge from every rank that was on time at every barrier. It
// is there as [Literal].
//
// A member of a collective that started before the last one waited, and its
// duration is mostly that wait: by raw durations rule 1 blames the victims. Give
// Op.Collective, and Op.Length of the transfer alone; the walk then goes from a
// member that waited to the member that was last, and on to what made that late.
// So it does from a gate that is such a member, however early that started.
//
// Times are int64 ns of one clock. The result depends on the graph alone, not on
// the order of its operators and edges.
package blame

import (
	"errors"
	"fmt"

	"github.com/sfstat/sfstat/trace/enum"
)

// Flag is how a value compares with its peers.
type Flag int8

const (
	Low    Flag = iota - 1 // abnormally early or short
	Normal                 // or not known
	High                   // abnormally late or long
)

// FlagOf compares a signed score with its threshold.
func FlagOf(score, threshold float64) Flag {
	switch {
	case score > threshold:
		return High
	case score < -threshold:
		return Low
	}
	return Normal
}

// Op is one operator in the step.
type Op struct {
	ID         int64 // the caller's, unique
	Rank       int
	Start, End int64 // ns
	Lateness   Flag  // of the start
	Length     Flag  // of the duration; in a collective, of the transfer
	Collective int64 // operators of equal number, not 0, wait for each other
}

// EdgeKind says why one operator follows another.
type EdgeKind uint8

const (
	Lane    EdgeKind = iota // the next on the same lane
	Launch                  // a kernel after its launch
	Message                 // a receive after its send
	Member                  // of a collective after its last member
)

var edgeNames = [...]string{"lane", "launch", "message", "member"}

func (k EdgeKind) String() string { return enum.Name(edgeNames[:], k) }

// Names returns the names of all values.
func (EdgeKind) Names() []string { return edgeNames[:] }

// Edge says that operator To waits for the end of operator From. A From that is
// no operator of the graph was lost from the trace.
type Edge struct {
	From, To int64
	Kind     EdgeKind
}

// Graph is one step.
type Graph struct {
	Ops   []Op
	Edges []Edge
}

// Semantics chooses between the readings of rule 2.
type Semantics uint8

const (
	Binding Semantics = iota // only the predecessors that gated the operator
	Literal                  // every predecessor
)

var semanticsNames = [...]string{"binding", "literal"}

func (s Semantics) String() string { return enum.Name(semanticsNames[:], s) }

// Names returns the names of all values.
func (Semantics) Names() []string { return semanticsNames[:] }

// Options of a walk.
type Options struct {
	Semantics Semantics
	// Tie is the difference in ns up to which two times count as equal: ends
	// that gate together, and clocks that disagree.
	Tie int64
}

// Kind says what a culprit is.
type Kind uint8

const (
	LongOp       Kind = iota // Op took abnormally long
	Gap                      // Op started late behind Pred, which was on time: the edge between
	Source                   // Op started late and waits for nothing
	MissingPred              // Op started late, and Pred is lost from the trace
	Inconsistent             // Pred ended after Op, that waits for it, had started: clocks disagree
)

var kindNames = [...]string{"op", "edge", "source", "missing_pred", "clock_inconsistent"}

func (k Kind) String() string { return enum.Name(kindNames[:], k) }

// Names returns the names of all values.
func (Kind) Names() []string { return kindNames[:] }

// Culprit is where a walk ended.
type Culprit struct {
	Kind      Kind
	Op        int64    // the operator, or the later one of the edge
	Pred      int64    // the earlier one; 0 for LongOp and Source
	Edge      EdgeKind // of Gap, MissingPred and Inconsistent
	CrossRank bool     // Gap: the edge joins two ranks
}

// Cause is a culprit with all symptoms that lead to it.
type Cause struct {
	Culprit
	Delay    int64   // Gap: ns from the end of Pred to the start of Op
	Symptoms []int64 // ascending
	Path     []int64 // operators from the first symptom to the culprit, a shortest such path
}

// Result is what all symptoms come down to.
type Result struct {
	Causes      []Cause // by descending number of symptoms, then by kind, then by operators
	Unexplained []int64 // symptoms that lead nowhere: neither late nor long, nor kept waiting by one that is
}

// What is wrong with a graph.
var (
	ErrCycle     = errors.New("cycle")
	ErrDuplicate = errors.New("duplicate operator")
	ErrTime      = errors.New("operator ends before it starts")
	ErrUnknown   = errors.New("unknown operator")
)

// Analyze walks from every symptom. It refuses a graph with a cycle (the
// members of a collective taken together), an operator given twice or one that
// ends before it starts, and edges to and symptoms of operators that it does
// not have. A symptom given twice counts once.
//
// O(V + E) for the graph, and for each symptom at most that again; a walk costs
// what it visits.
func Analyze(g Graph, symptoms []int64, o Options) (*Result, error) {
	if o.Semantics > Literal || o.Tie < 0 {
		return nil, fmt.Errorf("blame: Semantics %d, Tie %d ns: expected Binding or Literal, and no negative time", o.Semantics, o.Tie)
	}
	s, err := newStep(g)
	if err != nil {
		return nil, err
	}
	return s.blame(symptoms, o)
}

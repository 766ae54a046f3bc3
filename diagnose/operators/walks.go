package operators

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
)

// Walks are what the walks of engine/blame from the symptoms of several steps
// come down to.
type Walks struct {
	Steps       []int64   // indices of the steps that were walked, ascending
	Symptoms    int       // late operators that walks began on, in all of them
	Unexplained int       // those whose walk leads nowhere
	Contradict  []int64   // indices of steps whose times contradict the schedule, so that they could not be walked
	Culprits    []Culprit // by descending number of symptoms
}

// CrossRank reports whether a culprit is an edge between two ranks.
func (c *Culprit) CrossRank() bool { return c.Pred != "" && c.PredWorker != c.Worker }

// Culprit is where walks ended: operators of one name on one worker, or the
// edges to them from operators of one name on one worker. A worker that is
// slow is long in another operator of the same name in every step.
type Culprit struct {
	Kind       blame.Kind
	Worker     int
	Op         string         // name of the operators, or of the later ones of the edges
	Seqs       []int          // their ordinals in the step, ascending
	Pred       string         // their name; "" for LongOp and Source
	PredWorker int            // −1 without one
	Edge       blame.EdgeKind // why the one waits for the other
	Symptoms   int            // symptoms that lead here, in all steps; each counts once
	Steps      []int64        // indices of the steps with such a symptom
	Delay      int64          // over these steps and operators: of an op by how much they were longer than their peers', of a source by how much they started later, of an edge from the end of the one to the start of the other; else 0
	Victims    []int          // workers other than this one that walks began on, ascending
	PathStep   int64          // index of the step of path
	Path       []Stop         // one walk, the longest, from symptom to culprit
}

// culpritKey tells culprits apart.
type culpritKey struct {
	kind         blame.Kind
	worker, pred int
	op, predOp   string
	edge         blame.EdgeKind
}

// Walk lets engine/blame walk back from the symptoms of the given steps,
// which are positions in View.Steps, ascending. It fails on options.
func (f *Flags) Walk(steps []int, o blame.Options) (*Walks, error) {
	w := &Walks{}
	found := make(map[culpritKey]*tally)
	for _, step := range steps {
		g, symptoms := f.graph(step)
		r, err := blame.Analyze(g, symptoms, o)
		if errors.Is(err, blame.ErrCycle) {
			// What followed what on a rank is a hint. With coarse times, or sends
			// that return before their data are taken, it may contradict the
			// schedule, which then rules alone.
			g, symptoms = f.schedule(step)
			r, err = blame.Analyze(g, symptoms, o)
		}
		if errors.Is(err, blame.ErrCycle) || errors.Is(err, blame.ErrTime) {
			w.Contradict = append(w.Contradict, f.v.Steps()[step])
			continue
		}
		if err != nil {
			return nil, err
		}
		w.Steps = append(w.Steps, f.v.Steps()[step])
		w.Symptoms += len(symptoms)
		w.Unexplained += len(r.Unexplained)
		for _, c := range r.Causes {
			f.count(found, step, c)
		}
	}
	for _, c := range found {
		slices.Sort(c.Seqs)
		slices.Sort(c.Victims)
		c.Seqs = slices.Compact(c.Seqs)
		w.Culprits = append(w.Culprits, c.Culprit)
	}
	slices.SortFunc(w.Culprits, func(a, b Culprit) int {
		return cmp.Or(cmp.Compare(b.Symptoms, a.Symptoms), cmp.Compare(b.Delay, a.Delay), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Op, b.Op), cmp.Compare(a.PredWorker, b.PredWorker), cmp.Compare(a.Pred, b.Pred), cmp.Compare(a.Edge, b.Edge))
	})
	return w, nil
}

// tally is a culprit and which symptoms of its last step lead there: one symptom
// may lead to several operators of a name, and counts once.
type tally struct {
	Culprit
	counted map[int64]bool
}

// count adds a cause of one step.
func (f *Flags) count(found map[culpritKey]*tally, step int, cause blame.Cause) {
	v := f.v
	op, worker := v.operation(cause.Op)
	k := culpritKey{kind: cause.Kind, worker: worker, pred: -1, op: op.Name}
	if cause.Kind != blame.LongOp && cause.Kind != blame.Source {
		pred, of := v.operation(cause.Pred)
		k.pred, k.predOp, k.edge = of, pred.Name, cause.Edge
	}
	c := found[k]
	if c == nil {
		c = &tally{Culprit{Kind: k.kind, Worker: worker, Op: op.Name, Pred: k.predOp, PredWorker: k.pred, Edge: k.edge}, make(map[int64]bool)}
		found[k] = c
	}
	index := v.Steps()[step]
	c.Seqs = append(c.Seqs, op.Seq)
	if n := len(c.Steps); n == 0 || c.Steps[n-1] != index {
		c.Steps = append(c.Steps, index)
		clear(c.counted)
	}
	at := op.Instance*v.Grid.Lanes() + step*v.Grid.Replicas + v.Replica(worker)
	switch cause.Kind {
	case blame.LongOp:
		c.Delay += f.excess[at]
	case blame.Source:
		c.Delay += f.lateness[at]
	case blame.Gap:
		c.Delay += cause.Delay
	}
	for _, s := range cause.Symptoms {
		if !c.counted[s] {
			c.counted[s] = true
			c.Symptoms++
		}
		if _, victim := v.operation(s); victim != worker && !slices.Contains(c.Victims, victim) {
			c.Victims = append(c.Victims, victim)
		}
	}
	if len(cause.Path) > len(c.Path) {
		c.Path, c.PathStep = v.stops(step, cause.Path), index
	}
}

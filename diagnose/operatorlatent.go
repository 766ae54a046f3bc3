package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/latent"
	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/internal/robust"
)

// piece is a kind of what workers do by themselves in a step: operators that wait for nobody, or how late operators start
// after all that they wait for. Of several kinds that are short together it has no name.
type piece struct {
	op     string
	late   bool
	work   []int   // nodes whose work it has
	starts []int   // nodes whose late starts it has
	own    []int64 // [step · workers + worker], ns
}

// workerPieces returns what workers do by themselves in each step, waits taken out. Workers are by pipeline stage, then by
// replica. Where the transfers between stages were not recorded, how late operators start is not known.
func (j *opJudge) workerPieces() []piece {
	type kind struct {
		op   string
		late bool
	}
	var kinds ordered.List[kind, piece]
	add := func(n int, values []int64, late bool) {
		node := j.v.Model.Nodes()[n]
		p, first := kinds.Of(kind{node.Op, late})
		if first {
			p.op, p.late, p.own = node.Op, late, make([]int64, len(j.Steps)*len(j.Workers))
		}
		if late {
			p.starts = append(p.starts, n)
		} else {
			p.work = append(p.work, n)
		}
		for l, x := range j.row(values, n) {
			p.own[l/j.Replicas*len(j.Workers)+node.Stage*j.Replicas+l%j.Replicas] += max(0, x)
		}
	}
	starts := j.startDelays()
	for n := range j.v.Model.Nodes() {
		if j.local(n) {
			add(n, j.recorded, false)
		}
		if !j.class[n].IsTransfer() && !j.lacksTransfers() {
			add(n, starts, true)
		}
	}
	return kinds.All
}

// shortTogether returns pieces with those that never take as much as a margin put together: by themselves they show no
// difference beyond it.
func shortTogether(pieces []piece, margin int64) (out []piece) {
	var short []piece
	for _, p := range pieces {
		if slices.Max(p.own) < margin {
			short = append(short, p)
		} else {
			out = append(out, p)
		}
	}
	if len(short) < 2 {
		return append(out, short...)
	}
	rest := piece{own: make([]int64, len(short[0].own))}
	for _, p := range short {
		rest.work, rest.starts = append(rest.work, p.work...), append(rest.starts, p.starts...)
		for i, x := range p.own {
			rest.own[i] += x
		}
	}
	return append(out, rest)
}

// differ holds what workers do by themselves against the replicas of their pipeline stage, by distributions beyond a margin
// (K-S), and as waits the walks of blame from late operators back over the dependencies of a step. nil: there are no
// replicas.
func (j *opJudge) differ() *answer.Latent {
	w := latent.Work{Ranks: len(j.Workers), Step: robust.MedianTime(slices.Clone(j.Replay.Recorded.PerStep)), Resolution: j.v.Trace.Resolution}
	if j.Replicas < 2 || w.Step <= 0 {
		return nil
	}
	pieces := shortTogether(j.workerPieces(), w.Margin())
	for k, p := range pieces {
		w.Pieces, w.Own = append(w.Pieces, latent.Piece{Stage: k}), append(w.Own, p.own)
	}
	for worker := range j.Workers {
		w.Peers = append(w.Peers, j.v.Stage(worker))
	}
	r, err := latent.Test(&w, latent.Options{Screen: true})
	if err != nil { // times that no test takes
		return nil
	}
	out := latentOf(r)
	out.Walked = true
	for _, c := range r.Claims() {
		out.Differences = append(out.Differences, j.workerDiffers(r, c, pieces))
	}
	slices.SortStableFunc(out.Differences, func(a, b answer.Difference) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out
}

// workerDiffers returns a claim about a worker as an answer: confirmed where a third of the walks end there.
func (j *opJudge) workerDiffers(r *latent.Result, c claim.Claim, pieces []piece) answer.Difference {
	worker := c.Rank()
	walks := j.walksTo(worker, &c, pieces)
	if isThird(walks, j.Walks.Symptoms) {
		c = r.Confirm(c)
	}
	out, rank := differenceOf(&c), j.Workers[worker]
	out.Rank, out.StandsFor, out.Role, out.Host = rank.ID, j.StandsFor(rank.ID), rank.Role.String(), rank.Host
	out.Walks, out.Symptoms, out.Saves = walks, j.Walks.Symptoms, j.savedByLevels(worker, r, pieces)
	if j.Replicas == 2 {
		out.Peer = &j.Workers[worker^1].ID // both of a stage lie side by side
	}
	for _, p := range c.Parts {
		if !out.Sum || p.Size > 0 {
			out.Stages = append(out.Stages, answer.Excess{Stage: pieces[p.Stage].op, Late: pieces[p.Stage].late, Time: p.Size})
		}
	}
	return out
}

// walksTo returns how many walks end at what a worker does longer: in its long operators, or behind operators that were on
// time where its own start late.
func (j *opJudge) walksTo(worker int, c *claim.Claim, pieces []piece) (n int) {
	ends := func(x *operators.Culprit) bool {
		return x.Worker == worker && slices.ContainsFunc(c.Parts, func(part claim.Part) bool {
			p := &pieces[part.Stage]
			switch {
			case x.Kind == blame.LongOp:
				return len(p.work) > 0
			case x.Kind == blame.Gap || x.Kind == blame.Source:
				return p.late && p.op == x.Op
			}
			return false
		})
	}
	for i := range j.Walks.Culprits {
		if x := &j.Walks.Culprits[i]; ends(x) {
			n += x.Symptoms
		}
	}
	return min(n, j.Walks.Symptoms) // a symptom may lead to several
}

// savedByLevels returns the part of a step that a replay saves in which a worker takes its level less in each kind of its work.
func (j *opJudge) savedByLevels(worker int, r *latent.Result, pieces []piece) float64 {
	t := j.v.Model.RecordedTimeline()
	less := func(values []int64, nodes []int, part float64) {
		for _, n := range nodes {
			if j.v.Model.Nodes()[n].Stage != j.v.Stage(worker) {
				continue
			}
			row := j.row(values, n)
			for l := j.v.Replica(worker); l < len(row); l += j.Replicas {
				row[l] -= int64(part * float64(max(0, row[l])))
			}
		}
	}
	for k, c := range r.Columns {
		if c.Sum() {
			continue
		}
		p, total := &pieces[c.Stage], int64(0)
		for at := worker; at < len(p.own); at += len(j.Workers) {
			total += p.own[at]
		}
		if level := r.Score(worker, k).Level; level > 0 && total > 0 {
			by := min(1, level*float64(len(j.Steps))/float64(total))
			less(t.Cost, p.work, by)
			less(t.Delay, p.starts, by)
		}
	}
	now, then := j.Replay.Recorded.Mean, j.replay(t).Mean
	return max(0, now-then) / now
}

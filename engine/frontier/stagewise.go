package frontier

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Without wall time and without a stage in which the ranks are known to synchronise,
// nothing tells when a rank arrived anywhere: what a rank has recorded of a step
// says how much of it was not recorded, and not how late it was. What a stage
// took is known all the same, and one rank whose stage is long beside its peers'
// step after step is long there, whoever waits for it.
//
// Two readings fit a rank that is long in one stage and as much shorter in
// another: it works longer in the first and is waited for in the second, or it
// comes early and waits in the first. They are told apart only where one of the
// two reduces gradients by its name, and else nobody is charged.

// standing is the part of the steps in which a rank must be long, and by half of
// what it usually is: what is not recorded returns as noise where ranks wait, and
// makes any rank long now and then.
const standing = 0.8

// stagewise charges the ranks that exceed their peers in a stage by more than the
// tolerance, in nanoseconds, in nearly every step: by what they exceed them, in the
// groups of the step cut.
// O(T·S·R).
func (a *accounting) stagewise(tolerance int64) (late *ledger, groups []string) {
	v := newView(a.matrix, CutStep, 0)
	l := newLedger(v.w.Ranks, len(v.groups))
	excess := make([][][]int64, len(v.groups)) // [group][step][rank]
	for g := range excess {
		excess[g] = a.excess(v, g, 0, v.steps)
		for _, over := range excess[g] {
			l.shareOut(g, lateIn(over, tolerance))
		}
	}
	// Only now: the test needs to know how often a rank is long by chance.
	typical := typicalExcess(excess, v.ranks())
	for at, c := range l.cells {
		long, least := 0, max(tolerance, typical[at.group][at.rank]/2)
		for _, over := range excess[at.group] {
			if over[at.rank] > least {
				long++
			}
		}
		if float64(long) < standing*float64(v.steps) || waitsInstead(v.groups, typical, at.group, at.rank) {
			*c = charge{}
			continue
		}
		l.groups[at.group].saved += c.explained
		l.saved = max(l.saved, l.groups[at.group].saved)
	}
	return &l, v.groups
}

// lateIn are the ranks that exceed their peers by more than the tolerance, least first.
func lateIn(over []int64, tolerance int64) (late []lateRank) {
	for r, e := range over {
		if e > tolerance {
			late = append(late, lateRank{rank: r, height: e})
		}
	}
	share(late)
	return late
}

// shareOut charges a group of rows of one step to the ranks that are late in it.
func (l *ledger) shareOut(group int, late []lateRank) {
	l.groups[group].count(len(late), len(l.ranks))
	for k, of := range late {
		alone := int64(0) // the last of several is no later than the others by more
		if k == len(late)-1 {
			alone = of.height
			if k > 0 {
				alone -= late[k-1].height
			}
		}
		l.add(cell{group, of.rank}, of.height, of.part, float64(alone), true)
	}
}

// typicalExcess is the median over steps, [group][rank].
func typicalExcess(excess [][][]int64, ranks int) [][]int64 {
	out := make([][]int64, len(excess))
	for g, steps := range excess {
		out[g] = make([]int64, ranks)
		over := make([]int64, len(steps))
		for r := range ranks {
			for t := range steps {
				over[t] = steps[t][r]
			}
			out[g][r] = robust.MedianTime(over)
		}
	}
	return out
}

// waitsInstead reports whether what a rank exceeds its peers by in a group may
// be its wait for them.
func waitsInstead(groups []string, typical [][]int64, g, r int) bool {
	if reducesGradients(groups[g]) || waiting(groups[g]) {
		return true
	}
	for other, name := range groups {
		if other != g && !reducesGradients(name) && 2*typical[other][r] < -typical[g][r] {
			return true
		}
	}
	return false
}

// reducesGradients reports whether a stage is by its name the one in which
// gradients are reduced over the replicas, and ranks wait for each other:
// "model.backward_cpu_wall", "backward", "bwd_ms". What is only a part of it by
// its name ("backward-compute", "wait.backward") is not. A whole step contains it.
func reducesGradients(stage string) bool {
	base, _ := stagename.Split(stage)
	if base == stagename.Whole || base == stagename.Remainder {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool { return r < 'a' || r > 'z' })
	besides := []string{"model", "strategy", "loss", "pass", "step", "time", "cpu", "wall", "device", "ms", "us", "ns"}
	named := false
	for _, w := range words {
		if w == "backward" || w == "bwd" {
			named = true
		} else if !slices.Contains(besides, w) {
			return false
		}
	}
	return named
}

// excess is by how much every rank exceeds the median of its peers in a group of
// rows, in some steps, [step][rank].
func (a *accounting) excess(v *view, group, from, to int) [][]int64 {
	var b *blame // only ranks of several sets of peers have not the middles of all
	if slices.Max(a.roles.peerOf) > 0 {
		b = newBlame(v, a.roles.peerOf, 0)
	}
	R := v.ranks()
	all, out := make([]int64, (to-from)*R), make([][]int64, to-from)
	for k := range out {
		t := from + k
		out[k] = all[k*R : (k+1)*R]
		for i := range v.order {
			if v.group[i] != group {
				continue
			}
			row, middle := v.row(t, i), v.middle(t, i)
			for r, d := range row {
				if b != nil {
					middle = b.among(r, row)
				}
				out[k][r] += d - middle.Without(d)
			}
		}
	}
	return out
}

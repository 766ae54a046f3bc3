package findings

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/gates"
)

// setLatent fills in the rank that differs by less than a delay is found by. Of two ranks nobody can tell which one it is, and what a
// finding says is one already: neither is a difference here.
func (r *Row) setLatent(l *answer.Latent) {
	if l == nil || l.Refused != "" {
		return
	}
	p := 1.0
	for _, d := range l.Differences {
		if !d.IsReported() || d.Peer != nil || d.P >= p {
			continue
		}
		p = d.P
		rank, level, stage := int64(d.Rank), d.Total, ""
		if !d.Sum && len(d.Stages) > 0 {
			stage, level = d.Stages[0].Stage, d.Stages[0].Time
		}
		r.LatentRank, r.Latent, r.LatentStage, r.LatentHost = &rank, &level, &stage, nil
		if d.Host != "" {
			r.LatentHost = &d.Host
		}
	}
	r.LatentP = &p
}

// DiscoveryRate is the part of the latent differences that a batch lists that are chance, at most on average.
const DiscoveryRate = gates.Supported

// Latent is a rank of a run that differs by less than a delay is found by.
type Latent struct {
	Run   *Run
	Rank  int64
	Host  string // "": not known
	Stage string // "": several
	Level int64  // own work beyond the peers', ns a step
	P     float64
	// Q is the least part of chance among the differences at which it is one of them (Benjamini and Hochberg 1995, J. R.
	// Stat. Soc. B 57:289–300): p₍ₖ₎·m/k, the least of those from its place k on, over the m runs that were tested.
	Q float64
}

// Passes reports whether it is one of the differences that are listed.
func (l *Latent) Passes() bool { return l.Q <= DiscoveryRate }

// latentOf is what the parts of a run show.
type latentOf struct {
	parts  int  // that were tested
	surest *Row // nil: nobody differs
}

// add takes a row.
func (l *latentOf) add(row *Row) {
	if row.LatentP == nil {
		return
	}
	l.parts++
	if row.LatentRank != nil && (l.surest == nil || *row.LatentP < *l.surest.LatentP) {
		kept := *row
		l.surest = &kept
	}
}

// chance returns p of the run: of several parts that are tested, as many times that of the surest.
func (l *latentOf) chance() float64 { return min(1, float64(l.parts)**l.surest.LatentP) }

// Latent returns the ranks that differ by less than a delay is found by, the surest first, corrected for all runs that were
// tested, and how many these are.
func (s *Summary) Latent() (out []Latent, tested int) {
	for _, r := range s.order {
		if r.latent.parts == 0 {
			continue
		}
		tested++
		row := r.latent.surest
		if row == nil || row.Latent == nil {
			continue
		}
		out = append(out, Latent{Run: r, Rank: *row.LatentRank, Host: textOrEmpty(row.LatentHost), Stage: textOrEmpty(row.LatentStage), Level: *row.Latent, P: r.latent.chance()})
	}
	slices.SortStableFunc(out, func(a, b Latent) int { return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Level, a.Level)) })
	least := 1.0
	for k := len(out) - 1; k >= 0; k-- {
		least = min(least, out[k].P*float64(tested)/float64(k+1))
		out[k].Q = least
	}
	return out, tested
}

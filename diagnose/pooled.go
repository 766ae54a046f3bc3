package diagnose

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// pool raises a rank that is late too seldom in each window, but always the
// same one over the windows of a run. Of n steps in which any rank was late
// because of the stage, it was the late one in k; were all R ranks alike, k would
// be binomial with 1/R. P is corrected for all ranks and stages (Bonferroni).
func (j *judge) pool() {
	for _, f := range j.found {
		if f.cause != causeLate || f.Kind != KindRank || f.Stage == "" || f.Confidence != Ambiguous || len(f.Windows) < 2 {
			continue
		}
		own, all, ranks, stages := j.lateSteps(*f.Rank, f.Stage)
		if own == 0 || ranks < 2 {
			continue
		}
		p := min(1, float64(ranks*stages)*distuv.Binomial{N: float64(all), P: 1 / float64(ranks)}.Survival(float64(own-1)))
		if p > weakLevel {
			continue
		}
		f.Confidence = Supported
		f.Evidence = append(slices.Clone(f.Evidence), Said(fmt.Sprintf(
			"over %d windows: of %d steps in which any rank was late because of %s it was the late one in %d; chance that ranks which are all alike do this: %s",
			len(j.windows), all, f.Stage, own, probability(p))))
	}
}

// lateSteps are the steps of all windows in which a rank was late because of a
// stage, and those in which any rank was; and the most ranks and stages that a
// window has.
func (j *judge) lateSteps(rank int, stage string) (own, all, ranks, stages int) {
	for _, w := range j.windows {
		m := w.Main
		ranks, stages = max(ranks, len(m.Ranks)), max(stages, len(m.Stages))
		for _, c := range m.Culprits {
			if m.Stages[c.Stage].Name != stage {
				continue
			}
			all += c.Steps
			if c.Rank == rank {
				own += c.Steps
			}
		}
	}
	return own, all, ranks, stages
}

package detectability

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
)

// search looks for the thresholds of windows of one length. What was tried is
// kept, since all answers of a stage are read from the same windows.
type search struct {
	job      *job
	o        Options
	account  *Account
	steps    int
	draws    []draw
	healthy  *frontier.Result // of the first replicate without a delay, for guesses
	tried    map[key]*Tried
	progress func(part float64)
}

// key is one trial: a stage and a delay.
type key struct {
	stage int
	ns    int64
}

func (s *search) window() (Window, error) {
	w := Window{Steps: s.steps}
	for n := range s.o.Replicates {
		s.draws = append(s.draws, s.job.draw(s.o.Seed, n, s.steps, s.account.Block))
	}
	if err := s.withoutDelay(&w); err != nil {
		return w, err
	}
	for stage := range s.job.stages {
		found, err := s.stage(stage)
		if err != nil {
			return w, err
		}
		w.Stages = append(w.Stages, found)
		if s.progress != nil {
			s.progress(float64(stage+1) / float64(len(s.job.stages)))
		}
	}
	return w, nil
}

// withoutDelay tries no delay, which is the same for every stage.
func (s *search) withoutDelay(w *Window) error {
	replies, err := s.replies(0, 0)
	if err != nil {
		return err
	}
	w.FalseCalls = rateOf(replies, func(r *reply) bool { return len(r.called) > 0 })
	for stage := range s.job.stages {
		s.tried[key{stage, 0}] = s.tally(replies, stage, 0)
	}
	a, err := frontier.Analyze(s.job.window(s.draws[0], 0, 0), s.o.Frontier)
	if err == nil {
		s.healthy = a.Main
	}
	return err
}

func (s *search) stage(stage int) (Stage, error) {
	out := Stage{Name: s.job.stages[stage]}
	for i, r := range s.job.rows {
		if r.stage == stage {
			out.Syncs = out.Syncs || r.syncs
			out.AfterSync = i > s.job.at
		}
	}
	for a := range answerCount {
		t, err := s.threshold(stage, a)
		if err != nil {
			return out, err
		}
		out.Thresholds[a] = t
	}
	if ns := s.account.Asked; ns > 0 {
		asked, err := s.try(stage, ns)
		if err != nil {
			return out, err
		}
		out.Asked = asked
	}
	out.Astray = s.astray(stage)
	return out, nil
}

// astray is the trial of a stage with the most wrong calls, the smallest delay
// of those.
func (s *search) astray(stage int) *Tried {
	var worst *Tried
	for k, t := range s.tried {
		if k.stage != stage || k.ns == 0 {
			continue
		}
		if worst == nil || t.Wrong.K > worst.Wrong.K || t.Wrong.K == worst.Wrong.K && t.Delay < worst.Delay {
			worst = t
		}
	}
	return worst
}

// threshold bisects the delay from which on an answer is right with the power.
// A larger delay is taken to be found no less; the smallest delay is where that
// matters, and the rate there is told.
func (s *search) threshold(stage int, a Answer) (Threshold, error) {
	t := Threshold{Guess: s.guess(stage, a)}
	none, most := s.tried[key{stage, 0}], s.account.Most
	if s.enough(none, a) {
		t.State, t.Rate = Already, none.Rates[a]
		return t, nil
	}
	low, high := int64(0), most
	top, err := s.try(stage, most)
	if err != nil {
		return t, err
	}
	if !s.enough(top, a) {
		t.State, t.Delay, t.Below, t.Rate = Beyond, most, most, top.Rates[a]
		return t, nil
	}
	narrow := func(ns int64) error {
		trial, err := s.try(stage, ns)
		switch {
		case err != nil:
			return err
		case s.enough(trial, a):
			high = ns
		default:
			low = ns
		}
		return nil
	}
	for _, ns := range s.near(t.Guess) {
		if ns <= low || ns >= high {
			continue
		}
		if err := narrow(ns); err != nil {
			return t, err
		}
	}
	for high-low > s.resolution(high) {
		if err := narrow(low + (high-low)/2); err != nil {
			return t, err
		}
	}
	t.Delay, t.Below, t.Rate = high, low, s.tried[key{stage, high}].Rates[a]
	return t, nil
}

// resolution is how closely a threshold is found: 1 % of it, or 0.1 % of the
// step where that is more.
func (s *search) resolution(high int64) int64 {
	return max(1, int64(0.01*float64(high)), int64(0.001*float64(s.account.StepTime)))
}

// near are the delays about a guess with which a search begins.
func (s *search) near(guess int64) []int64 {
	if guess < 0 {
		return nil
	}
	return []int64{int64(1.1 * float64(guess)), int64(0.9 * float64(guess))}
}

func (s *search) enough(t *Tried, a Answer) bool {
	return float64(t.Rates[a].K) >= s.o.Power*float64(t.Rates[a].N)
}

// guess is the delay at which the answer turns if a delay adds to the advance
// of its stage and to nothing else: the stage passes the first or second of the
// others; or what is charged to the rank, δ of F + δ, passes the gate.
func (s *search) guess(stage int, a Answer) int64 {
	h := s.healthy
	per := func(ns int64) float64 { return float64(ns) / float64(max(1, h.Steps)) }
	own := 0.0
	var others []float64
	for _, st := range h.Stages {
		if st.Name == s.job.stages[stage] {
			own = per(st.Advance)
		} else {
			others = append(others, per(st.Advance))
		}
	}
	slices.SortFunc(others, func(a, b float64) int { return cmp.Compare(b, a) })
	beyond := func(n int) int64 {
		if n >= len(others) {
			return -1
		}
		return int64(max(0, others[n]-own))
	}
	switch a {
	case RoutedFirst, PaperFirst:
		return beyond(0)
	case RoutedSecond, PaperSecond:
		return beyond(1)
	}
	g := s.o.Frontier.Gates.OrDefault().StaticGain
	if g >= 1 {
		return -1
	}
	return int64(math.Min(per(h.Makespan)*g/(1-g), float64(s.account.Most)))
}

// try answers all replicates with a delay.
func (s *search) try(stage int, ns int64) (*Tried, error) {
	k := key{stage, ns}
	if t := s.tried[k]; t != nil {
		return t, nil
	}
	replies, err := s.replies(stage, ns)
	if err != nil {
		return nil, err
	}
	s.tried[k] = s.tally(replies, stage, ns)
	return s.tried[k], nil
}

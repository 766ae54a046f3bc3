package detectability

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/ranking"
	"github.com/sfstat/sfstat/internal/parallel"
	"github.com/sfstat/sfstat/trace"
)

// reply is what is said about one window.
type reply struct {
	rank        int                // ID of the rank that is delayed
	main, paper []string           // stages by descending share, by the automatic cut and the paper's; nil where shares are withheld
	first       *diagnose.Finding  // nil: nobody is suspected
	called      []diagnose.Finding // those that may be acted on
}

// replies asks about all replicates with a delay, on as many threads as there
// are processors.
func (s *search) replies(stage int, ns int64) ([]reply, error) {
	return parallel.Map(s.o.Replicates, func(n int) (reply, error) { return s.ask(s.draws[n], stage, ns) })
}

func (s *search) ask(d draw, stage int, ns int64) (reply, error) {
	return s.read(s.job.window(d, stage, ns), s.job.like.Ranks[d.rank].ID)
}

// read asks the verdict about a window in which a rank is delayed.
func (s *search) read(w *trace.Window, rank int) (reply, error) {
	session := diagnose.New(diagnose.Options{Frontier: s.o.Frontier, Engines: diagnose.FrontierAlone})
	if err := session.Add(w); err != nil {
		return reply{}, err
	}
	return replyOf(session.Verdict(), rank), nil
}

func replyOf(v *diagnose.Verdict, rank int) reply {
	w := v.Windows[0]
	r := reply{rank: rank, main: byShare(w.Main)}
	if r.paper = r.main; w.Paper != nil {
		r.paper = byShare(w.Paper)
	}
	if len(v.Findings) > 0 {
		r.first = &v.Findings[0]
	}
	for _, x := range v.Findings {
		if callable(x) {
			r.called = append(r.called, x)
		}
	}
	return r
}

// byShare is the stages by descending share; nil below the floor.
func byShare(r *frontier.Result) []string {
	shares := make([]float64, len(r.Stages))
	for i, st := range r.Stages {
		if st.Share == nil {
			return nil
		}
		shares[i] = *st.Share
	}
	var names []string
	for _, i := range ranking.Of(shares) {
		names = append(names, r.Stages[i].Name)
	}
	return names
}

// right reports whether the reply is the right answer to a delay in a stage.
func (r *reply) right(a Answer, stage string) bool {
	switch a {
	case RoutedFirst:
		return among(r.main, 1, stage)
	case RoutedSecond:
		return among(r.main, 2, stage)
	case PaperFirst:
		return among(r.paper, 1, stage)
	case PaperSecond:
		return among(r.paper, 2, stage)
	}
	return r.first != nil && callable(*r.first) && r.first.Stage == stage && r.first.Rank != nil && *r.first.Rank == r.rank
}

// among reports whether the stage is one of the first n.
func among(ranking []string, n int, stage string) bool {
	return slices.Contains(ranking[:min(n, len(ranking))], stage)
}

// wrong reports whether something is called that is not delayed. A rank that
// is delayed may be called without a stage, or with another: that is not right,
// but sends nobody to an innocent rank.
func (r *reply) wrong(stage string) bool {
	return slices.ContainsFunc(r.called, func(x diagnose.Finding) bool {
		if x.Rank != nil {
			return *x.Rank != r.rank
		}
		return x.Stage != stage
	})
}

// tally counts the replies to a delay.
func (s *search) tally(replies []reply, stage int, ns int64) *Tried {
	name := s.job.stages[stage]
	t := &Tried{Delay: ns, Wrong: rateOf(replies, func(r *reply) bool { return r.wrong(name) })}
	for a := range answerCount {
		t.Rates[a] = rateOf(replies, func(r *reply) bool { return r.right(a, name) })
	}
	return t
}

// rateOf counts the replies for which something holds.
func rateOf(replies []reply, holds func(*reply) bool) bootstrap.Rate {
	k := 0
	for i := range replies {
		if holds(&replies[i]) {
			k++
		}
	}
	// There is a reply, and no more hold than there are: no error.
	rate, _ := bootstrap.Binomial(k, len(replies), confidence)
	return rate
}

package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/traffic"
)

// AddTraffic adds what calls and kernels of NCCL say of a run. A run without windows is judged by that alone.
func (s *Session) AddTraffic(run string, t *traffic.Result) { s.runOf(run).traffic = t }

// heard joins the verdict of the windows with that of the traffic. Windows see who is late and where time goes, and not
// why; of communication the traffic knows more:
//
//   - a rank that both call is one suspect, with the evidence of both;
//   - where a link or communicator is slow, ranks that are late in the windows but not of their own, and stages of waiting or
//     communicating, are what comes of it and not called.
func (j *judge) heard(v *RunVerdict) {
	c := Communication(j.traffic, j.gates)
	if len(j.windows) == 0 {
		c.Run = v.Run
		*v = c
		return
	}
	late, slow := split(c.Suspects)
	for i := range v.Suspects {
		s := &v.Suspects[i]
		switch at := sameRank(late, s); {
		case at >= 0:
			s.agree(&late[at])
			late = slices.Delete(late, at, at+1)
		case len(slow) > 0 && j.victim(s):
			s.Confidence = min(s.Confidence, Insufficient)
			s.Evidence = append(s.Evidence, Said("not called: it comes of what the calls and kernels of NCCL show: "+lower(slow[0].Sentence)))
		case len(c.Suspects) == 0 && heldAgainst(j.traffic) && s.Kind == KindStage:
			s.Evidence = append(s.Evidence, Said("calls and kernels of NCCL: no rank comes late of itself again and again, and no link or communicator is surely slower than those that do the same"))
		}
	}
	lead := Finding{}
	if len(v.Suspects) > 0 {
		lead = v.Suspects[0]
	}
	v.Suspects = append(v.Suspects, slices.Concat(slow, late, uncalled(c.Suspects))...)
	slices.SortStableFunc(v.Suspects, bySurety)
	j.speak(v, &c, &lead)
}

// speak takes the headline from what is first now.
func (j *judge) speak(v, c *RunVerdict, lead *Finding) {
	if len(v.Suspects) == 0 {
		return
	}
	v.Confidence = v.Suspects[0].Confidence
	if v.Suspects[0].Sentence == "" {
		v.Undecidable = append(v.Undecidable, c.Undecidable...)
		return
	}
	v.Headline = v.Suspects[0].Sentence + alsoSuspected(v.Suspects)
	if v.Suspects[0].Rank == nil || v.Suspects[0].Stage == "" {
		v.CapturePlan = c.CapturePlan
	}
	if lead.Rank == nil && j.victim(lead) {
		v.Headline += fmt.Sprintf(" The group loses it in %s.", lead.Stage)
	}
	v.Undecidable = slices.DeleteFunc(v.Undecidable, func(text string) bool { return strings.HasPrefix(text, undecidedRank) })
	v.Undecidable = append(v.Undecidable, c.Undecidable...)
}

// agree adds to a rank that the windows suspect that the traffic does too. What was too small to call for the windows, which see
// what a meeting shows, may be called for all the collectives.
func (s *Finding) agree(late *Finding) {
	s.Evidence = append(s.Evidence, Said("calls and kernels of NCCL agree: "+lower(late.Sentence)))
	s.Ranks = late.Ranks
	if s.Confidence < Supported {
		s.Confidence, s.Sentence = Supported, late.Sentence
		s.Explained, s.Score = max(s.Explained, late.Explained), max(s.Score, late.Score)
	}
}

// heldAgainst says whether anything was held against its peers.
func heldAgainst(t *traffic.Result) bool {
	return t.Speed.Result != nil && t.Speed.Compared > 0
}

// split is the suspects of the traffic that are called: ranks, and links or communicators.
func split(all []Finding) (late, slow []Finding) {
	for _, s := range all {
		switch {
		case s.Confidence < Supported:
		case s.Kind == KindRank:
			late = append(late, s)
		default:
			slow = append(slow, s)
		}
	}
	return late, slow
}

func uncalled(all []Finding) (list []Finding) {
	for _, s := range all {
		if s.Confidence < Supported {
			list = append(list, s)
		}
	}
	return list
}

func sameRank(late []Finding, s *Finding) int {
	if s.Rank == nil {
		return -1
	}
	return slices.IndexFunc(late, func(l Finding) bool { return *l.Rank == *s.Rank })
}

// transferStem begins the stages that profiler traces have of communication with all ranks there.
const transferStem = "comm."

// victim says whether a suspect of the windows is what a slow link makes of it: a stage of waiting or communicating, or
// a rank that is not late of its own.
func (j *judge) victim(s *Finding) bool {
	if s.Rank != nil {
		return !j.ownLate(*s.Rank)
	}
	return (s.Kind == KindStage || s.Kind == KindWorkload) && (strings.HasPrefix(s.Stage, trace.WaitStageStem) || strings.HasPrefix(s.Stage, transferStem))
}

// ownLate says whether the rank comes later of its own than the median rank by what is worth a word.
func (j *judge) ownLate(rank int) bool {
	late, shares := j.traffic.Latecomers()
	for i, l := range late {
		if j.traffic.Ranks[l.Rank].Rank == rank && shares[i] >= enoughShare {
			return true
		}
	}
	return false
}

// lower begins a sentence in the middle of another.
func lower(s string) string {
	if strings.HasPrefix(s, "The ") {
		return "t" + s[1:]
	}
	if strings.HasPrefix(s, "Rank ") {
		return "r" + s[1:]
	}
	return s
}

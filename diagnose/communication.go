package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/traffic"
)

// enoughShare is the part of the recording below which a slow link or a late rank is not called.
const enoughShare = 0.01

// Communication judges what calls and kernels of NCCL say: which rank comes late, which link or communicator is slow.
func Communication(r *traffic.Result, g frontier.Gates) RunVerdict {
	v := RunVerdict{}
	found := r.Suspects()
	said := make([]Finding, len(found))
	order := make([]int, len(found))
	for i := range found {
		said[i], order[i] = spoken{r, found[i], g}.suspect(), i
	}
	slices.SortStableFunc(order, func(i, k int) int { return bySurety(said[i], said[k]) })
	for _, i := range order {
		v.Suspects = append(v.Suspects, said[i])
	}
	if len(order) > 0 {
		v.Confidence, v.Headline = v.Suspects[0].Confidence, v.Suspects[0].Sentence
		v.CapturePlan = communicationPlan(r, v.Suspects[0], found[order[0]].Partners)
		v.Headline += alsoSuspected(v.Suspects)
	}
	if len(order) == 0 {
		v.Headline = unsuspected(r)
	}
	v.Undecidable = undecidableTraffic(r)
	return v
}

// alsoSuspected names the suspects behind the first that may be named, "" where there are none.
func alsoSuspected(all []Finding) string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, s := range all {
		switch {
		case i == 0 || s.Confidence < Supported || all[0].Rank != nil && s.Rank != nil && *all[0].Rank == *s.Rank:
		case s.Kind == KindEdge && s.Rank != nil:
			add(fmt.Sprintf("the link of rank %d", *s.Rank))
		case s.Kind == KindEdge:
			add("the link of ranks " + trace.RankList(s.Ranks))
		case s.Kind == KindGroup:
			add("the communicator " + s.Group)
		case s.Rank != nil:
			add(fmt.Sprintf("rank %d", *s.Rank))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" Also suspected: %s.", strings.Join(names, ", "))
}

// bySurety orders suspects that may be named first, then by what they explain.
func bySurety(a, b Finding) int {
	return cmp.Or(cmp.Compare(min(b.Confidence, Supported), min(a.Confidence, Supported)), cmp.Compare(b.Explained, a.Explained))
}

// spoken is a suspect of the traffic, to be put into words.
type spoken struct {
	r *traffic.Result
	traffic.Suspect
	gates frontier.Gates
}

func (s spoken) suspect() Finding {
	out := Finding{Place: Place{Ranks: s.Ranks}, Cost: Cost{Explained: s.Cost, Score: s.Share, Gain: s.Share}}
	switch s.Fault {
	case traffic.LateRank:
		out.Kind, out.Rank = KindRank, &s.Ranks[0]
		out.Evidence = Saying(s.lateEvidence()...)
	case traffic.SlowLink:
		out.Kind, out.Op = KindEdge, s.work()
		if s.Scope == traffic.OneRank {
			out.Rank = &s.Ranks[0]
		}
		out.Evidence = Saying(s.slowEvidence()...)
	case traffic.SlowGroup:
		out.Kind, out.Op, out.Group = KindGroup, s.work(), s.group()
		out.Evidence = Saying(s.slowEvidence()...)
	}
	out.Confidence = s.confidence(&out.Evidence)
	out.Sentence = s.sentence(out.Confidence)
	return out
}

// group names a communicator by what it is for and its ranks.
func (s spoken) group() string {
	c := &s.r.Communicators[s.r.Speed.Subjects[s.Subjects[0]].Communicator]
	if c.Kind == traffic.UnknownKind {
		return trace.RankList(s.Ranks)
	}
	return c.Kind.String() + " " + trace.RankList(s.Ranks)
}

func (s spoken) cell() *bandwidth.Cell { return &s.r.Speed.Cells[s.Worst.Cell] }
func (s spoken) work() string          { return s.r.WorkOf(s.cell()) }
func (s spoken) limit() bandwidth.Limit {
	return s.r.Speed.Subjects[s.cell().Subject].Limit
}

// who names the culprit, as the beginning of a sentence.
func (s spoken) who() string {
	host := strings.Join(s.Hosts, ", ")
	switch s.Scope {
	case traffic.OneHost:
		return fmt.Sprintf("The network of %s is slow", host)
	case traffic.TwoHosts:
		return fmt.Sprintf("The network between %s is slow", strings.Join(s.Hosts, " and "))
	case traffic.OneRank:
		return fmt.Sprintf("The link of rank %d (%s) to all others is slow", s.Ranks[0], host)
	case traffic.OnePair:
		if len(s.Hosts) > 1 {
			return fmt.Sprintf("The link between ranks %d and %d (%s) is slow", s.Ranks[0], s.Ranks[1], strings.Join(s.Hosts, " and "))
		}
		return fmt.Sprintf("The link between ranks %d and %d (on %s) is slow", s.Ranks[0], s.Ranks[1], host)
	}
	c := &s.r.Communicators[s.r.Speed.Subjects[s.Subjects[0]].Communicator]
	kind := ""
	if c.Kind != traffic.UnknownKind {
		kind = c.Kind.String() + " "
	}
	if len(s.Hosts) > 4 {
		host = fmt.Sprintf("%d hosts", len(s.Hosts))
	}
	return fmt.Sprintf("The %scommunicator of ranks %s (%s) is slow", kind, trace.RankList(s.Ranks), host)
}

// sentence is the suspect in one sentence.
func (s spoken) sentence(c Confidence) string {
	if s.Fault == traffic.LateRank {
		l := s.Late
		return fmt.Sprintf("Rank %d (%s) makes the others wait: it comes last to %s of %s, usually by %s of its own, in all %s of the time.",
			s.Ranks[0], s.Hosts[0], percent(float64(l.Last)/float64(l.Met)), countedWord(l.Met, "collective"), ms(l.Usual), percent(s.Share))
	}
	cell := s.cell()
	text := s.who()
	if s.Smallest >= 0 {
		text += fmt.Sprintf(" for messages from %s on", binary(s.Smallest))
	}
	text += fmt.Sprintf(": %s of %s at %s, %s of what %s", s.work(), binary(cell.Class), gbps(cell.Bus), percent(cell.Bus/s.Worst.Bus), s.others())
	if l := s.limit(); l.Bandwidth > 0 {
		text += fmt.Sprintf(" and %s of its limit (%v %s)", percent(cell.Efficiency), l.Link, gbps(l.Bandwidth))
	}
	text += fmt.Sprintf("; that costs %s, %s of the time.", ms(s.Cost), percent(s.Share))
	if s.Settled == traffic.Open {
		text = strings.Replace(text, " is slow", " may be slow", 1)
	}
	return text
}

func (s spoken) others() string {
	if s.Worst.Peers == 1 {
		return "the only other like it reaches"
	}
	return fmt.Sprintf("the %d others like it reach", s.Worst.Peers)
}

func gbps(f float64) string {
	if f >= 100 {
		return fmt.Sprintf("%.0f GB/s", f)
	}
	return fmt.Sprintf("%.3g GB/s", f)
}

// binary writes a size class.
func binary(class int) string {
	return fmt.Sprintf("%d %s", 1<<(class%10), [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[min(class/10, 6)])
}

// mostComparisons is how many comparisons a suspect quotes.
const mostComparisons = 6

// slowEvidence is what speaks against a link or a communicator.
func (s spoken) slowEvidence() (list []string) {
	n := 0
	for _, x := range slices.Concat(s.r.Speed.Suspects, s.r.Speed.Unsettled) {
		if !slices.Contains(s.Subjects, x.Subject) {
			continue
		}
		for _, e := range x.Evidence {
			if n++; n <= mostComparisons {
				list = append(list, s.comparison(e))
			}
		}
	}
	if n > mostComparisons {
		list = append(list, fmt.Sprintf("and %d comparisons more", n-mostComparisons))
	}
	if s.Smallest >= 0 {
		list = append(list, fmt.Sprintf("smaller messages are as fast as those of the others: the fault begins at %s", binary(s.Smallest)))
	}
	switch {
	case s.Scope == traffic.OneRank || s.Scope == traffic.OneHost || s.Scope == traffic.TwoHosts:
		list = append(list, fmt.Sprintf("every way of that kind that could be compared is slow, %d of %d, and no other", len(s.Subjects), len(s.Subjects)))
	case s.Fault == traffic.SlowGroup && len(s.Hosts) > 1:
		list = append(list, "a collective is as fast as the slowest of its links: which of them it is, collectives alone do not tell")
	}
	return append(list, "the time is from the last rank's start to the end: nobody's coming late is in it")
}

// comparison is one line of evidence.
func (s spoken) comparison(e bandwidth.Evidence) string {
	c := &s.r.Speed.Cells[e.Cell]
	name := s.r.WorkOf(c)
	if p, ok := s.r.PairOf(c.Subject); ok {
		from, to := s.r.Ranks[p.Low].Rank, s.r.Ranks[p.High].Rank
		switch traffic.DirectionOf(c.Op) {
		case traffic.Forth:
			name = fmt.Sprintf("messages from rank %d to %d", from, to)
		case traffic.Back:
			name = fmt.Sprintf("messages from rank %d to %d", to, from)
		default:
			name = fmt.Sprintf("messages between ranks %d and %d, both ways at once", from, to)
		}
	} else if len(s.Subjects) > 1 {
		name += " on ranks " + trace.RankList(s.r.Communicators[c.Subject].Ranks)
	}
	others := fmt.Sprintf("the median of %d others", e.Peers)
	if e.Peers == 1 {
		others = "the other"
	}
	return fmt.Sprintf("%s, from %s: %s over %d calls, %s %s; chance of that where links are alike: %s",
		name, binary(c.Class), gbps(c.Bus), len(c.Calls), others, gbps(e.Bus), probability(e.P))
}

// lateEvidence is what speaks against a rank.
func (s spoken) lateEvidence() []string {
	l := s.Late
	return []string{
		fmt.Sprintf("it is later than the median rank by %s in all that began with itself: more time goes by since its last kernel of NCCL than on the others", ms(l.Own)),
		fmt.Sprintf("chance that one of %d equal ranks has most of that as often: %s", len(s.r.Ranks), probability(s.Chance)),
		fmt.Sprintf("it waited %s itself; with all ranks there its collectives took %s", ms(l.Waited), ms(l.Moving)),
	}
}

// confidence says how far the suspect may be named, and adds to its evidence what is missing for more.
func (s spoken) confidence(evidence *[]Evidence) Confidence {
	level := Strong
	say := func(holds bool, at Confidence, why string) {
		if holds {
			level = min(level, at)
			*evidence = append(*evidence, Said(why))
		}
	}
	slow := s.Fault != traffic.LateRank
	say(s.Share < enoughShare, Insufficient, fmt.Sprintf("below what is called: %s of the recording", percent(s.Share)))
	say(s.Settled == traffic.Open, Ambiguous, "only one other does the same work over the same kind of link: which of the two is as it should be cannot be told")
	say(s.Settled == traffic.ByLimit, Supported, "not strong: only one other does the same; that it reaches less than half of its limit, and the other does not, tells which")
	say(s.Share >= enoughShare && s.Share < s.gates.StaticGain, Supported, fmt.Sprintf("not strong: it costs less than %.0f %% of the time", 100*s.gates.StaticGain))
	say(s.Chance > s.gates.Meeting.Significance, Supported, "not strong: the chance is above "+probability(s.gates.Meeting.Significance))
	say(slow && s.limit().Bandwidth == 0, Supported, "not strong: the logs do not say what the link carries (NCCL_DEBUG_SUBSYS=GRAPH)")
	say(slow && s.Settled == traffic.ByPeers && s.Worst.Peers == 2, Supported, "not strong: there are only two others to compare with")
	return level
}

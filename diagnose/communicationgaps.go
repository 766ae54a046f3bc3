package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/suspects"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// undecidedCommunication returns the questions that the logs and kernels leave open.
func undecidedCommunication(r *comm.Result) (out []answer.Undecided) {
	if profiles(r) == 0 || len(r.Calls) == 0 {
		return nil
	}
	for _, q := range []struct {
		standing comm.Standing
		needs    answer.Source
	}{{comm.Unmatched, answer.SourceBaseline}, {comm.TooFew, answer.SourceSteps}, {comm.Blurred, answer.SourceClocks}} {
		if list := subjectsWhere(r, q.standing); len(list) > 0 {
			u := answer.Undecided{Question: answer.LinkNotCompared, N: len(list), Needs: q.needs}
			for _, s := range list[:min(mostNamed, len(list))] {
				u.About = append(u.About, subjectOf(r, s))
			}
			out = append(out, u)
		}
	}
	for _, s := range suspects.UndecidedClaims(r) {
		h := heardSuspect{r: r, Claim: s}
		out = append(out, answer.Undecided{Question: answer.WhichOfFew, N: 1, About: []evidence.Subject{subjectOf(r, s.Bandwidth.Subjects[0])}, Share: h.cell().Bus / s.Bandwidth.Bus})
	}
	for _, q := range []struct {
		question answer.Question
		n        int
	}{{answer.RanksNotRecorded, absent(r)}, {answer.ClockOrDelay, countUnaligned(r)}, {answer.MessageSpeed, r.Messages.Shared + r.Messages.Lonely}} {
		if q.n > 0 {
			out = append(out, answer.Undecided{Question: q.question, N: q.n})
		}
	}
	return out
}

// profiles returns how many sources of kernels there were.
func profiles(r *comm.Result) int {
	return r.Sources(comms.SourceNsight) + r.Sources(comms.SourceInspector)
}

// Communications is what there was to compare, where nothing is found.
type Communications struct {
	Met                                                 bool // collectives that all ranks were seen in, or messages
	LastHost                                            string
	LastMost                                            *evidence.LastToEnter // who enters last most, where what came before is not known, or too few collectives tell
	Paired                                              int                   // calls with their kernels
	Absent                                              int                   // ranks whose collectives were not measured, without log or export
	Calls, Kernels, Ranks, Communicators, Logs, Exports int
}

// excludes returns how much calls and kernels exclude: nothing where no collective can be compared, and not all where a rank is
// late without proof of its own delay, or where ranks were not seen.
func (c *Communications) excludes() exclusion {
	switch {
	case !c.Met:
		return excludesNothing
	case c.LastMost != nil || c.Absent > 0:
		return excludesSome
	}
	return excludesAll
}

// communications counts what there was to compare.
func communications(r *comm.Result) *Communications {
	met := slices.ContainsFunc(r.Collectives, func(c comm.Collective) bool { return c.Certain && c.Whole(r) })
	c := &Communications{Met: met || len(r.Transfers) > 0, Paired: len(r.Matches), Calls: len(r.Calls), Ranks: len(r.Ranks),
		Communicators: len(r.Communicators), Logs: r.Sources(comms.SourceNCCLLog), Exports: profiles(r), Absent: absent(r)}
	for i := range r.Ranks {
		c.Kernels += len(r.Kernels(i))
	}
	if met && (r.Timeless || r.Sampled) {
		all, _ := suspects.LatenessOf(r)
		worst := slices.MaxFunc(all, func(x, y suspects.Lateness) int { return cmp.Compare(x.Caused, y.Caused) })
		c.LastMost = &evidence.LastToEnter{Source: evidence.FromNCCL, Rank: r.Ranks[worst.Rank].Rank, N: worst.Last, Of: worst.Of}
		c.LastHost = r.Ranks[worst.Rank].Host
	} else if l, share, ok := suspects.UnprovenLatecomer(r); ok {
		c.LastMost = &evidence.LastToEnter{Source: evidence.FromNCCL, Rank: r.Ranks[l.Rank].Rank, N: l.Last, Of: l.Of, Delay: l.Usual, Share: share, P: 1, Among: len(r.Ranks)}
		c.LastHost = r.Ranks[l.Rank].Host
	}
	return c
}

// subjectsWhere returns the communicators and pairs of ranks all of whose calls that carry data stand so beside peers.
func subjectsWhere(r *comm.Result, standing comm.Standing) (list []int) {
	var other []int
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if !c.CarriesData() {
			continue
		}
		if c.Standing != standing {
			other = append(other, c.Subject)
		} else if !slices.Contains(list, c.Subject) {
			list = append(list, c.Subject)
		}
	}
	return slices.DeleteFunc(list, func(s int) bool { return slices.Contains(other, s) })
}

// subjectOf returns the evidence's name of a communicator or pair of ranks.
func subjectOf(r *comm.Result, subject int) evidence.Subject {
	if r.Speed.Subjects[subject].Edge {
		return evidence.Subject{Scope: evidence.OfPair, Ranks: r.RanksOf(subject)}
	}
	return evidence.Subject{Scope: evidence.OfCommunicator, Ranks: r.RanksOf(subject), Called: kindName(&r.Communicators[subject])}
}

// kindName returns the purpose of a communicator, "" where it is not known.
func kindName(c *parallel.Communicator) string {
	if c.Kind == parallel.UnknownKind {
		return ""
	}
	return c.Kind.String()
}

// groupName names a communicator by what it is for and its ranks.
func groupName(c *parallel.Communicator) string {
	if name := kindName(c); name != "" {
		return name + " " + trace.RankList(c.Ranks)
	}
	return trace.RankList(c.Ranks)
}

// absent returns how many ranks of communicators left no log, or are in no export.
func absent(r *comm.Result) int {
	most, there := 0, 0
	for i := range r.Communicators {
		c := &r.Communicators[i]
		if !c.Alone {
			most = max(most, c.NRanks-len(c.Ranks))
		}
	}
	for i := range r.Ranks {
		if r.Ranks[i].Log != comms.None && r.Ranks[i].Profile == comms.None {
			there++
		}
	}
	return most + there
}

// countUnaligned returns how many exports have clocks that do not compare.
func countUnaligned(r *comm.Result) int {
	seen := map[int]bool{}
	for _, c := range r.Clocks {
		if !c.Known {
			seen[c.Number] = true
		}
	}
	return len(seen)
}

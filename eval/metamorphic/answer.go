package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/recorded"
)

// spoken is what a verdict claims of a recording, without its words.
type spoken struct {
	runs    int // that the recording is taken for
	status  answer.Status
	claims  []claim
	refused string         // why there is no verdict; "" where there is one
	hosts   map[int]string // of the ranks that were recorded, "" where it is not known
}

// claim is one finding: who, how, where, when, how certain and how large.
type claim struct {
	kind             diagnose.Kind
	cause            diagnose.Cause
	ranks            []int // ascending
	host             string
	stage, op, group string
	certainty        evidence.Confidence
	small            bool    // below the least gain to act on
	gain             float64 // part of the run that fixing it alone saves
}

// isFlagged reports whether a claim is certain and large enough to act on.
func (c *claim) isFlagged() bool { return c.certainty >= evidence.Supported && !c.small }

// accuses reports whether a claim is about ranks, rather than about all of them or about the work.
func (c *claim) accuses() bool {
	return len(c.ranks) > 0 && c.kind != diagnose.KindStage && c.kind != diagnose.KindWorkload
}

// ask returns what sfstat diagnose claims of the recordings at paths. It reads and judges as the
// command does without flags; what the command refuses is refused here.
func ask(paths []string) *spoken {
	out := &spoken{hosts: map[int]string{}}
	v, err := out.judge(paths)
	switch {
	case err != nil:
		out.refused = err.Error()
	case len(v.All()) == 0 || len(v.Runs) == 0:
		out.refused = "nothing to judge"
	default:
		out.runs, out.status = len(v.Runs), v.Status
		for i := range v.Findings {
			out.claims = append(out.claims, claimOf(&v.Findings[i]))
		}
	}
	return out
}

// judge reads all inputs into one verdict and notes which ranks they are of.
func (s *spoken) judge(paths []string) (*diagnose.Verdict, error) {
	in, err := auto.Open(paths, auto.Options{Joined: true})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	session := diagnose.New(diagnose.Options{})
	for j, err := range in.Jobs() {
		if err != nil {
			return nil, err
		}
		s.see(&j)
		for _, r := range j.Recordings() {
			err := session.Add(r)
			if t, is := r.(*operator.Trace); err != nil && !(is && !t.HasSchedule()) {
				return nil, err
			}
		}
	}
	v, failed := session.Judge()
	if len(failed) > 0 {
		return nil, failed[0]
	}
	return v, nil
}

// see notes the ranks of a job, and their hosts.
func (s *spoken) see(j *recorded.Job) {
	note := func(rank int, host string) {
		if rank >= 0 {
			s.hosts[rank] = cmp.Or(host, s.hosts[rank])
		}
	}
	for _, w := range slices.Concat(j.Windows, j.Profiled) {
		for _, r := range w.Ranks {
			note(r.ID, r.Host)
		}
	}
	if j.Operators != nil {
		for _, r := range j.Operators.Ranks {
			note(r.ID, r.Host)
		}
	}
	if j.Calls != nil {
		for _, p := range j.Calls.Processes {
			note(p.Rank, p.Host)
		}
	}
}

func claimOf(f *diagnose.Finding) claim {
	c := claim{kind: f.Kind, cause: f.Cause, ranks: slices.Clone(f.Ranks), host: f.Host, stage: f.Stage, op: f.Op, group: f.Group,
		certainty: f.Confidence, small: f.BelowMinGain, gain: cmp.Or(f.RunGain, f.Gain)}
	if f.Rank != nil && !slices.Contains(c.ranks, *f.Rank) {
		c.ranks = append(c.ranks, *f.Rank)
	}
	slices.Sort(c.ranks)
	return c
}

// ranks returns the recorded ranks, ascending.
func (s *spoken) ranks() []int { return slices.Sorted(maps.Keys(s.hosts)) }

// accusedRanks returns the ranks of claims that satisfy a condition.
func (s *spoken) accusedRanks(when func(*claim) bool) []int {
	seen := map[int]bool{}
	for i := range s.claims {
		if c := &s.claims[i]; c.accuses() && when(c) {
			for _, r := range c.ranks {
				seen[r] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// culprit returns the first rank of the first flagged claim about ranks, −1 where there is none.
func (s *spoken) culprit() int {
	for i := range s.claims {
		if c := &s.claims[i]; c.accuses() && c.isFlagged() {
			return c.ranks[0]
		}
	}
	return -1
}

// names are what ranks and hosts are called after a change. What is not in them keeps its name.
type names struct {
	ranks map[int]int
	hosts map[string]string
}

// rename returns a verdict in other names.
func (s *spoken) rename(n names) *spoken {
	out := *s
	out.claims = slices.Clone(s.claims)
	for i := range out.claims {
		c := &out.claims[i]
		c.ranks = slices.Clone(c.ranks)
		for k, r := range c.ranks {
			c.ranks[k] = n.rank(r)
		}
		slices.Sort(c.ranks)
		c.host = n.host(c.host)
	}
	return &out
}

func (n names) rank(r int) int {
	if to, ok := n.ranks[r]; ok {
		return to
	}
	return r
}

func (n names) host(h string) string {
	if to, ok := n.hosts[h]; ok {
		return to
	}
	return h
}

// subject returns the subject of a claim: its ranks or group.
func (c *claim) subject() string {
	var who []string
	if len(c.ranks) > 0 {
		who = append(who, "rank "+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.ranks)), "+"), "[]"))
	}
	for _, part := range []string{c.host, c.group} {
		if part != "" && len(c.ranks) == 0 {
			who = append(who, part)
		}
	}
	if len(who) == 0 || c.kind != diagnose.KindRank {
		who = append([]string{c.kind.String()}, who...)
	}
	return strings.Join(who, " ")
}

// place returns the place of a claim.
func (c *claim) place() string {
	return strings.Join(slices.DeleteFunc([]string{c.stage, c.op}, func(s string) bool { return s == "" }), "/")
}

// key returns all of a claim but its size, as a key.
func (c *claim) key() string {
	size := ""
	if c.small {
		size = ", small"
	}
	return fmt.Sprintf("%s in %s (%v, %v%s)", c.subject(), cmp.Or(c.place(), "?"), c.cause, c.certainty, size)
}

// String returns the verdict in a line: the status and what is flagged.
func (s *spoken) String() string {
	if s.refused != "" {
		return "refused"
	}
	out := s.status.String()
	for i := range s.claims {
		if c := &s.claims[i]; c.isFlagged() {
			out += fmt.Sprintf("; %s %.1f %%", c.key(), 100*c.gain)
		}
	}
	return out
}

// errNotApplicable is wrapped by the reasons why a change cannot be made to a recording.
var errNotApplicable = errors.New("not applicable")

// notApplicable returns the reason why a change cannot be made.
func notApplicable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNotApplicable, fmt.Sprintf(format, args...))
}

// errNoClock is why a clock cannot be shifted: what is recorded is durations.
var errNoClock = notApplicable("durations are on no clock")

// roughlyEqual reports whether two gains differ by no more than a part, or an absolute amount.
func roughlyEqual(a, b, part, least float64) bool {
	return math.Abs(a-b) <= max(least, part*max(math.Abs(a), math.Abs(b)))
}

// Package claim has the one type in which every judge of the engine says what it found: who delays
// a job, where, when, by how much, and how surely.
//
// A [Claim] holds:
//
//   - who: Kind, Ranks, Host, Hosts, Partners; positions or global IDs, as the source numbers them;
//   - where: Parts by stage, Op and Seqs, Group;
//   - when: Steps, which were struck and how they lie in the run;
//   - how much: Size and Length of a struck step, Saves of the run;
//   - how surely: P, corrected for what its judge tested, and Certainty;
//   - the numbers that its evidence needs, by source and cause: [Arrival], [Change], [Rotation], [Operation], [Entered], [Bandwidth].
//
// Judges decide what is certain; nothing here does.
package claim

import (
	"fmt"
	"math"
	"slices"
)

// Claim is one cause of delay.
type Claim struct {
	Source Source
	Kind   Kind
	Cause  Cause
	// Ranks are ascending: positions of Steps, global of the others. None of Everyone, but of Turns that are long
	// those who are late, in the order of time; of a transfer of Operators the sender before the receiver.
	Ranks    []int
	Together []int    // all that are late for the same reason in the same steps, one rank of a claim among them; nil: not known
	Host     int      // position of the host of a claim about one; else −1
	Hosts    []string // names of the hosts that Ranks are on, where records have them
	// Parts, the largest first. A rank that is slow by one Factor in all that can be seen
	// of it has a part for each stage in which that is certain.
	Parts  []Part
	Group  string // process group in which others wait, as recorded
	Steps  Struck
	Size   int64 // ns in a struck step, all parts
	Length int64 // median length of a struck step, ns
	Saves  Saving
	// P bounds the probability that ranks who are exchangeable within blocks of steps show a
	// delay of this size on some rank and stage. 1 of what is not tested. Too small where noise as
	// large as the delay stays correlated over a tenth of the run or longer (TestNull of engine/delay).
	P         float64
	Certainty Certainty

	Arrival
	Change
	Rotation
	Operation
	Entered    *Entered    // of ranks of Entries and NCCL; else nil
	Bandwidth  *Bandwidth  // of links and communicators; else nil
	Difference *Difference // of a Latent cause; else nil
}

// Rank returns the rank of a claim about one; else −1.
func (c *Claim) Rank() int {
	if c.Kind != Rank || len(c.Ranks) != 1 {
		return -1
	}
	return c.Ranks[0]
}

// HostName returns the name of the host that all ranks are on; "" where they are on several or it is not known.
func (c *Claim) HostName() string {
	if len(c.Hosts) != 1 {
		return ""
	}
	return c.Hosts[0]
}

// Charged returns what all parts cost, ns of the run.
func (c *Claim) Charged() (sum int64) {
	for _, p := range c.Parts {
		sum += p.Charged
	}
	return sum
}

// StruckGain returns the part of the struck steps that fixing it alone saves, of a run of a length in ns.
func (c *Claim) StruckGain(whole int64) float64 {
	return min(1, c.Saves.Alone*float64(whole)/float64(max(1, int64(max(1, c.Steps.Count))*c.Length)))
}

// Arrival is how the ranks of a claim arrive where others wait for them, by the times of steps.
type Arrival struct {
	Factor     float64    // by which a rank is slow in all that can be seen of it; 0: not by one factor
	Last       int        // struck steps in which one of the ranks arrived last, of those in which others wait
	Every      int        // period of the synchronisation, steps; 0: every step
	Waited     float64    // part of the delay that the other ranks' waits at the same points show
	Ends       bool       // the ranks have no record of the last steps that others recorded: what they cost there is not known
	Others     []int      // of more than half of the ranks that take longer alike: those that do not; positions
	Successive []Lateness // of ranks that are late one after another, in the order of time; nil: at once, or by turns
	Pace       *Pace      // the delay is a wait for what comes at its own pace; nil: it is not known to be one
}

// Lateness is from when to when a rank is late, in steps.
type Lateness struct{ Rank, First, Last int }

// Pace is how a rank makes up in one piece of its work for what the rest of its cycle takes: a slope of −1 makes up for
// all of it, 0 for nothing.
type Pace struct {
	Slope     float64
	Low, High float64 // Slope lies between them
	Peers     []int   // who wait there too, so that they would go on no faster without this rank; positions
}

// Entered is how a late rank enters the calls that others wait in, at the place where it costs most.
type Entered struct {
	Place    int      // of the places of its source
	Desc     string   // description of Group
	Stage    string   // in which it loses more than half of its delay, by stage times; "" where several
	Divided  bool     // stage times show in which stages it loses its time
	Delay    int64    // own delay there, mean over the points that it delayed, ns
	Strikes  int      // synchronisation points there that it delayed
	Last     int      // those that it entered last
	Points   int      // those that it entered
	Clock    bool     // the delay is smaller than the uncertainty of the rank's clock
	Held     bool     // its calls before may have held it for members that have no record of them
	Recorded [2]int64 // the first and last step struck, as recorded; −1: not known
	First    int64    // begin of the first step struck, on the common clock, ns
	End      int64    // end of the last
	Own      int64    // of NCCL, over all points: own delay beyond the median rank's, ns
	Waited   int64    // likewise: from its own start to the last one's
	Transfer int64    // likewise: from the last start to its own end
}

// Operation is what the operators of a claim take, of Operators.
type Operation struct {
	Op     string  // kind with (nearly) all of the delay; "": several
	Seqs   []int   // instances of Op in a step that have it; nil: all of them
	Longer float64 // times as long as elsewhere: transfers, collectives, passes of a stage
	Behind int64   // by which Op starts later than on the peers, ns of a step
	Evenly int64   // length of a step with the passes divided evenly over the stages, ns
	Took   []Took  // of a rank: the kinds that cost it most, the costliest first
}

// Took is what operators take over the run, ns.
type Took struct {
	Op         string
	Seq        int   // instance in a step; −1: all of them
	Own, Peers int64 // of the peers the median
}

// Bandwidth is by how much a link or communicator is slower than others like it, where it is slowest beside its peers.
type Bandwidth struct {
	Scope    Scope
	Partners []int // ranks at the other ends of the ways of one rank or host, ascending
	Subjects []int // of the comparison of speeds that show it
	Settled  Settled
	Cell     int     // of that comparison
	Peers    int     // others in it
	Bus      float64 // median of the others' medians, GB/s
	Smallest int     // size class from which on it is slow, where smaller ones were compared and are not; −1: in all
}

// Difference is how a rank differs from its peers, of a Latent cause. Parts are where; of Sum those that take longer there.
// Its Certainty is Event where the distribution alone shows it and nobody is seen to wait.
type Difference struct {
	Level  int64   // own work beyond the median of the peers, ns of a step; up to Margin: it varies more, and is not slower
	Total  int64   // the same of all pieces that lead to the point, ns of a step
	Margin int64   // that it is tested beyond, ns
	D      float64 // largest weighted departure of the distributions, no unit
	Alone  float64 // P by the distribution alone
	Blame  float64 // P of being waited for
	Last   int     // intervals in which it is last even less the margin
	Of     int     // intervals that were judged
	Sum    bool    // in the sum of several pieces, and in none by itself
	Tau    float64 // steps that count as one independent step
	Block  int     // length of a block, steps
	Blocks int     // that were handed to ranks at random
	// Places compare the distributions that D is of, from the least time to the longest: of the first of Parts, or Together
	// of all pieces that lead to the point. None: not known.
	Places   []Place
	Together bool
	Quarters []Quarter // of the run, in order, with the intervals of Last and Of; none: nobody waits
}

// Place is a time at which the distribution of a rank is held against those of its peers.
type Place struct {
	Beyond int64   // own work beyond the usual, ns of a step
	Peers  float64 // share of intervals in which a peer takes longer, levels taken off, median
	Rank   float64 // the same of the rank, less the margin
	D      float64 // weighted departure; the largest place decides
}

// Quarter is in how many intervals of a quarter of the run a rank is last even less the margin.
type Quarter struct{ Last, Of int }

// Slower reports whether the rank is slower by more than the margin, and does not only vary more.
func (d *Difference) Slower() bool { return d.Level > d.Margin }

// Change is what the stage with most of a regression takes.
type Change struct {
	Before int64 // in the steps before it, ns
	From   int64 // in those from there on, ns
	Grows  bool  // evenly, or falls: Before is at the first step, From at the last; of a rank by how much it is late
}

// Rotation is how often each of the ranks is late that are late by turns.
type Rotation struct {
	Turns []Turn // the most often late first; nil: not by turns
	// Even is the chance that counts differ so much where every rank is as likely to be late as any other; 0: too
	// few to tell.
	Even       float64
	Among      int     // ranks that may have turns
	Correlated float64 // turns that count as one independent turn
}

// Turn is in how many steps a rank is late.
type Turn struct{ Rank, N int }

// Part of a claim is what it does to one stage.
type Part struct {
	Stage   int   // of the stages of its source; of Entries of its places; of Operators of the pipeline
	Size    int64 // ns in a struck step
	Charged int64 // ns of the run
}

// Saving is the part of the run that would go.
type Saving struct {
	Alone     float64 // by fixing this alone
	After     float64 // by fixing it where all others are fixed
	Low, High float64 // Alone lies between them at about 90 %
	// AtMost is Alone with what a stage in which ranks synchronise may hide of the same
	// delay; Alone where nothing says that it does.
	AtMost float64
}

// Exact returns a saving without an interval.
func Exact(gain float64) Saving {
	return Saving{Alone: gain, After: gain, Low: gain, High: gain, AtMost: gain}
}

// Largest returns the larger of what it saves alone, with what may hide, and with the others fixed.
func (s Saving) Largest() float64 { return max(s.AtMost, s.After) }

// Share returns the saving of a part of what a claim charges in all, both in ns.
func (s Saving) Share(part, all int64) Saving {
	for _, x := range []*float64{&s.Alone, &s.After, &s.Low, &s.High, &s.AtMost} {
		*x = *x * float64(part) / float64(max(1, all))
	}
	return s
}

// Scale multiplies all figures.
func (s *Saving) Scale(by float64) {
	for _, x := range []*float64{&s.Alone, &s.After, &s.Low, &s.High, &s.AtMost} {
		*x *= by
	}
}

// Struck are the steps that a claim struck. Steps are counted from 0, as in the steps that its judge looked at.
type Struck struct {
	Count, Of   int
	First, Last int
	Pattern     Pattern
	Period      int  // of Periodic
	Incidents   int  // stretches of steps apart from one another
	Ongoing     bool // the last of them reaches the end of the run
	// List is which they are, where the others do not say so: of Irregular ones.
	List []int
}

// Has reports whether a step was struck.
func (s *Struck) Has(step int) bool {
	switch {
	case s.List != nil:
		return slices.Contains(s.List, step)
	case s.Period > 0:
		return step >= s.First && step <= s.Last && (step-s.First)%s.Period == 0
	}
	return step >= s.First && step <= s.Last
}

// Steps returns the struck steps as far as they are known: List, or all from the first to the last at
// the distance of Period.
func (s *Struck) Steps() []int {
	if s.List != nil {
		return s.List
	}
	var out []int
	for t, by := s.First, max(1, s.Period); t <= s.Last; t += by {
		out = append(out, t)
	}
	return out
}

// Validate reports the first field that no judge may return: a kind without its ranks, a chance
// outside [0, 1], a saving that is no number, a last struck step before the first.
func (c *Claim) Validate() error {
	switch {
	case c.Kind == Rank && len(c.Ranks) != 1:
		return fmt.Errorf("claim about one rank has ranks %v, expected exactly one", c.Ranks)
	case c.Kind != Everyone && len(c.Ranks) == 0:
		return fmt.Errorf("claim about %v has no ranks, expected those that it is about", c.Kind)
	case c.Kind == Host && c.Host < 0:
		return fmt.Errorf("claim about a host has host %d, expected its position", c.Host)
	case !(c.P >= 0 && c.P <= 1):
		return fmt.Errorf("claim has p %v, expected a chance from 0 to 1", c.P)
	case c.Size < 0 || c.Length < 0:
		return fmt.Errorf("claim has size %d ns and length %d ns, expected 0 or more", c.Size, c.Length)
	case c.Steps.Count < 0 || c.Steps.Count > c.Steps.Of || c.Steps.Last < c.Steps.First:
		return fmt.Errorf("claim struck %d of %d steps from %d to %d, expected at most all, the last not before the first", c.Steps.Count, c.Steps.Of, c.Steps.First, c.Steps.Last)
	}
	for _, x := range []float64{c.Saves.Alone, c.Saves.After, c.Saves.Low, c.Saves.High, c.Saves.AtMost} {
		if math.IsNaN(x) || x > 1 {
			return fmt.Errorf("claim saves %+v, expected parts of the run, at most 1", c.Saves)
		}
	}
	return nil
}

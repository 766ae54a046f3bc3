package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/table"
)

// Who arrives last: whole sentences.

func sayArrivals(j Arrivals) string {
	switch {
	case len(j.Late) > 0:
		return j.Run + ": " + sayArriveLate(j)
	case j.Set != nil:
		return j.Run + ": " + sayLateSet(j.Set)
	case len(j.Doubted) > 0:
		c := &j.Doubted[0]
		return fmt.Sprintf("%s: %s may be late by its own delay, or by chance; without it step time would be %s less.", j.Run, rankAt(c.Rank(), c.HostName(), nil), table.Percent(c.Saves.Alone))
	case j.Latest.Rank < 0:
		return j.Run + ": no rank is found to delay the others."
	case j.Latest.Significant():
		l := &j.Latest
		return fmt.Sprintf("%s: no rank is found to delay the others. Rank %d is the last to enter %d of %d %s, by %s (median), %s if all ranks were alike.",
			j.Run, l.Rank, l.N, l.Of, bareOp(j.Places[l.Place].Op), length(l.Behind), pValue(l.P))
	}
	return j.Run + ": no rank arrives late more often than chance."
}

// sayArriveLate states who arrives late by their own delay, and what fixing that saves.
func sayArriveLate(j Arrivals) string {
	if len(j.Late) == 1 {
		c := &j.Late[0]
		text := rankAt(c.Rank(), c.HostName(), nil) + " arrives late by its own delay: "
		if j.Apart {
			return text + "what fixing it saves is not known."
		}
		return text + fmt.Sprintf("fixing it would cut step time by %s.", table.Percent(c.Saves.Alone))
	}
	text := ranksWord(j.LateRanks()) + " arrive late by their own delay: "
	if j.Apart {
		return text + "what fixing them saves is not known."
	}
	return text + fmt.Sprintf("fixing them would cut step time by %s.", table.Percent(j.Joint))
}

// sayLateSet states which ranks are late together where the cause among them is not known.
func sayLateSet(s *arrivals.Set) string {
	if len(s.Ranks) == 1 {
		return fmt.Sprintf("%s arrives late, by %s; whether it is the cause cannot be told, as its sends and receives are not recorded.", ranksWord(s.Ranks), length(s.Delay))
	}
	return fmt.Sprintf("%s arrive late together, by %s; which of them is the cause cannot be told, as their sends and receives are not recorded.", ranksWord(s.Ranks), length(s.Delay))
}

// sayArrivalFacts states what was read.
func sayArrivalFacts(r *arrivals.Result) string {
	text := table.Counted(len(r.Ranks), "rank") + ", " + table.Counted(r.Calls, "call")
	if r.Lost > 0 {
		text += fmt.Sprintf(" (%s before them left the rings)", table.Grouped(r.Lost))
	}
	if r.Step > 0 {
		text += fmt.Sprintf(", a step of %s over %s", length(r.Step), length(r.End-r.Begin))
	}
	if len(r.Missing) > 0 {
		text += "; no record of " + ranksWord(r.Missing)
	}
	return text + "."
}

// sayLateAt states where a late rank costs most.
func sayLateAt(c *claim.Claim, at *arrivals.Place) string {
	in := c.Entered
	how := fmt.Sprintf("last to enter %d", in.Last)
	if 2*in.Last < in.Strikes {
		how = fmt.Sprintf("late before %d", in.Strikes)
	}
	stage := ""
	if in.Divided {
		stage = " in " + stageWord(in.Stage)
	}
	text := fmt.Sprintf("Rank %d is %s of %d %s of %s, after %s of its own work%s more than its peers (%s if all ranks were alike)",
		c.Rank(), how, in.Points, bareOp(at.Op), groupName(c.Group, in.Desc), length(in.Delay), stage, pValue(c.P))
	if c.Size > in.Delay*5/4 {
		text += fmt.Sprintf("; over all calls it adds %s of its own a step, to %s", length(c.Size), table.Counted(c.Steps.Count, "step"))
	}
	if line := lineWithCall(at.Line); line != "" {
		text += "; entered from " + line
	}
	if at.Stage != "" {
		text += ", in " + at.Stage
	}
	if in.Clock {
		text += "; its clock may be off by as much"
	}
	return text + "."
}

func sayClock(c *sync.Clock, name string) string {
	bounds := "entries do not bound it"
	if c.HalfWidth >= 0 {
		bounds = "± " + length(c.HalfWidth)
	}
	return fmt.Sprintf("Clock of %s: %s (%s)", name, signedLength(float64(c.Offset)), bounds)
}

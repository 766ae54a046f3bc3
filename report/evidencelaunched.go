package report

import (
	"fmt"
	"math"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
)

func collectiveWait(e evidence.CollectiveWait) string {
	return fmt.Sprintf("collectives: %s a step on peers (median), %s of it waiting for rank %d; %s on rank %d, %s of it waiting",
		length(float64(e.Peers)), length(float64(e.PeersWaited)), e.Rank, length(float64(e.Own)), e.Rank, length(float64(e.OwnWaited)))
}

func spentIn(e evidence.SpentIn) string {
	return fmt.Sprintf("it spends %s a step in %s, %s on its peers, in %s that were profiled", length(float64(e.Own)), sourceWord(&e.Source), length(float64(e.Peers)), counted(e.Steps, "step"))
}

// launchedOperators says how many operators of a rank or a role group take longer than
// those of the others.
func launchedOperators(e evidence.LaunchedOperators) string {
	if e.Rank != nil {
		return rankOperators(*e.Rank, e)
	}
	s := fmt.Sprintf("operators that all role groups launch as often: %d of %d take significantly longer in %s than in the others (median), by %s a step",
		e.N, e.Of, e.Group, length(float64(e.Excess)))
	if e.First != nil {
		s += "; first " + operatorDifference(*e.First)
	}
	return s
}

// rankOperators says how many of a rank's operators take longer than on its
// peers, and whether its device does.
func rankOperators(rank int, e evidence.LaunchedOperators) string {
	where := "all its stages"
	if e.Stage != "" {
		where = stageWord(e.Stage)
	}
	own, peers := length(float64(e.Own)), length(float64(e.Peers))
	switch {
	case e.Of == 0:
		return fmt.Sprintf("operators: rank %d launched nothing on its device in %s: what it is late in there is its host's", rank, where)
	case e.N == 0 && !e.Tested:
		return fmt.Sprintf("operators: what rank %d launched in %s takes %s a step on its device, %s on its peers (too few for a test)", rank, where, own, peers)
	case e.N == 0:
		return fmt.Sprintf("operators: none that rank %d launched in %s takes significantly longer than on its peers (%s a step together, %s there): the time goes between operators, or on the host",
			rank, where, own, peers)
	}
	verb := "take"
	if e.N == 1 {
		verb = "takes"
	}
	text := fmt.Sprintf("operators: %s rank %d launched in %s %s significantly longer than on its peers, by %s a step", ofThem(e.N, e.Of), rank, where, verb, length(float64(e.Excess)))
	if e.DeviceWide {
		text += fmt.Sprintf(", all by much the same factor (%s to %s): its device is slow there, not one operator", hundredths(e.Low), hundredths(e.High))
	}
	if !e.Late {
		text += ", and it is not late for that by more than chance"
	}
	return text
}

// ofThem is "the only one that", "all 9 that" or "3 of the 9 that".
func ofThem(some, all int) string {
	switch {
	case all == 1:
		return "the only one that"
	case some == all:
		return fmt.Sprintf("all %d that", all)
	}
	return fmt.Sprintf("%d of the %d that", some, all)
}

// operatorDifference is "flash_fwd_kernel: 1.40 × its peers (18.8 ms → 26.4 ms a
// step in 7 of 9 steps), 40 a step of 660 µs instead of 470 µs each; 5.9 ms of
// the 6.1 ms".
func operatorDifference(e evidence.OperatorDifference) string {
	own, peers := float64(e.Own), float64(e.Peers)
	text := opnames.Label(e.Op) + ": "
	if peers > 0 {
		text += table.Times(own/peers) + " its peers "
	}
	text += fmt.Sprintf("(%s → %s a step", length(peers), length(own))
	if e.Steps < e.Of {
		text += fmt.Sprintf(" in %d of %d steps", e.Steps, e.Of)
	}
	text += "), "
	switch {
	case math.Abs(e.Count-e.PeerCount) >= 0.5:
		text += fmt.Sprintf("launched %s times a step, %s on its peers: it has other work there", table.Number(e.Count), table.Number(e.PeerCount))
	case e.Count >= 1.5:
		text += fmt.Sprintf("%s a step of %s instead of %s each", table.Number(e.Count), length(own/e.Count), length(peers/e.Count))
	default:
		text += table.Number(e.Count) + " a step"
	}
	if e.All == 0 {
		return text
	}
	return text + fmt.Sprintf("; %s of the %s", length(float64(e.Excess)), length(float64(e.All)))
}

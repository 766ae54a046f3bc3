package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/trace"
)

// Who is who a finding is about, as tables have it.
func Who(f *diagnose.Finding) string { return glyph.Visible(whoWord(f)) }

// Where is where a finding is, as tables have it.
func Where(f *diagnose.Finding) string { return glyph.Visible(placeWord(f)) }

// worldGroup is what PyTorch calls the group of all ranks.
const worldGroup = "default_pg"

// whoWord is who a finding is about, in few words: "rank 5", "host node3", "group pp=1".
func whoWord(f *diagnose.Finding) string {
	switch {
	case f.Rank != nil && f.Group != "" && f.Group != worldGroup:
		return fmt.Sprintf("rank %d (%s)", *f.Rank, f.Group)
	case f.Rank != nil:
		return workerName(*f.Rank, "", f.StandsFor)
	case f.Kind == diagnose.KindHost:
		return "host " + f.Host
	case f.Group != "":
		return "group " + f.Group
	case f.Kind == diagnose.KindEdge && len(f.Ranks) > 0:
		return "link of ranks " + trace.RankList(f.Ranks)
	case f.Kind == diagnose.KindStage:
		return "all ranks"
	}
	return f.Kind.String()
}

// subject is who a sentence is about, with where they run; "" for all ranks alike.
func subject(w diagnose.Who) string {
	switch w.Kind {
	case diagnose.OneRank:
		return rankAt(*w.Rank, w.Host, w.LocalRank)
	case diagnose.SomeRanks:
		return ranksWord(w.Ranks)
	case diagnose.HostRanks:
		return fmt.Sprintf("all ranks of %s (%s)", w.Host, ranksWord(w.Ranks))
	case diagnose.GroupRanks:
		return fmt.Sprintf("all ranks of %s (%s)", w.Group, ranksWord(w.Ranks))
	case diagnose.HeavyGroup:
		if len(w.Ranks) == 1 {
			return fmt.Sprintf("rank %d, the only one of role group %s,", w.Ranks[0], w.Group)
		}
		return "role group " + w.Group
	}
	return ""
}

// several reports whether a subject takes a verb of several.
func several(w diagnose.Who) bool {
	return w.Kind == diagnose.SomeRanks || w.Kind == diagnose.HostRanks || w.Kind == diagnose.GroupRanks
}

// rankAt is a rank with what is known of where it runs: "rank 2 (gpu-node-1, local rank 2)".
func rankAt(rank int, host string, local *int) string {
	s := fmt.Sprintf("rank %d", rank)
	switch {
	case host != "" && local != nil:
		return s + fmt.Sprintf(" (%s, local rank %d)", host, *local)
	case host != "":
		return s + fmt.Sprintf(" (%s)", host)
	}
	return s
}

// placeWord is where a finding is, in few words: an operator, whose whole name is in the JSON, or a stage.
func placeWord(f *diagnose.Finding) string {
	w := f.Where()
	if w.Op != "" {
		return opnames.Label(w.Op)
	}
	return w.Stage
}

// shortPlace is the same in a word where there is one: names of runs need the room.
func shortPlace(f *diagnose.Finding) string {
	place := placeWord(f)
	if word := bareStage(place); place == f.Stage && len(word) < len(place) {
		return word
	}
	return place
}

// whereLate is where ranks are late, in a sentence.
func whereLate(w diagnose.Where) string {
	switch {
	case w.OnDevice:
		return "on the device in " + stageWord(w.Stage)
	case w.Before && w.Line != nil:
		return "before " + sourceWord(w.Line)
	case w.Before:
		return "before " + bareOp(w.Op)
	}
	return "in " + stageWord(w.Stage)
}

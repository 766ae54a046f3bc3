package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// stageWord returns a stage as a part of a sentence.
func stageWord(stage string) string {
	switch stage {
	case "":
		return "several stages"
	case "data.next_wait":
		return "data"
	case "model.fwd_loss_cpu_wall":
		return "forward"
	case "model.backward_cpu_wall":
		return "backward"
	case "callbacks.cpu_wall":
		return "callbacks"
	case "optim.step_cpu_wall":
		return "the optimizer step"
	case "step.other_cpu_wall":
		return "time outside the recorded stages"
	case "step.whole":
		return "the whole step"
	case "step.rest":
		return "the rest of the step"
	}
	return stage
}

// bareStage returns a stage as a name: without the article that it has in a sentence.
func bareStage(stage string) string { return strings.TrimPrefix(stageWord(stage), "the ") }

// rankList writes ranks as a person would say them: "1, 9 and 17".
func rankList(ranks []int) string {
	if len(ranks) > 6 {
		if list := trace.RankList(slices.Sorted(slices.Values(ranks))); len(list) <= 24 {
			return list
		}
		return fmt.Sprintf("%d, %d, %d and %d more", ranks[0], ranks[1], ranks[2], len(ranks)-3)
	}
	names := make([]string, len(ranks))
	for i, r := range ranks {
		names[i] = fmt.Sprint(r)
	}
	return andList(names)
}

// rankSetList lists the ranks of a set as rankList does, in time and memory of its ranges.
func rankSetList(s trace.RankSet) string {
	if s.Len() <= 6 {
		return rankList(s.IDs())
	}
	if list := s[:min(len(s), 13)].String(); len(list) <= 24 { // a range takes two letters at least
		return list
	}
	var first []int
	for _, r := range s[:min(len(s), 3)] {
		for id := r[0]; id <= r[1] && len(first) < 3; id++ {
			first = append(first, id)
		}
	}
	return fmt.Sprintf("%d, %d, %d and %d more", first[0], first[1], first[2], s.Len()-len(first))
}

// rankSetWord returns what ranksWord does of the ranks of a set.
func rankSetWord(s trace.RankSet) string {
	if s.Len() == 1 {
		return "rank " + rankSetList(s)
	}
	return "ranks " + rankSetList(s)
}

// ranksWord returns "rank 3" or "ranks 3 and 5".
func ranksWord(ranks []int) string { return workersWord("rank", ranks) }

// workersWord returns workers in the form of ranksWord.
func workersWord(noun string, ids []int) string {
	if len(ids) != 1 {
		noun += "s"
	}
	return noun + " " + rankList(ids)
}

// nounOf returns the noun for a recording's participants: workers stand for several ranks each.
func nounOf(workers bool) string {
	if workers {
		return "worker"
	}
	return "rank"
}

// representedRanks returns "ranks 24–27", or the list of all.
func representedRanks(ranks []int) string {
	return fmt.Sprintf("ranks %d–%d", ranks[0], ranks[len(ranks)-1])
}

// workerName returns "rank 3 (dp=3,pp=0)", or "worker 6 (dp=2,pp=1; ranks 24–27)".
func workerName(rank int, role string, stands []int) string {
	if stands != nil {
		role = strings.TrimPrefix(role+"; ", "; ") + representedRanks(stands)
	}
	if role == "" {
		return fmt.Sprintf("rank %d", rank)
	}
	return fmt.Sprintf("%s %d (%s)", nounOf(stands != nil), rank, role)
}

// andList returns "a", "a and b" or "a, b and c".
func andList(names []string) string { return joinList(names, "and") }

// orList returns the same with "or".
func orList(names []string) string { return joinList(names, "or") }

// joinList returns a list with a word before its last name.
func joinList(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + word + " " + names[len(names)-1]
}

// ordinal returns "2nd" of 2.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n) + suffix
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// stepsWord returns "step 4" or "steps 4–42".
func stepsWord(first, last int64) string {
	if first == last {
		return fmt.Sprintf("step %d", first)
	}
	return fmt.Sprintf("steps %d–%d", first, last)
}

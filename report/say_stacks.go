package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/internal/table"
)

// What NCCL answers of its counts, and what stacks show: whole sentences.

// sayBehind states how far ranks of a communicator are behind its leaders.
func sayBehind(b *arrivals.Behind, who, leaders string) string {
	least := ""
	if len(b.Ranks) > 1 {
		least = "at least "
	}
	text := fmt.Sprintf("%s %s behind in communicator %s: %s%s %s launched, %s by %s", who, isAre(len(b.Ranks)), b.Communicator, least, table.Grouped(b.Least), b.Name, table.Grouped(b.Most), leaders)
	if b.Stands > 0 {
		text += fmt.Sprintf("; unchanged for %s", length(b.Stands))
	}
	return text + "."
}

func sayUnanswered(run, who string, ranks int) string {
	is := "their processes are"
	if ranks == 1 {
		is = "its process is"
	}
	return fmt.Sprintf("%s: no answer to NCCL from %s: %s gone, stopped or out of reach.", run, who, is)
}

func sayAbsent(run string, a *arrivals.Asked) string {
	have, others := "have", ""
	if len(a.Absent) == 1 {
		have = "has"
	}
	if len(a.Behind) == 0 {
		others = "; the others have launched the same collectives"
	}
	return fmt.Sprintf("%s: %s of the %d of communicator %s %s no line in this log%s.", run, ranksWord(a.Absent), a.Size, a.Of, have, others)
}

func sayNextOfAbsent(a *arrivals.Asked) string {
	return fmt.Sprintf("Their logs are not here, or they did not get so far. Next: give the logs of all hosts; py-spy dump of %s shows where they are.", ranksWord(a.Absent))
}

func sayNobodyBehind(run string, a *arrivals.Asked) string {
	if a.Logged {
		return run + ": no rank is behind: all have logged the same collectives."
	}
	return fmt.Sprintf("%s: no rank is behind: in every communicator that stands still all have launched the same collectives (%s of NCCL).", run, table.Counted(a.Reports, "report"))
}

// sayNextOfBehind states what to do about ranks that are behind, where nobody looked where they are.
func sayNextOfBehind(a *arrivals.Asked, who string) string {
	switch {
	case a.Logged:
		return fmt.Sprintf("A log counts launches, which may run ahead. Next: py-spy dump of %s; %s.", who, dumpEntries)
	case a.Reports == 1:
		return fmt.Sprintf("Ranks run apart by some calls for a moment. Next: ask again after a minute (ncclras -f json > ras_2.json), and py-spy dump of %s.", who)
	}
	return fmt.Sprintf("Next: py-spy dump of %s; %s.", who, dumpEntries)
}

const dumpEntries = "dumps of PyTorch's Flight Recorder beside these show who is missing in which call"

// stackPlaces is where the main threads of ranks are.
type stackPlaces struct {
	run     string
	ranks   int    // with a stack
	most    string // where most are; "": no place is that of most
	alike   int    // ranks that are there
	others  int    // other places
	apart   []int  // ranks in them
	owner   string // of the first of them
	at      string // where these are
	further int    // ranks in the rest
	waits   bool   // those apart are in collectives, and those where most are in none
}

func sayStacks(p *stackPlaces) string {
	ranks := table.Counted(p.ranks, "rank")
	switch {
	case p.most == "":
		return fmt.Sprintf("%s: the main threads of %s are in %d places, none of them shared by most: they work, or wait in different groups.", p.run, ranks, p.others)
	case len(p.apart) == 0:
		return fmt.Sprintf("%s: %s, all in %s: stacks do not show whom they wait for.", p.run, ranks, p.most)
	}
	text := fmt.Sprintf("%s: the main thread of %s is in %s, those of %s in %s.", p.run, p.owner, p.at, table.Counted(p.alike, "other"), p.most)
	if p.others > 1 {
		text += fmt.Sprintf(" %s elsewhere.", table.Counted(p.further, "further rank"))
	}
	return text
}

// waitFor states that ranks wait.
func waitFor(ranks []int) string {
	if len(ranks) == 1 {
		return ranksWord(ranks) + " waits"
	}
	return ranksWord(ranks) + " wait"
}

func sayNextOfStacks(p *stackPlaces) string {
	switch {
	case p.most == "":
		return "Next: " + dumpEntries + "."
	case len(p.apart) == 0:
		return "Next: look at ranks without a stack; " + dumpEntries + "."
	}
	if p.waits {
		return fmt.Sprintf("A stack is of one moment. %s for the others in a collective. Next: dump these again after a minute; one that has not moved is the suspect. %s.", upper(waitFor(p.apart)), upper(dumpEntries))
	}
	return fmt.Sprintf("A stack is of one moment. Next: dump %s again after a minute; one that has not moved is the suspect. %s.", ranksWord(p.apart), upper(dumpEntries))
}

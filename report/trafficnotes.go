package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace"
)

// trafficNotes words how a result of communication was found, and what it lacks.
func trafficNotes(r *comm.Result) bullets {
	var b bullets
	for _, n := range r.Notes {
		b = append(b, noteWords(n))
	}
	return b
}

// noteWords words a note, "" where its kind has no words.
func noteWords(n comm.Note) string {
	for _, words := range []func(comm.Note) string{processNote, inputNote, rankNote, dumpNote} {
		if text := words(n); text != "" {
			return text
		}
	}
	return ""
}

// processNote words how processes and calls were found.
func processNote(n comm.Note) string {
	switch n.Kind {
	case comm.NotePaired:
		return "processes of logs and exports were paired: " + pairedWords(n.Paired)
	case comm.NoteTied:
		return fmt.Sprintf("calls of %d of %d ranks are tied to their kernels by NCCL's own NVTX ranges, in which they were launched: nothing is guessed there", n.N, n.Of)
	case comm.NoteCallsAdded:
		return fmt.Sprintf("%d calls that the logs lack were taken from NVTX ranges", n.N)
	case comm.NoteDoubtful:
		return fmt.Sprintf("no match of the %d processes that were not clearly paired is called certain", n.N)
	case comm.NoteUntried:
		return fmt.Sprintf("%d processes of logs and %d of exports could not be told by host, pid, bus or device, and are too many to compare by what they did", n.N, n.Of)
	case comm.NoteJoined:
		return fmt.Sprintf("%d sides of communicators were put together by their collectives ending at once: the log names no ids (NCCL before 2.16, or no INIT lines)", n.N)
	case comm.NoteBeginnings:
		return fmt.Sprintf("%d ranks' recordings fit at several places of their logs, and nothing says at which: that of rank %d may begin at %s. "+
			"Record the launching calls too (nsys profile --trace=cuda), or have the log stamped (NCCL_DEBUG_TIMESTAMP_LEVELS=INFO)", n.N, n.Of, linesWords(n))
	case comm.NoteLogged:
		return fmt.Sprintf("%d processes logged and are in no export", n.N)
	case comm.NoteProfiled:
		return fmt.Sprintf("%d processes of exports left no log", n.N)
	}
	return ""
}

// inputNote words what the inputs lack.
func inputNote(n comm.Note) string {
	switch n.Kind {
	case comm.NoteNoExports:
		return "no export of Nsight Systems among the inputs: what was called is known, not when it ran or for how long"
	case comm.NoteNoCalls:
		return "no debug log among the inputs, and no payloads in the exports: kernels are known, not sizes and communicators; nsys export --include-blobs=true adds what NCCL tells"
	case comm.NoteLogsWithoutCalls:
		return "the logs have no calls: set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH"
	case comm.NoteUnlikeBenchmarks:
		return "the measurements of nccl-tests are of other operations, numbers of ranks or hosts, or larger sizes than all calls here: limits are those of links"
	case comm.NoteClockUnknown:
		return fmt.Sprintf("the clock of %s cannot be compared with the first: too few collectives in common", n.Source)
	}
	return ""
}

// rankNote words how ranks are numbered and laid out.
func rankNote(n comm.Note) string {
	const numbered = "ranks are numbered by host, CUDA device and pid: "
	switch l := n.Layout; n.Kind {
	case comm.NoteRanks:
		return fmt.Sprintf("%d of %d ranks are shown, as --ranks says: a collective that others take part in too is not measured", n.N, n.Of)
	case comm.NoteNoWorld:
		return numbered + "no communicator in the log holds all processes"
	case comm.NoteNoInit:
		return numbered + "the log has no INIT lines"
	case comm.NoteUnnumbered:
		return fmt.Sprintf("%d %sthere is no log to tell", n.N, numbered)
	case comm.NoteDisjoint:
		return fmt.Sprintf("%d sets of ranks share no communicator, not even over others: %s. Give each job a folder of its own; if this is one job, the logs lack the communicators that join them",
			len(n.Sets), setsWords(n.Sets))
	case comm.NoteLayoutSize:
		return fmt.Sprintf("kinds of communicators are inferred: a layout of tp=%d, cp=%d, dp=%d, pp=%d has %d ranks, the logs and exports have %d", l.TP, l.CP, l.DP, l.PP, l.World(), n.N)
	case comm.NoteLayoutExperts:
		return fmt.Sprintf("kinds of communicators are inferred: ep=%d does not divide dp×cp=%d", l.EP, l.DP*l.CP)
	}
	return ""
}

// dumpNote words how dumps of NCCL's Inspector were used.
func dumpNote(n comm.Note) string {
	switch n.Kind {
	case comm.NoteDumpsUnused:
		return fmt.Sprintf("%d dumps of NCCL's Inspector are left out: exports of Nsight Systems have all kernels and their times", n.N)
	case comm.NoteDumpsSampled:
		return fmt.Sprintf("the dumps have %d of %d operations, by their numbers: counts and volumes are of those, and what a rank did before each is not known", n.N, n.Of)
	case comm.NoteDumpsDropped:
		return fmt.Sprintf("NCCL's Inspector dropped %d records before it dumped them: larger rings (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE) or a shorter interval keep them", n.N)
	case comm.NoteDumpsTimeless:
		return "the dumps tell how long operations took, not when they ran: NCCL_INSPECTOR_DUMP_VERBOSE=1 adds that"
	}
	return ""
}

func pairedWords(paired []int) string {
	var how []string
	for p, n := range paired {
		if p := comm.Pairing(p); n > 0 && p != comm.Unpaired {
			how = append(how, fmt.Sprintf("%d by %v", n, p))
		}
	}
	return strings.Join(how, ", ")
}

// setsWords lists the first sets of ranks.
func setsWords(sets [][]int) string {
	const shown = 4
	var names []string
	for _, ranks := range sets[:min(shown, len(sets))] {
		names = append(names, trace.RankList(ranks))
	}
	if len(sets) > shown {
		names = append(names, "…")
	}
	return strings.Join(names, "; ")
}

// linesWords lists the first of a note's lines.
func linesWords(n comm.Note) string {
	const shown = 6
	text := n.Source + ", line "
	for i, l := range n.Lines[:min(shown, len(n.Lines))] {
		switch {
		case i > 0 && i == len(n.Lines)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprint(l)
	}
	if more := len(n.Lines) - shown; more > 0 {
		text += fmt.Sprintf(", or %d more", more)
	}
	return text
}

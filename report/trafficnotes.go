package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace"
)

// trafficNotes words how a result of communication was found, and what it lacks.
func trafficNotes(r *comm.Result) bullets {
	return each(r.Notes, noteWords)
}

// noteSentences word notes; what stands in braces is filled in.
var noteSentences = map[comm.NoteKind]string{
	// How processes and calls were found.
	comm.NotePaired:     "processes of logs and exports were paired: {paired}",
	comm.NoteTied:       "calls of {n} of {of} ranks are tied to their kernels by NCCL's own NVTX ranges, in which they were launched: nothing is guessed there",
	comm.NoteCallsAdded: "{n} calls that the logs lack were taken from NVTX ranges",
	comm.NoteJoined: "{n} sides of communicators were put together by their collectives ending at once: " +
		"the log names no ids (NCCL before 2.16, or no INIT lines)",
	comm.NoteBeginnings: "{n} ranks' recordings fit at several places of their logs, and nothing says at which: that of rank {of} may begin at {lines}. " +
		"Record the launching calls too (nsys profile --trace=cuda), or have the log stamped (NCCL_DEBUG_TIMESTAMP_LEVELS=INFO)",
	comm.NoteLogged:   "{n} processes logged and are in no export",
	comm.NoteProfiled: "{n} processes of exports left no log",
	// What the inputs lack.
	comm.NoteNoExports: "no export of Nsight Systems among the inputs: what was called is known, not when it ran or for how long",
	comm.NoteNoCalls: "no debug log among the inputs, and no payloads in the exports: kernels are known, not sizes and communicators; " +
		"nsys export --include-blobs=true adds what NCCL tells",
	comm.NoteLogsWithoutCalls: "the logs have no calls: set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH",
	comm.NoteUnlikeBenchmarks: "the measurements of nccl-tests are of other operations, numbers of ranks or hosts, or larger sizes than all calls here: " +
		"limits are those of links",
	comm.NoteClockUnknown: "the clock of {source} cannot be compared with the first: too few collectives in common",
	// How ranks are numbered and laid out.
	comm.NoteRanks:      "{n} of {of} ranks are shown, as --ranks says: a collective that others take part in too is not measured",
	comm.NoteNoWorld:    "ranks are numbered by host, CUDA device and pid: no communicator in the log holds all processes",
	comm.NoteNoInit:     "ranks are numbered by host, CUDA device and pid: the log has no INIT lines",
	comm.NoteUnnumbered: "{n} ranks are numbered by host, CUDA device and pid: there is no log to tell",
	comm.NoteDisjoint: "{sets} sets of ranks share no communicator, not even over others: {ranks}. Give each job a folder of its own; " +
		"if this is one job, the logs lack the communicators that join them",
	comm.NoteLayoutSize:    "kinds of communicators are inferred: a layout of tp={tp}, cp={cp}, dp={dp}, pp={pp} has {world} ranks, the logs and exports have {n}",
	comm.NoteLayoutExperts: "kinds of communicators are inferred: ep={ep} does not divide dp×cp={dp×cp}",
	// How dumps of NCCL's Inspector were used.
	comm.NoteDumpsUnused: "{n} dumps of NCCL's Inspector are left out: exports of Nsight Systems have all kernels and their times",
	comm.NoteDumpsSampled: "the dumps have {n} of {of} operations, by their numbers: " +
		"counts and volumes are of those, and what a rank did before each is not known",
	comm.NoteDumpsDropped: "NCCL's Inspector dropped {n} records before it dumped them: larger rings (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE) " +
		"or a shorter interval keep them",
	comm.NotePeerWait:      "by RCCL's own account the proxies of rank {ranks} waited {time} a collective for the other side, those of the others {others}: it is the one they wait for",
	comm.NoteDumpsTimeless: "the dumps tell how long operations took, not when they ran: NCCL_INSPECTOR_DUMP_VERBOSE=1 adds that",
}

// noteWords words a note, "" where its kind has no words.
func noteWords(n comm.Note) string {
	l := n.Layout
	return filled(noteSentences[n.Kind], "n", n.N, "of", n.Of, "time", length(float64(n.N)), "others", length(float64(n.Of)), "source", n.Source, "lines", linesWords(n), "paired", pairedWords(n.Paired),
		"sets", len(n.Sets), "ranks", setsWords(n.Sets), "world", l.World(), "tp", l.TP, "cp", l.CP, "dp", l.DP, "pp", l.PP, "ep", l.EP, "dp×cp", l.DP*l.CP)
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
	names := each(sets[:min(shown, len(sets))], trace.RankList)
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

package comm

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/comms"
)

// NoteKind is what a Note reports.
type NoteKind string

const (
	NotePaired           NoteKind = "paired"             // processes of logs and exports, Paired by each Pairing
	NoteDisjoint         NoteKind = "disjoint"           // Sets of ranks that no communicators connect
	NoteTied             NoteKind = "tied"               // calls of N of Of ranks have their kernels by NCCL's NVTX ranges
	NoteCallsAdded       NoteKind = "calls_added"        // N calls that the logs lack, from NVTX ranges
	NoteNoExports        NoteKind = "no_exports"         // neither exports nor dumps: no times
	NoteNoCalls          NoteKind = "no_calls"           // neither logs nor payloads: no sizes, no communicators
	NoteLogsWithoutCalls NoteKind = "logs_without_calls" // NCCL_DEBUG_SUBSYS lacks COLL
	NoteLogged           NoteKind = "logged"             // N processes logged and are in no export
	NoteProfiled         NoteKind = "profiled"           // N processes of exports left no log
	NoteNoWorld          NoteKind = "no_world"           // no communicator holds all processes: ranks by host, device and pid
	NoteNoInit           NoteKind = "no_init"            // the log has no INIT lines: ranks by host, device and pid
	NoteUnnumbered       NoteKind = "unnumbered"         // N ranks by host, device and pid, for want of a log
	NoteClockUnknown     NoteKind = "clock_unknown"      // the clock of Source has too few collectives in common with the first
	NoteDumpsUnused      NoteKind = "dumps_unused"       // N dumps of NCCL's Inspector, beside exports
	NoteDumpsSampled     NoteKind = "dumps_sampled"      // the dumps have N of Of operations
	NoteDumpsTimeless    NoteKind = "dumps_timeless"     // the dumps have durations and no times
	NoteLayoutSize       NoteKind = "layout_size"        // the Layout given, filled, is not of N ranks: kinds are inferred
	NoteLayoutExperts    NoteKind = "layout_experts"     // the Layout given has experts that do not divide its data and context ranks
	NoteJoined           NoteKind = "joined"             // N sides of communicators were joined by the ends of their collectives
	NoteBeginnings       NoteKind = "beginnings"         // N ranks' recordings fit at several places of their logs; of rank Of from any of Lines of Source on
	NoteDumpsDropped     NoteKind = "dumps_dropped"      // N records that the Inspector dropped before it could dump them
	NoteUnlikeBenchmarks NoteKind = "unlike_benchmarks"  // Benchmarks were given, and none is of an operation, ranks, hosts and size like those of any calls
	NoteRanks            NoteKind = "ranks"              // N of Of ranks were chosen
	NotePeerWait         NoteKind = "peer_wait"          // proxies of the rank in Sets waited N ns a collective, the others' Of (median): it is waited for
)

// Note is something to know of how a Result was found, or of what it lacks. The kind says which fields are set.
type Note struct {
	Kind   NoteKind
	N, Of  int64
	Paired []int   // processes, by Pairing
	Sets   [][]int // ranks, ascending
	Layout parallel.Layout
	Source string
	Lines  []int64
}

func (r *Result) note(n Note) { r.Notes = append(r.Notes, n) }

// count notes a kind of which there are n, unless there are none.
func (r *Result) count(kind NoteKind, n int) {
	if n > 0 {
		r.note(Note{Kind: kind, N: int64(n)})
	}
}

// notes adds how things were found, and what was not; unnumbered is why ranks are not numbered by a communicator, of no kind where they are.
func (r *Result) notes(unnumbered Note) {
	ranks := func(that func(k *Rank) bool) (n int) {
		for i := range r.Ranks {
			if that(&r.Ranks[i]) {
				n++
			}
		}
		return n
	}
	paired := make([]int, len(pairingNames))
	for i := range paired {
		paired[i] = ranks(func(k *Rank) bool { return k.Pairing == Pairing(i) })
	}
	if len(r.Ranks) > paired[Unpaired] {
		r.note(Note{Kind: NotePaired, Paired: paired})
	}
	if sets := parallel.Sets(r.Communicators); len(sets) > 1 {
		r.note(Note{Kind: NoteDisjoint, Sets: sets})
	}
	if n := ranks(func(k *Rank) bool { return k.Join == ByNVTX }); n > 0 {
		r.note(Note{Kind: NoteTied, N: int64(n), Of: int64(len(r.Ranks))})
	}
	logs := r.Sources(comms.SourceNCCLLog)
	if logs > 0 {
		r.count(NoteCallsAdded, r.callsOfProfiles())
	}
	r.noteBeginnings()
	switch {
	case r.Sources(comms.SourceNsight)+r.Sources(comms.SourceInspector) == 0:
		r.note(Note{Kind: NoteNoExports})
	case len(r.Calls) == 0 && logs == 0:
		r.note(Note{Kind: NoteNoCalls})
	case len(r.Calls) == 0:
		r.note(Note{Kind: NoteLogsWithoutCalls})
	default:
		r.count(NoteLogged, ranks(func(k *Rank) bool { return k.Log != comms.None && k.Profile == comms.None }))
		if logs > 0 {
			r.count(NoteProfiled, ranks(func(k *Rank) bool { return k.Log == comms.None }))
		}
	}
	if unnumbered.Kind != "" {
		r.note(unnumbered)
	}
	if r.Speed.Theory.Benchmarks != nil && !slices.ContainsFunc(r.Speed.Cells, func(c Cell) bool { return c.Limit.Benchmark }) {
		r.note(Note{Kind: NoteUnlikeBenchmarks})
	}
	for _, c := range r.Clocks {
		if !c.Known {
			r.note(Note{Kind: NoteClockUnknown, Source: r.ProfileOf(c.Rank)})
			break
		}
	}
}

// callsOfProfiles returns how many calls are from NVTX ranges.
func (r *Result) callsOfProfiles() (n int) {
	for i := range r.Calls {
		if r.kindOf(r.Calls[i].Process) == comms.SourceNsight {
			n++
		}
	}
	return n
}

// noteBeginnings notes of the first rank whose recording may begin at several calls at which ones: of its streams that with most kernels.
func (r *Result) noteBeginnings() {
	n := Note{Kind: NoteBeginnings}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		if k.Matching == nil {
			continue
		}
		all := k.Matching.UndecidedStreams()
		if len(all) == 0 {
			continue
		}
		if n.N++; n.N > 1 {
			continue
		}
		most := slices.MaxFunc(all, func(x, y align.Beginnings) int { return cmp.Compare(len(x.Kernels), len(y.Kernels)) })
		n.Of = int64(k.Rank)
		for _, c := range most.Calls {
			x := &r.Calls[k.Calls[c]]
			n.Source, n.Lines = r.Recorded.Sources[x.Source].Name, append(n.Lines, x.Line)
		}
	}
	if n.N > 0 {
		r.note(n)
	}
}

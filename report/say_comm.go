package report

import (
	"fmt"
	"strconv"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

// What communication comes to, how it was found, and what its recordings lack.

// trafficSources is what a result of communication was put together from.
type trafficSources struct {
	inputs              string
	pairs, certain      int // calls with their kernels, and those of them that are certain
	unmatched, leftover int // calls without a kernel, kernels without a call
	sets                string
}

func sayTrafficBasis(j *trafficSources) string {
	text := j.inputs
	if j.pairs > 0 {
		text += fmt.Sprintf("; %s matched to kernels, %s of them with certainty", table.Counted(j.pairs, "call"), table.Percent(float64(j.certain)/float64(j.pairs)))
	}
	if j.unmatched > 0 {
		text += fmt.Sprintf("; %s without a kernel", table.Counted(j.unmatched, "call"))
	}
	if j.leftover > 0 && j.unmatched > 0 {
		text += fmt.Sprintf(", %s without a call", table.Counted(j.leftover, "kernel"))
	} else if j.leftover > 0 {
		text += fmt.Sprintf("; %s without a call", table.Counted(j.leftover, "kernel"))
	}
	text += "."
	if j.sets != "" {
		text += fmt.Sprintf(" Perhaps these are several jobs, whose ranks are numbered on: %s share no communicator (--run, or a folder for each).", j.sets)
	}
	return text
}

// changesHeadline states how much of the communication differs.
func changesHeadline(r *changes.Result) string {
	of, uses := "the recordings", table.Counted(len(r.Changes), "use")
	if r.PerStep {
		of = "a step"
	}
	if r.CountDiffering() == 0 && len(r.Gone) == 0 && len(r.New) == 0 {
		return fmt.Sprintf("The communication of %s is the same: calls, bytes and sizes of %s.", of, uses)
	}
	text := fmt.Sprintf("The communication of %s differs in %d of %s", of, r.CountDiffering(), uses)
	if n := len(r.Gone); n > 0 {
		text += fmt.Sprintf("; %s %s gone", table.Counted(n, "communicator"), isAre(n))
	}
	if n := len(r.New); n > 0 {
		text += fmt.Sprintf("; %s %s new", table.Counted(n, "communicator"), isAre(n))
	}
	return text + "."
}

func sayChangesCaption(perStep bool) string {
	of := "the whole recordings"
	if perStep {
		of = "a step"
	}
	return fmt.Sprintf("What differs has a line of each side. calls, volume: of %s, over all ranks. size: median of a call. how: algorithm and protocol of most calls, where tuning lines name them. bus GB/s: median; by how much healthy runs differ is not in two recordings.", of)
}

func sayGroup(g *changes.Group) string {
	return fmt.Sprintf("a communicator of %s (%v), seen in ranks %s", table.Counted(g.Size, "rank"), g.Kind, trace.RankList(g.Ranks))
}

// sayHowSteps states how the steps of calls were found.
func sayHowSteps(s *comm.Steps) string {
	switch s.Source {
	case comm.ByMarks:
		return fmt.Sprintf("%s, as the program marks them with NVTX ranges.", table.Counted(len(s.Names), "step"))
	case comm.ByRepetition:
		return fmt.Sprintf("%s, found by calls that repeat themselves on every rank: nothing marks steps.", table.Counted(len(s.Names), "step"))
	}
	return "No steps: nothing marks them, and the calls of all ranks do not repeat themselves three times. Mark them with an NVTX range (iteration 7), or record more of them."
}

func sayDimension(d *comm.Dimension) string {
	text := d.Kind.String()
	if d.Ranks > 0 {
		text += fmt.Sprintf(" %d", d.Ranks)
	}
	switch d.Variant {
	case comm.SplitSequences:
		text += " with sequence parallelism"
	case comm.ShardedOptimizer:
		text += " with a sharded optimizer (ZeRO-1 or 2)"
	case comm.ShardedAll:
		text += " with sharded parameters (ZeRO-3, FSDP)"
	}
	return text
}

// sayWhyDimension states by which groups and calls a dimension is known.
func sayWhyDimension(d *comm.Dimension) string {
	ranks := "unequal sizes"
	if d.Ranks > 0 {
		ranks = table.Counted(d.Ranks, "rank")
	}
	text := fmt.Sprintf("%v by %s of %s,", d.Kind, table.Counted(d.Groups, "group"), ranks)
	for i, o := range d.Ops {
		if i > 0 {
			text += ","
		}
		calls := strconv.Itoa(o.Calls)
		if d.Steps > 0 {
			calls = fmt.Sprintf("%.3g", float64(o.Calls)/float64(d.Steps))
		}
		text += fmt.Sprintf(" %v %s", o.Op, calls)
	}
	if d.Steps > 0 {
		text += " a step"
	}
	return text
}

func sayBubble(a *volume.Account) string {
	if a.Bubble <= 0 {
		return ""
	}
	return fmt.Sprintf("Pipeline bubble by the model: stages idle for %s of the time in which they compute, while the pipeline fills and drains.", table.Percent(a.Bubble))
}

// noteWords words how a result of communication was found, and what it lacks.
func noteWords(n comm.Note) string {
	switch n.Kind {
	case comm.NotePaired:
		return "processes of logs and exports were paired: " + pairedWords(n.Paired)
	case comm.NoteTied:
		return fmt.Sprintf("calls of %d of %d ranks are tied to their kernels by NCCL's own NVTX ranges, in which they were launched: nothing is guessed there", n.N, n.Of)
	case comm.NoteCallsAdded:
		return fmt.Sprintf("%d calls that the logs lack were taken from NVTX ranges", n.N)
	case comm.NoteJoined:
		return fmt.Sprintf("%d sides of communicators were put together by their collectives ending at once: the log names no ids (NCCL before 2.16, or no INIT lines)", n.N)
	case comm.NoteBeginnings:
		return fmt.Sprintf("%d ranks' recordings fit at several places of their logs, and nothing says at which: that of rank %d may begin at %s, line %s. Record the launching calls too (nsys profile --trace=cuda), or have the log stamped (NCCL_DEBUG_TIMESTAMP_LEVELS=INFO)",
			n.N, n.Of, n.Source, firstLines(n.Lines))
	case comm.NoteLogged:
		return fmt.Sprintf("%d processes logged and are in no export", n.N)
	case comm.NoteProfiled:
		return fmt.Sprintf("%d processes of exports left no log", n.N)
	case comm.NoteClockUnknown:
		return fmt.Sprintf("the clock of %s cannot be compared with the first: too few collectives in common", n.Source)
	case comm.NoteRanks:
		return fmt.Sprintf("%d of %d ranks are shown, as --ranks says: a collective that others take part in too is not measured", n.N, n.Of)
	case comm.NoteUnnumbered:
		return fmt.Sprintf("%d ranks are numbered by host, CUDA device and pid: there is no log to tell", n.N)
	case comm.NoteDisjoint:
		return fmt.Sprintf("%d sets of ranks share no communicator, not even over others: %s. Give each job a folder of its own; if this is one job, the logs lack the communicators that join them", len(n.Sets), setsWords(n.Sets))
	case comm.NoteLayoutSize:
		l := &n.Layout
		return fmt.Sprintf("kinds of communicators are inferred: a layout of tp=%d, cp=%d, dp=%d, pp=%d has %d ranks, the logs and exports have %d", l.TP, l.CP, l.DP, l.PP, l.World(), n.N)
	case comm.NoteLayoutExperts:
		return fmt.Sprintf("kinds of communicators are inferred: ep=%d does not divide dp×cp=%d", n.Layout.EP, n.Layout.DP*n.Layout.CP)
	case comm.NoteDumpsUnused:
		return fmt.Sprintf("%d dumps of NCCL's Inspector are left out: exports of Nsight Systems have all kernels and their times", n.N)
	case comm.NoteDumpsSampled:
		return fmt.Sprintf("the dumps have %d of %d operations, by their numbers: counts and volumes are of those, and what a rank did before each is not known", n.N, n.Of)
	case comm.NoteDumpsDropped:
		return fmt.Sprintf("NCCL's Inspector dropped %d records before it dumped them: larger rings (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE) or a shorter interval keep them", n.N)
	case comm.NotePeerWait:
		return fmt.Sprintf("by RCCL's own account the proxies of rank %s waited %s a collective for the other side, the middle rank's %s: it is the one they wait for", setsWords(n.Sets), length(n.N), length(n.Of))
	}
	return sayLacking(n.Kind)
}

// sayLacking states what recordings of communication lack; of a kind without words the name.
func sayLacking(k comm.NoteKind) string {
	switch k {
	case comm.NoteNoExports:
		return "no export of Nsight Systems among the inputs: what was called is known, not when it ran or for how long"
	case comm.NoteNoCalls:
		return "no debug log among the inputs, and no payloads in the exports: kernels are known, not sizes and communicators; nsys export --include-blobs=true adds what NCCL tells"
	case comm.NoteLogsWithoutCalls:
		return "the logs have no calls: set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH"
	case comm.NoteUnlikeBenchmarks:
		return "the measurements of nccl-tests are of other operations, numbers of ranks or hosts, or larger sizes than all calls here: limits are those of links"
	case comm.NoteNoWorld:
		return "ranks are numbered by host, CUDA device and pid: no communicator in the log holds all processes"
	case comm.NoteNoInit:
		return "ranks are numbered by host, CUDA device and pid: the log has no INIT lines"
	case comm.NoteDumpsTimeless:
		return "the dumps tell how long operations took, not when they ran: NCCL_INSPECTOR_DUMP_VERBOSE=1 adds that"
	}
	return string(k)
}

// communicatorWords returns the purpose that a communicator is taken to have.
func communicatorWords(c *parallel.Communicator, e parallel.Evidence) string {
	switch e.Kind {
	case parallel.RanksApart:
		return fmt.Sprintf("its ranks are %d apart", e.Stride)
	case parallel.OneRankPerHost:
		return fmt.Sprintf("one rank on each of %d hosts", e.N)
	case parallel.LikeOthers:
		return fmt.Sprintf("groups of %d, %d apart, are %v elsewhere in the job", e.N, e.Stride, e.As)
	case parallel.UnevenSends:
		return "all-to-all of uneven sizes, as tokens go to experts: " + topOperations(c)
	case parallel.EvenSends:
		return "all that is sent at once is of equal size: experts of a fixed capacity, a split sequence or an interleaved pipeline: " + topOperations(c)
	case parallel.OneWaySends:
		return "sends go one way only, as in a ring of a split sequence: " + topOperations(c)
	case parallel.PairedSends:
		return "whenever it sends it receives, as in a ring of a split sequence: " + topOperations(c)
	case parallel.SendsAndReceives:
		return "sends and receives: " + topOperations(c)
	case parallel.SmallMessages:
		return fmt.Sprintf("messages of at most %d bytes: control, not data", e.N)
	case parallel.AveragingReductions:
		return fmt.Sprintf("%d reductions average, as those of gradients do", e.N)
	case parallel.GroupedCalls:
		return fmt.Sprintf("%d of %d large calls are grouped, as buckets of gradients and parameters are", e.N, e.Of)
	case parallel.SuccessiveGathers:
		return fmt.Sprintf("%s of the all-gathers follow one another without a reduction between, as those of the parameters of layers do", fraction(e.Share))
	case parallel.RareSizes:
		times := fmt.Sprintf("%d times", e.N)
		if e.N == 1 {
			times = "once"
		} else if e.N == 2 {
			times = "twice"
		}
		return fmt.Sprintf("no size of message comes more than %s a step, as gradients do", times)
	case parallel.GatheredSize:
		return fmt.Sprintf("one size of message comes %s, gathered and reduced alternately, as activations of layers are", sayHowOften(&e))
	case parallel.ReducedSize:
		return fmt.Sprintf("one size of message comes %s, as activations of layers do", sayHowOften(&e))
	case parallel.RepeatedSize:
		return fmt.Sprintf("one size of message comes %s, as activations of layers do, and equal buckets of gradients", sayHowOften(&e))
	case parallel.LayoutGiven:
		return fmt.Sprintf("the layout given: %v of %d, ranks %d apart", e.As, e.N, e.Stride)
	}
	return sayUse(e.Kind)
}

func sayHowOften(e *parallel.Evidence) string {
	text := table.Decimals(e.Times, 0) + " times"
	if !e.Whole {
		text += " a step"
	}
	return text
}

// sayUse states what a communicator is for by evidence without numbers; of a kind without words the name.
func sayUse(k parallel.EvidenceKind) string {
	switch k {
	case parallel.OneRankReduces:
		return "one rank reduces what is as large as gradients: a data dimension of one"
	case parallel.SingleRank:
		return "one rank: nothing is communicated"
	case parallel.OneRankBeside:
		return "one rank: nothing is communicated; its data-parallel or expert-parallel group is another"
	case parallel.NeverCalled:
		return "never called"
	case parallel.SharedEmbedding:
		return "it joins stages of one pipeline, as a shared embedding does"
	case parallel.NeighboursOnHost:
		return "neighbouring ranks of one host"
	case parallel.TensorOrData:
		return "which does not decide between tensor and data parallelism"
	case parallel.LayoutOneRank:
		return "one rank, as the data dimension has"
	case parallel.OutsideLayout:
		return "no dimension of the layout has these ranks"
	case parallel.RanksWithoutLog:
		return "some of its ranks left no log"
	case parallel.DefaultGroup:
		return "all ranks, and small messages alone: the default group"
	case parallel.SilentStages:
		return "stages of one pipeline that send nothing to each other, as those that share an embedding"
	}
	return string(k)
}

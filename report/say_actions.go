package report

import (
	"cmp"
	"fmt"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// actionWords returns an action in words: an imperative without a full stop.
func actionWords(a answer.Action) string {
	switch a.Action {
	case answer.InspectHost:
		switch {
		case a.Host == "":
			return "compare clocks and throttle reasons of the host of " + ranksWord(a.Ranks)
		case len(a.Ranks) == 1:
			return fmt.Sprintf("compare clocks and throttle reasons of the device of %s on %s with those of its peers", ranksWord(a.Ranks), a.Host)
		}
		return fmt.Sprintf("compare clocks and throttle reasons of %s, or drain it", a.Host)
	case answer.SampleStack:
		if len(a.Stages) == 0 {
			return fmt.Sprintf("see what runs in those steps%s: garbage collection, checkpoints, logging (py-spy record)", sayOn(&a))
		}
		return fmt.Sprintf("look at %s%s (py-spy dump)", stagesToCheck(a.Stages), sayOn(&a))
	case answer.ReadLine:
		return fmt.Sprintf("see why %s takes longer%s", sourceWord(a.Line), sayOn(&a))
	case answer.DumpStack:
		text := "py-spy dump " + ranksWord(a.Ranks)
		if a.Host != "" {
			text += " on " + a.Host
		}
		return text
	case answer.CheckKernelLog:
		return "look for Xid errors in the kernel log" + sayOn(&a)
	case answer.CheckLoader:
		return "read the data loader's own metrics" + sayOn(&a)
	case answer.Profile:
		return sayProfile(&a)
	case answer.TestLink:
		return fmt.Sprintf("run nccl-tests (sendrecv_perf) between %s, and read the error counters of their links", ranksWord(a.Ranks))
	case answer.Compare:
		return "compare the operators of the ranks (sfstat zscore)"
	case answer.CheckMonitored:
		return sayCheck(&a)
	case answer.TurnOn:
		switch {
		case a.With == answer.SourceAllRanks && len(a.Ranks) > 0:
			return fmt.Sprintf("add what %s recorded, or number the ranks from 0 without gaps", ranksWord(a.Ranks))
		case a.With == answer.SourceMoreSteps && len(a.Stages) > 0:
			return "record more steps"
		}
		return cmp.Or(turnOn(a.With), string(a.Action))
	}
	return string(a.Action)
}

func sayOn(a *answer.Action) string {
	switch {
	case a.Host != "":
		return " on " + a.Host
	case len(a.Ranks) > 0:
		return " on " + ranksWord(a.Ranks)
	}
	return ""
}

func sayProfile(a *answer.Action) string {
	who := participants(*a, a.Ranks)
	if len(a.Peers) > 0 {
		who += fmt.Sprintf(", and %s to compare,", participants(*a, a.Peers))
	}
	with := string(a.With)
	switch a.With {
	case answer.SourceStacks:
		with = "torch.profiler with with_stack=True, or py-spy"
	case "", answer.SourceProfiler:
		with = "torch.profiler or nsys"
	}
	return fmt.Sprintf("profile %s for five steps (%s)", who, with)
}

// sayCheck states which reading of monitoring, or which report of a kernel, to look into.
func sayCheck(a *answer.Action) string {
	switch {
	case a.Monitored != nil:
		m, at := a.Monitored, "the same"
		if m.Timeless {
			at = "some"
		}
		return fmt.Sprintf("%s, the others %s, at %s time: %s", sayDid(m), valueWithUnit(m.Peers, m.Unit), at, quantityOf(m.Quantity).check)
	case a.Reported != nil:
		r := a.Reported
		what := fmt.Sprintf("look into %s of %s,", sayEvent(r), sayUnit(r.Host, r.Device))
		switch {
		case r.At == 0:
			return what + " in its kernel log"
		case r.Timeless:
			return fmt.Sprintf("%s reported (%s)", what, clockWord(r.At))
		}
		return fmt.Sprintf("%s reported at the same time (%s)", what, clockWord(r.At))
	}
	return string(a.Action)
}

// turnOn states how to get a source that would decide.
func turnOn(s answer.Source) string {
	switch s {
	case answer.SourceArrivals:
		return "record arrivals (Recorder(..., arrivals=True)), or put Flight Recorder dumps beside these files"
	case answer.SourceRing:
		return "keep more entries in the Flight Recorder's ring (TORCH_FR_BUFFER_SIZE), or record arrivals (Recorder(..., arrivals=True))"
	case answer.SourceMessages:
		return "record sends and receives (recorder: --arrivals auto, or Recorder(..., arrivals=True); NCCL's dumps have them)"
	case answer.SourceRoles:
		return "record the role of every rank"
	case answer.SourceMicrosteps:
		return "record stages with their accumulation index (stage@0, stage@1, …)"
	case answer.SourceEvents:
		return "sample more steps with device events, and read them later"
	case answer.SourceAllRanks:
		return "record all ranks of the group, or read them all"
	case answer.SourceSameStages:
		return "record the same stages on all ranks, in one order"
	case answer.SourceFlatStages:
		return "leave out the stage or what it contains: stages follow one another"
	case answer.SourceStageOrder:
		return "put the stages into the order in which a step runs them"
	case answer.SourceUnits:
		return "check the unit of the columns that the note below names, and say it (data_ms, or --unit ms)"
	case answer.SourceMoreSteps:
		return "name the stage in which ranks synchronise (--meet-after STAGE), or record more steps"
	case answer.SourceSteps:
		return "record more steps: 20 or more distinguish a late rank from chance"
	case answer.SourceWall:
		return "record the wall time of steps (wall_ns)"
	case answer.SourceOperators:
		return "compare the recorded operators rank by rank (sfstat zscore)"
	case answer.SourceHosts:
		return "say which ranks share a host: name the dumps by it (node7_rank3), or put the recorder's packets beside them"
	case answer.SourceBaseline:
		return "compare with a healthy run"
	case answer.SourceDumps:
		return "give the logs of all ranks; for the next run set TORCH_FR_BUFFER_SIZE=20000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1, whose dumps sfstat hang reads"
	case answer.SourceDigits:
		return "write the times with more digits"
	case answer.SourceClocks:
		return "record exports whose clocks resolve the calls"
	}
	return string(s)
}

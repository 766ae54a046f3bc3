package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/trace/stagename"
)

// actionWords words one action: an imperative without a full stop.
func actionWords(a answer.Action) string {
	on := where(a)
	switch a.Action {
	case answer.InspectHost:
		switch {
		case a.Host == "":
			return fmt.Sprintf("compare clocks and throttle reasons of the host of %s", ranksWord(a.Ranks))
		case len(a.Ranks) == 1:
			return fmt.Sprintf("compare clocks and throttle reasons of the device of %s on %s with those of its peers", ranksWord(a.Ranks), a.Host)
		}
		return fmt.Sprintf("compare clocks and throttle reasons of %s, or drain it", a.Host)
	case answer.SampleStack:
		if len(a.Stages) == 0 {
			return fmt.Sprintf("see what runs in those steps%s: garbage collection, checkpoints, logging (py-spy record)", on)
		}
		return fmt.Sprintf("look at %s%s (py-spy dump)", theStage(a.Stages), on)
	case answer.ReadLine:
		return fmt.Sprintf("see why %s takes longer%s", sourceWord(a.Line), on)
	case answer.DumpStack:
		if a.Host == "" {
			return "py-spy dump " + ranksWord(a.Ranks)
		}
		return fmt.Sprintf("py-spy dump %s on %s", ranksWord(a.Ranks), a.Host)
	case answer.CheckKernelLog:
		return fmt.Sprintf("look for Xid errors in the kernel log%s", on)
	case answer.CheckLoader:
		return fmt.Sprintf("read the data loader's own metrics%s", on)
	case answer.Profile:
		return fmt.Sprintf("profile %s for five steps (%s)", profiled(a), sourceWords(cmp.Or(a.With, answer.SourceProfiler)))
	case answer.TestLink:
		return fmt.Sprintf("run nccl-tests (sendrecv_perf) between %s, and read the error counters of their links", ranksWord(a.Ranks))
	case answer.Compare:
		return "compare the operators of the ranks (sfstat zscore)"
	case answer.CheckMonitored:
		return checkMonitored(a)
	case answer.TurnOn:
		if a.With == answer.SourceAllRanks && len(a.Ranks) > 0 {
			return "add what " + ranksWord(a.Ranks) + " recorded, or number the ranks from 0 without gaps"
		}
		return turnOn(a.With)
	}
	return string(a.Action)
}

// profiled is whom to profile: "rank 2, and ranks 0 and 4 to compare,".
func profiled(a answer.Action) string {
	if len(a.Peers) == 0 {
		return participants(a, a.Ranks)
	}
	return fmt.Sprintf("%s, and %s to compare,", participants(a, a.Ranks), participants(a, a.Peers))
}

// participants are ranks of an action, or the workers that they name.
func participants(a answer.Action, ranks []int) string {
	if len(a.Workers) == 0 {
		return ranksWord(ranks)
	}
	word := "workers "
	if len(ranks) == 1 {
		word = "worker "
	}
	return word + andList(each(ranks, func(rank int) string {
		i := slices.IndexFunc(a.Workers, func(w answer.Worker) bool { return w.Worker == rank })
		if i < 0 {
			return strconv.Itoa(rank)
		}
		return fmt.Sprintf("%d (%s)", rank, standsFor(a.Workers[i].StandsFor))
	}))
}

// where is " on gpu-node-1" or " on rank 2".
func where(a answer.Action) string {
	switch {
	case a.Host != "":
		return " on " + a.Host
	case len(a.Ranks) > 0:
		return " on " + ranksWord(a.Ranks)
	}
	return ""
}

func theStage(stages []string) string {
	if len(stages) == 0 {
		return "the process"
	}
	switch stagename.KindOf(stages[0]) {
	case stagename.Callbacks:
		return "the callback"
	case stagename.Data:
		return "the data loader"
	}
	return stageWord(stages[0])
}

func sourceWords(s answer.Source) string {
	switch s {
	case answer.SourceStacks:
		return "torch.profiler with with_stack=True, or py-spy"
	case answer.SourceProfiler:
		return "torch.profiler or nsys"
	}
	return string(s)
}

// turnOnWords say how to get a source that would decide.
var turnOnWords = map[answer.Source]string{
	answer.SourceArrivals:   "record arrivals (Recorder(..., arrivals=True)), or put Flight Recorder dumps beside these files",
	answer.SourceRing:       "keep more entries in the Flight Recorder's ring (TORCH_FR_BUFFER_SIZE), or record arrivals (Recorder(..., arrivals=True))",
	answer.SourceMessages:   "record sends and receives (recorder: --arrivals auto, or Recorder(..., arrivals=True); NCCL's dumps have them)",
	answer.SourceRoles:      "record the role of every rank",
	answer.SourceMicrosteps: "record stages with their accumulation index (stage@0, stage@1, …)",
	answer.SourceEvents:     "sample more steps with device events, and read them later",
	answer.SourceAllRanks:   "record all ranks of the group, or read them all",
	answer.SourceSameStages: "record the same stages on all ranks, in one order",
	answer.SourceFlatStages: "leave out the stage or what it contains: stages follow one another",
	answer.SourceStageOrder: "put the stages into the order in which a step runs them",
	answer.SourceUnits:      "check the unit of the columns that the note below names, and say it (data_ms, or --unit ms)",
	answer.SourceMoreSteps:  "name the stage in which ranks synchronise (--meet-after STAGE), or record more steps",
	answer.SourceSteps:      "record more steps: 20 or more distinguish a late rank from chance",
	answer.SourceWall:       "record the wall time of steps (wall_ns)",
	answer.SourceOperators:  "compare the recorded operators rank by rank (sfstat zscore)",
	answer.SourceHosts:      "say which ranks share a host: name the dumps by it (node7_rank3), or put the recorder's packets beside them",
	answer.SourceBaseline:   "compare with a healthy run",
	answer.SourceClocks:     "record exports whose clocks resolve the calls",
}

func turnOn(s answer.Source) string { return cmp.Or(turnOnWords[s], string(s)) }

package report

import (
	"github.com/sfstat/sfstat/diagnose/detectability"
	"github.com/sfstat/sfstat/engine/bootstrap"
)

// The structs of this file are the JSON of what delays are found, and its CSV;
// see wire.go.

type powerJSON struct {
	Headline string `json:"headline" doc:"the answer in one sentence"`

	Run        string  `json:"run" doc:"the recording that stands for the job"`
	Ranks      int     `json:"ranks" doc:"ranks of that recording"`
	Rounds     int     `json:"recorded_steps" doc:"whole steps that were drawn from, each from one synchronisation point to the next"`
	StepTime   int64   `json:"step_time_ns" doc:"median time of a step, of its last rank"`
	SyncPoint  string  `json:"sync_point" doc:"the stage at whose end all ranks synchronise"`
	Suspect    *string `json:"finding_in_recording" doc:"what the verdict finds in the recording itself, which should hold no fault; null: nothing"`
	Power      float64 `json:"power" doc:"the rate from which on a delay counts as found"`
	Asked      *int64  `json:"asked_delay_ns" doc:"the delay that was asked about; null if none"`
	Most       int64   `json:"largest_delay_ns" doc:"the largest delay that was tried"`
	Replicates int     `json:"replicates" doc:"windows for each delay"`
	Block      int     `json:"block" doc:"consecutive steps that are drawn together"`
	Seed       uint64  `json:"seed" doc:"seed of all randomness"`

	Windows []powerWindowJSON `json:"windows" doc:"by length of window, in the order asked for"`
}

type powerWindowJSON struct {
	Steps      int              `json:"steps" doc:"steps of a window"`
	FalseCalls bootstrap.Rate   `json:"false_calls" doc:"how often something is found where nothing is delayed"`
	Stages     []powerStageJSON `json:"stages" doc:"the stages, in recorded order"`
}

type powerStageJSON struct {
	Stage      string          `json:"stage" doc:"its name"`
	Syncs      bool            `json:"synchronises" doc:"all ranks synchronise in it, so that its times do not show which rank was late"`
	AfterSync  bool            `json:"after_last_sync_point" doc:"it comes after the last synchronisation point of a step: others wait for a delay in the next step"`
	Thresholds []thresholdJSON `json:"thresholds" doc:"one for each answer"`
	Asked      *triedJSON      `json:"asked" doc:"rates at the delay that was asked about; null: none was"`
	Astray     *triedJSON      `json:"most_wrong" doc:"the delay with the most wrong findings; null: none was tried"`
}

type thresholdJSON struct {
	Answer detectability.Answer `json:"answer" doc:"the stage is first or among the first two by the automatic cut, or by the paper's; or rank and stage are called (supported or strong)"`
	State  detectability.State  `json:"state" doc:"found; already: it is reached without a delay; beyond: not up to the largest delay"`
	Delay  *int64               `json:"delay_ns" doc:"the delay; 0 when already, null when beyond"`
	Below  *int64               `json:"below_ns" doc:"the largest delay tried that does not reach it; null when already"`
	Guess  *int64               `json:"guess_ns" doc:"the delay if it added to its own stage and to nothing else; null: not known"`
	Rate   bootstrap.Rate       `json:"rate" doc:"rate at delay_ns; when beyond, at the largest delay"`
	Share  float64              `json:"-" csv:"share"`
}

type triedJSON struct {
	Delay int64          `json:"delay_ns" doc:"the delay that was added, ns a step"`
	Call  bootstrap.Rate `json:"called" doc:"how often it was found"`
	Wrong bootstrap.Rate `json:"wrong" doc:"how often another rank or stage was named"`
}

func triedFrom(t *detectability.Tried) *triedJSON {
	if t == nil {
		return nil
	}
	return &triedJSON{t.Delay, t.Rates[detectability.Called], t.Wrong}
}

func powerOf(a *detectability.Account) powerJSON {
	out := powerJSON{Headline: powerHeadline(a), Run: a.Run, Ranks: a.Ranks, Rounds: a.Rounds,
		StepTime: a.StepTime, SyncPoint: a.SyncPoint, Power: a.Power,
		Most: a.Most, Replicates: a.Replicates, Block: a.Block, Seed: a.Seed, Windows: []powerWindowJSON{}}
	if a.Asked > 0 {
		out.Asked = &a.Asked
	}
	if a.Suspect != nil {
		out.Suspect = optionalString(Headline(a.Suspect))
	}
	for _, w := range a.Windows {
		window := powerWindowJSON{w.Steps, w.FalseCalls, []powerStageJSON{}}
		for i := range w.Stages {
			window.Stages = append(window.Stages, powerStageOf(&w.Stages[i]))
		}
		out.Windows = append(out.Windows, window)
	}
	return out
}

func powerStageOf(s *detectability.Stage) powerStageJSON {
	out := powerStageJSON{Stage: s.Name, Syncs: s.Syncs, AfterSync: s.AfterSync, Asked: triedFrom(s.Asked), Astray: triedFrom(s.Astray)}
	for i, t := range s.Thresholds {
		j := thresholdJSON{Answer: detectability.Answer(i), State: t.State, Rate: t.Rate, Share: shareOf(t.Rate)}
		if t.State != detectability.Beyond {
			j.Delay = &t.Delay
		}
		if t.State != detectability.Already {
			j.Below = &t.Below
		}
		if t.Guess >= 0 {
			j.Guess = &t.Guess
		}
		out.Thresholds = append(out.Thresholds, j)
	}
	return out
}

// thresholdCSV has one row per threshold.
var thresholdCSV = itemsOf[powerJSON]("windows.stages.thresholds",
	"steps stage answer state delay_ns below_ns rate=share rate_lower=rate.lower rate_upper=rate.upper replicates=rate.of false_calls=false_calls.count power seed")

func thresholdRows(a *detectability.Account) *csvTable { return thresholdCSV.of(powerOf(a)) }

package report

import (
	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/eval/detectability"
)

// The structs of this file are the JSON of what delays are found, and its CSV;
// see wire.go.

type powerJSON struct {
	Headline string `json:"headline"`

	Run        string  `json:"run"`
	Ranks      int     `json:"ranks"`
	Rounds     int     `json:"recorded_steps"`
	StepTime   int64   `json:"step_time_ns"`
	SyncPoint  string  `json:"meeting"`
	Suspect    *string `json:"suspect_in_recording"`
	Power      float64 `json:"power"`
	Asked      *int64  `json:"asked_delay_ns"`
	Most       int64   `json:"largest_delay_ns"`
	Replicates int     `json:"replicates"`
	Block      int     `json:"block"`
	Seed       uint64  `json:"seed"`

	Windows []powerWindowJSON `json:"windows"`
}

type powerWindowJSON struct {
	Steps      int              `json:"steps"`
	FalseCalls bootstrap.Rate   `json:"false_calls"`
	Stages     []powerStageJSON `json:"stages"`
}

type powerStageJSON struct {
	Stage      string          `json:"stage"`
	Syncs      bool            `json:"ranks_meet"`
	AfterSync  bool            `json:"after_last_meeting"`
	Thresholds []thresholdJSON `json:"thresholds"`
	Asked      *triedJSON      `json:"asked"`
	Astray     *triedJSON      `json:"most_wrong"`
}

type thresholdJSON struct {
	Answer detectability.Answer `json:"answer"`
	State  detectability.State  `json:"state"`
	Delay  *int64               `json:"delay_ns"`
	Below  *int64               `json:"below_ns"`
	Guess  *int64               `json:"guess_ns"`
	Rate   bootstrap.Rate       `json:"rate"`
	Share  float64              `json:"-" csv:"share"`
}

type triedJSON struct {
	Delay int64          `json:"delay_ns"`
	Call  bootstrap.Rate `json:"called"`
	Wrong bootstrap.Rate `json:"wrong"`
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

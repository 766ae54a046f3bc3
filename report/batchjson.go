package report

import (
	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
)

// The structs below are the JSON of what a batch comes to; see wire.go.

type batchJSON struct {
	Headline string             `json:"headline" doc:"one sentence"`
	Windows  int                `json:"windows" doc:"windows that were judged"`
	Runs     []batchRunJSON     `json:"runs" doc:"all runs, the worst first"`
	Hosts    []recurringJSON    `json:"hosts" doc:"hosts that two runs or more are delayed by, the least likely first"`
	GPUs     []recurringJSON    `json:"gpus" doc:"GPUs, by host and local rank, likewise"`
	Weeks    []batchWeekJSON    `json:"weeks" doc:"weeks, of runs that say when they began"`
	Changes  []batchChangeJSON  `json:"changes" doc:"days from which on the runs of a family take longer or shorter"`
	Onsets   []batchOnsetJSON   `json:"onsets" doc:"weeks from which on a host or a GPU delays more or fewer of the runs"`
	LeftOut  []batchRefusalJSON `json:"left_out" doc:"inputs that are not in it, or not whole"`
}

type batchRunJSON struct {
	Folder     string   `json:"folder" doc:"of the recording"`
	Run        string   `json:"run" doc:"name of the run"`
	Begin      int64    `json:"begin_ns" null:"zero" doc:"when its first window began, since 1970; null: not known"`
	Windows    int      `json:"windows" doc:"windows that were judged"`
	Steps      int64    `json:"steps" doc:"steps that are accounted for"`
	Ranks      int64    `json:"ranks" doc:"ranks"`
	Step       int64    `json:"step_ns" null:"zero" doc:"mean exposed time of a step; null: no window"`
	Status     string   `json:"status" doc:"of its worst stretch"`
	Flagged    bool     `json:"flagged" doc:"its worst finding is certain and large enough to act on"`
	Kind       *string  `json:"kind" doc:"of its worst finding, as all below; null: it has none"`
	Cause      *string  `json:"cause" doc:"what it is"`
	Rank       *int64   `json:"rank" doc:"the rank"`
	Host       *string  `json:"host" doc:"its host"`
	LocalRank  *int64   `json:"local_rank" doc:"its number on the host"`
	Stage      *string  `json:"stage" doc:"the stage"`
	Confidence *string  `json:"confidence" doc:"how certain"`
	RunGain    *float64 `json:"run_gain" doc:"part of the run that fixing it would save"`
	Lost       int64    `json:"lost_ns" doc:"the same in time of all ranks"`
}

type recurringJSON struct {
	Host      string  `json:"host" doc:"the host"`
	LocalRank int64   `json:"local_rank" null:"negative" doc:"of the GPU on it; null: it is the host"`
	Runs      int     `json:"runs" doc:"runs that it delays"`
	Of        int     `json:"of" doc:"of so many with a finding to act on that names one of several"`
	P         float64 `json:"p" doc:"chance that any comes up so often, at most; corrected for as many as there are"`
	Lost      int64   `json:"lost_ns" doc:"time of all ranks"`
}

type batchWeekJSON struct {
	Monday  string `json:"monday" doc:"its first day, UTC"`
	Runs    int    `json:"runs" doc:"runs that began in it"`
	Flagged int    `json:"flagged" doc:"those with a finding to act on"`
}

type batchChangeJSON struct {
	Family string  `json:"family" doc:"name of the runs, # for the numbers in it"`
	Stage  *string `json:"stage" doc:"what became longer or shorter; null: the step"`
	Day    string  `json:"day" doc:"from which on"`
	Low    string  `json:"day_low" doc:"that day lies between this and day_high, at 95 %"`
	High   string  `json:"day_high" doc:"its last day"`
	Before int64   `json:"before_ns" doc:"in a step of the median run of a day, median over the days before"`
	After  int64   `json:"after_ns" doc:"and after"`
	P      float64 `json:"p" doc:"chance of such a change anywhere, if there is none"`
}

type batchOnsetJSON struct {
	Host      string  `json:"host" doc:"the host"`
	LocalRank int64   `json:"local_rank" null:"negative" doc:"of the GPU on it; null: it is the host"`
	Monday    string  `json:"monday" doc:"first day, UTC, of the week from which on"`
	Low       string  `json:"monday_low" doc:"that week lies between this and monday_high, at 95 %"`
	High      string  `json:"monday_high" doc:"its last week"`
	Before    float64 `json:"before_share" doc:"part of the runs of a week that it delays, median over the weeks before"`
	After     float64 `json:"after_share" doc:"and after"`
	P         float64 `json:"p" doc:"chance of such a change of any host or GPU, if there is none"`
}

type batchRefusalJSON struct {
	Path  string `json:"path" doc:"the input"`
	Error string `json:"error" doc:"what is wrong with it"`
}

const dayFormat = "2006-01-02"

func batchOf(sum *findings.Summary, changes []findings.Change, onsets []findings.Onset) batchJSON {
	runs := sum.Runs()
	return batchJSON{Headline: batchHeadline(sum, runs), Windows: sum.Windows, Runs: each(runs, batchRun), Hosts: each(sum.Hosts(), recurringFrom), GPUs: each(sum.GPUs(), recurringFrom),
		Weeks: each(sum.Weeks(), func(w *findings.Week) batchWeekJSON {
			return batchWeekJSON{w.Start.Format(dayFormat), w.Runs, w.Flagged}
		}),
		Changes: each(changes, func(c findings.Change) batchChangeJSON {
			return batchChangeJSON{c.Family, optionalString(c.Stage), c.Day.Format(dayFormat), c.Low.Format(dayFormat), c.High.Format(dayFormat), int64(c.Before), int64(c.After), c.P}
		}),
		Onsets: each(onsets, func(o findings.Onset) batchOnsetJSON {
			return batchOnsetJSON{o.Host, int64(o.LocalRank), o.Week.Format(dayFormat), o.Low.Format(dayFormat), o.High.Format(dayFormat), o.Before, o.After, o.P}
		}),
		LeftOut: each(sum.Refused, func(r findings.Refused) batchRefusalJSON { return batchRefusalJSON{r.Path, r.Error} })}
}

func recurringFrom(h diagnose.Recurrence) recurringJSON {
	return recurringJSON{h.Host, int64(h.LocalRank), h.Runs, h.Of, h.P, int64(h.Lost)}
}

func batchRun(r *findings.Run) batchRunJSON {
	out := batchRunJSON{Folder: r.Folder, Run: r.Name, Begin: r.Begin, Windows: r.Windows, Steps: r.Steps, Ranks: r.Ranks, Status: r.Status, Flagged: r.Flagged(), Lost: int64(r.Lost())}
	if r.Steps > 0 {
		out.Step = r.Time / r.Steps
	}
	if f := r.Worst; f != nil {
		out.Kind, out.Cause, out.Rank, out.Host, out.LocalRank, out.Stage, out.Confidence, out.RunGain = f.Kind, f.Cause, f.Rank, f.Host, f.LocalRank, f.Stage, f.Confidence, f.RunGain
	}
	return out
}

package publish

import (
	"github.com/sfstat/sfstat/batch/findings"
	"github.com/sfstat/sfstat/diagnose"
)

// Batch is what the runs of an archive come to: sfstat batch.
type Batch struct {
	Schema   string        `json:"schema" doc:"name and version of this form"`
	Headline string        `json:"headline" doc:"one sentence"`
	Windows  int           `json:"windows" doc:"windows that were judged"`
	Runs     []BatchRun    `json:"runs" doc:"all runs, the worst first"`
	Hosts    []Recurrence  `json:"hosts" doc:"hosts that two runs or more are delayed by, the least likely first"`
	GPUs     []Recurrence  `json:"gpus" doc:"GPUs, by host and local rank, likewise"`
	Weeks    []Week        `json:"weeks" doc:"weeks, of runs that say when they began"`
	Changes  []BatchChange `json:"changes" doc:"days from which on the runs of a family take longer or shorter"`
	Onsets   []Onset       `json:"onsets" doc:"weeks from which on a host or a GPU delays more or fewer of the runs"`
	Latent   BatchLatent   `json:"latent" doc:"ranks that differ from their peers by more than a margin, however little that costs"`
	LeftOut  []Problem     `json:"left_out" doc:"inputs that are not in it, or not whole"`
}

// BatchLatent is which ranks of which runs differ from their peers by less than a delay is found by.
type BatchLatent struct {
	Tested      int               `json:"runs_tested" doc:"runs that were tested"`
	Correction  string            `json:"correction" doc:"for as many runs: how q follows from p"`
	Rate        float64           `json:"discovery_rate" doc:"q up to which a difference passes: such a part of those that do is chance, at most on average"`
	Differences []BatchDifference `json:"differences" doc:"the surest of each run, the least q first"`
}

// BatchDifference is the surest latent difference of a run.
type BatchDifference struct {
	Folder string   `json:"folder" doc:"of the recording"`
	Run    string   `json:"run" doc:"name of the run"`
	Rank   int64    `json:"rank" doc:"the rank"`
	Host   *string  `json:"host" doc:"its host; null: not known"`
	Stage  *string  `json:"stage" doc:"where; null: in several stages together"`
	Level  int64    `json:"level_ns" doc:"its own work beyond the median of its peers, of a step"`
	P      *float64 `json:"p" doc:"chance of it in a run of equal ranks"`
	Q      *float64 `json:"q" doc:"the same, corrected for the runs that were tested"`
	Passes bool     `json:"passes" doc:"q is no more than discovery_rate"`
}

// latentOfRuns returns the latent differences of all runs.
func latentOfRuns(sum *findings.Summary) BatchLatent {
	list, tested := sum.Latent()
	return BatchLatent{tested, "Benjamini–Hochberg over runs", findings.DiscoveryRate, convert(list, func(l findings.Latent) BatchDifference {
		return BatchDifference{l.Run.Folder, l.Run.Name, l.Rank, nonZero(l.Host), nonZero(l.Stage), l.Level, number(l.P), number(l.Q), l.Passes()}
	})}
}

// BatchRun is one run: what delays it most.
type BatchRun struct {
	Folder     string   `json:"folder" doc:"of the recording"`
	Name       string   `json:"run" doc:"name of the run"`
	Begin      *int64   `json:"begin_ns" doc:"when its first window began, since 1970; null: not known"`
	Windows    int      `json:"windows" doc:"windows that were judged"`
	Steps      int64    `json:"steps" doc:"steps that are accounted for"`
	Ranks      int64    `json:"ranks" doc:"ranks"`
	Step       *int64   `json:"step_ns" doc:"mean exposed time of a step; null: no window"`
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
	Together   *float64 `json:"run_gain_together" doc:"part of the run that fixing every rank that is late for certain saves; null: there is one at most"`
	Lost       int64    `json:"lost_ns" doc:"the larger of both in time of all ranks"`
}

// Recurrence is a host, or a GPU, that delays several runs.
type Recurrence struct {
	Host      string   `json:"host" doc:"the host"`
	LocalRank *int     `json:"local_rank" doc:"of the GPU on it; null: it is the host"`
	Runs      int      `json:"runs" doc:"runs that it delays"`
	Of        int      `json:"of" doc:"of so many with a finding to act on that names one of several"`
	P         *float64 `json:"p" doc:"chance that any comes up so often, at most; corrected for as many as there are"`
	Lost      int64    `json:"lost_ns" doc:"time of all ranks"`
}

// Week is what runs that began in a week show.
type Week struct {
	Start   string `json:"monday" doc:"its first day, UTC"`
	Runs    int    `json:"runs" doc:"runs that began in it"`
	Flagged int    `json:"flagged" doc:"those with a finding to act on"`
}

// BatchChange is a day from which on the runs of a family have longer or shorter steps, or
// spend more or less of them in a stage.
type BatchChange struct {
	Family string   `json:"family" doc:"name of the runs, # for the numbers in it"`
	Stage  *string  `json:"stage" doc:"what became longer or shorter; null: the step"`
	Day    string   `json:"day" doc:"from which on"`
	Low    string   `json:"day_low" doc:"that day lies between this and day_high, at 95 %"`
	High   string   `json:"day_high" doc:"its last day"`
	Before int64    `json:"before_ns" doc:"in a step of the median run of a day, median over the days before"`
	After  int64    `json:"after_ns" doc:"and after"`
	P      *float64 `json:"p" doc:"chance of such a change anywhere, if there is none"`
}

// Onset is a week from which on a host, or one GPU of it, delays more or fewer of the runs.
type Onset struct {
	Host      string   `json:"host" doc:"the host"`
	LocalRank *int     `json:"local_rank" doc:"of the GPU on it; null: it is the host"`
	Week      string   `json:"monday" doc:"first day, UTC, of the week from which on"`
	Low       string   `json:"monday_low" doc:"that week lies between this and monday_high, at 95 %"`
	High      string   `json:"monday_high" doc:"its last week"`
	Before    *float64 `json:"before_share" doc:"part of the runs of a week that it delays, median over the weeks before"`
	After     *float64 `json:"after_share" doc:"and after"`
	P         *float64 `json:"p" doc:"chance of such a change of any host or GPU, if there is none"`
}

// BatchOf returns the document of what the runs of an archive come to.
func BatchOf(sum *findings.Summary, headline string, changes []findings.Change, onsets []findings.Onset) Batch {
	return Batch{"sfstat.batch/1", headline, sum.Windows, convert(sum.Runs(), batchRunOf), convert(sum.Hosts(), recurrenceOf), convert(sum.GPUs(), recurrenceOf),
		convert(sum.Weeks(), func(w *findings.Week) Week { return Week{w.Start.String(), w.Runs, w.Flagged} }),
		convert(changes, func(c findings.Change) BatchChange {
			return BatchChange{c.Family, nonZero(c.Stage), c.Day.String(), c.Low.String(), c.High.String(), c.Before, c.After, number(c.P)}
		}),
		convert(onsets, func(o findings.Onset) Onset {
			return Onset{o.Host, nonNegative(o.LocalRank), o.Week.String(), o.Low.String(), o.High.String(), number(o.Before), number(o.After), number(o.P)}
		}),
		latentOfRuns(sum),
		convert(sum.Refused, func(r findings.Refused) Problem { return Problem{r.Path, r.Error} })}
}

func batchRunOf(r *findings.Run) BatchRun {
	out := BatchRun{Folder: r.Folder, Name: r.Name, Begin: nonZero(r.Begin), Windows: r.Windows, Steps: r.Steps, Ranks: r.Ranks, Step: nonZero(r.Step()),
		Status: r.Status, Flagged: r.Flagged(), Lost: r.LostTime()}
	if w := r.Worst; w != nil {
		out.Kind, out.Cause, out.Rank, out.Host, out.LocalRank = w.Kind, w.Cause, w.Rank, w.Host, w.LocalRank
		out.Stage, out.Confidence, out.RunGain = w.Stage, w.Confidence, finite(w.RunGain)
		out.Together = finite(w.Together)
	}
	return out
}

func recurrenceOf(r diagnose.Recurrence) Recurrence {
	return Recurrence{r.Host, nonNegative(r.LocalRank), r.Runs, r.Of, number(r.P), r.Lost}
}

// Rows returns a row for each run.
func (b Batch) Rows() *Rows { return rowsOf(b.Runs) }

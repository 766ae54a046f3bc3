package publish

import (
	"math"

	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/engine/comm/changes"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/compare"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Comparison is what two sets of runs differ in: sfstat compare.
type Comparison struct {
	Schema     string               `json:"schema" doc:"name and version of this form"`
	Headline   string               `json:"headline" doc:"the answer in one sentence"`
	Unit       Name[runs.Unit]      `json:"unit" doc:"what varies by itself: pairs of runs, runs, or batches of consecutive steps of one run on each side"`
	Confidence *float64             `json:"confidence" doc:"confidence at which the intervals of all rows hold together"`
	Seed       uint64               `json:"seed" doc:"seed of the correction for the number of rows"`
	Gate       *float64             `json:"gate" doc:"part of the base's step time by which steps may be longer; null: none was given"`
	Standing   *Name[runs.Standing] `json:"standing" doc:"where step time stands against the gate. within: surely not longer by more; not_shown: neither surely longer nor surely within; below_gate, exceeded: surely longer, by less or by more as estimated; surely_exceeded: surely longer by more. null: no gate"`
	Base       []CompareRun         `json:"base" doc:"the runs of the base that were compared"`
	New        []CompareRun         `json:"new" doc:"the runs of the other side; of pairs in the same order"`
	Left       []string             `json:"left_out" doc:"runs without a partner of the same name, where the others are paired"`
	Rows       []Measure            `json:"rows" doc:"the measures: step time first, stages in the order of the step"`
	Findings   []Found              `json:"findings" doc:"what diagnose finds on either side, the largest saving first"`
	Doubts     []Name[runs.Doubt]   `json:"doubts" doc:"reasons to read the comparison with care"`
	Traffic    *ChangesResult       `json:"communication" doc:"what the two sides communicate otherwise; null unless both recorded it"`
	Problems   []Problem            `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// CompareRun is what one run took.
type CompareRun struct {
	Name     string   `json:"run" doc:"name of the run"`
	World    int      `json:"world_size" doc:"number of ranks"`
	Windows  int      `json:"windows" doc:"recorded windows; 0: arrivals only"`
	Steps    int      `json:"steps" doc:"recorded steps"`
	Begin    *int64   `json:"begin_ns" doc:"when its first recorded step began, since 1970 UTC; null: not recorded"`
	StepTime *float64 `json:"step_time_ns" doc:"median over ranks of a step's time, mean over steps; null without windows"`
}

// Measure is one measure of both sides.
type Measure struct {
	Measure   Name[runs.Kind]       `json:"measure" doc:"what is compared"`
	Stage     *string               `json:"stage" doc:"stage that is compared, or in which the delay is; null: none"`
	Verdict   Name[compare.Verdict] `json:"verdict" doc:"regression: surely longer; improvement: surely shorter; none_shown: no difference that these runs could show; untested: one unit on a side"`
	Base      *float64              `json:"base_ns" doc:"mean over the units of the base"`
	New       *float64              `json:"new_ns" doc:"the same of the other side"`
	BaseUnits int                   `json:"base_units" doc:"pairs, runs or batches that have it"`
	NewUnits  int                   `json:"new_units" doc:"the same of the other side"`
	Change    *float64              `json:"change_ns" doc:"new_ns − base_ns"`
	Low       *float64              `json:"low_ns" doc:"lower bound of the change"`
	High      *float64              `json:"high_ns" doc:"upper bound; the intervals of all rows hold together"`
	Relative  *float64              `json:"change" doc:"the change as a part of the base's step time, that of arrival_skew as a part of itself"`
	From      *float64              `json:"low" doc:"lower bound of the change, as a part likewise"`
	To        *float64              `json:"high" doc:"upper bound of the change, as a part likewise"`
	P         *float64              `json:"p" doc:"chance of such a change in any row if no row differed; null: not tested"`
	Shows     *float64              `json:"shows" doc:"the change that as many runs would detect four times in five, as a part of the base's step"`
	BaseShare *float64              `json:"base_share" doc:"of a stage: its part of the base's step; else null"`
	NewShare  *float64              `json:"new_share" doc:"the same of the other side"`
}

// Found is a finding of either side.
type Found struct {
	Kind     string       `json:"kind" doc:"what delays the job, as in the verdict"`
	Stage    *string      `json:"stage" doc:"stage of the finding; null: none"`
	Op       *string      `json:"op" doc:"operator; null: none"`
	Rank     *int         `json:"rank" doc:"rank, in the run where it costs most; null: not one rank"`
	Host     *string      `json:"host" doc:"host of that rank; null: not known"`
	Status   runs.Showing `json:"status" doc:"on which side it is found"`
	BaseRuns int          `json:"base_runs" doc:"runs of the base that show it"`
	NewRuns  int          `json:"new_runs" doc:"runs of the other side that show it"`
	BaseGain *float64     `json:"base_gain" doc:"largest part of a run of the base that fixing it saves"`
	NewGain  *float64     `json:"new_gain" doc:"the same of the other side"`
}

// ChangesResult is what two recordings of communication differ in.
type ChangesResult struct {
	PerStep bool            `json:"per_step" doc:"both recordings have steps, and calls and bytes are those of a step; else of the whole recording"`
	Ranks   [2]int          `json:"ranks" doc:"processes of the base and of the other side"`
	Changes []ChangesChange `json:"uses" doc:"each operation on communicators of each kind and size: what differs first, then by bytes"`
	Gone    []Group         `json:"gone" doc:"communicators of the base that the other side has not, by their ranks"`
	New     []Group         `json:"new" doc:"the reverse"`
}

// ChangesChange is what communicators of one kind and size are used for on both sides; one that a side lacks has no
// calls there.
type ChangesChange struct {
	Kind   Name[parallel.Kind] `json:"kind" doc:"what the communicators are for: data, tensor, pipeline, expert or context parallelism"`
	NRanks int                 `json:"nranks" doc:"ranks of each of them; 0: calls on no known communicator"`
	Op     Name[nccl.Op]       `json:"op" doc:"operation"`
	Base   Amount              `json:"base" doc:"of the base"`
	New    Amount              `json:"new" doc:"of the other side"`
	Differ bool                `json:"differs" doc:"counts, bytes, sizes or the usual algorithm and protocol are others; bandwidth, which is never equal, does not count"`
}

// Amount is how much one side does of it.
type Amount struct {
	Calls     *float64 `json:"calls" doc:"calls over all ranks, of a step where per_step, else of the recording"`
	Bytes     *float64 `json:"bytes" doc:"bytes as logged, likewise"`
	Size      *float64 `json:"bytes_per_call" doc:"median of a call's bytes"`
	Choices   []Choice `json:"choices" doc:"algorithms and protocols that NCCL's tuning lines name, most calls first"`
	Bandwidth *float64 `json:"bus_gb_s" doc:"median bus bandwidth of the measured calls, GB/s; 0: none was measured"`
	Measured  int      `json:"measured" doc:"calls that it is of"`
}

// Choice is how NCCL ran calls.
type Choice struct {
	Algorithm string `json:"algorithm" doc:"NCCL's name"`
	Protocol  string `json:"protocol" doc:"NCCL's name"`
	Calls     int    `json:"calls" doc:"calls of the recording whose tuning line says so"`
}

// Group is a communicator that only one side has.
type Group struct {
	Kind  Name[parallel.Kind] `json:"kind" doc:"what it is for"`
	Ranks []int               `json:"ranks" doc:"ranks of the job that were seen in it"`
	Size  int                 `json:"nranks" doc:"ranks that are in it"`
}

// ComparisonOf returns the document of a comparison.
func ComparisonOf(c *runs.Comparison, headline string, problems []Problem) Comparison {
	out := Comparison{Schema: "sfstat.compare/1", Headline: headline, Unit: nameOf(c.Unit), Confidence: number(c.Confidence), Seed: c.Seed, Gate: finite(c.Gate),
		Base: convert(c.Base, comparedRunOf), New: convert(c.New, comparedRunOf), Left: list(c.Left),
		Rows: convert(c.Rows, func(r runs.Row) Measure { return measureOf(c, r) }), Findings: convert(c.Found, foundChangeOf),
		Doubts: convert(c.Doubts, nameOf[runs.Doubt]), Traffic: changesOf(c.Traffic), Problems: list(problems)}
	if c.Gate != nil {
		standing := nameOf(c.Standing)
		out.Standing = &standing
	}
	return out
}

func comparedRunOf(r *runs.Run) CompareRun {
	return CompareRun{r.Name, r.World, r.Windows, r.Steps, nonZero(r.Begin), finite(r.StepTime())}
}

func measureOf(c *runs.Comparison, r runs.Row) Measure {
	of, p, step := c.Whole(r), r.P, c.Step()
	if !(of > 0) {
		of = math.NaN()
	}
	if r.Verdict == compare.Untested {
		p = math.NaN()
	}
	m := Measure{Measure: nameOf(r.Kind), Stage: nonZero(r.Stage), Verdict: nameOf(r.Verdict), Base: number(r.Base), New: number(r.New),
		BaseUnits: r.Units[0], NewUnits: r.Units[1], Change: number(r.Change), Low: number(r.Low), High: number(r.High), Relative: number(r.Change / of),
		From: number(r.Low / of), To: number(r.High / of), P: number(p), Shows: number(r.Shows / of)}
	if step != nil && r.Kind == runs.StageTime {
		m.BaseShare, m.NewShare = number(r.Base/step.Base), number(r.New/step.New)
	}
	return m
}

func foundChangeOf(f runs.Found) Found {
	return Found{f.Kind.String(), nonZero(f.Stage), nonZero(f.Op), f.Rank, nonZero(f.Host), f.Showing(), f.Runs[0], f.Runs[1], number(f.Most[0]), number(f.Most[1])}
}

func changesOf(r *changes.Result) *ChangesResult {
	if r == nil {
		return nil
	}
	group := func(g changes.Group) Group { return Group{nameOf(g.Kind), list(g.Ranks), g.Size} }
	return &ChangesResult{r.PerStep, r.Ranks, convert(r.Changes, func(c changes.Change) ChangesChange {
		return ChangesChange{nameOf(c.Kind), c.NRanks, nameOf(c.Op), amountOf(&c.Base), amountOf(&c.New), c.Differ}
	}), convert(r.Gone, group), convert(r.New, group)}
}

func amountOf(a *changes.Amount) Amount {
	return Amount{number(a.Calls), number(a.Bytes), number(a.Size), convert(a.Choices, func(c changes.Choice) Choice { return Choice(c) }), number(a.Bandwidth), a.Measured}
}

// MeasureRows returns a row for each measure.
func (c Comparison) MeasureRows() *Rows { return rowsOf(c.Rows) }

package report

import (
	"slices"

	"github.com/sfstat/sfstat/engine/breakdown"
)

// Breakdowns are the device times of runs, to be written.
type Breakdowns struct {
	Runs    []*breakdown.Result
	PerStep bool // text, Markdown and CSV have a row for each step of a rank; else for each rank. JSON has both
}

// Breakdown writes how devices spent their time. CSV is one row per rank, or per
// rank and step.
func (o Output) Breakdown(b Breakdowns) error {
	return o.write(forms{
		"breakdown",
		func() any { return breakdownOf(b) },
		func() *csvTable { return breakdownRows(b) },
		func() document { return breakdownDocument(b) },
	})
}

type breakdownJSON struct {
	Runs []dividedJSON `json:"runs" doc:"one for each run of the input"`
}

type dividedJSON struct {
	Run      string          `json:"run" doc:"name of the run"`
	Headline string          `json:"headline" doc:"the answer in one sentence"`
	Alpha    float64         `json:"alpha" doc:"chance that any rank of a healthy run is marked"`
	Least    float64         `json:"least_difference" doc:"difference of shares below which no rank is marked"`
	Tests    int             `json:"comparisons" doc:"how many comparisons were made; 0 where every role group is too small for one"`
	Marks    []markJSON      `json:"standing_out" doc:"ranks whose shares are unlike their peers', the largest difference first"`
	Ranks    []rankTimesJSON `json:"ranks" doc:"the ranks, ascending"`
	Notes    []string        `json:"notes" doc:"what the figures rest on, and what is incomplete, as sentences"`
}

type markJSON struct {
	Rank     int                `json:"rank" doc:"global rank"`
	Category breakdown.Category `json:"category" doc:"what it is a share of"`
	Share    float64            `json:"share" doc:"the rank's part of its span, 0 to 1"`
	Peers    float64            `json:"peers_share" doc:"mean of the other ranks of its role group"`
	T        float64            `json:"t" doc:"externally studentised residual; null where the peers are all equal"`
	P        float64            `json:"p" doc:"chance of a healthy run to have it anywhere, over all comparisons"`
}

type rankTimesJSON struct {
	Rank int    `json:"rank" doc:"global rank"`
	Host string `json:"host" doc:"where it ran; empty when not known"`
	Role string `json:"role" doc:"its place in the layout, as dp=3,pp=1; empty when not known"`
	timesJSON
	Steps []stepTimesJSON `json:"steps" doc:"its steps, by time"`
}

type stepTimesJSON struct {
	Step int64 `json:"step" doc:"number of the step"`
	timesJSON
}

type timesJSON struct {
	Span               int64   `json:"span_ns" doc:"the time that is divided: of a rank from its first work on the device to its last, of a step from its beginning on the device to that of the next"`
	Compute            int64   `json:"compute_ns" doc:"time in which kernels that do not communicate run"`
	Communication      int64   `json:"communication_ns" doc:"time in which communication runs, covered or not"`
	Memory             int64   `json:"memory_ns" doc:"time in which copies and fills run, covered or not"`
	Idle               int64   `json:"idle_ns" doc:"time in which nothing runs"`
	ExposedComm        int64   `json:"exposed_communication_ns" doc:"time in which communication runs and no compute"`
	ExposedMemory      int64   `json:"exposed_memory_ns" doc:"time in which copies and fills run and neither of the others"`
	ComputeShare       float64 `json:"compute_share" doc:"compute_ns of the span, 0 to 1; null where there is no span"`
	CommunicationShare float64 `json:"communication_share" doc:"communication_ns of the span; null where there is no span"`
	MemoryShare        float64 `json:"memory_share" doc:"memory_ns of the span; null where there is no span"`
	IdleShare          float64 `json:"idle_share" doc:"idle_ns of the span; null where there is no span"`
	ExposedCommShare   float64 `json:"exposed_communication_share" doc:"exposed_communication_ns of the span; null where there is no span"`
	ExposedOfComm      float64 `json:"exposed_part_of_communication" doc:"exposed_communication_ns of communication_ns; null where there is no communication"`
}

func timesOf(t *breakdown.Times) timesJSON {
	share := t.Share
	return timesJSON{Span: t.Span, Compute: t.In[breakdown.Compute], Communication: t.In[breakdown.Communication], Memory: t.In[breakdown.Memory],
		Idle: t.In[breakdown.Idle], ExposedComm: t.In[breakdown.ExposedComm], ExposedMemory: t.In[breakdown.ExposedMemory],
		ComputeShare: share(breakdown.Compute), CommunicationShare: share(breakdown.Communication), MemoryShare: share(breakdown.Memory),
		IdleShare: share(breakdown.Idle), ExposedCommShare: share(breakdown.ExposedComm), ExposedOfComm: t.Exposed()}
}

func breakdownOf(b Breakdowns) breakdownJSON {
	out := breakdownJSON{Runs: []dividedJSON{}}
	for _, r := range b.Runs {
		run := dividedJSON{Run: r.Run, Headline: breakdownHeadline(r), Alpha: r.Option.Alpha, Least: r.Option.Least, Tests: r.Tests,
			Marks: []markJSON{}, Ranks: []rankTimesJSON{}, Notes: breakdownNotes(r)}
		for _, m := range r.Marks {
			run.Marks = append(run.Marks, markJSON{r.Ranks[m.Rank].ID, m.Category, m.Share, m.Peers, m.T, m.P})
		}
		for i := range r.Ranks {
			rank := &r.Ranks[i]
			one := rankTimesJSON{Rank: rank.ID, Host: rank.Host, Role: rank.Role.String(), timesJSON: timesOf(&rank.Times), Steps: []stepTimesJSON{}}
			for k := range rank.Steps {
				one.Steps = append(one.Steps, stepTimesJSON{rank.Steps[k].Step, timesOf(&rank.Steps[k].Times)})
			}
			run.Ranks = append(run.Ranks, one)
		}
		out.Runs = append(out.Runs, run)
	}
	return out
}

// dividedRow is a stretch of time and whose it is.
type dividedRow struct {
	run  *breakdown.Result
	at   int             // position in run.Ranks
	step *breakdown.Step // nil: all of them
}

func (r dividedRow) rank() *breakdown.Rank { return &r.run.Ranks[r.at] }

func (r dividedRow) times() *breakdown.Times {
	if r.step != nil {
		return &r.step.Times
	}
	return &r.rank().Times
}

// mark is what the rank is marked with in a category, nil: it is not. Single
// steps are not judged.
func (r dividedRow) mark(c breakdown.Category) *breakdown.Mark {
	if r.step != nil {
		return nil
	}
	i := slices.IndexFunc(r.run.Marks, func(m breakdown.Mark) bool { return m.Rank == r.at && m.Category == c })
	if i < 0 {
		return nil
	}
	return &r.run.Marks[i]
}

// rowsOf are the rows of one run.
func (b Breakdowns) rowsOf(r *breakdown.Result) []dividedRow {
	var rows []dividedRow
	for i := range r.Ranks {
		if !b.PerStep {
			rows = append(rows, dividedRow{r, i, nil})
			continue
		}
		for k := range r.Ranks[i].Steps {
			rows = append(rows, dividedRow{r, i, &r.Ranks[i].Steps[k]})
		}
	}
	return rows
}

// dividedRows are the rows of CSV.
type dividedRows struct {
	Rows []dividedLine `json:"rows"`
}

type dividedLine struct {
	rankTimesJSON
	Run   string   `json:"run"`
	Step  *int64   `json:"step"`
	Steps int      `json:"steps"`
	Marks []string `json:"standing_out"`
}

var dividedCSV = itemsOf[dividedRows]("rows", "run rank host role step steps span_ns compute_ns communication_ns memory_ns idle_ns "+
	"exposed_communication_ns exposed_memory_ns exposed_part_of_communication standing_out")

func breakdownRows(b Breakdowns) *csvTable {
	var all dividedRows
	for _, run := range b.Runs {
		for _, r := range b.rowsOf(run) {
			rank := r.rank()
			x := dividedLine{rankTimesJSON{Rank: rank.ID, Host: rank.Host, Role: rank.Role.String(), timesJSON: timesOf(r.times())}, run.Run, nil, len(rank.Steps), nil}
			if r.step != nil {
				x.Step, x.Steps = &r.step.Step, 1
			}
			for _, m := range run.Marks {
				if m.Rank == r.at && r.step == nil {
					x.Marks = append(x.Marks, m.Category.Word())
				}
			}
			all.Rows = append(all.Rows, x)
		}
	}
	return dividedCSV.of(all)
}

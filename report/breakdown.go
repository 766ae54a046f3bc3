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
	Runs []dividedJSON `json:"runs"`
}

type dividedJSON struct {
	Run      string          `json:"run"`
	Headline string          `json:"headline"`
	Alpha    float64         `json:"alpha"`
	Least    float64         `json:"least_difference"`
	Tests    int             `json:"comparisons"`
	Marks    []markJSON      `json:"standing_out"`
	Ranks    []rankTimesJSON `json:"ranks"`
	Notes    []string        `json:"notes"`
}

type markJSON struct {
	Rank     int                `json:"rank"`
	Category breakdown.Category `json:"category"`
	Share    float64            `json:"share"`
	Peers    float64            `json:"peers_share"`
	T        float64            `json:"t"`
	P        float64            `json:"p"`
}

type rankTimesJSON struct {
	Rank int    `json:"rank"`
	Host string `json:"host"`
	Role string `json:"role"`
	timesJSON
	Steps []stepTimesJSON `json:"steps"`
}

type stepTimesJSON struct {
	Step int64 `json:"step"`
	timesJSON
}

type timesJSON struct {
	Span               int64   `json:"span_ns"`
	Compute            int64   `json:"compute_ns"`
	Communication      int64   `json:"communication_ns"`
	Memory             int64   `json:"memory_ns"`
	Idle               int64   `json:"idle_ns"`
	ExposedComm        int64   `json:"exposed_communication_ns"`
	ExposedMemory      int64   `json:"exposed_memory_ns"`
	ComputeShare       float64 `json:"compute_share"`
	CommunicationShare float64 `json:"communication_share"`
	MemoryShare        float64 `json:"memory_share"`
	IdleShare          float64 `json:"idle_share"`
	ExposedCommShare   float64 `json:"exposed_communication_share"`
	ExposedOfComm      float64 `json:"exposed_part_of_communication"`
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

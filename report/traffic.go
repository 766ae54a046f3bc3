package report

import (
	"encoding/csv"
	"strconv"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Traffic writes what is known of a job's communication. CSV is one row per communicator
// and operation.
func (o Output) Traffic(r *comm.Result) error {
	return o.write(forms{
		schema:   "comm",
		json:     func() any { return trafficOf(r) },
		document: func() document { return trafficDocument(r) },
	})
}

// Matches writes one row of CSV for each pair of call and kernel: where the call stands, and which row of the
// export is its kernel. Names of files are as results show them; lines count from 1.
func (o Output) Matches(r *comm.Result) error {
	out := csv.NewWriter(o.W)
	_ = out.Write([]string{"log_file", "line", "sqlite_file", "global_pid", "correlation_id", "certain"}) // Error tells
	for _, m := range r.Matches {
		c := &r.Calls[m.Call]
		_ = out.Write([]string{table.Harmless(r.Recorded.Sources[c.Source].Name), strconv.FormatInt(c.Line, 10), table.Harmless(r.ProfileOf(m.Rank)),
			strconv.FormatInt(r.Recorded.Processes[r.Ranks[m.Rank].Profile].ID, 10), strconv.FormatInt(r.Kernels(m.Rank)[m.Kernel].Correlation, 10),
			strconv.FormatBool(m.Certain)})
	}
	out.Flush()
	return out.Error()
}

type trafficJSON struct {
	Headline      string                            `json:"headline" doc:"the answer in one sentence"`
	Confidence    publish.Name[evidence.Confidence] `json:"confidence" doc:"how far the finding may be trusted"`
	Findings      []publish.Finding                 `json:"findings" doc:"what delays the job: certain findings first, then by what they cost"`
	Undecided     []publish.Undecided               `json:"undecided" doc:"what the data cannot tell, each with what would"`
	Next          []publish.Action                  `json:"next" doc:"what to do next, the most useful first"`
	OpCounts      map[string]int64                  `json:"op_counts" doc:"calls in the logs by operation: complete lines, each call once, tuning lines not counted"`
	Unparsed      int64                             `json:"unparsed_lines" doc:"lines that begin like NCCL's and were not understood, such as calls cut short; see not_understood"`
	Ranks         []commRankJSON                    `json:"ranks" doc:"the processes of the job, by rank"`
	Strategy      []comm.Dimension                  `json:"strategy" doc:"the dimensions in which the job is parallel, from the ranks nearest to each other to the farthest; empty where no communicator has a known kind"`
	Communicators []communicatorJSON                `json:"communicators" doc:"the communicators, in the order of the logs"`
	Clocks        []clockJSON                       `json:"clocks" doc:"the clock of each rank that is in an export, by rank"`
	Matches       matchesJSON                       `json:"matches" doc:"how many calls found their kernel"`
	Lateness      []latenessJSON                    `json:"lateness" doc:"how ranks arrive at collectives, by rank; a rank without a collective in which all ranks were seen is left out"`
	Bandwidth     []bandwidthJSON                   `json:"bandwidth" doc:"how fast data moved, waiting left out, by communicator or pair of ranks, operation and size"`
	Slow          []slowJSON                        `json:"slow" doc:"communicators and pairs of ranks that are surely slower than those that do the same, by what it costs"`
	Messages      []messageJSON                     `json:"messages" doc:"pairs of ranks that send each other messages, ascending"`
	Accounts      []accountJSON                     `json:"volumes" doc:"what each rank communicated next to what --model says; empty without it"`
	Warnings      []warningJSON                     `json:"warnings" doc:"what NCCL warned of"`
	NotRead       []exampleJSON                     `json:"not_understood" doc:"what unparsed_lines counts, by reason, the most frequent first, with the first of each"`
	Notes         []string                          `json:"notes" doc:"how processes were paired and ranks numbered, and what is lacking, as sentences"`
}

type commRankJSON struct {
	*comm.Rank
	Export string `json:"sqlite_file" before:"paired_by" doc:"the export that it is in; empty without one"`
}

type communicatorJSON struct {
	*parallel.Communicator
	Evidence []string `json:"evidence" before:"ranks" doc:"why it is taken for that, as sentences"`
}

type clockJSON struct {
	Host       string   `json:"host" doc:"host"`
	Rank       int      `json:"rank" doc:"rank"`
	Known      bool     `json:"known" doc:"there were enough collectives in common to compare the clocks"`
	Offset     *int64   `json:"offset_ns" doc:"time that the export of this rank is ahead of that of the first rank, at at_ns; null where not known"`
	Drift      *float64 `json:"drift_ppm" doc:"millionths that it gains; 0 where that is within the error"`
	At         *int64   `json:"at_ns" doc:"where the offset holds, on the first clock: the first NVTX range or kernel of NCCL of its export"`
	Residual   *int64   `json:"residual_ns" doc:"median distance of a collective's ends from that line"`
	SyncPoints int      `json:"collectives" doc:"collectives that the offset rests on"`
}

type matchesJSON struct {
	Pairs     int `json:"pairs" doc:"pairs of call and kernel"`
	Certain   int `json:"certain" doc:"of them certain: in every alignment that is nearly as good"`
	Unmatched int `json:"calls_without_kernel" doc:"calls that launch a kernel, of ranks in an export, for which none was found"`
	Leftover  int `json:"kernels_without_call" doc:"kernels of NCCL for which no call was found"`
}

type warningJSON struct {
	File string `json:"file" doc:"the log"`
	Line int64  `json:"line" doc:"line, from 1"`
	Text string `json:"text" doc:"the message, at most 200 bytes"`
}

type exampleJSON struct {
	About string `json:"about" doc:"what is wrong"`
	Count int64  `json:"count" doc:"lines"`
	File  string `json:"file" doc:"file of the first"`
	Line  int64  `json:"line" doc:"its line, from 1"`
	Text  string `json:"text" doc:"its text, at most 200 bytes"`
}

func trafficOf(r *comm.Result) trafficJSON {
	verdict := diagnose.Communication(r)
	v := publish.RunOf(&verdict, words)
	out := trafficJSON{Headline: v.Headline, Confidence: v.Confidence, Findings: v.Findings, Undecided: v.Undecided,
		Next: v.Next, OpCounts: map[string]int64{}, Unparsed: r.Unparsed,
		Ranks: []commRankJSON{}, Communicators: []communicatorJSON{}, Clocks: []clockJSON{}, NotRead: []exampleJSON{}, Warnings: []warningJSON{},
		Strategy: comm.Strategy(r), Accounts: accountsOf(r), Notes: []string(trafficNotes(r))}
	for op, n := range r.OpCounts {
		out.OpCounts[op.String()] = n
	}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		out.Ranks = append(out.Ranks, commRankJSON{k, r.ProfileOf(i)})
		out.Matches.Pairs += k.Pairs
		out.Matches.Certain += k.Certain
	}
	out.Matches.Unmatched, out.Matches.Leftover = r.Unmatched, r.Leftover
	for i := range r.Communicators {
		out.Communicators = append(out.Communicators, communicatorJSON{&r.Communicators[i], communicatorEvidence(&r.Communicators[i])})
	}
	out.Lateness = latenessOf(r)
	out.Bandwidth, out.Slow = bandwidthsOf(r)
	out.Messages = messagesOf(r)
	for i := range r.Clocks {
		out.Clocks = append(out.Clocks, clockOf(r, &r.Clocks[i]))
	}
	for _, w := range r.Recorded.Warnings {
		out.Warnings = append(out.Warnings, warningJSON{r.Recorded.Sources[w.Source].Name, w.Line, w.Text})
	}
	for _, x := range r.Recorded.Unread {
		out.NotRead = append(out.NotRead, exampleJSON{x.Reason, x.Count, r.Recorded.Sources[x.Source].Name, x.Line, x.Text})
	}
	return out
}

// known is nil for what is not.
func known(f float64) *float64 {
	if !table.Finite(f) {
		return nil
	}
	return &f
}

func clockOf(r *comm.Result, c *comm.Clock) clockJSON {
	k := &r.Ranks[c.Rank]
	j := clockJSON{Host: k.Host, Rank: k.Rank, Known: c.Known, SyncPoints: c.Points}
	if c.Known {
		ppm := c.Drift * 1e6
		j.Offset, j.Drift, j.At, j.Residual = &c.Offset, &ppm, &c.Epoch, &c.Residual
	}
	return j
}

// byCalls is the operations, most calls first.
func byCalls(r *comm.Result) []parallel.OpUse {
	uses := parallel.OpTally{}
	for i := range r.Calls {
		uses.Add(r.Calls[i].Op, r.Calls[i].Bytes)
	}
	return uses.Uses()
}

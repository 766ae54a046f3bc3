package report

import (
	"encoding/csv"
	"strconv"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/strategy"
	"github.com/sfstat/sfstat/trace/comms"
)

// Traffic writes what is known of a job's communication. CSV is one row per communicator
// and operation.
func (o Output) Traffic(r *comm.Result) error {
	return o.write(forms{
		"comm",
		func() any { return trafficOf(r) },
		func() *csvTable { return trafficCSV.of(trafficOf(r)) },
		func() document { return trafficDocument(r) },
	})
}

// Matches writes one row of CSV for each pair of call and kernel: where the call stands, and which row of the
// export is its kernel. Names of files are as results show them; lines count from 1.
func (o Output) Matches(r *comm.Result) error {
	out := csv.NewWriter(o.W)
	_ = out.Write([]string{"log_file", "line", "sqlite_file", "global_pid", "correlation_id", "certain"}) // Error tells
	for _, m := range r.Matches {
		c := &r.Calls[m.Call]
		_ = out.Write([]string{harmless(r.Recorded.Sources[c.Source].Name), strconv.FormatInt(c.Line, 10), harmless(r.ProfileOf(m.Rank)),
			strconv.FormatInt(r.Recorded.Processes[r.Ranks[m.Rank].Profile].ID, 10), strconv.FormatInt(r.Kernels(m.Rank)[m.Kernel].Correlation, 10),
			strconv.FormatBool(m.Certain)})
	}
	out.Flush()
	return out.Error()
}

type trafficJSON struct {
	Headline      string               `json:"headline"`
	Confidence    string               `json:"confidence"`
	Suspects      []diagnose.Finding   `json:"suspects"`
	Undecided     []answer.Undecided   `json:"undecided"`
	Next          []answer.Action      `json:"next"`
	OpCounts      map[string]int64     `json:"op_counts"`
	Unparsed      int64                `json:"unparsed_lines"`
	Ranks         []commRankJSON       `json:"ranks"`
	Strategy      []strategy.Dimension `json:"strategy"`
	Communicators []communicatorJSON   `json:"communicators"`
	Clocks        []clockJSON          `json:"clocks"`
	Matches       matchesJSON          `json:"matches"`
	Lateness      []latenessJSON       `json:"lateness"`
	Bandwidth     []bandwidthJSON      `json:"bandwidth"`
	Slow          []slowJSON           `json:"slow"`
	Messages      []messageJSON        `json:"messages"`
	Accounts      []accountJSON        `json:"volumes"`
	Warnings      []warningJSON        `json:"warnings"`
	NotRead       []exampleJSON        `json:"not_understood"`
	Notes         []string             `json:"notes"`
}

type commRankJSON struct {
	Rank    int    `json:"rank"`
	Host    string `json:"host"`
	PID     int64  `json:"pid"`
	Device  *int64 `json:"device"`
	Log     bool   `json:"logged"`
	Export  string `json:"sqlite_file"`
	Pairing string `json:"paired_by"`
	Join    string `json:"tied_by"`
	Calls   int    `json:"calls"`
	Pairs   int    `json:"matches"`
	Certain int    `json:"certain_matches"`
}

type communicatorJSON struct {
	ID         string              `json:"id"`
	Kind       string              `json:"kind"`
	Evidence   []string            `json:"evidence"`
	Ranks      []int               `json:"ranks"`
	NRanks     int                 `json:"nranks"`
	Hosts      int                 `json:"hosts"`
	Operations []parallel.OpUse    `json:"operations"`
	Signature  *parallel.Signature `json:"signature"`
}

type clockJSON struct {
	Host       string   `json:"host"`
	Rank       int      `json:"rank"`
	Known      bool     `json:"known"`
	Offset     *int64   `json:"offset_ns"`
	Drift      *float64 `json:"drift_ppm"`
	At         *int64   `json:"at_ns"`
	Residual   *int64   `json:"residual_ns"`
	SyncPoints int      `json:"collectives"`
}

type matchesJSON struct {
	Pairs     int `json:"pairs"`
	Certain   int `json:"certain"`
	Unmatched int `json:"calls_without_kernel"`
	Leftover  int `json:"kernels_without_call"`
}

type warningJSON struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	Text string `json:"text"`
}

type exampleJSON struct {
	About string `json:"about"`
	Count int64  `json:"count"`
	File  string `json:"file"`
	Line  int64  `json:"line"`
	Text  string `json:"text"`
}

func trafficOf(r *comm.Result) trafficJSON {
	verdict := trafficVerdict(r)
	v := runFrom(&verdict)
	out := trafficJSON{Headline: v.Headline, Confidence: v.Confidence, Suspects: v.Suspects, Undecided: v.Undecided,
		Next: v.Next, OpCounts: map[string]int64{}, Unparsed: r.Unparsed,
		Ranks: []commRankJSON{}, Communicators: []communicatorJSON{}, Clocks: []clockJSON{}, NotRead: []exampleJSON{}, Warnings: []warningJSON{},
		Strategy: strategy.Of(r), Accounts: accountsOf(r), Notes: []string(trafficNotes(r))}
	for op, n := range r.OpCounts {
		out.OpCounts[op.String()] = n
	}
	for i := range r.Ranks {
		k := &r.Ranks[i]
		j := commRankJSON{Rank: k.Rank, Host: k.Host, PID: k.PID, Log: k.Log != comms.None, Join: k.Join.String(), Pairing: k.Pairing.String(), Export: r.ProfileOf(i), Calls: len(k.Calls),
			Pairs: k.Pairs, Certain: k.Certain}
		if k.Device >= 0 {
			j.Device = &k.Device
		}
		out.Ranks = append(out.Ranks, j)
		out.Matches.Pairs += k.Pairs
		out.Matches.Certain += k.Certain
	}
	out.Matches.Unmatched, out.Matches.Leftover = r.Unmatched, r.Leftover
	for i := range r.Communicators {
		out.Communicators = append(out.Communicators, communicatorOf(&r.Communicators[i]))
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

func communicatorOf(c *parallel.Communicator) communicatorJSON {
	j := communicatorJSON{ID: c.ID, Kind: c.Kind.String(), Evidence: communicatorEvidence(c), Ranks: c.Ranks, NRanks: c.NRanks, Hosts: c.Hosts, Operations: c.Ops}
	if c.Signature.Calls > 0 {
		j.Signature = &c.Signature
	}
	return j
}

// known is nil for what is not.
func known(f float64) *float64 {
	if !finite(f) {
		return nil
	}
	return &f
}

func clockOf(r *comm.Result, c *comm.Clock) clockJSON {
	k := &r.Ranks[c.Rank]
	j := clockJSON{Host: k.Host, Rank: k.Rank, Known: c.Known, SyncPoints: c.Points}
	if c.Known {
		ppm := c.Drift * 1e6
		j.Offset, j.Drift, j.At, j.Residual = &c.Offset, &ppm, &c.At, &c.Residual
	}
	return j
}

// trafficCSV has one row per communicator and operation.
var trafficCSV = itemsOf[trafficJSON]("communicators.operations", "communicator=id kind nranks ranks op calls bytes")

// byCalls is the operations, most calls first.
func byCalls(r *comm.Result) []parallel.OpUse {
	uses := parallel.OpTally{}
	for i := range r.Calls {
		uses.Add(r.Calls[i].Op, r.Calls[i].Bytes)
	}
	return uses.Uses()
}

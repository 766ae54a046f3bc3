package report

import (
	"encoding/csv"
	"strconv"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// Traffic writes what is known of a job's communication. CSV is one row per communicator
// and operation.
func (o Output) Traffic(r *comm.Result) error {
	return o.write(forms{
		json:     func() any { return publish.TrafficOf(r, problemsOf(o.Problems), trafficWords) },
		rows:     func() *publish.Rows { return publish.TrafficOf(r, nil, trafficWords).Rows() },
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

// trafficWords are the sentences in what is published of communication.
var trafficWords = publish.TrafficWords{Worded: words, Kind: communicatorEvidence, Notes: func(r *comm.Result) []string { return trafficNotes(r) }}

// operationsByCalls returns the operations, most calls first.
func operationsByCalls(r *comm.Result) []parallel.OpUse {
	uses := parallel.OpTally{}
	for i := range r.Calls {
		uses.Add(r.Calls[i].Op, r.Calls[i].Bytes)
	}
	return uses.Uses()
}

package report

import (
	"slices"

	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/internal/table"
)

// Completions is how the completion times of an operator trace's workers compare.
type Completions struct {
	Traced
	*ks.Result
}

// Completions writes whose operators complete at other times than their peers'. CSV
// is one row per worker; where all distances are kept, one per pair.
func (o Output) Completions(results []Completions) error {
	return o.write(forms{
		schema:   "ks",
		json:     func() any { return tracesJSON[completionsJSON]{each(results, Completions.wire)} },
		rows:     func() any { return completionsRows(results) },
		document: func() document { return completionsDocument(results) },
	})
}

type completionsJSON struct {
	traceJSON
	*ks.Result

	Workers []scoreJSON  `json:"workers" doc:"all workers, by stage, then by replica"`
	Ranking []int        `json:"ranking" doc:"ranks by descending s; without those that have none"`
	Matrix  [][]*float64 `json:"matrix" null:"zero" doc:"distance D of every two workers, 0 to 1, rows and columns in the order of workers, null where one completed nothing; null unless --matrix is given"`
}

type scoreJSON struct {
	placeJSON
	ks.Score
}

func (r Completions) wire() completionsJSON {
	out := completionsJSON{traceJSON: r.Traced.wire(), Result: r.Result, Ranking: r.ranksOf(r.Ranking),
		Workers: each(r.Scores, func(s ks.Score) scoreJSON { return scoreJSON{r.worker(s.Worker), s} })}
	n := len(r.Scores)
	for a := 0; a < n && r.Matrix != nil; a++ {
		row := make([]*float64, n)
		for b := range row {
			row[b] = r.distance(a, b)
		}
		out.Matrix = append(out.Matrix, row)
	}
	return out
}

// distance is D of two workers, nil where one completed nothing.
func (r Completions) distance(a, b int) *float64 {
	d := r.Matrix[a*len(r.Scores)+b]
	if d < 0 {
		return nil
	}
	return &d
}

// pairJSON is two workers of a trace.
type pairJSON struct {
	Run      string   `json:"run"`
	Rank     int      `json:"rank"`
	Peer     int      `json:"peer_rank"`
	Distance *float64 `json:"distance"`
}

// completionsRows is one row per worker in the order of the ranks' places, or one
// per pair of workers.
func completionsRows(results []Completions) any {
	var pairs []pairJSON
	for _, r := range results {
		n := len(r.Scores)
		for i := 0; i < n*n && r.Matrix != nil; i++ {
			if a, b := i/n, i%n; a < b {
				pairs = append(pairs, pairJSON{r.View.Trace.Run, r.worker(a).Rank, r.worker(b).Rank, r.distance(a, b)})
			}
		}
	}
	if len(pairs) > 0 {
		return rowsJSON[pairJSON]{pairs}
	}
	return tracesJSON[completionsJSON]{each(results, Completions.wire)}
}

// workersShown is how many workers a table lists.
const workersShown = 20

// completionsDocument is a block per trace: who is found, the scores, the maps.
func completionsDocument(results []Completions) document {
	var d document
	for _, r := range results {
		d = append(d, r.title(), prose(r.finding()), r.table())
		d = append(d, heading("How this was read"), r.basis())
	}
	return d
}

// finding is who departs from its peers, in a sentence or two.
func (r Completions) finding() string {
	x := struct {
		Found     []int
		Tested    int
		Discovery float64
		Undecided string
	}{Discovery: r.Discovery}
	for _, s := range r.Scores {
		if s.Test == nil {
			continue
		}
		x.Tested++
		if s.Test.Flagged {
			x.Found = append(x.Found, r.worker(s.Worker).Rank)
		}
	}
	if x.Tested == 0 && len(r.Scores) > 0 {
		x.Undecided = meaning("ks", r.Scores[0].Undecided)
	}
	return say("completions", x)
}

// table is the workers by descending S, those that are found first.
func (r Completions) table() *table.Table {
	t := tableOf("completions")
	order := slices.Clone(r.Ranking)
	for _, s := range r.Scores {
		if !slices.Contains(r.Ranking, s.Worker) {
			order = append(order, s.Worker)
		}
	}
	flagged := func(w int) int {
		if r.Scores[w].Flagged() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return flagged(a) - flagged(b) })
	for _, w := range order {
		t.Add(r.scoreRow(t, w)...)
	}
	return capped(t, workersShown, "json and csv").Tidy()
}

// compared is a figure of a score, nil of a worker that was compared with none.
func compared(s ks.Score, figure float64) *float64 {
	if s.Peers == 0 {
		return nil
	}
	return &figure
}

func (r Completions) scoreRow(t *table.Table, w int) []table.Cell {
	s := r.Scores[w]
	at, mean := r.worker(w), compared(s, s.Mean)
	row := t.Cells(at.Rank, at.DP, at.PP, mean, mean, compared(s, s.Median), s.Later, nil, nil, nil)
	n := len(row)
	if s.Test == nil {
		row[n-1] = table.TextCell("undecided")
		why := meaning("ks", s.Undecided)
		i := slices.Index(t.Footnotes, why)
		if i < 0 {
			i = len(t.Footnotes)
			t.Footnotes = append(t.Footnotes, why)
		}
		row[n-1].Note = i + 1
		return row
	}
	row[n-3], row[n-2] = table.RealCell(s.Test.P), table.RealCell(s.Test.Q)
	if s.Test.Flagged {
		row[n-1] = table.TextCell("yes")
		row[4].Strong = true
	}
	return row
}

// basis says how the completion times were compared.
func (r Completions) basis() bullets {
	b := told(r, "ks windows", "ks clock", "ks against", "ks test")
	for _, doubt := range r.Doubts {
		b = append(b, "In doubt: "+meaning("ks", doubt))
	}
	return append(b, r.Traced.basis()...)
}

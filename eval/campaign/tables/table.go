package tables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Table is a summary as words, ready to be laid out.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
	Notes []string // sentences under the rows, on how to read them
	Keys  int      // how many columns name a row, from the first; 0: one
}

// View says what the tables show.
type View struct {
	By        []Key // empty: by family
	Published bool  // the paper's figures beside ours
}

func (v View) keys() []Key {
	if len(v.By) == 0 {
		return []Key{ByFamily}
	}
	return v.By
}

// none stands where there is no figure.
const none = "–"

func of(n, all int) string {
	if all == 0 {
		return none
	}
	return fmt.Sprintf("%d/%d", n, all)
}

func fixed(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// cells are the tally as words.
func (t *tally) cells() []string {
	return []string{of(t.Top1, t.Windows), of(t.Top2, t.Windows), of(t.Hits, t.Windows), fixed(t.meanCandidates()), strconv.Itoa(t.MaxCandidates)}
}

// MethodTable has the shape of the paper's Table 4.
func (s *Score) MethodTable(v View) Table {
	t := Table{Title: fmt.Sprintf("Routing by method: windows with a fault, the paper's cut, τ = %s", fixed(s.Tau)),
		Head: []string{"method", "top-1", "top-2", "candidate hit", "mean candidates", "max"}}
	if v.Published {
		t.Head = append(t.Head, "paper: top-1", "paper: top-2", "paper: hit", "paper: mean", "paper: max")
	}
	names, tallies := s.methods()
	for i := range names {
		row := append([]string{names[i]}, tallies[i].cells()...)
		if p := publishedMethods[i]; v.Published {
			row = append(row, of(p.top1, p.of), of(p.top2, p.of), of(p.hits, p.of), fixed(p.mean), strconv.Itoa(p.max))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// RoutingTable has the shape of the paper's Table 14.
func (s *Score) RoutingTable(v View) Table {
	t := Table{Title: "Routing by " + keyList(v.keys()) + ": windows with a fault, the paper's cut",
		Head: append(keyHeads(v.keys()), "windows", "top-1", "top-2", "candidate hit", "mean candidates", "max"), Keys: len(v.keys())}
	if v.Published {
		t.Head = append(t.Head, "paper: top-1", "paper: top-2", "paper: hit", "paper: mean")
	}
	for _, g := range s.grouped(v.keys()) {
		tally := tallyOf(g.runs)
		row := append(keyCells(g, v.keys()), strconv.Itoa(tally.Windows))
		row = append(row, tally.cells()...)
		if p := publishedFor(g, v.keys()); v.Published {
			row = append(row, of(p.top1, p.of), of(p.top2, p.of), of(p.hits, p.counted), p.mean())
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ForwardTable has the shape of the paper's Table 5: whether a delay in forward
// is attributed to the device or the host, by the label that stands for each.
func (s *Score) ForwardTable(v View) Table {
	t := Table{Title: "Forward, device or host: windows with a fault, the paper's cut",
		Head: []string{"family", "label", "windows", "top-1", "top-2", "labelled"}}
	if v.Published {
		t.Head = append(t.Head, "paper: top-1", "paper: top-2", "paper: labelled")
	}
	for _, f := range forwardFamilies {
		runs, labelled := s.ofFamily(f.family), 0
		faulty(runs, func(w *scoredWindow) { count(&labelled, slices.Contains(w.Labels, f.label.String())) })
		tally := tallyOf(runs)
		n := tally.Windows
		row := []string{f.family.String(), f.label.String(), strconv.Itoa(n), of(tally.Top1, n), of(tally.Top2, n), of(labelled, n)}
		if v.Published {
			row = append(row, f.top1, f.top2, f.labelled)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// CutTable sets the automatic cut beside the paper's: where the seeded stage
// stands, its mean share, and whether the hidden rank leads.
func (s *Score) CutTable(v View) Table {
	t := Table{Title: "Cuts by " + keyList(v.keys()) + ": windows with a fault, the paper's cut and the automatic one",
		Head: append(keyHeads(v.keys()), "windows", "step: top-1", "step: top-2", "step: seeded share", "step: hidden rank latest", "alone",
			"auto: top-1", "auto: top-2", "auto: seeded share", "auto: hidden rank leads")}
	for _, g := range s.grouped(v.keys()) {
		var paper, auto tally
		var latest, only, leads int
		var share, autoShare mean
		faulty(g.runs, func(w *scoredWindow) {
			paper.add(w.Routing)
			auto.add(routing{Place: w.Automatic.Place})
			count(&latest, w.Latest != latestNo)
			count(&only, w.Latest == latestOnly)
			count(&leads, w.Automatic.LeaderRight)
			share.add(w.Share)
			autoShare.add(w.Automatic.Share)
		})
		n := paper.Windows
		t.Rows = append(t.Rows, append(keyCells(g, v.keys()), strconv.Itoa(n),
			of(paper.Top1, n), of(paper.Top2, n), share.String(), of(latest, n), of(only, n),
			of(auto.Top1, n), of(auto.Top2, n), autoShare.String(), of(leads, n)))
	}
	return t
}

// VerdictTable says how the diagnoses of runs with a fault come out.
func (s *Score) VerdictTable(v View) Table {
	t := Table{Title: "Verdicts by " + keyList(v.keys()) + ": runs with a fault",
		Head: append(keyHeads(v.keys()), "runs", "stage right", "rank right", "rank not decidable", "rank wrong", "nobody suspected",
			"named", "strong", "supported", "ambiguous", "insufficient", "innocent called")}
	for _, g := range s.grouped(v.keys()) {
		d := verdictsOf(g.runs)
		row := append(keyCells(g, v.keys()), strconv.Itoa(d.Runs), of(d.StageRight, d.Runs))
		for _, a := range []rankAnswer{rankRight, rankUndecidable, rankWrong, rankNone} {
			row = append(row, strconv.Itoa(d.Answers[a]))
		}
		row = append(row, of(d.Named, d.Runs))
		row = append(row, d.confidences()...)
		t.Rows = append(t.Rows, append(row, strconv.Itoa(d.Innocent)))
	}
	return t
}

func (v *verdictCounts) confidences() []string {
	var out []string
	for _, c := range []string{"strong", "supported", "ambiguous", "insufficient"} {
		out = append(out, strconv.Itoa(v.Confidence[c]))
	}
	return out
}

// sweepTaus are those of the paper's Table 15.
var sweepTaus = []float64{0.70, 0.75, 0.80, 0.85, 0.90}

// SweepTable has the shape of the paper's Table 15.
func (s *Score) SweepTable(v View) Table {
	t := Table{Title: "Candidate sets by τ: windows with a fault, the paper's cut",
		Head: []string{"tau", "candidate hit", "mean candidates", "max"}}
	if v.Published {
		t.Head = append(t.Head, "paper: hit", "paper: mean", "paper: max")
	}
	for _, tau := range sweepTaus {
		tally, err := s.sweep(tau)
		if err != nil { // every tau of the list is valid
			panic(err)
		}
		row := append([]string{fixed(tau)}, tally.cells()[2:]...)
		if p := publishedSweep[tau]; v.Published {
			row = append(row, of(p.hits, p.of), fixed(p.mean), strconv.Itoa(p.max))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// mean averages shares that may be unknown.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(f *float64) {
	if f != nil {
		m.sum += *f
		m.n++
	}
}

func (m *mean) String() string {
	if m.n == 0 {
		return none
	}
	return fixed(m.sum / float64(m.n))
}

func keyHeads(by []Key) []string {
	var out []string
	for _, k := range by {
		if k == ByDelay {
			out = append(out, "delay_ms")
			continue
		}
		out = append(out, k.String())
	}
	return out
}

func keyList(by []Key) string {
	var names []string
	for _, k := range by {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

func keyCells(g *group, by []Key) []string {
	var out []string
	for _, k := range by {
		out = append(out, g.value(k))
	}
	return slices.Clip(out)
}

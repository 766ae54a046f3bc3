package communication

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/trace"
)

// source is whose tables these are.
const source = "NCCL Trace Profiler"

// none stands where there is no figure.
const none = "–"

// Tables are the tables that the recordings feed; none without recordings.
func Tables(list []*Recording) ([]tables.Artifact, error) {
	var out []tables.Artifact
	add := func(name string, of []*Recording, t tables.Table) {
		var inputs []campaign.Provenance
		for _, r := range of {
			inputs = append(inputs, r.Inputs...)
		}
		out = append(out, tables.Artifact{Name: name, Table: t, Inputs: inputs})
	}
	if both := having(list, func(r *Recording) bool { return len(r.Counts()) > 0 }); len(both) > 0 {
		add("nccl-counts", both, CountTable(both))
	}
	if known := having(list, func(r *Recording) bool { return r.Truth != nil }); len(known) > 0 {
		scores, err := scoreAll(known)
		if err != nil {
			return nil, err
		}
		add("nccl-alignment", known, AlignmentTable(scores))
		add("nccl-pairs", known, PairTable(scores))
	}
	if modelled := having(list, func(r *Recording) bool { return r.Model != nil }); len(modelled) > 0 {
		add("nccl-theory", modelled, TheoryTable(modelled))
		add("nccl-volumes", modelled, VolumeTable(modelled))
	}
	return out, nil
}

func having(list []*Recording, is func(*Recording) bool) []*Recording {
	return slices.DeleteFunc(slices.Clone(list), func(r *Recording) bool { return !is(r) })
}

// CountTable has the shape of the thesis's Tables 4.1 and 4.2, and says what becomes of each line.
func CountTable(list []*Recording) tables.Table {
	t := tables.Table{Title: source + ", Tables 4.1 and 4.2. Operations in log and trace, of each rank",
		Head: []string{"recording", "ranks", "operation", "lines", "tuning", "damaged", "repeated", "calls", "launch nothing", "joined", "launches", "kernels",
			"lines − kernels", "launches − kernels", "only logged", "only traced"},
		Notes: []string{"Lines begin with the name of the operation, which is what a counter of lines takes for calls. Of them tuning lines say how a collective is run, and are printed by the first rank of a communicator alone. Calls on a communicator of one rank launch nothing; calls of one group are joined in one kernel, as the send and the receive in the middle of 1F1B are.",
			"Launches − kernels is only logged − only traced: what one side did not record. Nothing else is left over."}}
	for _, r := range list {
		for _, c := range r.Counts() {
			row := []string{r.Name, trace.RankList(c.Ranks), c.Op.String()}
			for _, n := range []int64{c.Lines, c.Tunings, c.Damaged, c.Repeated, c.Calls, c.Silent, c.Joined, c.Launches, c.Kernels,
				c.Lines - c.Kernels, c.Launches - c.Kernels, c.OnlyLogged, c.OnlyTraced} {
				row = append(row, strconv.FormatInt(n, 10))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// scored is a recording and how well each method pairs it.
type scored struct {
	name   string
	scores [methods]Score
}

func scoreAll(list []*Recording) ([]scored, error) {
	var out []scored
	for _, r := range list {
		s := scored{name: r.Name}
		for m := range methods {
			var err error
			if s.scores[m], err = r.Score(m); err != nil {
				return nil, err
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// publishedF1 is the thesis's Table 4.5, by the name of a recording that lacks the same: sliding window, alignment.
var publishedF1 = map[string][2]float64{"easy": {1, 0.988}, "nsys_drop20": {0.916, 0.912}, "nccl_drop20": {0.276, 0.868}, "both_drop20": {0.256, 0.805}}

// AlignmentTable has the shape of the thesis's Table 4.5: F1, a column for each method.
func AlignmentTable(list []scored) tables.Table {
	t := tables.Table{Title: source + ", Table 4.5. F1 of pairs of call and kernel", Head: []string{"recording", "true pairs"}}
	for m := range methods {
		t.Head = append(t.Head, m.String())
	}
	t.Head = append(t.Head, "called certain", "of them true", "thesis: sliding window", "thesis: alignment")
	var certain Score
	var sums [methods]float64
	all := 0
	for _, s := range list {
		row := []string{s.name, strconv.Itoa(s.scores[Default].True)}
		var own Score
		for m := range methods {
			row = append(row, three(s.scores[m].F1()))
			sums[m] += s.scores[m].F1()
			own.sum(s.scores[m])
		}
		row = append(row, strconv.Itoa(own.Certain), strconv.Itoa(own.CertainRight))
		t.Rows = append(t.Rows, append(row, publishedCells(s.name)...))
		certain.sum(own)
		all += s.scores[Default].True
	}
	mean := []string{fmt.Sprintf("mean of %d", len(list)), strconv.Itoa(all)}
	for m := range methods {
		mean = append(mean, three(sums[m]/float64(len(list))))
	}
	t.Rows = append(t.Rows, append(mean, strconv.Itoa(certain.Certain), strconv.Itoa(certain.CertainRight), none, none))
	t.Notes = []string{"Certain: over the three methods that say how sure they are. Names: the thesis's scores for equal and different names and for gaps, without its weights and growth of gaps.",
		"The thesis's figures are of its own recordings, which are not these: of the same kinds of loss, which the name tells. Their means are 0.612 and 0.893."}
	return t
}

func publishedCells(name string) []string {
	if p, ok := publishedF1[name]; ok {
		return []string{three(p[0]), three(p[1])}
	}
	return []string{none, none}
}

// PairTable has precision and recall of each method, and how many of the pairs called certain are true.
func PairTable(list []scored) tables.Table {
	t := tables.Table{Title: "Pairs of call and kernel, by method",
		Head: []string{"recording", "method", "true pairs", "found", "right", "precision", "recall", "F1", "called certain", "of them true"}}
	var sums [methods]Score
	row := func(name string, m Method, s Score) {
		sure, right := none, none
		if m >= Alone {
			sure, right = strconv.Itoa(s.Certain), strconv.Itoa(s.CertainRight)
		}
		t.Rows = append(t.Rows, []string{name, m.String(), strconv.Itoa(s.True), strconv.Itoa(s.Found), strconv.Itoa(s.Right), three(s.Precision()), three(s.Recall()),
			three(s.F1()), sure, right})
	}
	for _, s := range list {
		for m := range methods {
			row(s.name, m, s.scores[m])
			sums[m].sum(s.scores[m])
		}
	}
	for m := range methods {
		row("all", m, sums[m])
	}
	t.Notes = []string{"All: of all pairs, so that long recordings count for more. A recording of which nothing is found has no wrong pair: its precision is 1."}
	return t
}

func three(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

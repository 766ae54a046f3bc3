package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/trace/input"
)

// row has the truth of one job, the verdict, and whether that is right. A field about which the
// verdict says nothing is empty.
type row struct {
	Source  string `json:"source"`
	Family  string `json:"family"`
	Job     string `json:"job"`
	Variant string `json:"variant"` // of the recording; "" is as it was recorded
	Right   bool   `json:"right"`
	Wrong   string `json:"wrong"` // what is wrong

	Truth     string   `json:"truth"`
	TrueRanks string   `json:"true_ranks"`
	TrueStage string   `json:"true_stage"`
	TrueGain  *float64 `json:"true_gain"` // of the first fault
	Due       int64    `json:"due"`       // faults that have to be named

	Status string `json:"status"`
	Named  string `json:"named"` // ranks of all findings to act on, with their stages
	Hides  string `json:"hides"` // milliseconds that may hide, by stage
	// These are of the first finding.
	Kind       string   `json:"kind"`
	Cause      string   `json:"cause"`
	Ranks      string   `json:"ranks"`
	Stage      string   `json:"stage"`
	Op         string   `json:"op"`
	Confidence string   `json:"confidence"`
	P          *float64 `json:"p"`
	Gain       *float64 `json:"gain"`
	RunGain    *float64 `json:"run_gain"`
	AtMost     *float64 `json:"run_gain_at_most"`
	Struck     string   `json:"struck"` // steps, of how many
	First      *int64   `json:"first_step"`
	Last       *int64   `json:"last_step"`
	Pattern    string   `json:"pattern"`
}

// addTruth returns the row with what is true of its job.
func (r row) addTruth(t truth) row {
	r.Truth, r.TrueRanks, r.Due = string(t.kind), numbers(t.guilty()), int64(len(t.due()))
	if len(t.faults) > 0 {
		f := t.faults[0]
		r.TrueStage = strings.Join(f.stages, "|")
		r.TrueGain = f.saves
	}
	return r
}

// addVerdict returns the row with what a verdict says, and what is wrong with it.
func (r row) addVerdict(v *verdict, wrong string) row {
	r.Right, r.Wrong, r.Status = wrong == "", wrong, v.Status
	named := v.suspectRanks()
	var list []string
	for _, rank := range slices.Sorted(maps.Keys(named)) {
		list = append(list, fmt.Sprintf("%d:%s", rank, strings.Join(named[rank].stages, "|")))
	}
	r.Named = strings.Join(list, " ")
	list = nil
	for _, l := range v.Limits {
		if l.Hides > 0 {
			list = append(list, fmt.Sprintf("%s:%.4g", l.Stage, l.Hides/1e6))
		}
	}
	r.Hides = strings.Join(list, " ")
	f := v.first()
	if f == nil {
		return r
	}
	gain, most := f.gains()
	r.Kind, r.Cause, r.Ranks, r.Stage, r.Op, r.Confidence, r.P = f.Kind, f.Cause, numbers(f.ranks()), f.Stage, f.Op, f.Confidence, short(f.p())
	r.Gain, r.RunGain, r.AtMost = short(&f.Gain), short(&gain), short(&most)
	s := f.Struck
	r.Struck, r.First, r.Last, r.Pattern = fmt.Sprintf("%d/%d", s.Count, s.Of), s.First, s.Last, s.Pattern
	return r
}

// withoutVerdict returns the row of a job on which the program gives no verdict. Why is logged, since
// what it says names paths.
func (r row) withoutVerdict(err error) row {
	log.Printf("%s/%s/%s: %v", r.Source, r.Family, r.Job, err)
	r.Wrong = "no verdict"
	return r
}

// short rounds a value to four digits, enough for a table.
func short(x *float64) *float64 {
	if x == nil {
		return nil
	}
	y, _ := strconv.ParseFloat(strconv.FormatFloat(*x, 'g', 4, 64), 64)
	return &y
}

func numbers(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, " ")
}

// writeRows writes a table as CSV.
func writeRows(w io.Writer, rows []row) error {
	out := flatrow.NewWriter[row](w, flatrow.CSV, flatrow.Mark{})
	for i := range rows {
		if err := out.Write(&rows[i]); err != nil {
			return err
		}
	}
	return out.Close()
}

// readRows reads as much of a table, plain or compressed (.gz), as two are compared by. Other
// columns may be missing, or differ from version to version.
func readRows(path string) (out []row, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	columns := []string{"source", "family", "job", "variant", "right", "wrong", "due"}
	err = input.Table(path, text, columns, func(c []string) error {
		due, _ := strconv.ParseInt(c[6], 10, 64) // empty: none
		out = append(out, row{Source: c[0], Family: c[1], Job: c[2], Variant: c[3], Right: c[4] == "true", Wrong: c[5], Due: due})
		return nil
	})
	return out, err
}

// name returns the name of a job, as recorded or in a variant.
func (r row) name() [4]string { return [...]string{r.Source, r.Family, r.Variant, r.Job} }

package simulate

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Truth is what a run hides, complete: every fault with its stage, ranks and
// the steps in which it struck.
type Truth struct {
	Run          string      `json:"run"`
	Ranks        int         `json:"ranks"`
	Seed         uint64      `json:"seed"`
	Accumulation int         `json:"accumulation"`
	Faults       []TrueFault `json:"faults"` // none: a healthy run
	Notes        string      `json:"notes,omitempty"`
}

// TrueFault is one fault of a run as it happened.
type TrueFault struct {
	Family       Family      `json:"family"`
	Stage        string      `json:"seeded_stage"`
	HiddenRanks  []int       `json:"hidden_ranks"`
	Delay        Millis      `json:"delay_ms"`
	Intermittent bool        `json:"intermittent"`
	Steps        []stepRange `json:"steps"` // in which it struck, absolute, ascending
}

// stepRange is the steps First … Last, both included.
type stepRange struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// truth returns the truth of a resolved spec.
func (s *Spec) truth() Truth {
	t := Truth{Run: s.Run, Ranks: s.Ranks, Seed: s.Seed, Accumulation: s.microsteps(), Notes: s.notes()}
	rng := streams.New()
	for i := range s.Faults {
		f := &s.Faults[i]
		tf := TrueFault{Family: f.Family, Stage: f.Stage, HiddenRanks: slices.Clone(f.Ranks), Delay: f.Delay, Intermittent: f.Intermittent()}
		for w := range s.Schedule.Windows {
			first := s.Schedule.firstStep(w)
			for step := first; step < first+int64(s.Schedule.Steps); step++ {
				if s.active(i, step, rng) {
					tf.strike(step)
				}
			}
		}
		t.Faults = append(t.Faults, tf)
	}
	return t
}

// strike adds a step, later than all before.
func (f *TrueFault) strike(step int64) {
	if n := len(f.Steps); n > 0 && f.Steps[n-1].Last == step-1 {
		f.Steps[n-1].Last = step
		return
	}
	f.Steps = append(f.Steps, stepRange{step, step})
}

// notes returns further properties of the run: "roles" when groups of ranks do different work, "aba" when a fault spares some
// windows, "arrivals" when the windows have them.
func (s *Spec) notes() string {
	var notes []string
	if slices.ContainsFunc(s.Work, func(w WorkFactor) bool { return w.Factor != 1 && len(w.Where) > 0 }) {
		notes = append(notes, "roles")
	}
	if slices.ContainsFunc(s.Faults, func(f Fault) bool { return len(f.Windows) > 0 && len(f.Windows) < s.Schedule.Windows }) {
		notes = append(notes, "aba")
	}
	if s.Arrivals {
		notes = append(notes, "arrivals")
	}
	return strings.Join(notes, " ")
}

// defaultRun names a run by what it hides: "sim-data-120ms-r8-s0".
func (s *Spec) defaultRun() string {
	what := NoFault.String()
	if len(s.Faults) > 0 {
		f := &s.Faults[0]
		what = fmt.Sprintf("%v-%sms", f.Family, strconv.FormatFloat(float64(f.Delay), 'f', -1, 64))
	}
	return fmt.Sprintf("sim-%s-r%d-s%d", what, s.Ranks, s.Seed)
}

// TruthRow is one line of a truth table: one fault on one hidden rank, or a
// run without a fault.
type TruthRow struct {
	Run          string
	Family       fmt.Stringer // a Family, or what is wrong with a run that is recorded otherwise
	Ranks        int
	Seed         uint64
	Delay        Millis
	HiddenRank   int    // −1: none
	Stage        string // seeded stage; "" without a fault
	Intermittent bool
	Accumulation int
	Notes        string
}

// truthHeader is the first line of a truth table.
var truthHeader = [...]string{"run", "family", "ranks", "seed", "delay_ms", "hidden_rank", "seeded_stage", "intermittent", "accumulation", "notes"}

// Rows flattens the truth for a table: a row for each fault and hidden rank.
func (t Truth) Rows() []TruthRow {
	base := TruthRow{Run: t.Run, Family: NoFault, Ranks: t.Ranks, Seed: t.Seed, HiddenRank: -1, Accumulation: t.Accumulation, Notes: t.Notes}
	if len(t.Faults) == 0 {
		return []TruthRow{base}
	}
	var rows []TruthRow
	for _, f := range t.Faults {
		row := base
		row.Family, row.Stage, row.Delay, row.Intermittent = f.Family, f.Stage, f.Delay, f.Intermittent
		for _, row.HiddenRank = range f.HiddenRanks {
			rows = append(rows, row)
		}
	}
	return rows
}

// WriteTruth writes a truth table as CSV with a header.
func WriteTruth(w io.Writer, rows []TruthRow) error {
	lines := [][]string{truthHeader[:]}
	for _, r := range rows {
		hidden, intermittent := "", "0"
		if r.HiddenRank >= 0 {
			hidden = strconv.Itoa(r.HiddenRank)
		}
		if r.Intermittent {
			intermittent = "1"
		}
		lines = append(lines, []string{r.Run, r.Family.String(), strconv.Itoa(r.Ranks), strconv.FormatUint(r.Seed, 10),
			strconv.FormatFloat(float64(r.Delay), 'f', -1, 64), hidden, r.Stage, intermittent, strconv.Itoa(r.Accumulation), r.Notes})
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// ReadTruth reads a truth table. Columns are found by name and may stand in
// any order; further columns are ignored. name is the file in errors.
func ReadTruth(name string, r io.Reader) (rows []TruthRow, err error) {
	err = input.Table(name, r, truthHeader[:], func(cells []string) error {
		row, err := parseTruth(cells)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// parseTruth reads one row whose cells stand in the order of truthHeader.
func parseTruth(cells []string) (TruthRow, error) {
	row, intermittent, family := TruthRow{Run: cells[0], HiddenRank: -1, Stage: cells[6], Notes: cells[9]}, 0, NoFault
	number := func(column int, into any) error {
		if err := json.Unmarshal([]byte(cells[column]), into); err != nil {
			return input.Bad(input.ErrType, "column %s is %q, expected a number", truthHeader[column], cells[column])
		}
		return nil
	}
	err := cmp.Or(family.UnmarshalText([]byte(cells[1])), number(2, &row.Ranks), number(3, &row.Seed), number(4, &row.Delay),
		number(7, &intermittent), number(8, &row.Accumulation))
	if cells[5] != "" {
		err = cmp.Or(err, number(5, &row.HiddenRank))
	}
	row.Family, row.Intermittent = family, intermittent != 0
	switch {
	case err != nil:
		return row, err
	case row.Ranks < 1 || row.Ranks > trace.MaxRanks || row.Accumulation < 0:
		return row, input.Bad(input.ErrTooLarge, "%d ranks and accumulation %d, expected 1 to %d, and 0 or more", row.Ranks, row.Accumulation, trace.MaxRanks)
	case row.HiddenRank < -1 || row.HiddenRank >= row.Ranks:
		return row, input.Bad(input.ErrTooLarge, "hidden rank %d in a world of %d", row.HiddenRank, row.Ranks)
	}
	return row, CheckLimits(Limit{"delay_ms", float64(row.Delay), 0, MaxMillis})
}

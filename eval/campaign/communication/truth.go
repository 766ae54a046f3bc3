package communication

import (
	"io"
	"os"
	"strconv"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/input"
)

// TruthHead are the columns of truth.csv, a row for each true pair of which both sides were recorded. sfstat comm --matches
// has them too; further columns are passed over.
var TruthHead = []string{"log_file", "line", "sqlite_file", "global_pid", "correlation_id"}

// Truth is which kernel ran which call.
type Truth struct {
	pairs map[pair]bool
	files map[string]bool // that pairs are of, on the side of the calls
}

// pair is a line of a log and a kernel of an export.
type pair struct {
	log         string
	line        int64
	export      string
	process     int64
	correlation int64
}

// readTruth reads truth.csv.
func readTruth(path string) (*Truth, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ParseTruth(path, file)
}

// ParseTruth reads the pairs of a truth; path is its file in errors. A pair that stands twice is an error.
func ParseTruth(path string, from io.Reader) (*Truth, error) {
	t := &Truth{map[pair]bool{}, map[string]bool{}}
	err := input.Table(path, from, TruthHead, func(cells []string) error {
		p, err := pairOf(cells)
		if err == nil && t.pairs[p] {
			err = input.Bad(input.ErrFormat, "the pair stands twice: %v", cells)
		}
		t.pairs[p], t.files[p.log] = true, true
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func pairOf(r []string) (p pair, err error) {
	p.log, p.export = r[0], r[2]
	for i, to := range map[int]*int64{1: &p.line, 3: &p.process, 4: &p.correlation} {
		if *to, err = strconv.ParseInt(r[i], 10, 64); err != nil {
			return p, input.Bad(input.ErrType, "%s is %q, expected an integer", TruthHead[i], r[i])
		}
	}
	return p, nil
}

// pairAt returns the pair of a call of Calls and a kernel of a rank with an export.
func pairAt(r *comm.Result, rank, call, kernel int) pair {
	c := &r.Calls[call]
	return pair{r.Recorded.Sources[c.Source].Name, c.Line, r.ProfileOf(rank), r.Recorded.Processes[r.Ranks[rank].Profile].ID, r.Kernels(rank)[kernel].Correlation}
}

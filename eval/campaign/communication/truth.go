package communication

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/input"
)

// TruthHead are the columns of truth.csv, a row for each true pair of which both sides were recorded. Those of
// sfstat comm --matches begin with them; further columns are passed over.
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
	in := csv.NewReader(from)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	t := &Truth{map[pair]bool{}, map[string]bool{}}
	for first := true; ; first = false {
		r, err := in.Read()
		switch {
		case errors.Is(err, io.EOF) && first:
			return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrEmpty, "the file is empty, expected the header %v", TruthHead))
		case errors.Is(err, io.EOF):
			return t, nil
		case err != nil:
			return nil, input.At(input.Pos{File: path}, input.Bad(input.ErrFormat, "%v", err))
		}
		line, _ := in.FieldPos(0)
		at := input.Pos{File: path, Line: int64(line)}
		if len(r) < len(TruthHead) || first && !slices.Equal(r[:len(TruthHead)], TruthHead) {
			return nil, input.At(at, input.Bad(input.ErrFormat, "found %v, expected the columns %v", r, TruthHead))
		}
		if first {
			continue
		}
		p, err := pairOf(r)
		if err != nil {
			return nil, input.At(at, err)
		}
		if t.pairs[p] {
			return nil, input.At(at, input.Bad(input.ErrFormat, "the pair stands twice: %v", r))
		}
		t.pairs[p], t.files[p.log] = true, true
	}
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

// pairAt is the pair of a call, of Calls, and a kernel of a rank that has an export.
func pairAt(r *comm.Result, rank, call, kernel int) pair {
	c := &r.Calls[call]
	return pair{r.Recorded.Sources[c.Source].Name, c.Line, r.ProfileOf(rank), r.Recorded.Processes[r.Ranks[rank].Profile].ID, r.Kernels(rank)[kernel].Correlation}
}

package overhead

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// pairsHeader are the columns of a file of pairs.
var pairsHeader = [...]string{"pair", "base_ns", "with_ns"}

// maxPairs bounds a file of pairs: a million take 30 MB.
const maxPairs = 1 << 20

// ReadPairs reads measurements from CSV with a header: pair, base_ns, with_ns,
// in any order; further columns are ignored. Rows of one pair are windows of the
// same two runs and stay together. name is the file in errors.
func ReadPairs(name string, r io.Reader) ([]Measurement, error) {
	in := csv.NewReader(r)
	in.TrimLeadingSpace = true
	at := func(err error) error {
		line, _ := in.FieldPos(0)
		return input.At(input.Pos{File: name, Line: int64(line)}, err)
	}
	header, err := in.Read()
	if err != nil {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrTruncated, "no header, expected %s: %v", strings.Join(pairsHeader[:], ","), err))
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff") // spreadsheets begin files so
	var column [len(pairsHeader)]int
	for i, want := range pairsHeader {
		if column[i] = slices.Index(header, want); column[i] < 0 {
			return nil, at(input.Bad(input.ErrMissing, "the header has no column %q, expected %s", want, strings.Join(pairsHeader[:], ",")))
		}
	}
	var rows []Measurement
	windows := make(map[string]int)
	for {
		record, err := in.Read()
		if err == io.EOF {
			if len(rows) == 0 {
				err = input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "the file has no pairs"))
				return nil, err
			}
			return rows, nil
		}
		if err != nil {
			return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrFormat, "%v", err))
		}
		if len(rows) == maxPairs {
			return nil, at(input.Bad(input.ErrTooLarge, "more than %d pairs", maxPairs))
		}
		m, err := parsePair([...]string{record[column[0]], record[column[1]], record[column[2]]})
		if err != nil {
			return nil, at(err)
		}
		m.Window = windows[m.Pair]
		windows[m.Pair]++
		rows = append(rows, m)
	}
}

// parsePair reads one row whose cells stand in the order of pairsHeader.
func parsePair(cells [len(pairsHeader)]string) (m Measurement, err error) {
	if m.Pair = strings.TrimSpace(cells[0]); m.Pair == "" {
		return m, input.Bad(input.ErrMissing, "column pair is empty, expected a name or number of the pair of runs")
	}
	if m.Base, err = parseTime(pairsHeader[1], cells[1]); err != nil {
		return m, fmt.Errorf("pair %q: %w", m.Pair, err)
	}
	if m.With, err = parseTime(pairsHeader[2], cells[2]); err != nil {
		return m, fmt.Errorf("pair %q: %w", m.Pair, err)
	}
	return m, nil
}

func parseTime(column, cell string) (float64, error) {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return 0, input.Bad(input.ErrMissing, "column %s is empty: both halves of a pair are needed", column)
	}
	ns, err := strconv.ParseFloat(cell, 64)
	switch {
	case err != nil:
		return 0, input.Bad(input.ErrType, "column %s is %q, expected nanoseconds", column, cell)
	case math.IsNaN(ns) || math.IsInf(ns, 0):
		return 0, input.Bad(input.ErrNotFinite, "column %s is %q, expected nanoseconds", column, cell)
	case !(ns > 0):
		return 0, input.Bad(input.ErrNegative, "column %s is %q, expected more than 0", column, cell)
	}
	return ns, nil
}

package overhead

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// pairsHeader are the columns of a file of pairs.
var pairsHeader = []string{"pair", "base_ns", "with_ns"}

// maxPairs bounds a file of pairs: a million take 30 MB.
const maxPairs = 1 << 20

// ReadPairs reads measurements from CSV with a header: pair, base_ns, with_ns,
// in any order; further columns are ignored. Rows of one pair are windows of the
// same two runs and stay together. name is the file in errors.
func ReadPairs(name string, r io.Reader) ([]Measurement, error) {
	var rows []Measurement
	windows := make(map[string]int)
	err := input.Table(name, r, pairsHeader, func(cells []string) error {
		if len(rows) == maxPairs {
			return input.Bad(input.ErrTooLarge, "more than %d pairs", maxPairs)
		}
		m, err := parsePair(cells)
		m.Window = windows[m.Pair]
		windows[m.Pair]++
		rows = append(rows, m)
		return err
	})
	if err == nil && len(rows) == 0 {
		err = input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "the file has no pairs"))
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// parsePair reads one row whose cells stand in the order of pairsHeader.
func parsePair(cells []string) (m Measurement, err error) {
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

package nccltests

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/input"
)

// header says what the columns of rows are.
type header struct {
	before      string   // what a launcher writes before each line
	redop, root bool     // there are such columns
	names       []string // of the columns behind them: those of out-of-place, then those of in-place
}

// newHeader reads the words of a header.
func newHeader(before string, words []string) header {
	h := header{before: before, redop: slices.Contains(words, "redop"), root: slices.Contains(words, "root")}
	first := slices.IndexFunc(words, func(w string) bool { return w == "time" || w == "cputime" })
	if first < 0 {
		return header{}
	}
	for _, w := range words[first:] {
		if w != "timestamp" {
			h.names = append(h.names, w)
		}
	}
	return h
}

// cut returns the words of a line behind what a launcher wrote, which is as many words where it is not the same, as a stamp.
func (h *header) cut(text string) []string {
	if rest, same := strings.CutPrefix(text, h.before); same {
		return strings.Fields(rest)
	}
	words := strings.Fields(text)
	return words[min(len(words), len(strings.Fields(h.before))):]
}

// bus returns the better bus bandwidth of a row. Tests without reductions may leave redop empty, and tests that run in place only the columns before.
func (h *header) bus(words []string) (bus float64, err error) {
	i := 3 // behind size, count, type
	if h.redop && i < len(words) && !number(words[i]) {
		i++
	}
	if h.root {
		i++
	}
	names := h.names
	if rest := len(words) - i; rest < len(names) && rest >= len(names)/2 && len(names)%2 == 0 && rest < len(names)/2+3 { // a stamp of two words behind
		names = names[len(names)/2:]
	}
	if len(words)-i < len(names) {
		return 0, input.Bad(input.ErrRagged, "a row of %d columns, expected at least %d as in the header: was it cut off, or written into by another process?", len(words), i+len(names))
	}
	for k, name := range names {
		text := words[i+k]
		switch name {
		case "busbw":
			x, err := bandwidth(text)
			if err != nil {
				return 0, err
			}
			bus = max(bus, x)
		case "#wrong", "error":
			if err := right(name, text); err != nil {
				return 0, err
			}
		}
	}
	return bus, nil
}

func number(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// bandwidth returns a number of GB/s.
func bandwidth(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, input.Bad(input.ErrType, "a bus bandwidth of %.40q, expected GB/s", text)
	}
	return x, nil
}

// right returns an error where values were wrong: of a run that computes what is false its speed says nothing. Old versions print the
// largest error instead of a count, which rounding makes.
func right(name, text string) error {
	if name == "error" || text == "N/A" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return input.Bad(input.ErrType, "a count of wrong values of %.40q, expected a number or N/A", text)
	}
	if n != 0 {
		return input.Bad(input.ErrRange, "%s values were wrong: this run is no baseline, look for a faulty GPU or link first", text)
	}
	return nil
}

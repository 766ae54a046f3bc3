// Package runtimes measures how long an analysis takes by the size of what it is given,
// for sfstat campaign plots to draw.
package runtimes

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/eval/campaign"
)

// Series is an analysis that is measured.
type Series struct {
	Name string
	Most int // size up to which it is; 0: all
	// Prepare makes what an analysis of a size is given, outside of what is timed.
	Prepare func(size int) (analysis func() error)
}

// Measurement is which sizes are measured, how often, and by what clock.
type Measurement struct {
	Kind        string // of campaign.MeasuredKinds
	Least, Most int    // sizes double from the least
	Times       int
	Clock       func() (time.Duration, error)
	Log         io.Writer // gets each row
}

// Rows are those of a file of the kind, the first its header. A row is the median of
// some runs, in seconds, its interval the shortest and the longest of them.
func (m Measurement) Rows(list []Series) ([][]string, error) {
	if m.Most < m.Least || m.Times < 1 {
		return nil, fmt.Errorf("-most %d, -times %d: expected %d and 1 at least", m.Most, m.Times, m.Least)
	}
	i := slices.IndexFunc(campaign.MeasuredKinds, func(k campaign.Measured) bool { return k.Name == m.Kind })
	if i < 0 {
		return nil, fmt.Errorf("%s is no longer drawn", m.Kind)
	}
	rows := [][]string{campaign.MeasuredKinds[i].Head()}
	for _, s := range list {
		for n := m.Least; n <= m.Most && (s.Most == 0 || n <= s.Most); n *= 2 {
			seconds, err := m.timesOf(s.Prepare(n))
			if err != nil {
				return nil, err
			}
			row := []string{s.Name, strconv.Itoa(n)}
			for _, v := range []float64{seconds[len(seconds)/2], seconds[0], seconds[len(seconds)-1]} {
				row = append(row, strconv.FormatFloat(v, 'g', 4, 64))
			}
			row = append(row, strconv.Itoa(m.Times))
			rows = append(rows, row)
			fmt.Fprintln(m.Log, row)
		}
	}
	return rows, nil
}

// timesOf is how long an analysis takes, in s, ascending.
func (m Measurement) timesOf(analysis func() error) ([]float64, error) {
	var out []float64
	for range m.Times {
		begin, err := m.Clock()
		if err != nil {
			return nil, err
		}
		if err := analysis(); err != nil {
			return nil, err
		}
		end, err := m.Clock()
		if err != nil {
			return nil, err
		}
		out = append(out, (end - begin).Seconds())
	}
	slices.Sort(out)
	return out, nil
}

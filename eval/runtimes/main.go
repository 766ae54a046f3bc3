// Command runtimes measures how long an analysis takes by the size of what it is given, for
// sfstat campaign plots to draw:
//
//	go run ./eval/runtimes -kind time-by-workers -o CAMPAIGN/measured/time-by-workers.csv
//	go run ./eval/runtimes -kind alignment-by-length -o CAMPAIGN/measured/alignment-by-length.csv
//
// The first is the comparison of completion times by number of workers, the second the
// alignment of two sequences by number of operations. Sizes double. A row is the median of
// some runs, its interval the shortest and the longest of them: times of one machine under
// what load it had, no statement about others.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/eval/internal/pages"
)

// measurement is a kind of campaign.MeasuredKinds: which sizes are measured, how often
// where nothing else is asked for, and by what clock.
type measurement struct {
	kind               string
	least, most, times int
	clock              func() (time.Duration, error)
	series             []series
}

// series is an analysis that is measured.
type series struct {
	name string
	most int // size up to which it is; 0: all
	// prepare makes what an analysis of a size is given, outside of what is timed.
	prepare func(size int) (analysis func() error)
}

var kinds = []measurement{
	{kind: "time-by-workers", least: 8, most: 2048, times: 5, clock: passed, series: completions},
	{kind: "alignment-by-length", least: 1000, most: 20_000, times: 3, clock: processorTime, series: alignments},
}

var began = time.Now()

// passed is the time that has passed.
func passed() (time.Duration, error) { return time.Since(began), nil }

func main() { pages.Main("runtimes", run) }

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("runtimes", flag.ContinueOnError)
	kind := flags.String("kind", kinds[0].kind, "what is measured, by the name of its figure")
	out := flags.String("o", "", "write the measurements here (default: standard output)")
	most := flags.Int("most", 0, "up to this size (default: 2048 workers, 20,000 operations)")
	times := flags.Int("times", 0, "how often each is measured (default: 5, 3)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	i := slices.IndexFunc(kinds, func(m measurement) bool { return m.kind == *kind })
	if i < 0 {
		return fmt.Errorf("-kind is %q, expected %s or %s", *kind, kinds[0].kind, kinds[1].kind)
	}
	m := kinds[i]
	if *most != 0 {
		m.most = *most
	}
	if *times != 0 {
		m.times = *times
	}
	rows, err := m.rows(os.Stderr)
	if err != nil {
		return err
	}
	return pages.Write(*out, stdout, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// rows are those of a file of the kind, the first its header, times in seconds. Each goes to the log
// as soon as it is measured.
func (m *measurement) rows(log io.Writer) ([][]string, error) {
	if m.most < m.least || m.times < 1 {
		return nil, fmt.Errorf("-most %d, -times %d: expected %d and 1 at least", m.most, m.times, m.least)
	}
	i := slices.IndexFunc(campaign.MeasuredKinds, func(k campaign.Measured) bool { return k.Name == m.kind })
	if i < 0 {
		return nil, fmt.Errorf("%s is no longer drawn", m.kind)
	}
	rows := [][]string{campaign.MeasuredKinds[i].Head()}
	for _, s := range m.series {
		for n := m.least; n <= m.most && (s.most == 0 || n <= s.most); n *= 2 {
			seconds, err := m.timesOf(s.prepare(n))
			if err != nil {
				return nil, err
			}
			row := []string{s.name, strconv.Itoa(n)}
			for _, v := range []float64{seconds[len(seconds)/2], seconds[0], seconds[len(seconds)-1]} {
				row = append(row, strconv.FormatFloat(v, 'g', 4, 64))
			}
			row = append(row, strconv.Itoa(m.times))
			rows = append(rows, row)
			fmt.Fprintln(log, row)
		}
	}
	return rows, nil
}

// timesOf is how long an analysis takes, in s, ascending.
func (m *measurement) timesOf(analysis func() error) ([]float64, error) {
	var out []float64
	for range m.times {
		begin, err := m.clock()
		if err != nil {
			return nil, err
		}
		if err := analysis(); err != nil {
			return nil, err
		}
		end, err := m.clock()
		if err != nil {
			return nil, err
		}
		out = append(out, (end - begin).Seconds())
	}
	slices.Sort(out)
	return out, nil
}

package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace/input"
)

// costsName is the table, in the folder of recordings, of what windows do not
// say of them. bench/reference/sources.py measures and writes it.
const costsName = "costs.csv"

// costsHead are its columns: bytes of what the profiler wrote, for recordings
// that were reduced since; seconds that reading takes; how much longer a step
// without a fault takes under the profiler, as a part. All three may be empty.
var costsHead = []string{"run", "source", "artifact_bytes", "post_processing_s", "no_fault_overhead"}

// costs are what recordings of one source cost, a value for each run that says so.
type costs struct {
	Bytes    map[string]int64 // by run
	Seconds  []float64
	Overhead []float64
}

// readCosts reads the table, by source; none is no error.
func readCosts(on disk.Disk, path string) (map[string]*costs, error) {
	rows, err := campaign.ReadTable(on, path, costsHead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string]*costs)
	for i, r := range rows {
		c := out[r[1]]
		if c == nil {
			c = &costs{Bytes: make(map[string]int64)}
			out[r[1]] = c
		}
		if err := c.add(r); err != nil {
			return nil, input.At(input.Pos{File: path, Line: int64(i) + 2}, err)
		}
	}
	return out, nil
}

func (c *costs) add(r []string) error {
	if r[2] != "" {
		n, err := strconv.ParseInt(r[2], 10, 64)
		if err != nil || n < 0 {
			return input.Bad(input.ErrType, "%s is %q, expected a number of bytes", costsHead[2], r[2])
		}
		c.Bytes[r[0]] = n
	}
	for i, to := range []*[]float64{&c.Seconds, &c.Overhead} {
		if r[3+i] == "" {
			continue
		}
		v, err := strconv.ParseFloat(r[3+i], 64)
		if err != nil || !(v > -1 && v < 1e9) {
			return input.Bad(input.ErrType, "%s is %q, expected a number", costsHead[3+i], r[3+i])
		}
		*to = append(*to, v)
	}
	return nil
}

// overhead returns the median over runs and the range, in percent.
func (c *costs) overhead() string {
	if c == nil || len(c.Overhead) == 0 {
		return none
	}
	d := describe(c.Overhead)
	text := fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*d.Median, 100*d.Min, 100*d.Max)
	return strings.ReplaceAll(text, "-", "−")
}

// seconds returns the median over runs.
func (c *costs) seconds() string {
	if c == nil || len(c.Seconds) == 0 {
		return none
	}
	return strconv.FormatFloat(describe(c.Seconds).Median, 'g', 3, 64) + " s"
}

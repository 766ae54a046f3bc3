package bootstrap

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
)

// go test ./engine/bootstrap -run Coverage -v -coverage-runs 4000 prints the
// tables of docs/method-verdict.md.
var coverageRuns = flag.Int("coverage-runs", 200, "simulated experiments for each cell of the coverage tables")

// column is a statistic and a method, as tables have them.
type column struct {
	of Statistic
	by Method
}

func (c column) String() string { return c.of.String() + ", " + c.by.String() }

var columns = [...]column{
	{Mean, Percentile}, {Mean, Studentised}, {Median, Percentile}, {Median, Order},
}

// covered is how often bounds held the truth, by column.
type covered struct{ upper, both [len(columns) + 1]int }

// count looks at one experiment. The last column is the studentised total.
func (c *covered) count(r *Result, mean, median float64) {
	for k, col := range append(columns[:], column{Total, Studentised}) {
		i := r.EstimateOf(col.of).IntervalOf(col.by)
		truth := mean
		if col.of == Median {
			truth = median
		}
		if i != nil && truth <= i.AtMost {
			c.upper[k]++
		}
		if i != nil && i.Lower <= truth && truth <= i.Upper {
			c.both[k]++
		}
	}
}

// reference is coverage of bounds at 95 % that an independent simulation found,
// 4,000 experiments with B = 999: the same noises, the same columns.
var reference = []struct {
	of          noise
	pairs       int
	upper, both [len(columns)]float64
}{
	{normal, 5,
		[...]float64{0.899, 0.958, 0.946, 0.970},
		[...]float64{0.845, 0.948, 0.938, 1.000}},
	{normal, 10,
		[...]float64{0.920, 0.950, 0.932, 0.989},
		[...]float64{0.900, 0.946, 0.938, 0.979}},
	{normal, 20,
		[...]float64{0.940, 0.952, 0.944, 0.983},
		[...]float64{0.926, 0.950, 0.943, 0.962}},
	{normal, 50,
		[...]float64{0.943, 0.947, 0.948, 0.968},
		[...]float64{0.945, 0.954, 0.947, 0.966}},
	{skewed, 5,
		[...]float64{0.728, 0.874, 0.940, 0.967},
		[...]float64{0.746, 0.903, 0.941, 1.000}},
	{skewed, 10,
		[...]float64{0.804, 0.886, 0.940, 0.988},
		[...]float64{0.833, 0.918, 0.929, 0.976}},
	{skewed, 20,
		[...]float64{0.858, 0.916, 0.941, 0.977},
		[...]float64{0.886, 0.935, 0.935, 0.957}},
	{skewed, 50,
		[...]float64{0.893, 0.927, 0.953, 0.969},
		[...]float64{0.916, 0.941, 0.951, 0.972}},
	{tails, 5,
		[...]float64{0.893, 0.950, 0.948, 0.973},
		[...]float64{0.831, 0.947, 0.940, 1.000}},
	{tails, 10,
		[...]float64{0.920, 0.937, 0.939, 0.988},
		[...]float64{0.896, 0.934, 0.940, 0.977}},
	{tails, 20,
		[...]float64{0.931, 0.931, 0.942, 0.978},
		[...]float64{0.911, 0.918, 0.932, 0.951}},
	{tails, 50,
		[...]float64{0.945, 0.941, 0.954, 0.972},
		[...]float64{0.936, 0.928, 0.947, 0.970}},
	{stalls, 5,
		[...]float64{0.783, 0.899, 0.942, 0.967},
		[...]float64{0.797, 0.929, 0.939, 1.000}},
	{stalls, 10,
		[...]float64{0.817, 0.871, 0.935, 0.988},
		[...]float64{0.849, 0.906, 0.932, 0.975}},
	{stalls, 20,
		[...]float64{0.847, 0.866, 0.943, 0.976},
		[...]float64{0.878, 0.894, 0.936, 0.954}},
	{stalls, 50,
		[...]float64{0.896, 0.915, 0.951, 0.968},
		[...]float64{0.914, 0.917, 0.947, 0.967}},
}

// agrees reports whether hits of n are compatible with what the reference found
// in 4,000, at 4.5 standard deviations.
func agrees(hits, n int, want float64) bool {
	got := float64(hits) / float64(n)
	p := (float64(hits) + 4000*want + 1) / (float64(n) + 4000 + 2)
	return math.Abs(got-want) <= 4.5*math.Sqrt(p*(1-p)*(1/float64(n)+1/4000.0))+0.0005
}

// TestCoverage: bounds hold as often as an independent implementation's do,
// which for some of them is less often than they say.
func TestCoverage(t *testing.T) {
	o := Options{Confidence: 0.95, Replicates: 999}
	upper, both := newTable("noise | pairs"), newTable("noise | pairs")
	const mean = 0.002
	for number, row := range reference {
		var c covered
		for i := range *coverageRuns {
			o.Seed = uint64(number)<<32 | uint64(i)
			r := analyzed(t, drawPairs(source64(o.Seed), row.pairs, row.of, mean), o)
			c.count(r, mean, mean+row.of.median)
		}
		name := fmt.Sprintf("%s | %d", row.of.name, row.pairs)
		upper.add(name, c.upper)
		both.add(name, c.both)
		for k, col := range columns {
			if !agrees(c.upper[k], *coverageRuns, row.upper[k]) {
				t.Errorf("%s, %v, upper bound: %d of %d, reference %v", name, col, c.upper[k], *coverageRuns, row.upper[k])
			}
			if !agrees(c.both[k], *coverageRuns, row.both[k]) {
				t.Errorf("%s, %v, interval: %d of %d, reference %v", name, col, c.both[k], *coverageRuns, row.both[k])
			}
		}
		// What docs/method-verdict.md recommends with skewed data too.
		if k := len(columns) - 1; columns[k] != (column{Median, Order}) || float64(c.upper[k]) < 0.95*float64(*coverageRuns)-3.7*math.Sqrt(0.95*0.05*float64(*coverageRuns)) {
			t.Errorf("%s: the order bound of the median held %d times of %d", name, c.upper[k], *coverageRuns)
		}
	}
	t.Logf("one-sided upper bound\n%s\ntwo-sided interval\n%s", upper, both)
}

// TestWindowsOfARunAreOneBlock: where windows of a run share half of their
// variance, whole runs as blocks keep the promise and windows as blocks do not.
func TestWindowsOfARunAreOneBlock(t *testing.T) {
	o := Options{Confidence: 0.95, Replicates: 999}
	table := newTable("runs | shared | blocks")
	for number, c := range []struct {
		runs   int
		shared float64
	}{{10, 0}, {10, 0.5}, {20, 0.5}} {
		var whole, single covered
		for i := range *coverageRuns {
			o.Seed = uint64(1000+number)<<32 | uint64(i)
			pairs := drawRuns(source64(o.Seed), c.runs, 4, c.shared)
			whole.count(analyzed(t, pairs, o), 0, 0)
			for k := range pairs {
				pairs[k].Block = k
			}
			single.count(analyzed(t, pairs, o), 0, 0)
		}
		name := fmt.Sprintf("%d | %v", c.runs, c.shared)
		table.add(name+" | runs", whole.upper)
		table.add(name+" | windows", single.upper)
		const k = 1 // mean, studentised; reference of 1,500 experiments and more: 0.94–0.95 and 0.84
		n := float64(*coverageRuns)
		if got := float64(whole.upper[k]); math.Abs(got-0.946*n) > 4.5*math.Sqrt(0.946*0.054*n)+0.006*n {
			t.Errorf("%s: runs as blocks hold %v of %v", name, got, n)
		}
		if got := float64(single.upper[k]); c.shared > 0 && math.Abs(got-0.845*n) > 4.5*math.Sqrt(0.845*0.155*n)+0.006*n {
			t.Errorf("%s: windows as blocks hold %v of %v", name, got, n)
		}
	}
	t.Logf("one-sided upper bound\n%s", table)
}

// table is Markdown.
type table struct{ strings.Builder }

func newTable(head string) *table {
	t := &table{}
	t.line(head, func(k int) string {
		if k < len(columns) {
			return columns[k].String()
		}
		return column{Total, Studentised}.String()
	})
	t.WriteString("|" + strings.Repeat("---|", strings.Count(head, "|")+1+len(columns)+1) + "\n")
	return t
}

func (t *table) line(head string, cell func(int) string) {
	fmt.Fprintf(t, "| %s |", head)
	for k := range len(columns) + 1 {
		fmt.Fprintf(t, " %s |", cell(k))
	}
	t.WriteByte('\n')
}

func (t *table) add(head string, hits [len(columns) + 1]int) {
	t.line(head, func(k int) string {
		if hits[k] == 0 {
			return "–" // there is no such bound
		}
		return fmt.Sprintf("%.3f", float64(hits[k])/float64(*coverageRuns))
	})
}

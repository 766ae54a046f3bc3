package main

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
)

// wideTable is a CSV table with a row for a step and rank.
var wideTable = &form{
	name:  "CSV",
	ranks: func(f *file) []int { return ranksOfTable(f) },
	can: map[edit]func(*file, *editing) ([]*file, error){
		rewrite:     editTables(func(*cells, *editing) error { return nil }),
		renameRanks: editTables((*cells).renameRanks),
		renameHosts: editTables((*cells).renameHosts),
		reorder: editTables(func(c *cells, e *editing) error {
			e.rng.Shuffle(len(c.rows), func(i, k int) { c.rows[i], c.rows[k] = c.rows[k], c.rows[i] })
			return nil
		}),
		round:    editTables((*cells).round),
		remove:   editTables((*cells).remove),
		split:    splitTable,
		addStage: editTables((*cells).addStage),
		shift:    func(*file, *editing) ([]*file, error) { return nil, errNoClock },
	},
	together: joinTables,
}

// cells are a table as it stands in a CSV file: the head and the rows below it.
type cells struct {
	head []string
	rows [][]string
}

func readCells(f *file) (*cells, error) {
	text, err := f.plain()
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 2 || len(lines[0]) < 3 {
		return nil, notApplicable("no table with commas")
	}
	return &cells{lines[0], lines[1:]}, nil
}

func (c *cells) text() ([]byte, error) {
	var out bytes.Buffer
	to := csv.NewWriter(&out)
	if err := to.Write(c.head); err != nil {
		return nil, err
	}
	err := to.WriteAll(c.rows)
	return out.Bytes(), err
}

func editTables(change func(*cells, *editing) error) func(*file, *editing) ([]*file, error) {
	return editDecoded(readCells, change, (*cells).text)
}

// column returns the place of the first column of one of these names, −1 where there is none.
func (c *cells) column(names ...string) int {
	return slices.IndexFunc(c.head, func(head string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(head))) })
}

// rank returns the place of the ranks, of which all have to be numbers.
func (c *cells) rank() (int, error) {
	at := c.column("rank", "global_rank")
	if at < 0 {
		return 0, notApplicable("the table has no column of ranks")
	}
	for _, row := range c.rows {
		if _, err := strconv.Atoi(row[at]); err != nil {
			return 0, notApplicable("ranks are written as %q", row[at])
		}
	}
	return at, nil
}

func (c *cells) renameRanks(e *editing) error {
	at, err := c.rank()
	if err != nil {
		return err
	}
	for _, row := range c.rows {
		rank, _ := strconv.Atoi(row[at])
		row[at] = strconv.Itoa(e.names.rank(rank))
	}
	return nil
}

func (c *cells) renameHosts(e *editing) error {
	at := c.column("host", "hostname", "node")
	if at < 0 {
		return notApplicable("the table has no column of hosts")
	}
	for _, row := range c.rows {
		row[at] = e.names.host(row[at])
	}
	return nil
}

func (c *cells) remove(e *editing) error {
	at, err := c.rank()
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(c.rows), func(row []string) bool { return row[at] == strconv.Itoa(e.rank) })
	if c.column("world_size") < 0 && !slices.ContainsFunc(others, func(row []string) bool {
		rank, _ := strconv.Atoi(row[at])
		return rank > e.rank
	}) {
		return notApplicable("the table does not say how many ranks there are, and this is the last")
	}
	c.rows = others
	return nil
}

// times returns the columns of times, with the nanoseconds of their units.
func (c *cells) times() (map[int]float64, error) {
	out := map[int]float64{}
	for i, head := range c.head {
		head = strings.ToLower(head)
		if slices.Contains([]string{"step", "global_step", "iteration", "rank", "global_rank", "window", "run", "world_size", "host", "hostname", "node",
			"local_rank", "role", "accumulation", "gather_ok", "data_wait", "epoch", "loss", "lr", "epoch_ns"}, head) || strings.Contains(head, ".ready") {
			continue
		}
		unit, err := c.unit(i)
		if err != nil {
			return nil, err
		}
		out[i] = unit
	}
	return out, nil
}

// unit returns the nanoseconds of the unit of a column: as its name says, else nanoseconds where the values are
// as large as these are.
func (c *cells) unit(at int) (float64, error) {
	for _, u := range []struct {
		end string
		ns  float64
	}{{"_ns", 1}, {"_us", 1e3}, {"_ms", 1e6}, {"_s", 1e9}} {
		if strings.HasSuffix(c.head[at], u.end) {
			return u.ns, nil
		}
	}
	var values []float64
	for _, row := range c.rows {
		if x, err := strconv.ParseFloat(row[at], 64); err == nil {
			values = append(values, x)
		}
	}
	slices.Sort(values)
	if len(values) > 0 && (values[len(values)/2] >= 1e5 || values[len(values)-1] == 0) {
		return 1, nil
	}
	return 0, notApplicable("the unit of column %s is not said", c.head[at])
}

func (c *cells) round(e *editing) error {
	times, err := c.times()
	if err != nil {
		return err
	}
	for _, row := range c.rows {
		for at, unit := range times {
			x, err := strconv.ParseFloat(row[at], 64)
			if err != nil {
				continue // an empty cell
			}
			ns := roundTo(int64(math.Round(x*unit)), e.ns)
			row[at] = strconv.FormatFloat(float64(ns)/unit, 'f', -1, 64)
		}
	}
	return nil
}

// stages returns the columns of times but those of whole steps and of samples.
func (c *cells) stages() (out []int, err error) {
	times, err := c.times()
	for i, head := range c.head {
		_, is := times[i]
		if is && !strings.HasPrefix(head, "wall") && !strings.Contains(head, "cuda_event") {
			out = append(out, i)
		}
	}
	if err == nil && len(out) == 0 {
		err = notApplicable("no column of a stage is known")
	}
	return out, err
}

func (c *cells) addStage(e *editing) error {
	stages, err := c.stages()
	if err != nil {
		return err
	}
	name := stageAdded(e)
	for _, end := range []string{"_ns", "_us", "_ms", "_s"} {
		if strings.HasSuffix(c.head[stages[0]], end) {
			name += end
			break
		}
	}
	c.head = append(c.head, name)
	for i, row := range c.rows {
		sum := 0.0
		for _, at := range stages {
			x, _ := strconv.ParseFloat(row[at], 64)
			sum += x
		}
		if !e.sums {
			sum = 0
		}
		c.rows[i] = append(row, strconv.FormatFloat(sum, 'f', -1, 64))
	}
	return nil
}

func ranksOfTable(f *file) (out []int) {
	c, err := readCells(f)
	if err != nil {
		return nil
	}
	at, err := c.rank()
	if err != nil {
		return nil
	}
	for _, row := range c.rows {
		if rank, _ := strconv.Atoi(row[at]); !slices.Contains(out, rank) {
			out = append(out, rank)
		}
	}
	slices.Sort(out)
	return out
}

// splitTable puts the ranks of a table into two, as jobs write them.
func splitTable(f *file, _ *editing) ([]*file, error) {
	c, err := readCells(f)
	if err != nil {
		return nil, err
	}
	ranks := f.recordedRanks()
	if len(ranks) < 2 {
		return []*file{f}, nil
	}
	at, err := c.rank()
	if err != nil {
		return nil, err
	}
	first, second := &cells{head: c.head}, &cells{head: c.head}
	for _, row := range c.rows {
		rank, _ := strconv.Atoi(row[at])
		if to := first; slices.Index(ranks, rank) < len(ranks)/2 {
			to.rows = append(to.rows, row)
		} else {
			second.rows = append(second.rows, row)
		}
	}
	a, err := first.text()
	if err != nil {
		return nil, err
	}
	b, err := second.text()
	return halves(f, a, b), err
}

// joinTables returns the rows of all tables under one head.
func joinTables(files []*file) ([]*file, error) {
	all, err := readCells(files[0])
	if err != nil {
		return nil, err
	}
	for _, f := range files[1:] {
		c, err := readCells(f)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(c.head, all.head) {
			return nil, notApplicable("the tables have other columns")
		}
		all.rows = append(all.rows, c.rows...)
	}
	text, err := all.text()
	return []*file{files[0].withContent(text)}, err
}

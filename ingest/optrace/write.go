package optrace

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Columns of a trace on disk, those of the public what-if artifact. Times are
// whole nanoseconds.
const csvHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc"

// launchHeader is what a profiler's traces have beside them.
const launchHeader = ",lane,group,launched_by,kernel,collective,bytes"

// places are the dp and pp of every entry of Ranks; both must be known.
func places(t *operator.Trace) (dp, pp []int, err error) {
	if t.Len() == 0 {
		return nil, nil, input.Bad(input.ErrEmpty, "a trace without operators")
	}
	dp, pp = t.Coordinates()
	for i, r := range t.Ranks {
		if dp[i] < 0 || pp[i] < 0 {
			return nil, nil, input.Bad(input.ErrMissing, "rank %d does not tell its dp and pp coordinates, its role is %q", r.ID, r.Role)
		}
	}
	return dp, pp, nil
}

// WriteCSV writes an operator trace as comma-separated lines under a header.
func WriteCSV(w io.Writer, t *operator.Trace) error {
	dp, pp, err := places(t)
	if err != nil {
		return err
	}
	for _, name := range texts(t) {
		if strings.ContainsAny(name, "\"\r\n") {
			return input.Bad(input.ErrFormat, "an operator is called %q, which has no place in a CSV cell", name)
		}
	}
	out := bufio.NewWriterSize(w, 1<<16)
	head := csvHeader
	if t.Launch != nil {
		head += launchHeader
	}
	if _, err := out.WriteString(head + "\n"); err != nil {
		return err
	}
	var line, place []byte
	for i, r := range t.Rank {
		if i == 0 || r != t.Rank[i-1] || t.Step[i] != t.Step[i-1] {
			place = place[:0]
			for _, v := range [...]int64{int64(dp[r]), int64(pp[r]), int64(t.Ranks[r].ID), t.Steps[t.Step[i]]} {
				place = append(strconv.AppendInt(place, v, 10), ',')
			}
		}
		line = append(cell(append(line[:0], place...), t.Names[t.Name[i]]), ',')
		line = append(strconv.AppendInt(line, t.Start[i], 10), ',')
		line = append(strconv.AppendInt(line, t.Dur[i], 10), ',')
		line = append(strconv.AppendInt(line, int64(t.Seq[i]), 10), ',')
		line = append(strconv.AppendInt(line, int64(t.Chunk[i]), 10), ',')
		line = append(strconv.AppendInt(line, int64(t.Microbatch[i]), 10), ',')
		line = strconv.AppendInt(line, int64(t.GlobalChunk[i]), 10)
		if t.Launch != nil {
			line = launchCells(append(line, ','), t, i)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// texts are all that stands in cells of text.
func texts(t *operator.Trace) []string {
	all := slices.Clone(t.Names)
	for _, l := range t.Launches {
		all = append(all, l.Stage, l.Name, l.Collective)
	}
	return all
}

// cell appends text, in quotes where it has a comma.
func cell(line []byte, text string) []byte {
	if !strings.Contains(text, ",") {
		return append(line, text...)
	}
	return append(append(append(line, '"'), text...), '"')
}

// launchCells appends what is known of the launch of a row.
func launchCells(line []byte, t *operator.Trace, row int) []byte {
	l := &t.Launches[t.Launch[row]]
	line = append(strconv.AppendInt(line, int64(t.Lane[row]), 10), ',')
	line = append(strconv.AppendInt(line, int64(t.Group[row]), 10), ',')
	for _, text := range [...]string{l.Stage, l.Name, l.Collective} {
		line = append(cell(line, text), ',')
	}
	return strconv.AppendInt(line, l.Bytes, 10)
}

// row is an operator as Parquet holds it. All columns but the times take few
// values, which a dictionary makes small.
type row struct {
	DP          int32  `parquet:"dp_rank,dict"`
	Stage       int32  `parquet:"stage,dict"`
	Rank        int32  `parquet:"rank,dict"`
	Step        int64  `parquet:"step,dict"`
	Name        string `parquet:"optype,dict"`
	Start       int64  `parquet:"start_ts"`
	Dur         int64  `parquet:"duration"`
	Seq         int32  `parquet:"seq_id,dict"`
	Chunk       int32  `parquet:"mc,dict"`
	Microbatch  int32  `parquet:"mb_id,dict"`
	GlobalChunk int32  `parquet:"gmc,dict"`
}

// launchedRow is an operator of a profiler's trace.
type launchedRow struct {
	row
	Lane       int32  `parquet:"lane,dict"`
	Group      int32  `parquet:"group"`
	LaunchedBy string `parquet:"launched_by,dict"`
	Kernel     string `parquet:"kernel,dict"`
	Collective string `parquet:"collective,dict"`
	Bytes      int64  `parquet:"bytes,dict"`
}

// Sizes of what is held at once: rows on their way to the columns, and rows of
// a group, which a reader holds too.
const (
	batchRows = 1 << 10
	groupRows = 1 << 20
)

// WriteParquet writes an operator trace as a Parquet file.
func WriteParquet(w io.Writer, t *operator.Trace) error {
	dp, pp, err := places(t)
	if err != nil {
		return err
	}
	plain := func(i int) row {
		r := t.Rank[i]
		return row{int32(dp[r]), int32(pp[r]), int32(t.Ranks[r].ID), t.Steps[t.Step[i]], t.Names[t.Name[i]],
			t.Start[i], t.Dur[i], t.Seq[i], t.Chunk[i], t.Microbatch[i], t.GlobalChunk[i]}
	}
	if t.Launch == nil {
		return writeRows(w, t.Len(), plain)
	}
	return writeRows(w, t.Len(), func(i int) launchedRow {
		l := &t.Launches[t.Launch[i]]
		return launchedRow{plain(i), t.Lane[i], t.Group[i], l.Stage, l.Name, l.Collective, l.Bytes}
	})
}

// writeRows writes n rows of one kind.
func writeRows[R any](w io.Writer, n int, at func(i int) R) error {
	out := parquet.NewGenericWriter[R](w, parquet.MaxRowsPerRowGroup(groupRows),
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}))
	batch := make([]R, 0, min(batchRows, n))
	for i := range n {
		if batch = append(batch, at(i)); len(batch) < cap(batch) && i < n-1 {
			continue
		}
		if _, err := out.Write(batch); err != nil {
			return err
		}
		batch = batch[:0]
	}
	return out.Close()
}

// WriteMeta writes the YAML file that stands beside a trace and tells its name
// and layout, how fine its times are where their unit does not tell, and of a
// profiler's trace where its ranks ran and what is incomplete.
func WriteMeta(w io.Writer, t *operator.Trace) error {
	text, err := yaml.Marshal(metaOf(t))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

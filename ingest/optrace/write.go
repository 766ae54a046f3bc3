package optrace

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/internal/flatrow"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// places returns the dp and pp of every entry of Ranks; both must be known.
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

// row is an operator as it is on disk, in the columns of the public what-if
// artifact; times are whole nanoseconds. All columns but the times take few
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

// WriteCSV writes an operator trace as comma-separated lines under a header.
func WriteCSV(w io.Writer, t *operator.Trace) error {
	plain, launched, err := rowsOf(t)
	switch {
	case err != nil:
		return err
	case t.Launch == nil:
		return writeLines(w, t.Len(), plain)
	}
	return writeLines(w, t.Len(), launched)
}

// WriteParquet writes an operator trace as a Parquet file.
func WriteParquet(w io.Writer, t *operator.Trace) error {
	plain, launched, err := rowsOf(t)
	switch {
	case err != nil:
		return err
	case t.Launch == nil:
		return writeRows(w, t.Len(), plain)
	}
	return writeRows(w, t.Len(), launched)
}

// rowsOf returns the rows of a trace by number, of either kind.
func rowsOf(t *operator.Trace) (plain func(int) row, launched func(int) launchedRow, err error) {
	dp, pp, err := places(t)
	plain = func(i int) row {
		r := t.Rank[i]
		return row{int32(dp[r]), int32(pp[r]), int32(t.Ranks[r].ID), t.Steps[t.Step[i]], t.Names[t.Name[i]],
			t.Start[i], t.Dur[i], t.Seq[i], t.Chunk[i], t.Microbatch[i], t.GlobalChunk[i]}
	}
	launched = func(i int) launchedRow {
		l := &t.Launches[t.Launch[i]]
		return launchedRow{plain(i), t.Lane[i], t.Group[i], l.Stage, l.Name, l.Collective, l.Bytes}
	}
	return plain, launched, err
}

// writeLines writes n rows of one kind as CSV.
func writeLines[R any](w io.Writer, n int, at func(i int) R) error {
	out := flatrow.NewWriter[R](w, flatrow.CSV, flatrow.Mark{})
	for i := range n {
		r := at(i)
		if err := out.Write(&r); err != nil {
			return err
		}
	}
	return out.Close()
}

// writeRows writes n rows of one kind as Parquet.
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

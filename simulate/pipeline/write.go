package pipeline

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/simulate/pipeline/internal/parquet"
	"github.com/sfstat/sfstat/trace"
	"go.yaml.in/yaml/v3"
)

// Columns of a trace on disk, those of the public what-if artifact. Times are
// whole nanoseconds.
const csvHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"

// places are the dp and pp of every entry of Ranks; both must be known.
func places(t *trace.OpTrace) (dp, pp []int, err error) {
	if t.Len() == 0 {
		return nil, nil, trace.Bad(trace.ErrEmpty, "a trace without operators")
	}
	dp, pp = t.Coordinates()
	for i, r := range t.Ranks {
		if dp[i] < 0 || pp[i] < 0 {
			return nil, nil, trace.Bad(trace.ErrMissing, "rank %d does not tell its dp and pp coordinates, its role is %q", r.ID, r.Role)
		}
	}
	return dp, pp, nil
}

// WriteCSV writes an operator trace as comma-separated lines under a header.
func WriteCSV(w io.Writer, t *trace.OpTrace) error {
	dp, pp, err := places(t)
	if err != nil {
		return err
	}
	for _, name := range t.Names {
		if strings.ContainsAny(name, ",\"\r\n") {
			return trace.Bad(trace.ErrFormat, "an operator is called %q, which has no place in a CSV cell", name)
		}
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if _, err := out.WriteString(csvHeader); err != nil {
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
		line = append(append(append(line[:0], place...), t.Names[t.Name[i]]...), ',')
		line = append(strconv.AppendInt(line, t.Start[i], 10), ',')
		line = append(strconv.AppendInt(line, t.Dur[i], 10), ',')
		line = append(strconv.AppendInt(line, int64(t.Seq[i]), 10), ',')
		line = append(strconv.AppendInt(line, int64(t.Chunk[i]), 10), ',')
		line = append(strconv.AppendInt(line, int64(t.Microbatch[i]), 10), ',')
		line = append(strconv.AppendInt(line, int64(t.GlobalChunk[i]), 10), '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteParquet writes an operator trace as a Parquet file.
func WriteParquet(w io.Writer, t *trace.OpTrace) error {
	dp, pp, err := places(t)
	if err != nil {
		return err
	}
	ofRank := func(value func(r int) int) []int32 {
		column := make([]int32, t.Len())
		for i, r := range t.Rank {
			column[i] = int32(value(int(r)))
		}
		return column
	}
	steps := make([]int64, t.Len())
	for i, s := range t.Step {
		steps[i] = t.Steps[s]
	}
	return parquet.Write(w, []parquet.Column{
		{Name: "dp_rank", Int32: ofRank(func(r int) int { return dp[r] })},
		{Name: "stage", Int32: ofRank(func(r int) int { return pp[r] })},
		{Name: "rank", Int32: ofRank(func(r int) int { return t.Ranks[r].ID })},
		{Name: "step", Int64: steps},
		{Name: "optype", Text: t.Names, Of: t.Name},
		{Name: "start_ts", Int64: t.Start},
		{Name: "duration", Int64: t.Dur},
		{Name: "seq_id", Int32: t.Seq},
		{Name: "mc", Int32: t.Chunk},
		{Name: "mb_id", Int32: t.Microbatch},
		{Name: "gmc", Int32: t.GlobalChunk},
	})
}

// WriteMeta writes the YAML file that stands beside a trace and tells its name
// and layout.
func WriteMeta(w io.Writer, t *trace.OpTrace) error {
	l := t.Layout
	text, err := yaml.Marshal(meta{t.Run, 0, l.DP, l.DSP, l.PP, l.TP, l.VPP, l.World})
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// meta is the fields of the file.
type meta struct {
	Trial string `yaml:"trial_name"`
	Run   int    `yaml:"run_id"`
	DP    int    `yaml:"dp_size"`
	DSP   int    `yaml:"dsp_size"`
	PP    int    `yaml:"pp_size"`
	TP    int    `yaml:"tp_size"`
	VPP   int    `yaml:"vpp_size"`
	World int    `yaml:"world_size"`
}

// Package calls is the table of a job's calls of NCCL: a row for each call of each rank, with the kernel that ran it; and
// a trace of the kernels for viewers, with these rows.
package calls

import (
	"io"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/flatrow"
)

// mark names the form of the table.
var mark = flatrow.Mark{Key: "sfstat.schema", Schema: "sfstat.comm-calls/1"}

// Write writes the calls of a job.
func Write(w io.Writer, r *comm.Result, as flatrow.Format) error {
	out := flatrow.NewWriter[Row](w, as, mark)
	for row := range rowsOf(r) {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Close()
}

package auto

import (
	"os"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/packet"
)

// isBeside reports whether c lies beside a table of windows, with which it is
// read, and then says so in its input.
func isBeside(c candidate, in *Input) bool {
	table, ok := strings.CutSuffix(c.path, packet.BesideSuffix)
	if !ok || c.err != nil || !exists(table) {
		return false
	}
	in.Format, in.MetaOf = Arrivals, table
	if info, err := os.Stat(c.path); err == nil {
		in.Bytes = info.Size()
	}
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tableItems are the windows of a table, with what lies beside it if anything
// does. It closes them where that cannot be opened.
func (r *Reader) tableItems(windows ingest.WindowReader, table string) (itemReader, error) {
	if path := packet.Beside(table); exists(path) {
		src, err := ingest.Open(path, r.o.Limits)
		if err != nil {
			windows.Close()
			return nil, err
		}
		windows = packet.WithBeside(windows, src, path, r.o.Limits)
	}
	return windowItems{r: ingest.NewOnce(windows), path: table}, nil
}

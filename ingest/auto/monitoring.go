package auto

import (
	"io"
	"os"

	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/health"
)

// telemetryItems is a file of monitoring as an item.
type telemetryItems struct {
	path string
	src  *metered
	o    telemetry.Options
	from func(io.Reader, string, telemetry.Options) (*health.Record, error)
	read bool
}

// monitoring is how files are opened that a reader of monitoring takes.
func monitoring(from func(io.Reader, string, telemetry.Options) (*health.Record, error)) func(*Reader, *Input, *metered) {
	return opener(func(r *Reader, in *Input, src *metered) (itemReader, error) {
		t := &telemetryItems{path: in.Path, src: src, from: from, o: telemetry.Options{Limits: r.o.Limits, Zone: r.o.Zone}}
		if info, err := os.Stat(in.Path); err == nil && info.Mode().IsRegular() {
			t.o.Written = info.ModTime()
		}
		return t, nil
	})
}

func (t *telemetryItems) Next() (Item, error) {
	if t.read {
		return Item{}, io.EOF
	}
	t.read = true
	got, err := t.from(t.src, t.path, t.o)
	return Item{Telemetry: got, Path: t.path}, err
}

func (t *telemetryItems) Close() error { return t.src.Close() }

package auto

import (
	"io"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/devicefile"
)

// deviceItems is a file of device times as an item.
type deviceItems struct {
	path string
	src  *metered
	lim  ingest.Limits
	read bool
}

func (r *Reader) openDevices(in *Input, src *metered) (itemReader, error) {
	return &deviceItems{path: in.Path, src: src, lim: r.o.Limits}, nil
}

func (d *deviceItems) Next() (Item, error) {
	if d.read {
		return Item{}, io.EOF
	}
	d.read = true
	run, err := devicefile.Read(d.src, d.path, d.lim)
	return Item{Device: run, Path: d.path}, err
}

func (d *deviceItems) Close() error { return d.src.Close() }

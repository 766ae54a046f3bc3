package campaign

import (
	"context"
	"errors"
	"io"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/trace"
)

// KeepWindows gives the windows of a run to keep, in order. They lie at path, as an
// archive or as packets, of one file or of several in a folder. What readers refuse is
// an error: a run that lacks something is no run of a campaign.
func KeepWindows(ctx context.Context, path string, keep func(*trace.Window) error) error {
	in, err := auto.Open([]string{path}, auto.Options{Want: auto.WindowsOnly, Strict: ingest.FirstError})
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		item, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = keep(item.Window)
		}
		if err != nil {
			return err
		}
	}
}

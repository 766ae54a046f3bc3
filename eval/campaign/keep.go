package campaign

import (
	"context"

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
	for item, err := range in.Items() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = keep(item.Window)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

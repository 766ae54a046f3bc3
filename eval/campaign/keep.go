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
	return KeepRecordings(ctx, path, auto.WindowsOnly, func(r trace.Recording) error { return keep(r.(*trace.Window)) })
}

// KeepRecordings gives to keep what lies at path and is wanted, in order. What readers refuse is an error.
func KeepRecordings(ctx context.Context, path string, want auto.Wanted, keep func(trace.Recording) error) error {
	in, err := auto.Open([]string{path}, auto.Options{Want: want, Strict: ingest.FirstError})
	if err != nil {
		return err
	}
	defer in.Close()
	for item, err := range in.Items() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		for _, r := range item.Recordings() {
			if err := keep(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Keep gives what the archive of a run holds to keep, in order.
func (f *Folder) Keep(ctx context.Context, t *Task, keep func(trace.Recording) error) error {
	want := auto.WindowsOnly
	if t.Trace != nil {
		want = auto.OperatorsFirst
	}
	return KeepRecordings(ctx, f.Archive(t), want, keep)
}

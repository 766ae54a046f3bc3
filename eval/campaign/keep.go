package campaign

import (
	"context"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// KeepWindows gives the windows of a run to keep, in order. They lie at path, as an
// archive or as packets, of one file or of several in a folder. What readers refuse is
// an error: a run that lacks something is no run of a campaign.
func KeepWindows(ctx context.Context, path string, keep func(*trace.Window) error) error {
	return keepJobs(ctx, path, auto.Options{Kinds: auto.Windows}, func(j recorded.Job) error {
		for _, w := range j.Windows {
			if err := keep(w); err != nil {
				return err
			}
		}
		return nil
	})
}

// keepJobs gives to keep the jobs that lie at path, in order. What readers refuse is an error.
func keepJobs(ctx context.Context, path string, o auto.Options, keep func(recorded.Job) error) error {
	o.Strict = ingest.FirstError
	in, err := auto.Open([]string{path}, o)
	if err != nil {
		return err
	}
	defer in.Close()
	for j, err := range in.Jobs() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = keep(j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Keep gives what the archive of a run holds to keep, in order.
func (f *Folder) Keep(ctx context.Context, t *Task, keep func(trace.Recording) error) error {
	o := auto.Options{Disk: f.Disk, Kinds: auto.Windows}
	if t.Trace != nil {
		o = auto.Options{Disk: f.Disk, Kinds: auto.Operators, Detail: profiler.EachOperator}
	}
	return keepJobs(ctx, f.Archive(t), o, func(j recorded.Job) error {
		for _, r := range j.Recordings() {
			if err := keep(r); err != nil {
				return err
			}
		}
		return nil
	})
}

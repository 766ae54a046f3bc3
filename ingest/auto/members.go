package auto

import (
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

// members hands on which ranks of a communicator have lines in debug logs of NCCL, and how many calls they have launched.
func (u *unit) members(give func(part) bool) error {
	b := nccllog.NewBuilder(u.r.o.Limits)
	for _, in := range u.inputs {
		src, err := u.r.open(in)
		if err != nil {
			return err
		}
		err = b.Read(src.Source, in.name)
		if src.Close(); err != nil {
			return err
		}
	}
	c := nccllog.LoggedCounts(b.Comm())
	if c == nil {
		return input.At(input.Pos{File: u.inputs[0].Path}, input.Bad(input.ErrMissing, "an NCCL debug log that tells of no communicator: NCCL prints them with NCCL_DEBUG=INFO when they are made. %s", whatToRecord))
	}
	give(part{Job: recorded.Job{Calls: c, Path: u.inputs[0].Path}, folder: u.folder})
	return nil
}

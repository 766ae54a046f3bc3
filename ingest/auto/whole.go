package auto

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest/detectors"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/ncclras"
	"github.com/sfstat/sfstat/ingest/nccltests"
	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// written is when a file was written; the zero Time where it is no regular file.
func written(path string) time.Time {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return info.ModTime()
	}
	return time.Time{}
}

func (r *Reader) readFlightRecorder(in *Input, src *metered) (Item, error) {
	r.dumps.Options = flightrecorder.Options{Limits: r.o.Limits, Rank: r.o.Rank}
	c, err := r.dumps.Read(src, in.Path)
	if err != nil {
		return Item{}, err
	}
	if c.Processes[0].Rank < 0 {
		return Item{}, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrMissing,
			"a Flight Recorder dump whose name does not tell its rank: name it fr_trace_RANK, or say where the rank stands with --rank-pattern"))
	}
	if at := written(in.Path); !at.IsZero() {
		c.Processes[0].Written = at.UnixNano()
	}
	return Item{Comm: c}, nil
}

func (r *Reader) readRAS(in *Input, src *metered) (Item, error) {
	c, err := ncclras.Read(src, in.Path, r.o.Limits)
	return Item{Comm: c}, err
}

func (r *Reader) readRASText(in *Input, src *metered) (Item, error) {
	c, err := ncclras.ReadText(src, in.Path, r.o.Limits)
	return Item{Comm: c}, err
}

func (r *Reader) readToolReport(in *Input, src *metered) (Item, error) {
	t, err := detectors.Read(src, in.Path, r.o.Limits)
	return Item{Telemetry: t}, err
}

// readBandwidths reads what nccl-tests print, or a list of pairs of nodes: what they show by themselves.
func (r *Reader) readBandwidths(in *Input, src *metered) (Item, error) {
	if head, _ := src.Peek(mostOfPairs); nccltests.RecognisePairs(head) {
		return Item{Telemetry: &health.Record{Path: in.Path, Events: nccltests.ConcludePairs(head)}}, nil
	}
	rows, err := nccltests.Read(src.Source, r.o.Limits)
	return Item{Telemetry: &health.Record{Path: in.Path, Events: nccltests.Conclude(rows)}}, err
}

// mostOfPairs is how much of a list of pairs of nodes is read.
const mostOfPairs = 1 << 20

// monitoring is how files of a format of monitoring are read.
func monitoring(f telemetry.Format) func(*unit, func(Item) bool) error {
	return whole(func(r *Reader, in *Input, src *metered) (Item, error) {
		got, err := telemetry.Read(src, in.Path, f, telemetry.Options{Limits: r.o.Limits, Zone: r.o.Zone, Written: written(in.Path)})
		if err == nil {
			err = r.unended(in.Path, src.Source)
		}
		return Item{Telemetry: got}, err
	})
}

// explains reports whether an item says nothing of a run by itself, and belongs beside what does:
// readings of monitoring, and for a verdict stacks of ranks and reports of RAS.
func (i Item) explains(want Wanted) bool {
	if i.Comm == nil || want != ForVerdict {
		return i.Telemetry != nil
	}
	kind := i.Comm.Sources[0].Kind
	return kind == comms.SourcePySpy || kind == comms.SourceRAS || kind == comms.SourceHangText && len(i.Comm.Groups) == 0
}

// concludes returns what another tool says in an item, what a kernel reported, and in what GPUs differ; nothing of
// others.
func (i Item) concludes() (all []string) {
	if i.Telemetry == nil {
		return nil
	}
	all = detectors.Monitored(i.Telemetry)
	for _, e := range i.Telemetry.Events {
		switch e.Kind {
		case health.ToolReport:
			all = append(all, strings.TrimRight(e.Text, "."))
		case health.XidError:
			what := "the kernel reported"
			if strings.Contains(e.Text, "Xid") {
				what += fmt.Sprintf(" Xid %d", e.Code)
			}
			all = append(all, what+": "+strings.TrimRight(e.Text, "."))
		}
	}
	return all
}

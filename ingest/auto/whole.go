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
	"github.com/sfstat/sfstat/trace/recorded"
)

// modTime returns when a file was written; the zero Time where it is no regular file.
func modTime(path string) time.Time {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return info.ModTime()
	}
	return time.Time{}
}

func (r *Reader) readFlightRecorder(in *Input, src *metered) (part, error) {
	r.dumps.Options = flightrecorder.Options{Limits: r.o.Limits, Rank: r.o.Rank}
	c, err := r.dumps.Read(src, in.Path)
	if err != nil {
		return part{}, err
	}
	if c.Processes[0].Rank < 0 {
		return part{}, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrMissing,
			"a Flight Recorder dump whose name does not tell its rank: name it fr_trace_RANK, or say where the rank stands with --rank-pattern"))
	}
	if at := modTime(in.Path); !at.IsZero() {
		c.Processes[0].Written = at.UnixNano()
	}
	return part{Job: recorded.Job{Calls: c}}, nil
}

func (r *Reader) readRAS(in *Input, src *metered) (part, error) {
	c, err := ncclras.Read(src, in.Path, r.o.Limits)
	return part{Job: recorded.Job{Calls: c}}, err
}

func (r *Reader) readRASText(in *Input, src *metered) (part, error) {
	c, err := ncclras.ReadText(src, in.Path, r.o.Limits)
	return part{Job: recorded.Job{Calls: c}}, err
}

func (r *Reader) readToolReport(in *Input, src *metered) (part, error) {
	t, err := detectors.Read(src, in.Path, r.o.Limits)
	return part{Job: recorded.Job{Readings: t}}, err
}

// readBandwidths reads what nccl-tests print, or a list of pairs of nodes: what they show by themselves.
func (r *Reader) readBandwidths(in *Input, src *metered) (part, error) {
	if head, _ := src.Peek(mostOfPairs); nccltests.RecognisePairs(head) {
		return part{Job: recorded.Job{Readings: &health.Record{Path: in.Path, Events: nccltests.ConcludePairs(head)}}}, nil
	}
	rows, err := nccltests.Read(src.Source, r.o.Limits)
	return part{Job: recorded.Job{Readings: &health.Record{Path: in.Path, Events: nccltests.Conclude(rows)}}}, err
}

// mostOfPairs is how much of a list of pairs of nodes is read.
const mostOfPairs = 1 << 20

// monitoringReader returns the reader of files of a format of monitoring.
func monitoringReader(f telemetry.Format) func(*unit, func(part) bool) error {
	return wholeReader(func(r *Reader, in *Input, src *metered) (part, error) {
		got, err := telemetry.Read(src, in.Path, f, telemetry.Options{Limits: r.o.Limits, Zone: r.o.Zone, Written: modTime(in.Path)})
		if err == nil {
			err = r.notePartialLine(in.Path, src.Source)
		}
		return part{Job: recorded.Job{Readings: got}}, err
	})
}

// isExplanation reports whether a job only explains other recordings: readings of monitoring and, where recordings are
// joined, stacks of ranks and reports of RAS.
func (r *Reader) isExplanation(j *recorded.Job) bool {
	if j.Calls == nil || !r.o.Joined {
		return j.Readings != nil
	}
	kind := j.Calls.Sources[0].Kind
	return kind == comms.SourcePySpy || kind == comms.SourceRAS || kind == comms.SourceHangText && len(j.Calls.Groups) == 0
}

// conclusionsOf returns the conclusions of other tools in readings: their reports, kernel errors, and differences
// between GPUs.
func conclusionsOf(j *recorded.Job) (all []string) {
	if j.Readings == nil {
		return nil
	}
	all = detectors.ConcludeReadings(j.Readings)
	for _, e := range j.Readings.Events {
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

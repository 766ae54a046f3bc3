package auto

import (
	"strings"

	"github.com/sfstat/sfstat/ingest/detectors"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/ncclras"
	"github.com/sfstat/sfstat/ingest/pyspy"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// openStack opens a dump of py-spy, whose rank its name tells.
func (r *Reader) openStack(in *Input, src *metered) (itemReader, error) {
	return &wholeFile{src, func() (Item, error) {
		c, err := pyspy.Read(src, in.Path, r.o.Limits)
		if err != nil {
			return Item{}, err
		}
		p := &c.Processes[0]
		if p.Rank, p.Host = flightrecorder.RankOf(in.Path, r.o.Rank); p.Rank < 0 {
			return Item{}, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrMissing,
				"a dump of py-spy whose name does not tell its rank: name it pyspy_RANK.txt, or say where the rank stands with --rank-pattern"))
		}
		return Item{Comm: c, Path: in.Path}, nil
	}}, nil
}

func (r *Reader) openRAS(in *Input, src *metered) (itemReader, error) {
	return &wholeFile{src, func() (Item, error) {
		c, err := ncclras.Read(src, in.Path, r.o.Limits)
		return Item{Comm: c, Path: in.Path}, err
	}}, nil
}

func (r *Reader) openToolReports(in *Input, src *metered) (itemReader, error) {
	return &wholeFile{src, func() (Item, error) {
		t, err := detectors.Read(src, in.Path, r.o.Limits)
		return Item{Telemetry: t, Path: in.Path}, err
	}}, nil
}

// explains reports whether an item says nothing of a run by itself, and belongs beside what does:
// readings of monitoring, and for a verdict stacks of ranks and reports of RAS.
func (i Item) explains(want Wanted) bool {
	if i.Comm == nil || want != ForVerdict {
		return i.Telemetry != nil
	}
	kind := i.Comm.Sources[0].Kind
	return kind == comms.SourcePySpy || kind == comms.SourceRAS
}

// concludes is what another tool says in an item, nothing in others.
func (i Item) concludes() (all []string) {
	if i.Telemetry == nil {
		return nil
	}
	for _, e := range i.Telemetry.Events {
		if e.Kind == health.ToolReport {
			all = append(all, strings.TrimRight(e.Text, "."))
		}
	}
	return all
}

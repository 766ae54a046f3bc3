// Package inspector reads what NCCL's Inspector, a plug-in of NCCL 2.28 on, dumps of each collective and message: which
// operation on which communicator, how large, and how long it took on the device.
//
// A file holds one JSON object a line, of one process, each with
//
//   - header: the communicator's hash, which is the log's commId, the rank in it, its ranks and nodes;
//   - metadata: host, process, and when the line was written;
//   - coll_perf or p2p_perf: operation, its number among those of the communicator with this operation, bytes (count ×
//     size of the type, of one rank), duration, bandwidth; and, where NCCL_INSPECTOR_DUMP_VERBOSE=1 was set, when
//     each channel's kernel began and ended on the host's clock.
//
// A record is a call and the kernel that ran it. Without the times of its kernels it has only their duration, and when the line was
// written, which is some time later.
//
// The dump is a sample: NCCL 2.28 keeps the last collective of a communicator between two dumps, 2.30 the last 1024 and, by
// default, none below 8 KiB. Numbers tell what is missing.
//
// RCCL's profiler (accl, RCCL 2.30) writes the same lines with fewer fields: communicator, host and process stand in the name
// of the file, times are ticks of the device, and decomposition says how long proxies waited for the other side.
//
// A line that is no such object is skipped and counted, with the first of each reason. Cost: O(bytes); memory
// grows with the records, up to Limits.Pending bytes.
//
// Sources of the form: plugins/profiler/inspector of NCCL 2.28 to 2.30, plugins/profiler/accl of RCCL 2.30.
package inspector

import (
	"bytes"
	"io"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// recordBytes is what is held for a record.
const recordBytes = 500

// maxLine bounds a line: the most channels make some ten thousand bytes.
const maxLine = 1 << 20

// maxExample is how many bytes are kept of a line that is no record.
const maxExample = 80

// Recognise reports whether text, the beginning of a file, is a dump.
func Recognise(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' {
			return false
		}
		return bytes.Contains(line, []byte(`"header"`)) && (bytes.Contains(line, []byte(`"coll_perf"`)) || bytes.Contains(line, []byte(`"p2p_perf"`)) ||
			bytes.Contains(line, []byte(`"dump_stats"`)))
	}
	return false
}

// Read reads one file, which results call name, to its end. An error is of the input, or says that there is no record in it or more
// than may be held.
func Read(src *ingest.Source, name string, lim ingest.Limits) (*comms.Record, error) {
	lim = lim.Scale(src.Size())
	held, most := int64(0), lim.Pending
	lim.Line = min(lim.Line, maxLine)
	lines := ingest.NewLines(src, src.Name(), lim, nil)
	p := parser{c: &comms.Record{Sources: []comms.Source{{Name: name, Path: src.Name(), Kind: comms.SourceInspector}}},
		processes: map[process]int{}, clocks: map[string]int{}, groups: map[groupKey]int{}, names: map[string]string{}, dropped: map[int]int64{}}
	for {
		line, size, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		reason := "longer than any that the Inspector writes"
		if size <= maxLine {
			reason = p.parse(line, lines.Pos().Line)
		}
		if reason != "" {
			p.c.CountUnread(comms.Unread{Reason: reason, Line: lines.Pos().Line, Text: string(bytes.ToValidUTF8(line[:min(len(line), maxExample)], []byte("?")))})
			continue
		}
		if held += recordBytes; held > most {
			return nil, input.At(lines.Pos(), input.Bad(input.ErrTooLarge, "more records than may be held in %d bytes: give fewer files", most))
		}
	}
	if len(p.c.Calls) == 0 {
		why := ""
		if len(p.c.Unread) > 0 {
			why = ": " + p.c.Unread[0].Reason
		}
		return nil, input.At(lines.Pos(), input.Bad(input.ErrEmpty, "no record of NCCL's Inspector in %d lines%s", lines.Pos().Line, why))
	}
	p.countLost()
	return p.c, nil
}

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
// The dump is a sample: NCCL 2.28 keeps the last collective of a communicator between two dumps, 2.30 the last 1024 and, by
// default, none below 8 KiB. Numbers tell what is missing.
//
// A line that is no such object is skipped and counted, with the first of each reason. Cost: O(bytes); memory
// grows with the records, up to Limits.Pending bytes.
//
// Source of the form: plugins/profiler/inspector of NCCL 2.28 to 2.30.
package inspector

import (
	"bytes"
	"io"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Record is one operation of one rank. Times are nanoseconds UTC of the host's clock.
type Record struct {
	Line     int64
	Process  int // index of Dump.Processes
	Comm     uint64
	Name     string // of the communicator, "" where it has none
	Rank     int32  // in the communicator
	Ranks    int32
	Nodes    int32
	Op       nccl.Op
	Seq      int64 // among the operations of this kind on the communicator, from 0
	Peer     int32 // of a message; −1 of a collective
	Bytes    int64
	Duration int64 // nanoseconds, of the slowest channel; whole microseconds; 0 where it was not measured
	Timing   Timing
	Bus      float64 // bus bandwidth as dumped, GB/s
	Dumped   int64
	Start    int64 // of the first channel's kernel, when HasTrace
	End      int64 // of the last one's
	HasTrace bool
}

// Timing says which clock a duration is of.
type Timing uint8

const (
	UnknownTiming Timing = iota
	KernelGPU            // of the device, in its kernel
	KernelCPU            // of the host, by what the kernel reported
	CollectiveCPU        // of the host, from call to completion
)

var timings = map[string]Timing{"kernel_gpu": KernelGPU, "kernel_cpu": KernelCPU, "collective_cpu": CollectiveCPU}

// Process is a process that dumped.
type Process struct {
	Host string
	PID  int64
}

// Dump is one file.
type Dump struct {
	Path      string
	Processes []Process
	Records   []Record
	Lines     int64
	Skipped   []Example // lines that are none, by reason
}

// Example is a reason why lines were skipped, how many, and the first.
type Example struct {
	Reason string
	Count  int64
	Line   int64
	Text   string // at most 200 bytes
}

// recordBytes is what is held for a record.
const recordBytes = 200

// maxLine bounds a line: the most channels make some ten thousand bytes.
const maxLine = 1 << 20

// Recognise says whether text, the beginning of a file, is a dump.
func Recognise(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if line[0] != '{' {
			return false
		}
		return bytes.Contains(line, []byte(`"header"`)) && (bytes.Contains(line, []byte(`"coll_perf"`)) || bytes.Contains(line, []byte(`"p2p_perf"`)))
	}
	return false
}

// Read reads one file to its end. An error is of the input, or says that there is no record in it or more than may be
// held.
func Read(src *ingest.Source, lim ingest.Limits) (*Dump, error) {
	lim = lim.OrDefault()
	held, most := int64(0), lim.Pending
	lim.Line = min(lim.Line, maxLine)
	d := &Dump{Path: src.Name()}
	lines := ingest.NewLines(src, src.Name(), lim, nil)
	p := parser{d: d, processes: map[Process]int{}, names: map[string]string{}}
	for {
		line, size, err := lines.NextCut()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		d.Lines = lines.Pos().Line
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if size > maxLine {
			d.skip(d.Lines, line, "longer than any that the Inspector writes")
			continue
		}
		if reason := p.parse(line, d.Lines); reason != "" {
			d.skip(d.Lines, line, reason)
			continue
		}
		if held += recordBytes; held > most {
			return nil, trace.At(trace.Pos{File: src.Name(), Line: d.Lines}, trace.Bad(trace.ErrTooLarge, "more records than may be held in %d bytes: give fewer files", most))
		}
	}
	if len(d.Records) == 0 {
		return nil, trace.At(trace.Pos{File: src.Name(), Line: d.Lines}, trace.Bad(trace.ErrEmpty, "no record of NCCL's Inspector in %d lines", d.Lines))
	}
	return d, nil
}

// skip counts a line that is no record.
func (d *Dump) skip(at int64, line []byte, reason string) {
	for i := range d.Skipped {
		if d.Skipped[i].Reason == reason {
			d.Skipped[i].Count++
			return
		}
	}
	text := bytes.ToValidUTF8(line[:min(len(line), 80)], []byte("?"))
	d.Skipped = append(d.Skipped, Example{Reason: reason, Count: 1, Line: at, Text: string(text)})
}

// Package flightrecorder reads what PyTorch's Flight Recorder dumps: the last
// collectives, sends and receives of one process, when it entered each, with
// group, sequence number, sizes, types and Python frames.
//
// A dump is a pickle (protocols 2 to 5) or JSON, gzip or zstd around it or not, of any version 2.
// A pickle is read by a machine that builds plain values only: what could run
// code is refused by name, with its byte. A dump that breaks off is kept as far
// as it goes. The rank stands in the name of the file alone; [Options] has a
// pattern for names of other kinds.
//
// time_created_ns is the entry; time_discovered_* is when a watchdog looked,
// and no end of a call, so calls have no exit.
//
// Cost: O(bytes), memory in proportion to one file at a time.
//
// Source of the form: torch/csrc/distributed/c10d/FlightRecorder of PyTorch 2.3
// to 2.15, versions 2.0 to 2.10.
package flightrecorder

import (
	"bytes"
	"errors"
	"io"
	"regexp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// Options of a Reader.
type Options struct {
	Limits ingest.Limits
	// Rank finds the rank in the name of a file: its group "rank", or else its
	// first one; a group "host" finds the host. nil: the forms in common use.
	Rank *regexp.Regexp
}

// Reader reads dumps one after the other and uses its memory again. The zero
// Reader is ready.
type Reader struct {
	Options
	data    bytes.Buffer
	machine machine
	scanner scanner
	decoder decoder
}

// Recognise reports whether head, the beginning of a file, is one of a dump.
func Recognise(head []byte) bool {
	begin := bytes.TrimLeft(head, " \t\r\n")
	pickled := bytes.HasPrefix(head, []byte{0x80}) || bytes.HasPrefix(head, []byte("}")) || bytes.HasPrefix(head, []byte("(d"))
	if !pickled && !bytes.HasPrefix(begin, []byte("{")) {
		return false
	}
	for _, other := range []string{`"traceEvents"`, `"distributedInfo"`, `"schemaVersion"`} { // of a profiler, which names groups too
		if bytes.Contains(head, []byte(other)) {
			return false
		}
	}
	for _, key := range []string{"pg_config", "pg_status", "profiling_name", "comm_lib_version"} {
		if bytes.Contains(head, []byte(key)) {
			return true
		}
	}
	if !bytes.Contains(head, []byte("nccl_version")) {
		return false
	}
	// The key of that name, as JSON and as pickles have it, with its length before it.
	for _, key := range []string{`"version"`, "\x07version", "\x07\x00\x00\x00version"} {
		if bytes.Contains(head, []byte(key)) {
			return true
		}
	}
	return false
}

// Read reads one dump, decompressed, of the file with a name. It has one
// process, whose rank is −1 where the name does not tell it.
func (r *Reader) Read(src io.Reader, name string) (*comms.Record, error) {
	lim := r.Limits.Scale(ingest.StoredSize(src))
	r.data.Reset()
	_, err := r.data.ReadFrom(io.LimitReader(src, lim.Line+1))
	if err != nil && !errors.Is(err, input.ErrTruncated) {
		return nil, err
	}
	cut := err != nil
	data := r.data.Bytes()
	switch {
	case int64(len(data)) > lim.Line:
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrTooLarge, "a dump of more than %d MiB; those of one process have some", lim.Line>>20))
	case len(bytes.TrimSpace(data)) == 0:
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrEmpty, "an empty file: the process ended before it dumped its ring"))
	}
	d := &r.decoder
	d.reset(name, data)
	root, broken, err := r.parse()
	if err == nil {
		err = d.errExhausted()
	}
	if err != nil {
		return nil, err
	}
	return d.comm(root, cut || broken, r.Rank)
}

// parse makes values of either form.
func (r *Reader) parse() (root value, truncated bool, err error) {
	d := &r.decoder.document
	if bytes.TrimLeft(d.data, " \t\r\n")[0] == '{' {
		r.scanner.document = d
		return r.scanner.scan()
	}
	r.machine.document = d
	return r.machine.readPickle()
}

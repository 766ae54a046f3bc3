// Package nccltests reads what nccl-tests and rccl-tests print (all_reduce_perf, all_gather_perf …) and what they write as JSON
// (-J FILE, versions 1 and 2): how fast a cluster moved data by each operation and size.
//
//	# Collective test starting: all_reduce_perf
//	# Using devices
//	#  Rank  0 Group  0 Pid   4711 on node0 device  0 [0000:07:00] NVIDIA A100
//	#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
//	     1048576        262144     float     sum      -1    60.21   17.41   30.48       0    59.80   17.53   30.69       0
//
// Columns go by the header, whose set differs between versions. Several outputs may stand in one file. What else is printed in between, as by
// mpirun or NCCL, is passed over, and so is what a launcher writes before each line.
package nccltests

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// maxRows bounds the measurements of a file; a sweep has some dozens.
const maxRows = 1 << 16

// programs are the tests whose bandwidth is that of one operation.
var programs = []struct {
	name string
	op   nccl.Op
}{{"all_reduce", nccl.AllReduce}, {"all_gather", nccl.AllGather}, {"reduce_scatter", nccl.ReduceScatter}, {"alltoall", nccl.AlltoAll}, {"sendrecv", nccl.SendRecv},
	{"broadcast", nccl.Broadcast}, {"gather", nccl.Gather}, {"scatter", nccl.Scatter}, {"reduce", nccl.Reduce}}

// program is the name of a test on a command line or in a header.
var program = regexp.MustCompile(`([a-z_]+)_perf(?:_mpi)?\b`)

// operation returns the operation of the test that a text names last; named is false where it names none.
func operation(text string) (op nccl.Op, named bool) {
	all := program.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return nccl.UnknownOp, false
	}
	for _, p := range programs {
		if p.name == all[len(all)-1][1] {
			return p.op, true
		}
	}
	return nccl.UnknownOp, true
}

// operationFromName returns the operation that a file is named after, as all-reduce-8gpu.txt.
func operationFromName(path string) nccl.Op {
	name := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(filepath.Base(path)))
	for _, p := range programs {
		if strings.Contains(name, strings.ReplaceAll(p.name, "_", "")) {
			return p.op
		}
	}
	return nccl.UnknownOp
}

// Read reads a file. Errors are *input.Error with the line, or in JSON the byte.
func Read(src *ingest.Source, lim ingest.Limits) ([]nccl.Benchmark, error) {
	head, err := src.Peek(64)
	if err != nil && err != io.EOF {
		return nil, err
	}
	r := &reader{name: src.Name(), op: operationFromName(src.Name())}
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		err = r.json(src, lim)
	} else {
		err = r.text(src, lim)
	}
	if err == nil && len(r.rows) == 0 {
		err = input.At(input.Pos{File: r.name}, input.Bad(input.ErrEmpty, "no row of nccl-tests in it: expected what all_reduce_perf and its like print, or write with -J"))
	}
	return r.rows, err
}

// reader is where in the outputs of a file it is.
type reader struct {
	name    string
	op      nccl.Op
	devices devices
	header  header
	rows    []nccl.Benchmark
}

// devices are those of the first rank's group: with NCCL_TESTS_SPLIT_MASK groups run side by side, and the first prints.
type devices struct {
	group string
	ranks int
	hosts []string
}

func (d *devices) add(group, host string) {
	if d.ranks == 0 {
		d.group = group
	}
	if group != d.group {
		return
	}
	d.ranks++
	if !slices.Contains(d.hosts, host) {
		d.hosts = append(d.hosts, host)
	}
}

func (r *reader) text(src *ingest.Source, lim ingest.Limits) error {
	lines := ingest.NewTerminalLines(src, r.name, lim)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = input.At(lines.Pos(), r.line(string(line)))
		}
		if err != nil {
			return err
		}
	}
}

// line takes a line of text.
func (r *reader) line(text string) error {
	if op, named := operation(text); named {
		r.op = op
	}
	if before, comment, found := strings.Cut(text, "#"); found {
		r.comment(before, strings.Fields(comment))
		return nil
	}
	words := r.header.cut(text)
	if len(r.header.names) == 0 || len(words) == 0 {
		return nil
	}
	size, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return nil // not of the table
	}
	bus, err := r.header.bus(words)
	if err != nil {
		return err
	}
	return r.add(size, bus)
}

// comment takes the words behind a #.
func (r *reader) comment(before string, words []string) {
	at := func(name string) string {
		if i := slices.Index(words, name); i >= 0 && i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	switch {
	case len(words) > 1 && words[0] == "Using" && words[1] == "devices":
		r.devices, r.header = devices{}, header{}
	case len(words) > 2 && words[0] == "Rank" && at("on") != "":
		r.devices.add(at("Group"), at("on"))
	case len(words) > 2 && words[0] == "size" && slices.Contains(words, "busbw"):
		r.header = newHeader(before, words)
	}
}

// add takes the fastest of a size.
func (r *reader) add(size int64, bus float64) error {
	switch {
	case r.op == nccl.UnknownOp:
		return input.Bad(input.ErrMissing, "a row of a test that nothing names, or that is of no single operation: name the file as the test, such as all_reduce_perf.txt")
	case r.devices.ranks == 0:
		return input.Bad(input.ErrMissing, "a row, and no line \"# Rank 0 … on HOST\" before it: on how many ranks and hosts it was measured is not known")
	case r.devices.ranks > trace.MaxRanks:
		return input.Bad(input.ErrTooLarge, "%d ranks, expected at most %d", r.devices.ranks, trace.MaxRanks)
	case len(r.rows) == maxRows:
		return input.Bad(input.ErrTooLarge, "more than %d rows", maxRows)
	case size < 0:
		return input.Bad(input.ErrNegative, "a size of %d bytes", size)
	}
	r.rows = append(r.rows, nccl.Benchmark{Op: r.op, Ranks: r.devices.ranks, Hosts: len(r.devices.hosts), Bytes: size, Bus: bus})
	return nil
}

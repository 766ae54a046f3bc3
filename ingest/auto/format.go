package auto

import (
	"cmp"

	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/devicefile"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace"
)

// Format is what an input was found to be.
type Format uint8

const (
	Unknown Format = iota
	Packets
	WideCSV
	WideParquet // the same columns in Parquet
	Archive     // for Sniff any Parquet file: its end must be read to know
	Kineto
	OperatorTrace
	LaunchedOperators // an operator trace that says what launched each, as one of a profiler's does
	DeviceFile        // device times of a profile that was converted
	OperatorMeta      // the layout of an operator trace, in a file beside it
	SQLite            // for Sniff any SQLite database
	NCCLLog
	InspectorDump // of NCCL's Inspector
	FlightRecorder
	JSON
	Text
	UTF16
	Packed // compressed or bundled in a way that is not unpacked here
	Binary
	Empty
)

// contents is what inputs of a format give.
type contents uint8

const (
	windows contents = 1 << iota
	operators
	devices
	communication

	nothing contents = 0
)

// row is all that this package knows of a format. To add one: a constant
// above, a row below, and the reader in a folder of its own.
type row struct {
	format Format
	name   string // in tables
	sniff  func(beginning) bool
	gives  contents
	// open makes inputs that are read here a part of what r will read. Where it
	// is nil, another command reads them, or nobody.
	open func(r *Reader, in *Input, src *metered)
	noun string // what an input is for who wants something else; "" where its refusal says more
}

// formats is the table of formats. An input is of the first whose sniff knows
// how it begins.
var formats []row

func init() { // its functions look at it
	formats = []row{
		{Archive, "window archive", magic("PAR1"), windows, opener((*Reader).openArchive), "a window archive, which holds stage windows and not single operations"},
		{SQLite, "Nsight Systems export", magic("SQLite format 3\x00"), windows | operators | devices | communication, (*Reader).addExport, ""},
		{UTF16, "UTF-16 text", func(b beginning) bool { return magic("\xFF\xFE", "\xFE\xFF")(b) || wide(b.all) }, nothing, nil, ""},
		{Packed, "packed file", packed, nothing, nil, ""},
		{Empty, "empty", func(b beginning) bool { return len(b.text) == 0 }, nothing, nil, ""},
		{FlightRecorder, "Flight Recorder dump", func(b beginning) bool { return flightrecorder.Recognise(b.all) }, communication, opener((*Reader).openFlightRecorder),
			"a Flight Recorder dump, which sfstat diagnose, hang and arrivals read"},
		{Packets, "packets", object(isPacket), windows, (*Reader).addPackets, "packets, which hold stage windows and not single operations"},
		{DeviceFile, "device times", object(holding(`"` + devicefile.Schema + `"`)), devices, opener((*Reader).openDevices), "device times, which sfstat breakdown reads"},
		{InspectorDump, "Inspector dump", object(inspector.Recognise), communication, nil, "a dump of NCCL's Inspector, which sfstat comm reads"},
		{Kineto, "profiler trace", object(isProfilerTrace), windows | operators | devices, (*Reader).addProfile, "a PyTorch profiler trace (Kineto JSON)"},
		{JSON, "JSON", func(b beginning) bool { return b.json }, nothing, nil, "JSON, but neither packets nor a profiler trace"},
		{NCCLLog, "NCCL log", isLog, communication, nil, "an NCCL debug log, which sfstat comm reads"},
		{Binary, "binary data", isBinary, nothing, nil, "binary data"},
		{LaunchedOperators, "operator trace", withColumns(func(c []string) bool { return isOperators(c) && optrace.Launched(c) }), operators, opener((*Reader).openOperators),
			"an operator trace, which holds single operations and not stage windows"},
		{OperatorTrace, "operator trace", withColumns(isOperators), operators, opener((*Reader).openOperators), "an operator trace, which holds single operations and not stage windows"},
		{WideCSV, "wide CSV", withColumns(csv.Recognizes), windows, opener((*Reader).openCSV), "a wide CSV, which holds stage windows and not single operations"},
		{WideParquet, "wide Parquet", nil, windows, opener((*Reader).openWideParquet), "a wide table (Parquet), which holds stage windows and not single operations"},
		{OperatorMeta, "meta file", looksLikeMeta, nothing, nil, ""},
		{Text, "text", nil, nothing, nil, "text"},
		{Unknown, "unknown", nil, nothing, nil, ""},
	}
}

// row is what is known of a format.
func (f Format) row() *row {
	for i := range formats {
		if formats[i].format == f {
			return &formats[i]
		}
	}
	return &row{name: "invalid"}
}

func (f Format) String() string { return f.row().name }

// Readable reports whether inputs of this format are read.
func (f Format) Readable() bool { return f.row().open != nil }

// operators reports whether inputs of this format are operator traces.
func (f Format) operators() bool { return f.row().gives == operators }

// half reports whether inputs of this format are a part of a recording, the rest
// of which lies beside: of a profile that was converted, or of a job that dumped.
func (f Format) half() bool {
	return f == LaunchedOperators || f == DeviceFile || f == FlightRecorder
}

// gives reports whether inputs of a format that is read give what is wanted.
func (f Format) gives(want Wanted) bool { return f.row().gives&want.contents() != 0 }

// supported are the inputs that are read here, by what is wanted.
func (w Wanted) supported() string {
	const profiles = "PyTorch profiler traces (JSON), Nsight Systems exports (SQLite)"
	switch w {
	case DeviceOnly:
		return profiles + ", the folder that sfstat convert made of them"
	case WindowsOnly:
		return "packets (JSON Lines), stage times (CSV, Parquet), " + profiles
	case WindowsAndCalls:
		return "dumps of PyTorch's Flight Recorder (pickles, JSON), and the packets of the same job beside them"
	}
	return "packets (JSON Lines), stage times (CSV, Parquet), operator traces (CSV, Parquet), " + profiles
}

// refusal says why an input of the format is not read, and what to do.
func (f Format) refusal(want Wanted) error {
	switch f {
	case OperatorMeta:
		return trace.Bad(trace.ErrFormat, "the meta file of an operator trace that is not among the inputs: give the trace, which finds meta-X.yaml for trace-X.csv and X.yaml for X.csv")
	case UTF16:
		return trace.Bad(trace.ErrFormat, "UTF-16 text, as some Windows programs write it: save it as UTF-8")
	case Packed:
		return trace.Bad(trace.ErrFormat, "packed in a way that is not read here: unpack it first (gzip and zstd, once, are read as they are)")
	case Empty:
		return trace.Bad(trace.ErrEmpty, "empty: the job may not have written anything yet")
	case JSON:
		return trace.Bad(trace.ErrFormat, "unrecognized input (JSON without \"schema\": \"sfstat.packet/1\", and no profiler trace). Supported: %s", want.supported())
	case Text, Binary, Unknown:
		return trace.Bad(trace.ErrFormat, "unrecognized input (%s). Supported: %s", cmp.Or(f.row().noun, Text.row().noun), want.supported())
	}
	return trace.Bad(trace.ErrFormat, "%s. Supported here: %s", f.row().noun, want.supported())
}

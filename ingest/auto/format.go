package auto

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/detectors"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/ncclras"
	"github.com/sfstat/sfstat/ingest/nccltests"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/ingest/pyspy"
	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/ingest/trainlog"
	"github.com/sfstat/sfstat/ingest/xplane"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Format is the detected format of an input.
type Format uint8

const (
	// Refusals list what is read in this order; communication is joined in it.
	Unknown Format = iota
	Packets
	WideCSV
	WideParquet // the same columns in Parquet
	JSONTable   // a JSON object for each stage or operator of a step
	Archive     // for sniff any Parquet file: its end must be read to know
	OperatorTrace
	LaunchedOperators // an operator trace that says what launched each, as one of a profiler's does
	Kineto
	XPlane // of JAX and TensorFlow
	NCCLLog
	NCCLMembers   // the same, where who is missing is asked for
	SQLite        // for sniff any SQLite database
	InspectorDump // of NCCL's Inspector
	FlightRecorder
	StackDump    // of py-spy
	RASReport    // of NCCL
	RASText      // the same as people read it
	ROCmTrace    // of rocprofv3
	Timeline     // that sfstat wrote
	GPUTable     // readings of nvidia-smi
	GPULines     // of dcgmi dmon and nvidia-smi dmon
	Metrics      // of node_exporter and DCGM's exporter
	KernelLog    // of a host
	TrainLog     // what training programs print of their steps
	Bandwidths   // of nccl-tests, or of pairs of nodes
	HangText     // messages of time-outs in a log without steps
	Summaries    // over the ranks of a job, or the GPUs of a host
	ToolReports  // what other tools conclude of ranks
	Arrivals     // epochs and arrivals of the windows in the table that it lies beside
	OperatorMeta // the layout of an operator trace, in a file beside it
	JSON
	Text
	UTF16
	Packed // compressed or bundled in a way that is not unpacked here
	Binary
	Empty
)

// turn is when a unit is read: what may name no run of its own comes behind what does.
type turn uint8

const (
	byPath turn = iota
	trainings
	profilers
	exports
	operations
	enterings
	callers
)

// row is all that this package knows of a format. To add one: a constant
// above, a row below, and the reader in a folder of its own.
type row struct {
	format Format
	name   string // in tables
	sniff  func(beginning) bool
	gives  Kinds
	half   bool   // it is a part of a recording, the rest of which lies beside
	listed string // what the list of supported inputs calls it, with others where they go by one name
	// read hands on what a unit of the format holds, until that is not taken any more. Where it is nil,
	// another command reads such inputs, or nobody.
	read func(u *unit, give func(part) bool) error
	turn turn
	// together returns the key of inputs that are read as one unit, such as their folder; nil: each is a unit.
	together func(*Reader, *Input) string
	// profile reads the profile of a rank, for [unit.profiles].
	profile func(u *unit, in *Input) (*profile.Rank, error)
	// record reads the calls and kernels of NCCL in inputs of the format, for
	// [Reader.join]; nil where there are none that name communicators and sizes.
	record func(ingest.Limits) recorder
	noun   string // what an input is for who wants something else; "" where its refusal says more
}

// monitored is what the list of supported inputs calls all that monitoring records.
const monitored = "readings of nvidia-smi, DCGM and node_exporter, and kernel logs, beside a recording of the job"

// formats is the table of formats. An input is of the first whose sniff knows
// how it begins.
var formats []row

func init() { // its functions look at it
	formats = []row{
		{format: Archive, name: "window archive", listed: "stage times (CSV, Parquet)", sniff: magic("PAR1"), gives: Windows, read: (*unit).table,
			noun: "a window archive, which holds stage windows and not single operations"},
		{format: SQLite, name: "Nsight Systems export", listed: "Nsight Systems exports (SQLite)", sniff: magic(nsight.Magic), gives: Windows | Operators | Devices | Calls,
			read: (*unit).exports, turn: exports, together: exportFolder, record: newSingles(readExport)},
		{format: XPlane, name: "XPlane profile", listed: "XPlane profiles of JAX and TensorFlow (.xplane.pb)", sniff: func(b beginning) bool { return xplane.Recognise(b.all) }, gives: Windows | Operators | Devices,
			read: (*unit).profiles, turn: profilers, together: profileFolder, profile: (*unit).readXPlane, noun: "an XPlane profile (.xplane.pb)"},
		{format: UTF16, name: "UTF-16 text", sniff: func(b beginning) bool { return isWide(b.all) }},
		{format: Packed, name: "packed file", sniff: isPacked},
		{format: Empty, name: "empty", sniff: func(b beginning) bool { return len(b.text) == 0 }},
		{format: FlightRecorder, name: "Flight Recorder dump", listed: "dumps of PyTorch's Flight Recorder (pickles, JSON)", half: true, sniff: func(b beginning) bool { return flightrecorder.Recognise(b.all) }, gives: Entries,
			read: wholeReader((*Reader).readFlightRecorder), turn: enterings, noun: "a Flight Recorder dump, which has no stages: sfstat diagnose names the late rank, sfstat arrivals says who is late where, sfstat hang who is missing"},
		{format: StackDump, name: "stack dump", listed: "stacks of ranks (py-spy dump)", half: true, sniff: func(b beginning) bool { return pyspy.Recognise(b.text) }, gives: Entries,
			read: (*unit).stacks, turn: enterings, together: stackFolder, noun: "the stack of a rank by py-spy, which sfstat hang compares with those of the others"},
		{format: RASReport, name: "RAS report", listed: "reports of NCCL's RAS (JSON)", half: true, sniff: object(ncclras.Recognise), gives: Entries, read: wholeReader((*Reader).readRAS), turn: enterings,
			noun: "a report of NCCL's RAS, from which sfstat hang says which rank is behind"},
		{format: Summaries, name: "summary", listed: "reports of straggler detectors (Megatron, NVRx, DeepSpeed, TraceML)", gives: Readings, read: wholeReader((*Reader).readToolReport),
			sniff: func(b beginning) bool { return bytes.IndexByte(b.all, 0) < 0 && detectors.Summarises(b.text) }, noun: "a summary over ranks or GPUs, which sfstat diagnose shows beside a recording of the job"},
		{format: RASText, name: "RAS text", listed: "reports of NCCL's RAS (JSON)", half: true, sniff: plain(ncclras.RecogniseText), gives: Entries, read: wholeReader((*Reader).readRASText), turn: enterings,
			noun: "a report of NCCL's RAS, from which sfstat hang says which rank is behind"},
		{format: Arrivals, name: "arrivals", sniff: object(hasWord(`"` + packet.SidecarSchema + `"`)),
			noun: "epochs and arrivals of windows in a table, which is not beside it: that of X.parquet is X.parquet" + packet.SidecarSuffix},
		{format: Packets, name: "packets", listed: "packets (JSON Lines)", sniff: object(isPacket), gives: Windows, read: (*unit).packets,
			noun: "packets, which hold stage windows and not single operations"},
		{format: InspectorDump, name: "Inspector dump", listed: "dumps of NCCL's Inspector (JSON)", sniff: object(inspector.Recognise), gives: Calls, read: (*unit).calls, record: newDumps,
			noun: "a dump of NCCL's Inspector, which sfstat comm reads"},
		{format: Timeline, name: "sfstat timeline", sniff: object(isTimeline), noun: "a timeline that sfstat wrote to look at (convert --to perfetto, or Save trace of a page): give sfstat the recording that it was written from"},
		{format: Kineto, name: "profiler trace", listed: "PyTorch profiler traces (JSON)", sniff: object(isProfilerTrace), gives: Windows | Operators | Devices, read: (*unit).profiles, turn: profilers, together: profileFolder, profile: (*unit).readKineto,
			noun: "a PyTorch profiler trace (Kineto JSON), which sfstat diagnose reads"},
		{format: Bandwidths, name: "bandwidth test", listed: "reports of straggler detectors (Megatron, NVRx, DeepSpeed, TraceML)", gives: Readings, read: wholeReader((*Reader).readBandwidths),
			sniff: plain(func(text []byte) bool {
				return nccltests.Recognise(text) && !hasAny(text, "NCCL INFO") || nccltests.RecognisePairs(text)
			}), noun: "bandwidths of nccl-tests: sfstat comm --limit FILE compares a job's calls with them"},
		{format: NCCLLog, name: "NCCL log", listed: "NCCL debug logs beside a recording of the same job", sniff: isLog, gives: Calls, read: (*unit).calls, turn: callers, record: newLogs, noun: "an NCCL debug log, which sfstat comm reads"},
		{format: NCCLMembers, name: "NCCL log", listed: "logs of NCCL", half: true, gives: Entries, read: (*unit).members, turn: enterings, together: logFolder,
			noun: "an NCCL debug log, from which sfstat hang says which ranks are behind or have no line"},
		{format: KernelLog, name: "kernel log", listed: monitored, sniff: plain(telemetry.KernelLog.Recognises), gives: Readings, read: monitoringReader(telemetry.KernelLog),
			noun: "a host's kernel log, which sfstat diagnose reads beside a recording of the job"},
		{format: GPULines, name: "GPU monitor", listed: monitored, sniff: plain(telemetry.Lines.Recognises), gives: Readings, read: monitoringReader(telemetry.Lines),
			noun: "readings of GPUs, which sfstat diagnose reads beside a recording of the job"},
		{format: Metrics, name: "metrics", listed: monitored, sniff: plain(telemetry.Metrics.Recognises), gives: Readings, read: monitoringReader(telemetry.Metrics),
			noun: "metrics of a host, which sfstat diagnose reads beside a recording of the job"},
		{format: ROCmTrace, name: "rocprofv3 trace", sniff: isROCmTrace, noun: "a trace of rocprofv3, which marks no steps and names no ranks: profile with torch.profiler, which has the same kernels on ROCm, " +
			"or record RCCL's calls (NCCL_DEBUG=INFO, or its profiler with ACCL_PROFILER_OUTPUT_DIR)"},
		{format: GPUTable, name: "GPU readings", listed: monitored, sniff: plain(telemetry.Table.Recognises), gives: Readings, read: monitoringReader(telemetry.Table),
			noun: "readings of GPUs, which sfstat diagnose reads beside a recording of the job"},
		{format: TrainLog, name: "training log", listed: "logs of training programs with times of steps", sniff: func(b beginning) bool {
			return bytes.IndexByte(b.all, 0) < 0 && !isJSONTable(b) && (trainlog.Recognise(b.text) || trainlog.RecogniseDLIO(b.text))
		}, gives: Windows, read: (*unit).trainLogs, turn: trainings, together: logFolder,
			noun: "a training program's log of its steps"},
		{format: HangText, name: "log of a time-out", listed: "messages of time-outs (PyTorch's watchdog, Horovod, JAX)", half: true, gives: Entries, read: (*unit).hangTexts, turn: enterings, together: logFolder,
			noun: "messages of a time-out, from which sfstat hang says who waits and who is missing"},
		{format: ToolReports, name: "tool report", listed: "reports of straggler detectors (Megatron, NVRx, DeepSpeed, TraceML)", gives: Readings, read: wholeReader((*Reader).readToolReport),
			sniff: func(b beginning) bool { return bytes.IndexByte(b.all, 0) < 0 && detectors.Recognise(b.text) }, noun: "what another tool concludes of ranks, which sfstat diagnose shows beside a recording of the job"},
		{format: JSONTable, name: "JSON table", listed: "stage times (CSV, Parquet)", sniff: isJSONTable, gives: Windows, read: (*unit).rows,
			noun: "a table (JSON Lines), which holds stage windows and not single operations"},
		{format: JSON, name: "JSON", sniff: func(b beginning) bool { return b.json }, noun: "JSON, but neither packets nor a profiler trace"},
		{format: Binary, name: "binary data", sniff: isBinary, noun: "binary data"},
		{format: LaunchedOperators, name: "operator trace", listed: "operator traces (CSV, Parquet)", half: true, sniff: hasColumns(func(c []string) bool { return isOperators(c) && optrace.HasLaunches(c) }),
			gives: Operators, read: wholeReader((*Reader).readOperators), turn: operations, noun: "an operator trace, which holds single operations and not stage windows"},
		{format: OperatorTrace, name: "operator trace", listed: "operator traces (CSV, Parquet)", sniff: hasColumns(isOperators), gives: Operators, read: (*unit).operations, turn: operations,
			noun: "an operator trace, which holds single operations and not stage windows"},
		{format: WideCSV, name: "wide CSV", listed: "stage times (CSV, Parquet)", sniff: isTable, gives: Windows, read: (*unit).rows,
			noun: "a wide CSV, which holds stage windows and not single operations"},
		{format: WideParquet, name: "wide Parquet", listed: "stage times (CSV, Parquet)", gives: Windows, read: (*unit).table,
			noun: "a wide table (Parquet), which holds stage windows and not single operations"},
		{format: OperatorMeta, name: "meta file", sniff: looksLikeMeta},
		{format: Text, name: "text", noun: "text"},
		{format: Unknown, name: "unknown"},
	}
}

// row returns the properties of a format.
func (f Format) row() *row {
	for i := range formats {
		if formats[i].format == f {
			return &formats[i]
		}
	}
	return &row{name: "invalid"}
}

func (f Format) String() string { return f.row().name }

// Readable reports whether inputs of this format can be read.
func (f Format) Readable() bool { return f.row().read != nil }

// Monitors reports whether inputs of this format are what monitoring recorded.
func (f Format) Monitors() bool { return f.row().gives == Readings }

// operators reports whether inputs of this format are operator traces.
func (f Format) operators() bool { return f.row().gives == Operators }

// gives reports whether inputs of a format that is read have one of some kinds.
func (f Format) gives(k Kinds) bool { return f.row().gives.has(k) }

// supportedInputs lists the inputs that are read and have one of some kinds.
func (k Kinds) supportedInputs() string {
	if k == Calls {
		return "NCCL debug logs (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH), exports of Nsight Systems " +
			"(nsys profile --trace=cuda,nvtx, then nsys export --type=sqlite), dumps of NCCL's Inspector"
	}
	var all []string
	for f := Unknown; f <= Empty; f++ {
		if r := f.row(); r.read != nil && f.gives(k) && !slices.Contains(all, r.listed) {
			all = append(all, r.listed)
		}
	}
	return strings.Join(all, ", ")
}

// refusal returns the error for an input of a format that is not read, with the remedy.
func (f Format) refusal(taken Kinds) error {
	switch f {
	case OperatorMeta:
		return input.Bad(input.ErrFormat, "the meta file of an operator trace that is not among the inputs: give the trace, which finds meta-X.yaml for trace-X.csv and X.yaml for X.csv")
	case UTF16:
		return input.Bad(input.ErrFormat, "UTF-16 text, as some Windows programs write it: save it as UTF-8")
	case Packed:
		return input.Bad(input.ErrFormat, "packed in a way that is not read here: unpack it first (gzip and zstd, once, are read as they are)")
	case Empty:
		return input.Bad(input.ErrEmpty, "empty: the job may not have written anything yet")
	case Binary:
		return input.Bad(input.ErrFormat, "binary data of no kind that is known. %s", whatToRecord)
	case JSON, Text, Unknown:
		return input.Bad(input.ErrFormat, "unrecognized input (%s). Supported: %s", cmp.Or(f.row().noun, Text.row().noun), taken.supportedInputs())
	}
	return input.Bad(input.ErrFormat, "%s. Supported here: %s", f.row().noun, taken.supportedInputs())
}

package auto

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest/devicefile"
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
	Archive // for Sniff any Parquet file: its end must be read to know
	Kineto
	OperatorTrace
	LaunchedOperators // an operator trace that says what launched each, as one of a profiler's does
	DeviceFile        // device times of a profile that was converted
	OperatorMeta      // the layout of an operator trace, in a file beside it
	SQLite            // for Sniff any SQLite database
	NCCLLog
	InspectorDump // of NCCL's Inspector
	JSON
	Text
	UTF16
	Packed // compressed or bundled in a way that is not unpacked here
	Binary
	Empty
)

var formatNames = [...]string{"unknown", "packets", "wide CSV", "window archive", "profiler trace", "operator trace", "operator trace", "device times", "meta file",
	"Nsight Systems export", "NCCL log", "Inspector dump", "JSON", "text", "UTF-16 text", "packed file", "binary data", "empty"}

func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return "invalid"
}

// Readable reports whether inputs of this format are read.
func (f Format) Readable() bool {
	return f == Packets || f == WideCSV || f == Archive || f.operators() || f == Kineto || f == SQLite || f == DeviceFile
}

// operators reports whether inputs of this format are operator traces.
func (f Format) operators() bool { return f == OperatorTrace || f == LaunchedOperators }

// half reports whether inputs of this format are a part of a profile that was
// converted, the rest of which lies beside.
func (f Format) half() bool { return f == LaunchedOperators || f == DeviceFile }

// gives reports whether inputs of a format that is read give what is wanted.
func (f Format) gives(want Wanted) bool {
	if f == DeviceFile {
		return want == DeviceOnly || want == AndDevices || want.both()
	}
	switch want {
	case WindowsOnly:
		return !f.operators()
	case OperatorsOnly:
		return f.operators() || f == Kineto || f == SQLite
	case DeviceOnly:
		return f == Kineto || f == SQLite
	}
	return true
}

// is says what an input of a format that is not read is, "" where more than
// that must be said.
func (f Format) is() string {
	switch f {
	case Packets:
		return "packets, which hold stage windows and not single operations"
	case WideCSV:
		return "a wide CSV, which holds stage windows and not single operations"
	case Archive:
		return "a window archive, which holds stage windows and not single operations"
	case Kineto:
		return "a PyTorch profiler trace (Kineto JSON)"
	case OperatorTrace, LaunchedOperators:
		return "an operator trace, which holds single operations and not stage windows"
	case DeviceFile:
		return "device times, which sfstat breakdown reads"
	case NCCLLog:
		return "an NCCL debug log, which sfstat comm reads"
	case InspectorDump:
		return "a dump of NCCL's Inspector, which sfstat comm reads"
	case JSON:
		return "JSON, but neither packets nor a profiler trace"
	case Binary:
		return "binary data that is no input of this program"
	case Text:
		return "text that is no input of this program"
	}
	return ""
}

// refusal says why an input of the format is not read, and what to do.
func (f Format) refusal(want Wanted) error {
	give := "give packets (JSON Lines), a wide CSV, a window archive (Parquet), an operator trace (CSV, Parquet), PyTorch profiler traces (JSON) or Nsight Systems exports (SQLite)"
	switch {
	case want == DeviceOnly:
		give = "give PyTorch profiler traces (JSON) or Nsight Systems exports (SQLite), or the folder that sfstat convert made of them"
	case want == WindowsOnly:
		give = "give packets (JSON Lines), a wide CSV, a window archive (Parquet), PyTorch profiler traces (JSON) or Nsight Systems exports (SQLite)"
	case want == OperatorsOnly && f.Readable():
		give = "sfstat diagnose and sfstat frontier are for these; give an operator trace (CSV, Parquet) or profiler traces here"
	case want == OperatorsOnly:
		give = "give an operator trace (CSV, Parquet), PyTorch profiler traces (JSON) or Nsight Systems exports (SQLite)"
	}
	switch f {
	case OperatorMeta:
		return trace.Bad(trace.ErrFormat, "the meta file of an operator trace that is not among the inputs: give the trace, which finds meta-X.yaml for trace-X.csv and X.yaml for X.csv")
	case JSON:
		return trace.Bad(trace.ErrFormat, "JSON, but neither packets (no \"schema\":\"sfstat.packet/1\") nor a profiler trace: %s", give)
	case UTF16:
		return trace.Bad(trace.ErrFormat, "UTF-16 text, as some Windows programs write it: save it as UTF-8")
	case Packed:
		return trace.Bad(trace.ErrFormat, "packed in a way that is not read here: unpack it first (gzip and zstd, once, are read as they are)")
	case Empty:
		return trace.Bad(trace.ErrEmpty, "empty: the job may not have written anything yet")
	case Unknown:
		f = Text
	}
	return trace.Bad(trace.ErrFormat, "%s: %s", f.is(), give)
}

// sniffed is how much of an input, decompressed, decides on its format.
// sniffedJSON is how much does when that was JSON without a sign of its kind.
const (
	sniffed     = 16 << 10
	sniffedJSON = 1 << 20
)

// Sniff tells the format of an input by how it begins, decompressed.
func Sniff(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Archive
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return SQLite
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")), wide(head):
		return UTF16
	case packed(head):
		return Packed
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(text) == 0:
		return Empty
	case text[0] == '{' || text[0] == '[' && looksLikeJSON(text):
		return sniffJSON(text)
	case bytes.IndexByte(text, 0) >= 0:
		return Binary
	case hasAny(text, "NCCL INFO", "NCCL WARN", "NCCL version"):
		return NCCLLog
	case controls(text) > len(text)/20:
		return Binary
	}
	return sniffTable(text)
}

// wide recognises UTF-16 without a mark, of text that begins in ASCII.
func wide(head []byte) bool {
	plain := func(c byte) bool { return c > ' ' && c < 0x7f || c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	if len(head) < 4 {
		return false
	}
	return plain(head[0]) && head[1] == 0 && plain(head[2]) && head[3] == 0 ||
		head[0] == 0 && plain(head[1]) && head[2] == 0 && plain(head[3])
}

// narrow is what of UTF-16 text is ASCII.
func narrow(head []byte) []byte {
	out := make([]byte, 0, len(head)/2)
	for _, c := range head {
		if c != 0 && c < 0x7f {
			out = append(out, c)
		}
	}
	return out
}

// packed recognises what is neither gzip nor zstd nor plain, and what is
// compressed twice.
func packed(head []byte) bool {
	for _, magic := range []string{
		"\x1f\x8b", "\x28\xb5\x2f\xfd", // again
		"\xfd7zXZ\x00", "BZh", "\x04\x22\x4d\x18", "PK\x03\x04", "7z\xbc\xaf\x27\x1c", "Rar!", "\x1f\x9d",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return len(head) > 262 && string(head[257:262]) == "ustar"
}

func hasAny(text []byte, any ...string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return bytes.Contains(text, []byte(s)) })
}

// looksLikeJSON tells an array from a log line in brackets.
func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || strings.IndexByte(`{["]-0123456789`, rest[0]) >= 0
}

// packetMark is in every packet that names its schema.
const packetMark = `"sfstat.packet/`

func sniffJSON(text []byte) Format {
	switch {
	case hasAny(text, packetMark):
		return Packets
	case hasAny(text, `"`+devicefile.Schema+`"`):
		return DeviceFile
	case inspector.Recognise(text):
		return InspectorDump
	case hasAny(text, `"traceEvents"`, `"deviceProperties"`, `"distributedInfo"`, `"baseTimeNanoseconds"`),
		hasAny(text, `"ph"`) && hasAny(text, `"ts"`, `"pid"`):
		return Kineto
	case hasAny(text, `"durations_ns"`), hasAny(text, `"first_step"`) && hasAny(text, `"stages"`):
		return Packets
	}
	return JSON
}

// controls counts the bytes that do not occur in text.
func controls(text []byte) int {
	n := 0
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b {
			n++
		}
	}
	return n
}

// sniffTable goes by the names of the columns.
func sniffTable(text []byte) Format {
	header, _, _ := bytes.Cut(text, []byte("\n"))
	for _, comma := range ",;\t" {
		r := csv.NewReader(bytes.NewReader(header))
		r.Comma = comma
		columns, err := r.Read()
		if err != nil {
			continue
		}
		for i, c := range columns {
			columns[i] = strings.ToLower(strings.TrimSpace(c))
		}
		has := func(name string) bool { return slices.Contains(columns, name) }
		switch {
		case has("optype") && has("start_ts") && optrace.Launched(columns):
			return LaunchedOperators
		case has("optype") && has("start_ts"):
			return OperatorTrace
		case has("step") && has("rank"):
			return WideCSV
		}
	}
	if looksLikeMeta(text) {
		return OperatorMeta
	}
	return Text
}

// looksLikeMeta recognises the YAML that tells the layout of an operator
// trace: two of its keys, each at the beginning of a line.
func looksLikeMeta(text []byte) bool {
	n := 0
	for line := range bytes.Lines(text) {
		key, _, _ := bytes.Cut(line, []byte(":"))
		if slices.Contains([]string{"dp_size", "pp_size", "tp_size", "dsp_size", "vpp_size", "world_size", "trial_name"}, string(key)) {
			n++
		}
	}
	return n >= 2
}

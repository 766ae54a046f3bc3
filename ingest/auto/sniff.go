package auto

import (
	"bytes"
	stdcsv "encoding/csv"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/nccllog"
)

// sniffed is how much of an input, decompressed, decides on its format.
// sniffedFar is how much does where that was text or JSON without a sign of its kind.
const (
	sniffed    = 16 << 10
	sniffedFar = 1 << 20
)

// sniff returns the format of an input by its decompressed beginning: the first row of the table that recognises it.
func sniff(head []byte) Format {
	b := beginning{all: head, text: bytes.TrimLeft(head, " \t\r\n")}
	b.json = len(b.text) > 0 && (b.text[0] == '{' && !bytes.HasPrefix(b.text, []byte("{'")) || b.text[0] == '[' && looksLikeJSON(b.text))
	for i := range formats {
		if know := formats[i].sniff; know != nil && know(b) {
			return formats[i].format
		}
	}
	return Text
}

// beginning is how an input begins.
type beginning struct {
	all  []byte
	text []byte // without white space before it
	json bool   // it may be
}

// magic knows what begins with certain bytes.
func magic(marks ...string) func(beginning) bool {
	return func(b beginning) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return bytes.HasPrefix(b.all, []byte(m)) })
	}
}

// object knows JSON that has a sign of what it is.
func object(signed func(text []byte) bool) func(beginning) bool {
	return func(b beginning) bool { return b.json && signed(b.text) }
}

// plain knows text that is no JSON and has no bytes of zero.
func plain(known func(text []byte) bool) func(beginning) bool {
	return func(b beginning) bool { return !b.json && bytes.IndexByte(b.all, 0) < 0 && known(b.text) }
}

// hasWord returns a test for text that has one of the words.
func hasWord(words ...string) func(text []byte) bool {
	return func(text []byte) bool { return hasAny(text, words...) }
}

func isLog(b beginning) bool {
	return nccllog.Recognise(b.all) || !b.json && bytes.IndexByte(b.text, 0) < 0 && hasAny(b.text, "NCCL INFO", "NCCL WARN", "NCCL version")
}

// isROCmTrace knows what rocprofv3 writes, which is not read: CSV of kernels, JSON, and Perfetto's packets.
func isROCmTrace(b beginning) bool {
	return hasAny(b.text, `"rocprofiler-sdk-tool"`, `"Kind","Agent_Id"`) || len(b.all) > 0 && b.all[0] == 0x0a && hasAny(b.all, "rocprofv3", "KERNEL_DISPATCH") && bytes.IndexByte(b.all, 0) >= 0
}

func isBinary(b beginning) bool {
	return bytes.IndexByte(b.text, 0) >= 0 || controls(b.text) > len(b.text)/20
}

func isProfilerTrace(text []byte) bool {
	return hasAny(text, `"traceEvents"`, `"deviceProperties"`, `"distributedInfo"`, `"baseTimeNanoseconds"`) ||
		hasAny(text, `"ph"`) && hasAny(text, `"ts"`, `"pid"`)
}

// isTimeline knows the timelines that sfstat writes itself, which name it before their events.
func isTimeline(text []byte) bool {
	before, _, found := bytes.Cut(text, []byte(`"traceEvents"`))
	return found && hasAny(before, `"sfstat timeline"`)
}

// isPacket knows packets: those that name their schema, and such as do not and are nothing else.
func isPacket(text []byte) bool {
	if hasAny(text, packetMark) {
		return true
	}
	bare := hasAny(text, `"durations_ns"`) || hasAny(text, `"first_step"`) && hasAny(text, `"stages"`)
	return bare && !isProfilerTrace(text) && !inspector.Recognise(text)
}

// isWide reports whether text is UTF-16 without a mark that begins in ASCII.
func isWide(head []byte) bool {
	plain := func(c byte) bool { return c > ' ' && c < 0x7f || c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	if len(head) < 4 {
		return false
	}
	return plain(head[0]) && head[1] == 0 && plain(head[2]) && head[3] == 0 ||
		head[0] == 0 && plain(head[1]) && head[2] == 0 && plain(head[3])
}

// narrow returns the ASCII characters of UTF-16 text.
func narrow(head []byte) []byte {
	out := make([]byte, 0, len(head)/2)
	for _, c := range head {
		if c != 0 && c < 0x7f {
			out = append(out, c)
		}
	}
	return out
}

// isPacked reports what is neither gzip nor zstd nor plain, and what is
// compressed twice.
func isPacked(b beginning) bool {
	head := b.all
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

// isJSONTable knows objects that have a step and a rank: a row of a table each, whatever log may look like it.
func isJSONTable(b beginning) bool { return b.json && csv.Recognizes(csv.ColumnsOfJSON(b.text)) }

// looksLikeJSON reports whether an array, and not a log line in brackets, begins: "[1,0]<stderr>:", "[ 100.000001] NVRM",
// "[2024-01-02 10:00".
func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	if numbers := bytes.TrimLeft(rest, "0123456789.-+eE, \t\r\n]"); len(numbers) < len(rest) {
		return len(numbers) == 0 || numbers[0] == '['
	}
	return len(rest) == 0 || strings.IndexByte(`{["]`, rest[0]) >= 0
}

// packetMark is in every packet that names its schema.
const packetMark = `"sfstat.packet/`

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

// hasColumns returns a test for text with certain columns in its first line.
func hasColumns(known func(columns []string) bool) func(beginning) bool {
	return func(b beginning) bool {
		header, _, _ := bytes.Cut(bytes.TrimPrefix(b.text, []byte("\xEF\xBB\xBF")), []byte("\n"))
		for _, comma := range ",;\t" {
			r := stdcsv.NewReader(bytes.NewReader(header))
			r.Comma = comma
			columns, err := r.Read()
			if err != nil {
				continue
			}
			for i, c := range columns {
				columns[i] = strings.ToLower(strings.TrimSpace(c))
			}
			if known(columns) {
				return true
			}
		}
		return false
	}
}

// isTable knows tables of the times of steps, behind comments too.
func isTable(b beginning) bool {
	if b.json || bytes.IndexByte(b.text, 0) >= 0 {
		return false
	}
	_, ok := ingest.FindHeader(bytes.TrimPrefix(b.text, []byte("\xEF\xBB\xBF")), csv.IsHeader)
	return ok
}

func isOperators(columns []string) bool {
	return slices.Contains(columns, "optype") && slices.Contains(columns, "start_ts")
}

// looksLikeMeta recognises the YAML that tells the layout of an operator
// trace: two of its keys, each at the beginning of a line.
func looksLikeMeta(b beginning) bool {
	n := 0
	for line := range bytes.Lines(b.text) {
		key, _, _ := bytes.Cut(line, []byte(":"))
		if slices.Contains([]string{"dp_size", "pp_size", "tp_size", "dsp_size", "vpp_size", "world_size", "trial_name"}, string(key)) {
			n++
		}
	}
	return n >= 2
}

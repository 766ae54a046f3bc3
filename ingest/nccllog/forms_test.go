package nccllog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/sfstat/sfstat/ingest/nccllog/internal/logline"
)

// small is a log of one process: a communicator with its topology, two calls, the first one's tuning, and a warning.
var small = []string{
	"ncclCommInitRank comm 0xabc rank 0 nranks 2 cudaDev 3 nvmlDev 3 busId c1000 commId 0x1f - Init START",
	"=== System : maxBw 48.0 totalBw 370.8 ===",
	"CPU/0-0 (1/2/-1)",
	"+ PCI[24.0] - GPU/0-c1000 (0)",
	"==========================================",
	"ncclCommInitRank comm 0xabc rank 0 nranks 2 cudaDev 3 nvmlDev 3 busId c1000 commId 0x1f - Init COMPLETE",
	call,
	"AllReduce: 256 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}",
	strings.Replace(call, "1a", "1b", 1),
}

const smallWant = "2 calls of 1 process on 1 communicator 0x1f, tuned 8 channels, 2 nodes; 0 damaged"

// said is what a log says, shortly.
func said(b *Builder) string {
	c := &b.comm
	var id uint64
	nodes, channels := 0, int32(0)
	for _, g := range c.Groups {
		id |= g.ID
	}
	for _, x := range b.blocks {
		nodes += len(x.nodes)
	}
	for _, x := range c.Calls {
		if x.Tuning != nil {
			channels += x.Tuning.Channels
		}
	}
	return fmt.Sprintf("%d calls of %d process on %d communicator %#x, tuned %d channels, %d nodes; %d damaged", len(c.Calls), len(c.Processes),
		len(c.Groups), id, channels, nodes, b.kinds[logline.Damaged])
}

// lined is the small log with each line in a form.
func lined(form func(i int, message string) string) string {
	var b strings.Builder
	for i, m := range small {
		b.WriteString(form(i, m))
	}
	return b.String()
}

const plainHead = "node03:11:12 [3] NCCL INFO "

func plainLine(_ int, m string) string { return plainHead + m + "\n" }

func wideText(text string, low, high int) string {
	var b []byte
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(text))...) {
		pair := [2]byte{}
		pair[low], pair[high] = byte(u), byte(u>>8)
		b = append(b, pair[:]...)
	}
	return string(b)
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func zstandard(text string) string {
	z, _ := zstd.NewWriter(nil)
	return string(z.EncodeAll([]byte(text), nil))
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // with \u003e for >, as Docker writes it
	return string(b)
}

// The same log as shells, collectors and launchers leave it, from bytes to counts.
func TestForms(t *testing.T) {
	plain := lined(plainLine)
	stamped := func(stamp string) string {
		return lined(func(i int, m string) string { return fmt.Sprintf(stamp, 10+i) + plainHead + m + "\n" })
	}
	tests := []struct{ name, text string }{
		{"plain", plain},
		{"no end of the last line", strings.TrimSuffix(plain, "\n")},
		{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"byte-order mark", "\xEF\xBB\xBF" + plain},
		{"UTF-16, little end first", wideText(plain, 0, 1)},
		{"UTF-16, big end first", wideText(strings.ReplaceAll(plain, "\n", "\r\n"), 1, 0)},
		{"gzip", zipped(plain)},
		{"gzip in two members", zipped(plain[:100]) + zipped(plain[100:])},
		{"zstd", zstandard(plain)},
		{"gzip of UTF-16", zipped(wideText(plain, 0, 1))},
		{"zero bytes where the file had a hole", strings.Repeat("\x00", 70_000) + plain},
		{"colours", lined(func(_ int, m string) string { return "\x1b[1;32m" + plainHead + m + "\x1b[0m\n" })},
		{"Docker, json-file", lined(func(i int, m string) string {
			return fmt.Sprintf(`{"log":%s,"stream":"stderr","time":"2025-12-18T19:07:%d.045163Z"}`+"\n", quoted(plainHead+m+"\n"), 10+i)
		})},
		{"Docker, colours", lined(func(_ int, m string) string {
			return fmt.Sprintf(`{"log":%s,"stream":"stderr"}`+"\n", quoted("\x1b[32m"+plainHead+m+"\x1b[0m\n"))
		})},
		{"Kubernetes, CRI", lined(func(i int, m string) string {
			return fmt.Sprintf("2025-12-18T19:07:%d.045163000Z stderr F %s%s\n", 10+i, plainHead, m)
		})},
		{"journald", lined(func(i int, m string) string {
			return fmt.Sprintf("Dec 18 19:07:%d node03 python3[11]: %s%s\n", 10+i, plainHead, m)
		})},
		{"journald, JSON", lined(func(_ int, m string) string {
			return fmt.Sprintf(`{"_PID":"11","PRIORITY":"6","MESSAGE":%s}`+"\n", quoted(plainHead+m))
		})},
		{"a logger's JSON", lined(func(_ int, m string) string {
			return fmt.Sprintf(`{"level":"info","msg":%s}`+"\n", quoted(plainHead+m))
		})},
		{"kubectl --prefix", lined(func(_ int, m string) string { return "[pod/train-worker-3/pytorch] " + plainHead + m + "\n" })},
		{"stamp: default of 2.26", stamped("[2025-12-18 19:07:%d] ")},
		{"stamp: %s.%6f_", stamped("17660848%d.045163 ")},
		{"stamp: %s.%6f", stamped("17660848%d.045163")},
		{"stamp: %F_%T.%9f_", stamped("2025-12-18 19:07:%d.045163000 ")},
		{"stamp: %F_%T", stamped("2025-12-18 19:07:%d")},
		{"stamp: %T_", stamped("19:07:%d ")},
		{"stamp: %T", stamped("19:07:%d")},
		{"stamp: %T.%3f", stamped("19:07:%d.045")},
		{"stamp: %H%M%S_", stamped("1907%d ")},
	}
	for _, tt := range tests {
		if got := said(build(t, tt.text)); got != smallWant {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, smallWant)
		}
	}
}

// longLine is longer than any line that is read.
const longLine = 16 << 20

// A line of gigabytes is passed over, and what comes behind it is read; the place is told.
func TestPassedLine(t *testing.T) {
	before, after := lined(plainLine), strings.Replace(lined(plainLine), "opCount 1a", "opCount 1c", 1)
	for _, n := range []int{longLine + 1, 3 * longLine} {
		log := build(t, before+strings.Repeat("x", n)+"\n"+after)
		if len(log.comm.Calls) != 4 || log.kinds[logline.Damaged] != 1 || log.reader.Lines() != int64(2*len(small)+1) {
			t.Fatalf("%d bytes: %s, %d lines", n, said(log), log.reader.Lines())
		}
		x := log.comm.Unread[0]
		want := fmt.Sprintf("%d bytes from byte %d on, which begin with", n, len(before))
		if x.Line != int64(len(small)+1) || !strings.HasPrefix(x.Text, want) {
			t.Errorf("%+v, want line %d: %s", x, len(small)+1, want)
		}
	}
	log := build(t, before+strings.Repeat("x", longLine+1)) // and no end
	if len(log.comm.Calls) != 2 || log.kinds[logline.Damaged] != 1 {
		t.Errorf("at the end of a file: %s", said(log))
	}
}

// A line that is cut anywhere, or that another process wrote into anywhere, costs that call at most, and makes no process up.
func TestCutAndGlued(t *testing.T) {
	line := plainHead + call
	other := strings.ReplaceAll(strings.Replace(line, "0xabc", "0x222", 1), "11:12", "21:22")
	many := strings.Repeat(lined(plainLine), 30) + strings.Repeat(other+"\n", 300)
	calls := int64(len(build(t, many).comm.Calls))
	for at := 1; at < len(line); at++ {
		for name, text := range map[string]string{
			"cut":    many + line[:at] + "\n" + other + "\n",
			"behind": many + line[at:] + "\n" + other + "\n",
			"glued":  many + line[:at] + other + "\n" + line[at:] + "\n",
		} {
			log := build(t, text)
			if n := int64(len(log.comm.Calls)); len(log.comm.Processes) > 3 || n < calls+1 || n > calls+2 {
				t.Errorf("%s at %d, %q: %d calls, %d processes: %+v", name, at, line[:at], n-calls, len(log.comm.Processes), log.comm.Processes)
			}
		}
	}
}

// Heads whose host or process id is damaged make no process: the communicator tells whose the call is.
func TestUnbelieved(t *testing.T) {
	many := strings.Repeat(plainHead+"Channel 00/0 : 3[3] -> 0[0] via P2P/CUMEM\n", 2*fewer) + lined(plainLine)
	for _, head := range []string{"ode03:11:12 [3] ", "xnode03:11:12 [3] ", "q/$node03:11:12 [3] ", "k=v,node03:11:12 [3] ", "node03:1:12 [3] ", "x1y2z3:11:12 [3] ",
		"node03:99999999:12 [3] ", ":11:12 [3] "} {
		log := build(t, many+head+"NCCL INFO "+strings.Replace(call, "1a", "1c", 1)+"\n")
		named := 0
		for _, p := range log.comm.Processes {
			if p.PID != 0 {
				named++
			}
		}
		if named != 1 || len(log.comm.Calls) != 3 {
			t.Errorf("%q: %d calls of %+v", head, len(log.comm.Calls), log.comm.Processes)
		}
	}
	// A process of few lines that has a communicator of its own is one.
	log := build(t, many+"node04:11:12 [3] NCCL INFO "+strings.Replace(call, "0xabc", "0x777", 1)+"\n")
	if len(log.comm.Processes) != 2 || log.comm.Processes[1].Host != "node04" || len(log.comm.Groups) != 2 {
		t.Errorf("%+v of %+v", log.comm.Groups, log.comm.Processes)
	}
}

package telemetry

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/nccl"
)

const (
	xid = "NVRM: Xid ("
	// lostGPU is in the driver's message of a GPU that it lost, which is Xid 79 also where that is not printed. Its address stands
	// in the same line or in one before it.
	lostGPU = "fallen off the bus"
	ofGPU   = "NVIDIA GPU "
)

// What the kernel of a host reported: the output of dmesg, with
// its times since the start of the machine or (-T, --time-format iso) the clock's, of
// journalctl -k, and files of syslog. Of its lines it keeps
//
//   - errors of the NVIDIA driver: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, …
//   - machine checks, and errors of memory that EDAC counts,
//   - processes that were killed for want of memory,
//   - processors that lowered their clock for heat,
//   - network interfaces whose link went down.
//
// A time since the start of the machine tells no date: such a report has none. A stamp of
// syslog has no year and no zone.

// reports are what is kept, by what their lines hold.
var reports = []struct {
	mark string
	kind health.EventKind
}{
	{xid, health.XidError},
	{lostGPU, health.XidError},
	{"Machine check events logged", health.MachineCheck},
	{"mce: [Hardware Error]", health.MachineCheck},
	{"EDAC MC", health.MachineCheck},
	{"Out of memory: Kill", health.OutOfMemory},
	{"Memory cgroup out of memory: Kill", health.OutOfMemory},
	{"cpu clock throttled", health.CPUOverheated},
	{"NIC Link is Down", health.LinkDown},
	{"Link Down", health.LinkDown},
	{"Link is Down", health.LinkDown},
}

// isKernelLog reports whether most lines begin as those of a kernel's log do.
func isKernelLog(text []byte) bool {
	lines, like := 0, 0
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if isSpace := line[0] == ' ' || line[0] == '\t'; isSpace && bytes.Contains(line, []byte("NVRM:")) {
			continue // of a message of several lines
		}
		if lines++; lines > 50 {
			break
		}
		if begins(line) {
			like++
		}
	}
	return like > 0 && 2*like >= lines
}

// begins reports whether a line begins as one of a kernel's log.
func begins(line []byte) bool {
	line = priority(line)
	s, rest, ok := Options{}.cutStamp(line)
	switch {
	case !ok:
		return false
	case line[0] == '[': // since the start of the machine, or dmesg -T
		return s.At == 0 || bytes.IndexByte([]byte("MTWFS"), line[1]) >= 0
	case len(line) > 26 && line[10] == 'T' && line[19] == ',': // dmesg --time-format iso
		return true
	}
	_, ok = cutHost(rest)
	return ok || bytes.HasPrefix(rest, []byte(xid))
}

func readKernelLog(f *file) error {
	bus, address := uint64(0), ""
	return f.lines(func(line []byte) bool {
		if at := bytes.Index(line, []byte(ofGPU)); at >= 0 && bytes.Contains(line, []byte("NVRM:")) {
			word, _, _ := bytes.Cut(bytes.TrimSpace(line[at+len(ofGPU):]), []byte(" "))
			address, bus = string(word), nccl.ParseBus(string(word))
		}
		for _, k := range reports {
			at := bytes.Index(line, []byte(k.mark))
			if at < 0 {
				continue
			}
			e := health.Event{Kind: k.kind, Device: -1, Text: string(bytes.TrimSpace(line[at:]))}
			s, rest, _ := f.o.cutStamp(priority(line))
			e.At = f.timeOf(s)
			if host, ok := cutHost(rest); ok {
				e.Host = host
			}
			if k.mark == lostGPU {
				if m := lostAt.FindSubmatch(line); m != nil {
					address, bus = string(m[1]), nccl.ParseBus(string(m[1]))
				}
				e.Code, e.Bus, e.Text = 79, bus, strings.TrimSpace("NVRM: GPU "+address)+" has "+e.Text
				if isLossReported(f.t.Events, &e) {
					break
				}
			} else if k.kind == health.XidError && !readXid(&e, line[at+len(xid):]) {
				return false
			}
			f.event(e)
			break
		}
		return true
	})
}

// lostAt is where a GPU's address stands in the line of its loss.
var lostAt = regexp.MustCompile(`NVRM: GPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?):`)

// isLossReported reports whether the loss of a GPU was reported just before, with its Xid.
func isLossReported(before []health.Event, e *health.Event) bool {
	return slices.ContainsFunc(before, func(b health.Event) bool {
		return b.Kind == e.Kind && b.Code == e.Code && b.Host == e.Host && b.Bus == e.Bus && max(b.At-e.At, e.At-b.At) < int64(time.Minute)
	})
}

// priority takes the number in angle brackets off that dmesg -r and /dev/kmsg begin with.
func priority(line []byte) []byte {
	if len(line) > 0 && line[0] == '<' {
		if end := bytes.IndexByte(line, '>'); end > 0 && end < 8 {
			return line[end+1:]
		}
	}
	return line
}

// cutHost returns the word before "kernel:", the host of a line of syslog or journalctl.
func cutHost(rest []byte) (host string, ok bool) {
	words := bytes.Fields(rest[:min(len(rest), 300)])
	for i, w := range words[:min(len(words), 6)] {
		if string(w) == "kernel:" && i > 0 {
			return string(words[i-1]), true
		}
	}
	return "", false
}

// readXid reads "PCI:0000:3b:00): 79, …".
func readXid(e *health.Event, rest []byte) bool {
	place, behind, ok := bytes.Cut(rest, []byte("):"))
	if !ok {
		return false
	}
	if bus, found := bytes.CutPrefix(place, []byte("PCI:")); found {
		e.Bus = nccl.ParseBus(string(bus))
	}
	number, _, _ := bytes.Cut(bytes.TrimSpace(behind), []byte(","))
	number, _, _ = bytes.Cut(number, []byte(" "))
	code, err := strconv.Atoi(string(number))
	e.Code = code
	return err == nil && code > 0
}

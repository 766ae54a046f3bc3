package logline

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// marker stands in every head, between who writes and what about.
var marker = []byte("NCCL ")

// maxID is the greatest process or thread id that Linux gives (PID_MAX_LIMIT).
const maxID = 1 << 22

// level is the word behind the marker.
type level uint8

const (
	noLevel level = iota
	info
	warn
	traced
)

// levelAt reads the level at b, which begins behind the marker, and how long it is with
// the blank that ends it.
func levelAt(b []byte) (level, int) {
	switch {
	case bytes.HasPrefix(b, []byte("INFO ")):
		return info, 5
	case bytes.HasPrefix(b, []byte("WARN ")):
		return warn, 5
	case bytes.HasPrefix(b, []byte("TRACE ")):
		return traced, 6
	case bytes.HasPrefix(b, []byte("CALL ")):
		return traced, 5
	case bytes.HasPrefix(b, []byte("ABORT ")):
		return warn, 6
	}
	return noLevel, 0
}

// headMark is where a head ends in a line.
type headMark struct {
	level level
	start int // of the marker
	end   int // of the message's first byte
}

// nextHead finds the next head in line at or behind from.
func nextHead(line []byte, from int) (headMark, bool) {
	for from < len(line) {
		i := bytes.Index(line[from:], marker)
		if i < 0 {
			return headMark{}, false
		}
		at := from + i
		if l, n := levelAt(line[at+len(marker):]); l != noLevel {
			return headMark{l, at, at + len(marker) + n}, true
		}
		from = at + len(marker)
	}
	return headMark{}, false
}

// parseHead reads backwards from the marker at the end of b: device, then
// tid, pid and host, then the stamp. It returns the head and where it begins in b. A
// head that lost host and pid has PID 0.
func (r *Reader) parseHead(b []byte) (Head, int) {
	h := Head{Device: -1}
	end := trimBlank(b, len(b))
	if at, ok := device(b[:end], &h); ok {
		end = trimBlank(b, at)
	} else if at, ok := sourceLine(b[:end]); ok { // WARN and TRACE name file and line
		end = trimBlank(b, at)
		if at, ok := device(b[:end], &h); ok {
			end = trimBlank(b, at)
		}
	}
	start := end
	tid, at := digitsBefore(b, end)
	if at == end || at == 0 || b[at-1] != ':' {
		return h, start
	}
	pid, at2 := digitsBefore(b, at-1)
	if at2 == at-1 || at2 == 0 || b[at2-1] != ':' {
		return h, start
	}
	from := hostBefore(b, at2-1)
	if from == at2-1 || pid < 1 || pid > maxID || tid > maxID {
		return h, from
	}
	h.PID, h.TID = pid, tid
	host := b[from : at2-1]
	host, glued := splitStamp(host)
	if !glued {
		host, glued = splitSecond(b[:from], host)
	}
	host = r.cutLeftover(host)
	h.Host = r.intern(host)
	from = at2 - 1 - len(host)
	if t, clock, at, ok := stampBefore(b[:from], glued); ok {
		h.Time, h.Clock, from = t, clock, at
	}
	return h, from
}

// cutLeftover cuts off what a pointer without a line end left before a host: "0xdefnode03" is
// node03 if that is a host, which it was before.
func (r *Reader) cutLeftover(host []byte) []byte {
	if len(host) < 4 || host[0] != '0' || host[1] != 'x' {
		return host
	}
	for i := 3; i < len(host) && isHexadecimal(host[i-1]); i++ {
		if _, ok := r.names[string(host[i:])]; ok {
			return host[i:]
		}
	}
	return host
}

func trimBlank(b []byte, end int) int { return len(bytes.TrimRight(b[:end], " \t")) }

// device reads "[3]" at the end of b and returns where it begins.
func device(b []byte, h *Head) (int, bool) {
	n := len(b)
	if n < 3 || b[n-1] != ']' {
		return 0, false
	}
	v, at := digitsBefore(b, n-1)
	if at == n-1 || at == 0 || b[at-1] != '[' || v > 1<<20 {
		return 0, false
	}
	h.Device = int32(v)
	return at - 1, true
}

// sourceLine finds "graph/xml.cc:1003" at the end of b, which no host:pid:tid is.
func sourceLine(b []byte) (int, bool) {
	_, at := digitsBefore(b, len(b))
	if at == len(b) || at == 0 || b[at-1] != ':' {
		return 0, false
	}
	from := bytes.LastIndexByte(b[:at], ' ') + 1
	if name := b[from : at-1]; bytes.IndexByte(name, ':') >= 0 || len(name) == 0 {
		return 0, false
	}
	return from, true
}

// digitsBefore reads the decimal that ends at end, 0 if it is longer than any
// process id.
func digitsBefore(b []byte, end int) (v int64, at int) {
	for at = end; at > 0 && isDecimal(b[at-1]); at-- {
	}
	v, err := strconv.ParseInt(string(b[at:end]), 10, 64)
	if err != nil {
		return 0, end
	}
	return v, at
}

// hostBefore finds where the host that ends at end begins: behind what no host
// has, such as what prefixes end with and bytes that no text has.
func hostBefore(b []byte, end int) int {
	at := bytes.LastIndexFunc(b[:end], endsHost)
	if at < 0 {
		return 0
	}
	_, size := utf8.DecodeRune(b[at:])
	return at + size
}

// endsHost reports whether no host's name has r. Names that were made unrecognisable have any letters.
func endsHost(r rune) bool {
	return r == utf8.RuneError || r < utf8.RuneSelf && !isNameByte(byte(r)) && r != '-' && r != '.'
}

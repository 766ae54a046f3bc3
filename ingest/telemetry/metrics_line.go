package telemetry

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// parse reads a line into r.s, whose bytes are those of the line: name{label="value",…}
// value [time] [# exemplar].
func (r *snapshots) parse(line []byte) bool {
	s := &r.s
	s.labels, s.at = s.labels[:0], 0
	end := bytes.IndexAny(line, "{ \t")
	if end <= 0 {
		return false
	}
	s.name = line[:end]
	rest := line[end:]
	if rest[0] == '{' {
		var ok bool
		if rest, ok = s.readLabels(rest[1:]); !ok {
			return false
		}
	}
	s.series = line[:len(line)-len(rest)]
	if at := bytes.Index(rest, []byte(" # ")); at >= 0 {
		rest = rest[:at]
	}
	fields := bytes.Fields(rest)
	if len(fields) == 0 || len(fields) > 2 {
		return false
	}
	var err error
	if s.value, err = strconv.ParseFloat(string(fields[0]), 64); err != nil || math.IsInf(s.value, 0) {
		return false
	}
	if len(fields) == 2 {
		at, ok := unix(string(fields[1]))
		if !ok {
			return false
		}
		s.at = at
	}
	return true
}

// mostLabels bounds the labels of a series.
const mostLabels = 64

// readLabels reads what stands behind the brace, and is behind its end.
func (s *sample) readLabels(rest []byte) ([]byte, bool) {
	for {
		rest = bytes.TrimLeft(rest, " \t,")
		if len(rest) > 0 && rest[0] == '}' {
			return rest[1:], true
		}
		name, behind, ok := bytes.Cut(rest, []byte("="))
		behind = bytes.TrimLeft(behind, " \t")
		if !ok || len(behind) == 0 || behind[0] != '"' || len(s.labels) == mostLabels {
			return nil, false
		}
		end := closingQuote(behind[1:])
		if end < 0 {
			return nil, false
		}
		s.labels = append(s.labels, label{string(bytes.TrimSpace(name)), escapes.Replace(string(behind[1 : 1+end]))})
		rest = behind[end+2:]
	}
}

// closingQuote returns where the quotation mark stands that ends a value, −1: nowhere.
func closingQuote(text []byte) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")

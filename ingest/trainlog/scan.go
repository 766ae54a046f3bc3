package trainlog

import (
	"bytes"
	"strconv"
	"strings"
)

// What follows scans a line by hand, once: regular expressions, which the tests compare it with, read 7 MB/s.

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }
func isSpace(c byte) bool  { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }
func isQuote(c byte) bool  { return c == '"' || c == '\'' }

// skip returns the first place from at on whose byte is none of the kind.
func skip(line []byte, at int, kind func(byte) bool) int {
	for at < len(line) && kind(line[at]) {
		at++
	}
	return at
}

// skipBack returns the place behind the last byte before end that is none of the kind.
func skipBack(line []byte, end int, kind func(byte) bool) int {
	for end > 0 && kind(line[end-1]) {
		end--
	}
	return end
}

// optional returns the place behind one of some bytes that may be there.
func optional(line []byte, at int, of string) int {
	if at < len(line) && strings.IndexByte(of, line[at]) >= 0 {
		return at + 1
	}
	return at
}

// number returns a whole number of up to so many digits that begins at a place and no word goes on.
func number(line []byte, at, digits int) (n int64, end int, ok bool) {
	end = skip(line, at, isDigit)
	if end == at || end-at > digits || end < len(line) && isWord(line[end]) {
		return 0, end, false
	}
	n, err := strconv.ParseInt(string(line[at:end]), 10, 64)
	return n, end, err == nil
}

var stepWords = [...]string{"step", "global_step", "train_step", "iteration", "iter", "itr", "update"}

// stepOf returns the number of the step: "step 12", "iteration: [12", "Steps=12".
func stepOf(line []byte) (step int64, ok bool) {
	for at := 0; at < len(line); {
		if !isWord(line[at]) {
			at++
			continue
		}
		end := skip(line, at, isWord)
		if isStep(line[at:end]) {
			next := skip(line, optional(line, end, `"'`), isSpace)
			next = skip(line, optional(line, next, ":=#"), isSpace)
			next = skip(line, optional(line, next, "["), isSpace)
			if step, _, ok = number(line, next, 15); ok {
				return step, true
			}
		}
		at = end
	}
	return 0, false
}

// counterOf returns the step of a counter in brackets, "[ 10/5005]", and the epoch before it, "[0/90][10/5005]" or
// "Epoch [0/90]"; −1 without one.
func counterOf(line []byte) (epoch, step int64, ok bool) {
	epoch, step = -1, -1
	for at := 0; at < len(line); at++ {
		if line[at] != '[' && line[at] != '(' {
			continue
		}
		n, of, end, counts := counter(line, at+1)
		if end = skip(line, end, isSpace); !counts || end == len(line) || line[end] != ']' && line[end] != ')' {
			continue
		}
		switch word := bytes.TrimRight(line[:at], " :"); {
		case of < 2:
		case len(word) >= 5 && bytes.EqualFold(word[len(word)-5:], []byte("epoch")):
			epoch = n
		case step < 0:
			step = n
		default:
			return step, n, true
		}
		at = end
	}
	return epoch, step, step >= 0
}

// leadingCounter returns the step and how many there are of a line that begins with them; −1, −1.
func leadingCounter(line []byte) (step, steps int64) {
	at := skip(line, 0, func(c byte) bool { return isSpace(c) || c == '\b' })
	if step, steps, end, ok := counter(line, at); ok && (end == len(line) || isSpace(line[end])) {
		return step, steps
	}
	return -1, -1
}

// counter reads "10/5005" at a place, with blanks or without.
func counter(line []byte, at int) (n, of int64, end int, ok bool) {
	n, end, ok = number(line, skip(line, at, isSpace), 12)
	if end = skip(line, end, isSpace); !ok || end == len(line) || line[end] != '/' {
		return 0, 0, end, false
	}
	of, end, ok = number(line, skip(line, end+1, isSpace), 12)
	return n, of, end, ok && n <= of
}

func isStep(word []byte) bool {
	if n := len(word); n > 0 && word[n-1]|0x20 == 's' {
		word = word[:n-1]
	}
	if len(word) < len("itr") || len(word) > len("global_step") {
		return false
	}
	switch word[0] | 0x20 {
	case 's', 'g', 't', 'i', 'u':
	default:
		return false
	}
	for _, w := range stepWords {
		if len(w) == len(word) && bytes.EqualFold(word, []byte(w)) {
			return true
		}
	}
	return false
}

// rankIn returns the rank that a line tells: "[RANK 12]", "rank=12".
func rankIn(line []byte) (rank int, ok bool) {
	for at := 0; at+len("rank") < len(line); at++ {
		if line[at]|0x20 != 'r' || !bytes.EqualFold(line[at:at+4], []byte("rank")) {
			continue
		}
		if at > 0 && line[at-1] == '[' {
			from := skip(line, at+4, func(c byte) bool { return strings.IndexByte(" :=_", c) >= 0 })
			if n, end, ok := number(line, from, 7); ok && end < len(line) && line[end] == ']' {
				return int(n), true
			}
		}
		from := skip(line, at+4, func(c byte) bool { return strings.IndexByte(" :=", c) >= 0 })
		if n, _, ok := number(line, from, 7); ok && from > at+4 && (at == 0 || !isWord(line[at-1])) {
			return int(n), true
		}
	}
	return 0, false
}

// timing is a name with a number: "elapsed time per iteration (ms): 1147.6", "time=3ms".
type timing struct {
	name, number []byte
	unit         string // in lower case; "" where none is said
}

// nextTiming returns the first timing from a place on, and where it ends; −1 where there is none.
func nextTiming(line []byte, from int) (t timing, end int) {
	for at := from; at < len(line); at++ {
		if line[at] != ':' && line[at] != '=' {
			continue
		}
		value := skip(line, at+1, isSpace)
		if value == len(line) || !isDigit(line[value]) {
			continue
		}
		var ok bool
		if t.number, t.unit, end, ok = quantity(line, value); !ok {
			continue
		}
		name, unit := nameBefore(line, from, at)
		if name == nil {
			continue
		}
		t.name, t.unit = name, unit+t.unit
		return t, end
	}
	return timing{}, -1
}

// nextSpaced returns the first timing from a place on whose name a blank ends: "time 0.5"; −1 where there is none.
func nextSpaced(line []byte, from int) (t timing, end int) {
	for at := from; at < len(line); at++ {
		if !isSpace(line[at]) || at == from || !isWord(line[at-1]) {
			continue
		}
		value := skip(line, at, isSpace)
		if value == len(line) || !isDigit(line[value]) {
			continue
		}
		var ok bool
		if t.number, t.unit, end, ok = quantity(line, value); !ok {
			continue
		}
		if next := skip(line, end, isSpace); t.unit == "" && next < len(line) && line[next] >= 0x80 {
			continue // an arrow or a sign of prose
		}
		if t.name, _ = nameBefore(line, from, at); t.name != nil {
			return t, end
		}
	}
	return timing{}, -1
}

// quantity returns a number, its optional unit, its end, and the place after it.
func quantity(line []byte, at int) (n []byte, unit string, end int, ok bool) {
	e := skip(line, at, isDigit)
	if e < len(line) && line[e] == '.' {
		e = skip(line, e+1, isDigit)
	}
	if e < len(line) && line[e]|0x20 == 'e' {
		if digits := optional(line, e+1, "+-"); digits < len(line) && isDigit(line[digits]) {
			e = skip(line, digits, isDigit)
		}
	}
	n = line[at:e]
	behind := skip(line, e, isSpace)
	word := skip(line, behind, isLetter)
	if unit = unitOf(line[behind:word], len("seconds")); unit != "" && (word == len(line) || endsTime(line[word])) {
		return n, unit, min(word+1, len(line)), true
	}
	switch {
	case behind == len(line):
		return n, "", behind, true
	case endsTime(line[behind]):
		return n, "", behind + 1, true
	}
	return n, "", behind, behind > e // a blank ends it
}

func endsTime(c byte) bool {
	switch c {
	case ',', '|', ')', ']', '}':
		return true
	}
	return isSpace(c)
}

// unitOf returns a unit in lower case, "" for anything else; longest is how long its name may be.
func unitOf(word []byte, longest int) string {
	if len(word) == 0 {
		return ""
	}
	for _, u := range [...]string{"ms", "us", "ns", "s", "sec", "seconds"} {
		if len(u) == len(word) && len(u) <= longest && bytes.EqualFold(word, []byte(u)) {
			return u
		}
	}
	return ""
}

// nameBefore returns the longest name that ends before a place and begins at from or later, and the unit in parentheses
// after it; nil without a name.
func nameBefore(line []byte, from, end int) (name []byte, unit string) {
	line = line[:end]
	end = max(from, skipBack(line, end, isSpace))
	if end > from && isQuote(line[end-1]) {
		end--
	}
	if end > from && line[end-1] == ')' {
		open := skipBack(line, end-1, isLetter)
		if open <= from || line[open-1] != '(' {
			return nil, ""
		}
		if unit = unitOf(line[open:end-1], len("sec")); unit == "" {
			return nil, ""
		}
		end = open - 1
	}
	end = max(from, skipBack(line, end, isSpace))
	if end > from && isQuote(line[end-1]) {
		end--
	}
	begin := end
	for at := end; at > from && (isLetter(line[at-1]) || joinsName(line[at-1])); at-- {
		if isLetter(line[at-1]) && (at == 1 || !isWord(line[at-2])) {
			begin = at - 1
		}
	}
	if begin == end {
		return nil, ""
	}
	return line[begin:end], unit
}

func joinsName(c byte) bool { return c == '_' || c == '/' || c == ' ' }

// epochOf returns the number behind the word epoch, −1 where there is none.
func epochOf(line []byte) int64 {
	for at := 0; at+len("epoch") < len(line); at++ {
		if line[at]|0x20 != 'e' || !bytes.EqualFold(line[at:at+5], []byte("epoch")) || at > 0 && isWord(line[at-1]) {
			continue
		}
		next := skip(line, optional(line, at+5, `"'`), isSpace)
		next = skip(line, optional(line, next, ":=#"), isSpace)
		next = skip(line, optional(line, next, "["), isSpace)
		if n, _, ok := number(line, next, 9); ok {
			return n
		}
	}
	return -1
}

// launcherRank returns the rank in what launchers put before a line: "3: " of srun -l, "[default3]:" of torchrun, "[1,3]<stdout>:" of
// mpirun.
func launcherRank(line []byte) (rank int, ok bool) {
	at := skip(line, 0, isSpace)
	if n, end, ok := number(line, at, 6); ok && end+1 < len(line) && line[end] == ':' && isSpace(line[end+1]) {
		return int(n), true
	}
	if at >= len(line) || line[at] != '[' {
		return 0, false
	}
	if _, end, ok := number(line, at+1, 6); ok && end < len(line) && line[end] == ',' {
		if n, end, ok := number(line, end+1, 6); ok && end+1 < len(line) && line[end] == ']' && line[end+1] == '<' {
			return int(n), true
		}
	}
	if digits, isDefault := bytes.CutPrefix(line[at+1:], []byte("default")); isDefault {
		if n, end, ok := number(digits, 0, 6); ok && end+1 < len(digits) && digits[end] == ']' && digits[end+1] == ':' {
			return int(n), true
		}
	}
	return 0, false
}

var validationWords = [...]string{"val", "valid", "validation", "eval", "evaluation", "test", "testing"}

// isValidation reports whether a line is of a step of validation, as one of its words says.
func isValidation(line []byte) bool {
	for at := 0; at < len(line); {
		if !isLetter(line[at]) {
			at++
			continue
		}
		end := skip(line, at, isWord)
		for _, w := range validationWords {
			if w[0] == line[at]|0x20 && len(w) == end-at && bytes.EqualFold(line[at:end], []byte(w)) {
				return true
			}
		}
		at = end
	}
	return false
}

package trainlog

import (
	"bytes"
	"strconv"
	"time"
)

// stampOf returns the time at which a line was printed, ns, and its resolution; −1 without one. A time without a date is
// on the first day.
func stampOf(line []byte) (at, resolution int64) {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], ':')
		if i < 2 {
			if i < 0 {
				return -1, 0
			}
			from += i + 1
			continue
		}
		i += from
		from = i + 1
		if i+6 > len(line) || line[i+3] != ':' {
			continue
		}
		h, okH := two(line, i-2)
		m, okM := two(line, i+1)
		s, okS := two(line, i+4)
		if !okH || !okM || !okS || h > 23 || m > 59 || s > 60 || i > 2 && isDigit(line[i-3]) {
			continue
		}
		at, resolution = ((h*60+m)*60+s)*int64(time.Second), int64(time.Second)
		if end := i + 6; end < len(line) && (line[end] == '.' || line[end] == ',') {
			digits := line[end+1 : min(skip(line, end+1, isDigit), end+10)]
			for _, c := range digits {
				resolution /= 10
				at += int64(c-'0') * resolution
			}
		}
		if day, ok := dayBefore(line, i-2); ok {
			at += day.UnixNano()
		}
		return at, resolution
	}
}

// two reads two digits.
func two(line []byte, at int) (int64, bool) {
	if at < 0 || at+2 > len(line) || !isDigit(line[at]) || !isDigit(line[at+1]) {
		return 0, false
	}
	return int64(line[at]-'0')*10 + int64(line[at+1]-'0'), true
}

// dayBefore returns the date that ends a character before a place: 2025-03-01, with - or /.
func dayBefore(line []byte, at int) (time.Time, bool) {
	if at < 11 {
		return time.Time{}, false
	}
	text := line[at-11 : at-1]
	y, errY := strconv.Atoi(string(text[:4]))
	m, okM := two(text, 5)
	d, okD := two(text, 8)
	if errY != nil || !okM || !okD || text[4] != text[7] || isDigit(text[4]) || y < 1970 || y > 2200 {
		return time.Time{}, false
	}
	return time.Date(y, time.Month(m), int(d), 0, 0, 0, 0, time.UTC), true
}

package logline

import (
	"bytes"
	"time"
)

// splitStamp parts a stamp from the host that it is glued to: "19.5node03" is a
// stamp of digits and one point, then the host, which NCCL cuts at its first
// point and so has none.
func splitStamp(host []byte) (rest []byte, glued bool) {
	i, points := 0, 0
	for i < len(host) && (host[i]-'0' < 10 || host[i] == '.' && points == 0) {
		if host[i] == '.' {
			points++
		}
		i++
	}
	if points == 0 || i == 0 || i == len(host) {
		return host, false
	}
	return host[i:], true
}

// splitSecond parts the seconds of a time of the day from the host that they are glued to: what
// stands before ends in "19:07:", and "56node03" is a second and a host.
func splitSecond(before, host []byte) (rest []byte, glued bool) {
	n := len(before)
	if n < 6 || before[n-1] != ':' || before[n-4] != ':' || two(before[n-3:]) > 59 || two(before[n-6:]) > 23 {
		return host, false
	}
	if len(host) < 3 || two(host) > 60 {
		return host, false
	}
	return host[2:], true
}

// stamps reads the stamp before a host; it keeps the last date, since lines
// of one day follow one another.
type stamps struct {
	date  [10]byte
	start int64 // nanoseconds of that date's midnight
}

// secondDigits is how many digits seconds since 1970 have, from 2001 to 2286. More
// than those belong to what stands before, which lost its line end.
const secondDigits = 10

// maxSecond is the last whole second whose nanoseconds are an int64.
const maxSecond = 9223372035

// before reads the stamp that ends b: epoch seconds, or a date and time with any
// separators between them, in brackets or not. It returns where the stamp begins.
func (s *stamps) before(b []byte, glued bool) (t int64, clock Clock, at int, ok bool) {
	end := len(b)
	if !glued {
		end = trimBlank(b, end)
		if end > 0 && b[end-1] == ']' {
			end--
		}
	}
	frac, at := fraction(b[:end])
	sec, from := digitsBefore(b, at)
	if from == at {
		return 0, NoClock, 0, false
	}
	if from > 0 && b[from-1] == ':' && at-from == 2 {
		return s.wall(b[:at], frac)
	}
	if at-from < secondDigits {
		return 0, NoClock, 0, false
	}
	return min(sec%1e10, maxSecond)*1e9 + frac, Epoch, unbracket(b, at-secondDigits), true
}

// unbracket takes in the bracket before a stamp.
func unbracket(b []byte, from int) int {
	if from > 0 && b[from-1] == '[' {
		return from - 1
	}
	return from
}

// fraction reads ".123456" at the end of b, in nanoseconds, and where it begins: the end
// of b if there is none.
func fraction(b []byte) (ns int64, at int) {
	_, from := digitsBefore(b, len(b))
	if from == len(b) || from == 0 || b[from-1] != '.' || len(b)-from > 9 {
		return 0, len(b)
	}
	unit := int64(1e8)
	for _, c := range b[from:] {
		ns += int64(c-'0') * unit
		unit /= 10
	}
	return ns, from - 1
}

// wall reads "2025-12-18 19:07:56", which ends b.
func (s *stamps) wall(b []byte, frac int64) (t int64, clock Clock, at int, ok bool) {
	from := len(b) - len("2025-12-18 19:07:56")
	if from < 0 {
		return 0, NoClock, 0, false
	}
	at = unbracket(b, from)
	b = b[from:]
	if b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' {
		return 0, NoClock, 0, false
	}
	h, m, sec := two(b[11:]), two(b[14:]), two(b[17:])
	if h > 23 || m > 59 || sec > 60 {
		return 0, NoClock, 0, false
	}
	if !bytes.Equal(b[:10], s.date[:]) {
		y, mon, d := two(b)*100+two(b[2:]), two(b[5:]), two(b[8:])
		if y < 1970 || y > 2261 || mon < 1 || mon > 12 || d < 1 || d > 31 {
			return 0, NoClock, 0, false
		}
		copy(s.date[:], b)
		s.start = time.Date(y, time.Month(mon), d, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	return s.start + int64(h*3600+m*60+sec)*1e9 + frac, Wall, at, true
}

// two reads two digits; anything else gives more than any field may have.
func two(b []byte) int {
	if b[0]-'0' > 9 || b[1]-'0' > 9 {
		return 1000
	}
	return int(b[0]-'0')*10 + int(b[1]-'0')
}

package logline

import (
	"bytes"
	"regexp"
	"strconv"
	"time"
)

// splitStamp parts a stamp from the host that it is glued to: "19.5node03" is a
// stamp of digits and one point, then the host, which NCCL cuts at its first
// point and so has none.
func splitStamp(host []byte) (rest []byte, glued bool) {
	c := cursor{b: host}
	c.run(isDecimal)
	point := c.try(".")
	if c.run(isDecimal); !point || len(c.b) == 0 {
		return host, false
	}
	return c.b, true
}

var (
	minute = regexp.MustCompile(`^(?:[01]\d|2[0-3]):[0-5]\d:$`)
	second = regexp.MustCompile(`^(?:[0-5]\d|60).`)
)

// splitSecond parts the seconds of a time of the day from the host that they are glued to: what
// stands before ends in "19:07:", and "56node03" is a second and a host.
func splitSecond(before, host []byte) (rest []byte, glued bool) {
	if !bytes.HasSuffix(before, []byte(":")) || !minute.Match(before[max(0, len(before)-len("19:07:")):]) || !second.Match(host) {
		return host, false
	}
	return host[2:], true
}

// secondDigits is how many digits seconds since 1970 have, from 2001 to 2286. More
// than those belong to what stands before, which lost its line end.
const secondDigits = 10

// maxSecond is the last whole second whose nanoseconds are an int64.
const maxSecond = 9223372035

// stampBefore reads the stamp that ends b: epoch seconds, or a date and time with any
// separators between them, in brackets or not. It returns where the stamp begins.
func stampBefore(b []byte, glued bool) (t int64, clock Clock, at int, ok bool) {
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
		return wall(b[:at], frac)
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
	ns, _ = strconv.ParseInt((string(b[from:]) + "00000000")[:9], 10, 64)
	return ns, from - 1
}

// wall reads "2025-12-18 19:07:56", which ends b.
func wall(b []byte, frac int64) (t int64, clock Clock, at int, ok bool) {
	from := len(b) - len(time.DateTime)
	if from < 0 {
		return 0, NoClock, 0, false
	}
	date := len(time.DateOnly)
	when, err := time.Parse(time.DateTime, string(b[from:from+date])+" "+string(b[from+date+1:]))
	if err != nil || when.Year() < 1970 || when.Year() > 2261 {
		return 0, NoClock, 0, false
	}
	return when.UnixNano() + frac, Wall, unbracket(b, from), true
}

package telemetry

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// layouts are the forms of stamps with a date. A comma before the decimals is
// taken as a point; zones are with and without a colon.
var layouts = []struct {
	layout string
	zoned  bool
	yearly bool
}{
	{"2006-01-02T15:04:05Z07:00", true, true},
	{"2006-01-02T15:04:05Z0700", true, true},
	{"2006-01-02T15:04:05", false, true},
	{"2006-01-02 15:04:05", false, true},
	{"2006/01/02 15:04:05", false, true}, // nvidia-smi
	{"20060102 15:04:05", false, true},   // nvidia-smi dmon -o DT
	{"Mon Jan 2 15:04:05 2006", false, true},
	{"Jan 2 15:04:05", false, false}, // syslog, ts
}

// stamp is a time at the beginning of a line.
type stamp struct {
	At       int64 // nanoseconds since 1970 UTC; 0: none, or one that counts from the start of the machine
	Zoneless bool
}

// cutStamp takes the stamp off the beginning of a line: a date and time in one of the
// usual forms, in brackets or not, or seconds since 1970. ok is false where there is
// none; then the line is as it was.
func (o Options) cutStamp(line []byte) (s stamp, rest []byte, ok bool) {
	text := bytes.TrimLeft(line, " \t")
	if len(text) > 0 && text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 0 || end > 40 {
			return s, line, false
		}
		inside, rest := bytes.TrimSpace(text[1:end]), bytes.TrimLeft(text[end+1:], " \t")
		if s, n := o.stamp(inside); n == len(inside) && n > 0 {
			return s, rest, true
		}
		if _, err := strconv.ParseFloat(string(inside), 64); err == nil && bytes.IndexByte(inside, '.') >= 0 { // since the start of the machine
			return s, rest, true
		}
		return s, line, false
	}
	s, n := o.stamp(text)
	return s, bytes.TrimLeft(text[n:], " \t"), n > 0
}

// stamp reads a stamp of n bytes; 0: there is none.
func (o Options) stamp(text []byte) (s stamp, n int) {
	words := bytes.Fields(text[:min(len(text), 64)])
	if len(words) == 0 {
		return s, 0
	}
	for _, l := range layouts {
		count := 1 + bytes.Count([]byte(l.layout), []byte(" "))
		if len(words) < count {
			continue
		}
		joined := bytes.ReplaceAll(bytes.Join(words[:count], []byte(" ")), []byte(","), []byte("."))
		t, err := time.ParseInLocation(l.layout, string(joined), o.zone())
		if err != nil {
			continue
		}
		if s.Zoneless = !l.zoned; !l.yearly {
			t = o.addYear(t)
		}
		if s.At = nanoseconds(t); s.At == 0 && l.yearly {
			return s, 0
		}
		return s, bytes.Index(text, words[count-1]) + len(words[count-1])
	}
	if at, ok := unix(string(words[0])); ok {
		return stamp{At: at}, bytes.Index(text, words[0]) + len(words[0])
	}
	return s, 0
}

func (o Options) zone() *time.Location {
	if o.Zone == nil {
		return time.UTC
	}
	return o.Zone
}

// addYear returns a stamp without a year in the last one that is not behind when the file was
// written, by more than a day.
func (o Options) addYear(t time.Time) time.Time {
	if o.Written.IsZero() {
		return time.Time{}
	}
	year := o.Written.Year()
	in := func(year int) time.Time {
		return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	}
	if got := in(year); !got.After(o.Written.Add(24 * time.Hour)) {
		return got
	}
	return in(year - 1)
}

// nanoseconds returns a time since 1970, 0 where int64 does not reach.
func nanoseconds(t time.Time) int64 {
	if t.Year() < 1971 || t.Year() > 2200 {
		return 0
	}
	return t.UnixNano()
}

// unix reads a time since 1970 in seconds, milliseconds, microseconds or nanoseconds, which its size
// tells: of the years from 2001 on they do not overlap.
func unix(text string) (at int64, ok bool) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) {
		return 0, false
	}
	for _, unit := range []float64{1e9, 1e6, 1e3, 1} {
		if ns := x * unit; ns >= 1e18 && ns < 7e18 {
			if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
				return whole * int64(unit), true
			}
			return int64(ns), true
		}
	}
	return 0, false
}

// timeOf returns the time of a stamp. It notes that a file's stamps name no zone.
func (b *builder) timeOf(s stamp) int64 {
	if s.Zoneless && s.At != 0 {
		b.t.Zoneless = true
	}
	return s.At
}

package trainlog

import (
	"bytes"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// uncoloured returns a line without the colours of terminals.
func uncoloured(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		return colour.ReplaceAll(line, nil)
	}
	return line
}

// longest is how long a time may be, ns: 200 days.
const longest = 1 << 54

// NewLines reads the lines of a log, and what progress bars write over each other as lines.
func NewLines(src io.Reader, name string, lim ingest.Limits) *ingest.Lines {
	return ingest.NewLines(&carriage{r: src}, name, lim, nil)
}

// carriage reads carriage returns, which progress bars write instead of ends of lines, as ends of lines.
type carriage struct{ r io.Reader }

func (c *carriage) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, '\r')
		if i < 0 {
			return n, err
		}
		if i+1 < len(rest) && rest[i+1] != '\n' {
			rest[i] = '\n'
		}
		rest = rest[i+1:]
	}
}

// lineReader reads the lines of one log.
type lineReader struct {
	b          *Builder
	dialects   *Dialects
	file, host string
	rank       int
	at         int64 // number of the line
	step       int64 // of the line before, for timers
	block      block // of timers, that is open
	profiled   profiled
	x          reading
}

// mostOfLine is how much of a line is read.
const mostOfLine = 1 << 14

// parse reads a line by the first dialect that can; false where it says nothing of a step.
func (d *Dialects) parse(line []byte, has *ingest.Has, x *reading) bool {
	for _, d := range d.list {
		if !d.knows(has) {
			continue
		}
		if x.d = d; d.Skip {
			return false
		}
		if x.read(line) {
			return true
		}
	}
	return false
}

func hasAny(line []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(line, []byte(w)) })
}

// pairs reads what own loops print: a step, and names with times.
func (x *reading) pairs(line []byte) bool {
	step, ok := stepOf(line)
	if !ok {
		return false
	}
	x.step, x.epoch = step, epochOf(line)
	if x.named(line, nextTiming); len(x.times) == 0 && x.stamp < 0 {
		x.named(line, nextSpaced)
	}
	x.validation = len(x.times) > 0 && isValidation(line)
	return len(x.times) > 0 || x.stamp >= 0
}

// named takes the times that have a known name.
func (x *reading) named(line []byte, next func([]byte, int) (timing, int)) {
	for from := 0; ; {
		var t timing
		if t, from = next(line, from); from < 0 {
			return
		}
		of, unit, known := x.d.stageOf(t.name)
		if !known || x.has(of) {
			continue
		}
		if unit == "" {
			unit = t.unit
		}
		ns, ok := nanoseconds(string(t.number), unit)
		switch {
		case !ok:
		case of == ofClock:
			x.stamp = ns
		default:
			x.assumed = x.assumed || unit == ""
			x.times = append(x.times, measured{of, ns})
		}
	}
}

// stageOf is the stage of a time's name, of which words that belong to something else may stand before and a unit
// behind.
func (d *dialect) stageOf(name []byte) (of, unit string, known bool) {
	var buffer [64]byte // longer than any name that is known
	words := buffer[:0]
	for i := len(name); i > 0 && len(words) < len(buffer); i-- {
		c := name[i-1]
		switch {
		case c != ' ' && c != '_' && c != '/':
			words = append(words, lower(c))
		case len(words) > 0 && words[len(words)-1] != '_':
			words = append(words, '_')
		}
	}
	slices.Reverse(words)
	words = bytes.TrimPrefix(words, []byte("_"))
	for _, u := range [...]string{"ms", "us", "ns", "s"} {
		if n := len(words) - len(u) - 1; n >= 0 && words[n] == '_' && string(words[n+1:]) == u {
			words, unit = words[:n], u
			break
		}
	}
	for from := 0; ; from++ {
		if of, known = d.Names[string(words[from:])]; known {
			return of, unit, of != ofNone
		}
		next := bytes.IndexByte(words[from:], '_')
		if next < 0 {
			return "", "", false
		}
		from += next
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// nanoseconds reads a time.
func nanoseconds(number, unit string) (int64, bool) {
	scale := 1e9
	switch unit {
	case "ms":
		scale = 1e6
	case "us":
		scale = 1e3
	case "ns":
		scale = 1
	}
	x, err := strconv.ParseFloat(number, 64)
	if x *= scale; err != nil || !(x < longest) {
		return 0, false
	}
	return int64(math.Round(x)), true
}

// line takes a line.
func (l *lineReader) line(line []byte) error {
	if l.b.Also != nil {
		l.b.Also(line, l.at)
	}
	line = uncoloured(line[:min(len(line), mostOfLine)])
	if l.b.Columns != nil {
		if rank, ok := l.b.Columns.read(line, &l.x); ok {
			if rank < 0 {
				rank = l.rank
			}
			return l.keep(rank)
		}
	}
	has := l.dialects.words.In(line)
	if done, err := l.timerLine(line, has.All(&l.dialects.timers)); done {
		return err
	}
	if done, err := l.profilerLine(line, has.All(&l.dialects.table)); done {
		return err
	}
	x := &l.x
	if !l.dialects.parse(line, &has, x) {
		return nil
	}
	return l.keep(l.rankOf(line))
}

// keep keeps what was read in a line, of a rank.
func (l *lineReader) keep(rank int) error {
	x := &l.x
	t, err := l.b.trackOf(&l.b.tracks, l, rank, x.validation)
	if err != nil {
		return err
	}
	step := x.step
	if step >= 0 {
		step = t.unrolled(x)
		l.step = step
	}
	if l.b.Stepped != nil && !x.validation {
		l.b.Stepped(step)
	}
	if x.stamp >= 0 {
		x.times = append(x.times, measured{ofClock, x.stamp})
		t.resolution = max(t.resolution, x.resolution)
	}
	t.mean, t.smooth, t.assumed = t.mean || x.d.Mean, t.smooth || x.d.Smooth, t.assumed || x.assumed
	return l.b.add(t, x.d, step, x.times)
}

// rankOf is the rank that a line or the file's name tells, −1 where neither does.
func (l *lineReader) rankOf(line []byte) int {
	line = line[:min(len(line), 1<<12)]
	if p := l.b.Rank; p != nil {
		if m := p.FindSubmatch(line); len(m) > 1 {
			at := max(1, p.SubexpIndex("rank"))
			if n := len(m[at]); n > 0 && n <= 7 && skip(m[at], 0, isDigit) == n {
				return int(wholeNumber(m[at]))
			}
		}
		return l.rank
	}
	if told, ok := rankIn(line); ok {
		return told
	}
	if told, ok := launcherRank(line); ok && l.rank < 0 {
		return told
	}
	return l.rank
}

// errUnranked says that several logs do not tell their ranks.
func errUnranked() error {
	return input.Bad(input.ErrMissing, "neither a line nor the name of the file tells the rank: name it rank_RANK.log, or say where the rank stands with --rank-pattern")
}

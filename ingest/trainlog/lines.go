package trainlog

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// maxTime is the longest time, ns: 200 days.
const maxTime = 1 << 54

// lineReader reads the lines of one log.
type lineReader struct {
	b          *Builder
	dialects   *Dialects
	file, host string
	rank       int
	at, bar    int64 // number of the line, and of the last that is a progress bar
	step       int64 // of the line before, for timers
	block      block // of timers, that is open
	profiled   profilerTable
	x          reading
	forms      *forms // nil: lines are not told by their forms
}

// maxLineBytes is how much of a line is read.
const maxLineBytes = 1 << 14

// parse reads a line by the first dialect that can; false where it says nothing of a step. Behind a progress bar, which ends no line, another
// line may stand: that counts.
func (d *Dialects) parse(line []byte, has *ingest.Has, x *reading) bool {
	if *has == (ingest.Has{}) {
		return false
	}
	x.all, x.has = d, *has
	var bar *dialect
	for _, d := range d.list {
		if !d.mayMatch(has) || bar != nil && d.Smooth {
			continue
		}
		if x.d = d; d.Skip {
			return false
		}
		switch read := x.read(line); {
		case read && d.Smooth:
			bar = d
		case read:
			return true
		}
	}
	if x.d = bar; bar == nil {
		return false
	}
	return x.read(line)
}

// pairs reads what own loops print: a step, and names with times.
func (x *reading) pairs(line []byte) bool {
	step, ok := stepOf(line)
	if x.has.ContainsAny(&x.all.epoch) {
		x.epoch = epochOf(line)
	}
	if !ok {
		var epoch int64
		if epoch, step, ok = counterOf(line); !ok {
			return false
		}
		if x.epoch < 0 {
			x.epoch = epoch
		}
	}
	x.step = step
	if x.take(line, nextTiming); len(x.times) == 0 && x.stamp < 0 {
		x.take(line, nextSpaced)
	}
	x.validation = len(x.times) > 0 && x.has.ContainsAny(&x.all.validation) && isValidation(line)
	return len(x.times) > 0 || x.stamp >= 0
}

// mostBeside is how many times a line has that count beside others alone.
const mostBeside = 8

// take takes the times that have a known name.
func (x *reading) take(line []byte, next func([]byte, int) (timing, int)) {
	var beside [mostBeside]measurement
	n, before := 0, len(x.times)
	for from := 0; ; {
		var t timing
		if t, from = next(line, from); from < 0 {
			break
		}
		of := x.stageOf(t.name)
		if !of.known && !of.weak || x.hasTime(of.of) {
			continue
		}
		unit := of.unit
		if unit == "" {
			unit = t.unit
		}
		ns, ok := nanoseconds(t.number, unit)
		switch {
		case !ok:
		case of.weak && unit == "":
			if n < mostBeside && bytes.IndexByte(t.number, '.') >= 0 {
				beside[n] = measurement{of.of, ns}
				n++
			}
		case of.of == ofClock:
			x.stamp = ns
		default:
			x.assumed = x.assumed || unit == ""
			x.times = append(x.times, measurement{of.of, ns})
		}
	}
	if n < 2 && len(x.times) == before {
		return
	}
	for _, m := range beside[:n] {
		if !x.hasTime(m.of) {
			x.assumed = true
			x.times = append(x.times, m)
		}
	}
}

const names, longestKept = 32, 24

// named is a name whose stage was looked up.
type named struct {
	d      *dialect
	name   [longestKept]byte
	length int
	nameMeaning
}

// nameMeaning is what a name means.
type nameMeaning struct {
	of, unit string
	known    bool
	weak     bool // it counts with a unit or beside others alone
}

// stageOf returns the stage of a name in the dialect, which is looked up once for the names of lines that follow each
// other.
func (x *reading) stageOf(name []byte) nameMeaning {
	if len(name) > longestKept {
		return x.d.stageOf(name)
	}
	n := &x.names[(7*len(name)+int(name[0])+3*int(name[len(name)-1]))%names]
	if n.d != x.d || n.length != len(name) || string(n.name[:n.length]) != string(name) {
		n.d, n.length = x.d, copy(n.name[:], name)
		n.nameMeaning = x.d.stageOf(name)
	}
	return n.nameMeaning
}

// stageOf returns what a name means in the dialect.
func (d *dialect) stageOf(name []byte) (m nameMeaning) {
	if m.of, m.unit, m.known = stageOf(d.Names, name); !m.known {
		m.of, m.unit, m.weak = stageOf(d.Beside, name)
	}
	return m
}

// stageOf returns the stage of a time's name among some, of which words that belong to something else may stand before and a unit
// behind.
func stageOf(names map[string]string, name []byte) (of, unit string, known bool) {
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
		if of, known = names[string(words[from:])]; known {
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
func nanoseconds(number []byte, unit string) (int64, bool) {
	scale := 1e9
	switch unit {
	case "ms":
		scale = 1e6
	case "us":
		scale = 1e3
	case "ns":
		scale = 1
	}
	x, ok := decimal(number)
	if x *= scale; !ok || !(x < maxTime) {
		return 0, false
	}
	return int64(math.Round(x)), true
}

// tens are the powers of ten that a float64 has exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// decimal returns the float64 next to a number, as strconv does. Up to 15 digits, point or not, are a quotient of two exact values.
func decimal(number []byte) (x float64, ok bool) {
	n, digits, point := uint64(0), 0, -1
	for i, c := range number {
		switch {
		case isDigit(c):
			n = 10*n + uint64(c-'0')
			digits++
		case c == '.' && point < 0:
			point = i
		default:
			digits = len(tens)
		}
		if digits >= len(tens) {
			x, err := strconv.ParseFloat(string(number), 64)
			return x, err == nil
		}
	}
	if digits == 0 {
		return 0, false
	}
	if point < 0 {
		return float64(n), true
	}
	return float64(n) / tens[len(number)-1-point], true
}

// line takes a line.
func (l *lineReader) line(line []byte) error {
	if l.forms == nil || len(line) > mostFormed || l.block.open || l.profiled.open {
		return l.unknownLine(line)
	}
	if one := l.forms.find(line); one != nil {
		rank, ok := 0, false
		if one.says {
			if rank, ok = l.forms.read(line, one, &l.x); !ok {
				return l.unknownLine(line)
			}
		}
		for i := range l.b.Also {
			l.b.Also[i].Line(line, l.at, false)
		}
		if !one.says {
			return nil
		}
		return l.keep(rank)
	}
	l.forms.learn(l, line)
	return l.unknownLine(line)
}

// unknownLine takes a line of a form that is not known.
func (l *lineReader) unknownLine(line []byte) error {
	whole := line
	line = line[:min(len(line), maxLineBytes)]
	has := l.dialects.words.Find(line)
	for i := range l.b.Also {
		l.b.Also[i].Line(whole, l.at, l.dialects.listened == nil || has.ContainsAny(&l.dialects.listened[i]))
	}
	if l.b.Columns != nil {
		if rank, ok := l.b.Columns.read(line, &l.x); ok {
			if rank < 0 {
				rank = l.rank
			}
			return l.keep(rank)
		}
	}
	if done, err := l.timerLine(line, has.ContainsAll(&l.dialects.timers)); done {
		return err
	}
	if done, err := l.profilerLine(line, has.ContainsAll(&l.dialects.table)); done {
		return err
	}
	x := &l.x
	if !l.dialects.parse(line, &has, x) {
		return nil
	}
	return l.keep(l.rankOf(line, &has))
}

// keep keeps what was read in a line, of a rank.
func (l *lineReader) keep(rank int) error {
	x := &l.x
	t, err := l.b.trackOf(&l.b.tracks, l, track{rank: rank, validation: x.validation, smooth: x.d.Smooth})
	if err != nil {
		return err
	}
	step := x.step
	if step >= 0 {
		step = t.continuedStep(x)
		l.step = step
	}
	if l.b.Stepped != nil && !x.validation {
		l.b.Stepped(step)
	}
	if x.d.Smooth {
		l.bar = l.at
	}
	if x.stamp >= 0 {
		x.times = append(x.times, measurement{ofClock, x.stamp})
		t.resolution = max(t.resolution, x.resolution)
	}
	t.mean, t.sum, t.assumed = t.mean || x.d.Mean, t.sum || x.d.Sum, t.assumed || x.assumed
	return l.b.add(t, x.d, step, x.times)
}

// rankOf returns the rank that a line or the file's name tells, −1 where neither does.
func (l *lineReader) rankOf(line []byte, has *ingest.Has) int {
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
	if has.ContainsAny(&l.dialects.rank) {
		if told, ok := rankIn(line); ok {
			return told
		}
	}
	if told, ok := launcherRank(line); ok && l.rank < 0 {
		return told
	}
	return l.rank
}

// errUnranked returns the error that several logs do not tell their ranks.
func errUnranked() error {
	return input.Bad(input.ErrMissing, "neither a line nor the name of the file tells the rank: name it rank_RANK.log, or say where the rank stands with --rank-pattern")
}

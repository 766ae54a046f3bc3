package trainlog

import (
	"bytes"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/ingest"
)

// Lines of a log are alike but for their numbers. What they say is found once for all lines of a form, which is a text with any digits in
// place of its numbers: each number is changed in turn and the line read again, so that whatever dialect reads it, the numbers that tell a
// step, a rank or a time are known. A form is not known in which one of these depends on several numbers.

const (
	mostKept     = 32      // that are known at a time
	mostFormed   = 1 << 11 // bytes of a line
	mostNumbers  = 32      // of a line
	linesOfForm  = 200     // lines that must be read for one whose form is found, which takes as long as some tens of them
	formsAtFirst = 16      // that are found without these
	mostSeen     = 1 << 8  // forms of lines that are known to be there
)

// lengths are how many digits readers take of ranks, clocks, epochs, counters and steps.
var lengths = [...]int{6, 7, 9, 12, 15}

// mostDigits are those of the longest time that readers take, in whatever unit.
var mostDigits = strconv.Itoa(maxTime)

// lengthOf returns how many of the lengths a number exceeds, twice, and one more where it has the digits of a time that is too long.
func lengthOf(digits []byte) (class uint8) {
	n := len(digits)
	if n <= lengths[0] {
		return 0
	}
	for int(class) < len(lengths) && n > lengths[class] {
		class++
	}
	class *= 2
	if n <= len(mostDigits) && string(digits) >= mostDigits[:n] {
		class++
	}
	return class
}

// forms are those of the lines of a log that came last.
type forms struct {
	list   []*form
	last   *form // of this line, nil: it is not known
	before *form // of the line before
	from   int   // the one that is replaced next
	credit int
	seen   [mostSeen]uint64 // hashes of forms
	at     [mostNumbers]span
	probe  reading
}

// form is that of a line.
type form struct {
	pieces []formPiece
	next   *form // of the line behind one of this form, the last time
	says   bool  // a step or a time
	d      *dialect
	valued []numberMeaning // rank, step, steps, epoch, clock, and times

	validation, assumed bool
}

// formPiece is text and what stands behind it.
type formPiece struct {
	text   []byte
	blanks bool  // more than the one that ends the text may follow
	digits bool  // a number follows
	length uint8 // of that, as lengthOf has it
	slash  bool  // the text is one, as in a counter
	ratio  ratio // of the numbers beside it
}

// numberMeaning is what a number of a line says, or all lines of its form.
type numberMeaning struct {
	of          string // of a time
	first, last int    // number, which may have a point or an exponent in it; −1: all say the same
	value       int64  // that; ns of a time
	unit        hole   // of a time; stepNumber of others
}

// what of a line is valued before its times.
const (
	valueRank = iota
	valueStep
	valueSteps
	valueEpoch
	valueStamp
	valuesBefore
)

// newForms returns a list of none.
func newForms() *forms { return &forms{credit: formsAtFirst * linesOfForm} }

// usesForms reports whether lines may be told by their forms: numbers say nothing in them but ranks, steps and times where their dialects
// have them.
func (b *Builder) usesForms() bool {
	return b.Columns == nil && b.Rank == nil && !b.dialects.hasDigits() && (len(b.Also) == 0 || b.dialects.listened != nil)
}

// hasDigits reports whether a number stands in what dialects, or listeners, search for.
func (d *Dialects) hasDigits() bool {
	for _, x := range d.list {
		texts := slices.Concat(x.Has, x.Any, x.Not, []string{x.Step, x.Or, x.Epoch}, slices.Collect(maps.Keys(x.Times)), slices.Collect(maps.Keys(x.Names)))
		if slices.ContainsFunc(texts, hasNumber) {
			return true
		}
	}
	return slices.ContainsFunc(d.heard, hasNumber)
}

// hasNumber reports whether a number stands in a text, not as the end of a word.
func hasNumber(text string) bool {
	for i := range len(text) {
		if isDigit(text[i]) && (i == 0 || !isWord(text[i-1])) {
			return true
		}
	}
	return false
}

// formOf splits a line at its numbers; nil with too many numbers, or one too large for any use. Digits that continue a
// word, and digits of an exponent, are text.
func formOf(line []byte) (pieces []formPiece) {
	from, before := 0, span{}
	for at := 0; at < len(line); {
		if !isDigit(line[at]) {
			at++
			continue
		}
		end := skip(line, at, isDigit)
		exponent := isExponent(line[:at])
		if exponent && line[at-1] == '+' && (end-at > 2 || line[at] != '0' || line[end-1] > '5') {
			return nil
		}
		if at == 0 || !isWord(line[at-1]) && !exponent {
			if len(pieces) == mostNumbers {
				return nil
			}
			blanks := skipBack(line[:at], at, func(c byte) bool { return c == ' ' })
			p := formPiece{text: bytes.Clone(line[from:at]), digits: true, length: lengthOf(line[at:end])}
			if blanks = max(blanks, from); blanks < at {
				p.text, p.blanks = p.text[:blanks+1-from], true
			}
			p.slash = isSlash(p.text)
			if p.slash {
				p.ratio = ratioOf(line[before.from:before.to], line[at:end])
			}
			pieces, from, before = append(pieces, p), end, span{at, end}
		}
		at = end
	}
	return append(pieces, formPiece{text: bytes.Clone(line[from:])})
}

// isExponent reports whether an exponent follows a text.
func isExponent(text []byte) bool {
	n := len(text)
	return n > 2 && (text[n-1] == '-' || text[n-1] == '+') && text[n-2]|0x20 == 'e' && isDigit(text[n-3])
}

// isSlash reports whether a text is one, between blanks or not.
func isSlash(text []byte) bool { return len(text) <= 3 && string(bytes.Trim(text, " ")) == "/" }

// ratio is what counters do not have: more than there are, and fewer than two of all.
type ratio struct{ over, few bool }

// ratioOf returns the ratio of a number to another.
func ratioOf(n, of []byte) ratio {
	n, of = bytes.TrimLeft(n, "0"), bytes.TrimLeft(of, "0")
	return ratio{over: len(n) > len(of) || len(n) == len(of) && string(n) > string(of), few: len(of) == 0 || string(of) == "1"}
}

// fits reports whether a line has the form, and where its numbers are.
func (f *form) fits(line []byte, at *[mostNumbers]span) bool {
	n := 0
	for i := range f.pieces {
		p := &f.pieces[i]
		if end := n + len(p.text); end > len(line) || string(line[n:end]) != string(p.text) {
			return false
		}
		n += len(p.text)
		if !p.digits {
			break
		}
		if p.blanks {
			for n < len(line) && line[n] == ' ' {
				n++
			}
		}
		from := n
		for n < len(line) && isDigit(line[n]) {
			n++
		}
		if n == from || (n-from > lengths[0] || p.length > 0) && lengthOf(line[from:n]) != p.length || i > 0 && p.slash && ratioOf(line[at[i-1].from:at[i-1].to], line[from:n]) != p.ratio {
			return false
		}
		at[i] = span{from, n}
	}
	return n == len(line)
}

// find returns the form of a line, nil where it is not known.
func (f *forms) find(line []byte) *form {
	f.credit++
	f.before = f.last
	likely := (*form)(nil)
	if f.before != nil {
		likely = f.before.next
	}
	found := likely
	if likely == nil || !likely.fits(line, &f.at) {
		found = nil
		for _, one := range f.list {
			if one != likely && one.fits(line, &f.at) {
				found = one
				break
			}
		}
	}
	if f.before != nil && found != nil {
		f.before.next = found
	}
	f.last = found
	return found
}

// read reads a line of the form that was found; false where a number is none that a line of the form has.
func (f *forms) read(line []byte, form *form, x *reading) (rank int, ok bool) {
	var values [valuesBefore]int64
	x.times = x.times[:0]
	for i := range form.valued {
		v := &form.valued[i]
		value, ok := v.valueIn(line, &f.at)
		if !ok {
			return 0, false
		}
		if i < valuesBefore {
			values[i] = value
		} else {
			x.times = append(x.times, measurement{v.of, value})
		}
	}
	x.d, x.validation, x.assumed, x.resolution = form.d, form.validation, form.assumed, 0
	x.step, x.steps, x.epoch, x.stamp = values[valueStep], values[valueSteps], values[valueEpoch], values[valueStamp]
	return int(values[valueRank]), true
}

// valueIn returns the value in a line whose numbers stand at some places; false where it is none.
func (v *numberMeaning) valueIn(line []byte, at *[mostNumbers]span) (value int64, ok bool) {
	if v.first < 0 {
		return v.value, true
	}
	number := line[at[v.first].from:at[v.last].to]
	if v.unit == stepNumber {
		return wholeNumber(number), len(number) <= lengths[len(lengths)-1]
	}
	m := match{}
	ok = m.time(number, v.unit, "")
	return m.ns, ok
}

// statement is what was read in a line.
type statement struct {
	read                bool
	d                   *dialect
	validation, assumed bool
	times               []string // what they are of
	values              []int64  // as those of forms
}

// matches reports whether two lines say the same, but for the values.
func (s *statement) matches(as *statement) bool {
	return s.read == as.read && s.d == as.d && s.validation == as.validation && s.assumed == as.assumed && slices.Equal(s.times, as.times)
}

// statementOf returns what a line says; false where others read it.
func (l *lineReader) statementOf(line []byte, x *reading) (s statement, ok bool) {
	has, d := l.dialects.words.Find(line), l.dialects
	if has.ContainsAll(&d.timers) || has.ContainsAll(&d.table) || slices.ContainsFunc(d.listened, func(of ingest.Has) bool { return has.ContainsAny(&of) }) ||
		slices.ContainsFunc(d.list, func(one *dialect) bool { return one.Stamps && one.mayMatch(&has) }) {
		return s, false
	}
	if s.read = d.parse(line, &has, x); !s.read {
		return s, true
	}
	s.d, s.validation, s.assumed = x.d, x.validation, x.assumed
	s.values = []int64{valueRank: int64(l.rankOf(line, &has)), valueStep: x.step, valueSteps: x.steps, valueEpoch: x.epoch, valueStamp: x.stamp}
	for _, t := range x.times {
		s.times, s.values = append(s.times, t.of), append(s.values, t.ns)
	}
	return s, x.resolution == 0
}

// learn finds the form of a line, if it is not the first of it.
func (f *forms) learn(l *lineReader, line []byte) {
	if f.credit < linesOfForm || len(line) > mostFormed {
		return
	}
	pieces := formOf(line)
	if pieces == nil || !f.recurs(pieces) {
		return
	}
	f.credit -= linesOfForm
	one := &form{pieces: pieces}
	base, ok := l.statementOf(line, &f.probe)
	if !ok || !one.fits(line, &f.at) || !f.value(one, &base, l, line) {
		return
	}
	one.d, one.says, one.validation, one.assumed = base.d, base.read, base.validation, base.assumed
	if len(f.list) < mostKept {
		f.list = append(f.list, one)
	} else {
		f.list[f.from] = one
		f.from = (f.from + 1) % mostKept
	}
	if f.last = one; f.before != nil {
		f.before.next = one
	}
}

// recurs reports whether a form was seen before.
func (f *forms) recurs(pieces []formPiece) bool {
	h := fnv.New64a()
	for i := range pieces {
		h.Write(pieces[i].text)
		h.Write([]byte{pieces[i].length})
	}
	sum := h.Sum64()
	slot := &f.seen[sum%mostSeen]
	again := *slot == sum
	*slot = sum
	return again
}

// probes are by how much digits are changed.
var probes = [...]byte{1, 4}

// value finds which numbers of a line of a form say what; false where that is not known.
func (f *forms) value(one *form, base *statement, l *lineReader, line []byte) bool {
	n, at := len(one.pieces)-1, f.at
	changed := make([][]bool, len(base.values)) // [value][number]
	for i := range changed {
		changed[i] = make([]bool, n)
		one.valued = append(one.valued, numberMeaning{first: -1, value: base.values[i], unit: stepNumber})
		if i >= valuesBefore {
			one.valued[i].of = base.times[i-valuesBefore]
		}
	}
	var texts [][]byte
	var said []statement
	for k := range n {
		for _, by := range probes {
			text := bytes.Clone(line)
			for i, c := range text[at[k].from:at[k].to] {
				text[at[k].from+i] = '1' + (c-'0'+by)%9
			}
			s, ok := l.statementOf(text, &f.probe)
			if !ok || !s.matches(base) {
				return false
			}
			for i, v := range s.values {
				changed[i][k] = changed[i][k] || v != base.values[i]
			}
			texts, said = append(texts, text), append(said, s)
		}
	}
	texts, said = append(texts, line), append(said, *base)
	for i := range one.valued {
		if !one.valued[i].place(changed[i]) || one.valued[i].first >= 0 && !one.valued[i].findUnit(i, texts, said, &at) {
			return false
		}
	}
	return true
}

// place finds the numbers that change a value, which must follow one another.
func (v *numberMeaning) place(changed []bool) bool {
	v.first = slices.Index(changed, true)
	if v.first < 0 {
		return true
	}
	v.last = v.first
	for v.last+1 < len(changed) && changed[v.last+1] {
		v.last++
	}
	return !slices.Contains(changed[v.last+1:], true)
}

// findUnit finds the unit in which numbers are value i of all lines; false: there is none.
func (v *numberMeaning) findUnit(i int, texts [][]byte, said []statement, at *[mostNumbers]span) bool {
	units := []hole{stepNumber}
	if i >= valueStamp {
		units = []hole{inSeconds, inMillis, inMicros, perSecond}
	}
	for _, v.unit = range units {
		if v.unit == stepNumber && v.first != v.last {
			return false
		}
		differs := false
		for k := range texts {
			value, ok := v.valueIn(texts[k], at)
			differs = differs || !ok || value != said[k].values[i]
		}
		if !differs {
			return true
		}
	}
	return false
}

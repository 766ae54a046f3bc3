package trainlog

import (
	"bytes"
	"slices"
	"unicode"

	"github.com/sfstat/sfstat/ingest"
)

// severalSteps is how many lines with steps a head of a table of them stands for.
const severalSteps = 3

// nearestWithin is how many lines are searched for one with a time and no step.
const nearestWithin = 10_000

// Recogniser looks through a text for lines with times of steps.
type Recogniser struct {
	Steps   int     // lines that have them
	Nearest Nearest // the line that comes closest, where there is none

	dialects *Dialects
	x        reading
	forms    map[string]int // how many lines have a form
}

// mostForms is how many forms of lines are counted.
const mostForms = 1 << 10

// Nearest is a line that is nearly one with the time of a step.
type Nearest struct {
	Line  int64 // 0: there is none
	Lacks Lack
	Text  []byte
}

// Lack is what a line lacks.
type Lack uint8

const (
	LacksAll          Lack = iota
	LacksBoth              // it has numbers, as others of its form do
	LacksStep              // it has a time under a name that is known
	LacksTime              // it has the number of a step
	LacksTimeButStamp      // it has the number of a step, and the stamp of its line
	LacksName              // it has the number of a step and a time, under no name that is known
)

// Recogniser returns a recogniser of these dialects, and of those that are built in.
func (d *Dialects) Recogniser() *Recogniser { return &Recogniser{dialects: d.joinBuiltin()} }

// Recognise reports whether text, the beginning of a file, is a log with times of steps.
func Recognise(text []byte) bool {
	r := (*Dialects)(nil).Recogniser()
	for line := range ingest.TerminalLines(text) {
		if r.Line(line, 0); r.Steps > 0 {
			return true
		}
		if text[0] == '{' {
			return false // JSON: a log has a line for each step
		}
	}
	return false
}

// Line looks at the line of a number, of a log that is read as [ingest.NewTerminalLines] does.
func (r *Recogniser) Line(line []byte, number int64) {
	line = line[:min(len(line), maxLineBytes)]
	has := r.dialects.words.Find(line)
	switch {
	case has.ContainsAll(&r.dialects.timers) && timersHead.Match(line), has.ContainsAll(&r.dialects.table):
		r.Steps += severalSteps
		return
	case r.dialects.parse(line, &has, &r.x) && (len(r.x.times) > 0 || r.x.stamp >= 0):
		r.Steps++
		return
	}
	if !has.ContainsAny(&r.dialects.steps) && number > nearestWithin || r.Steps > 0 || r.Nearest.Lacks == LacksName || r.x.d != nil && r.x.d.Skip {
		return
	}
	lacks := r.lack(line, &has)
	if lacks == LacksAll && r.Nearest.Lacks == LacksAll && r.recurs(line) {
		lacks = LacksBoth
	}
	if lacks > r.Nearest.Lacks {
		r.Nearest = Nearest{Line: number, Lacks: lacks, Text: bytes.Clone(bytes.TrimSpace(line[:min(len(line), 200)]))}
	}
}

// ReadsParts reports whether the last line had times of parts of its step, and not of the whole alone.
func (r *Recogniser) ReadsParts() bool {
	return slices.ContainsFunc(r.x.times, func(m measurement) bool { return m.of != ofStep })
}

// recurs reports whether a line has two numbers or more, and is the third of a form: what is left of it without digits.
func (r *Recogniser) recurs(line []byte) bool {
	form, numbers := make([]byte, 0, 200), 0
	for i, c := range line[:min(len(line), 200)] {
		switch {
		case !isDigit(c):
			form = append(form, c)
		case i == 0 || !isDigit(line[i-1]):
			numbers++
		}
	}
	if numbers < 2 || len(bytes.TrimSpace(form)) < 3 || !bytes.ContainsFunc(form, unicode.IsLetter) {
		return false
	}
	n, counted := r.forms[string(form)]
	if !counted && len(r.forms) >= mostForms {
		return false
	}
	if r.forms == nil {
		r.forms = map[string]int{}
	}
	r.forms[string(form)] = n + 1
	return n+1 == severalSteps
}

// lack names what a line lacks.
func (r *Recogniser) lack(line []byte, has *ingest.Has) Lack {
	named, step := hasTime(line), false
	if has.ContainsAny(&r.dialects.steps) {
		_, step = stepOf(line)
	}
	switch {
	case step && named:
		return LacksName
	case step:
		if at, _ := stampOf(line); at >= 0 {
			return LacksTimeButStamp
		}
		return LacksTime
	case named:
		return LacksStep
	}
	return LacksAll
}

// hasTime reports whether a line has a number that is a time, by its name or its unit.
func hasTime(line []byte) bool {
	for from := 0; ; {
		var t timing
		if t, from = nextTiming(line, from); from < 0 {
			break
		}
		if t.unit != "" || bytes.Contains(bytes.ToLower(t.name), []byte("time")) {
			return true
		}
	}
	for at := 0; at < len(line); {
		if !isDigit(line[at]) || at > 0 && (isWord(line[at-1]) || line[at-1] == '.') {
			at++
			continue
		}
		end := numberEnd(line, at)
		word := skip(line, end, isSpace)
		at = skip(line, word, isLetter)
		if unitOf(line[word:at], len("seconds")) != "" && (at == len(line) || !isWord(line[at])) {
			return true
		}
		at = max(at, end)
	}
	return false
}

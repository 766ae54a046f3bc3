package trainlog

import (
	"bytes"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/input"
)

// hole is what stands at a place of a pattern.
type hole uint8

const (
	noHole  hole = iota // the text itself
	blanks              // any number of blanks, none too
	anyText             // a number that is not needed
	stepNumber
	stepsNumber // how many steps an epoch has
	epochNumber
	timeName
	inSeconds
	inMillis
	inMicros
	perSecond // steps per second
	inClock   // hours, minutes and seconds, 1:02:03
)

var holes = map[string]hole{"": anyText, "step": stepNumber, "steps": stepsNumber, "epoch": epochNumber, "name": timeName, "s": inSeconds, "ms": inMillis, "us": inMicros,
	"its": perSecond, "hms": inClock}

// isTime reports whether a time, or what tells one, stands in a hole.
func (h hole) isTime() bool { return h >= inSeconds }

// part is a text, or a hole, of a pattern.
type part struct {
	hole hole
	text []byte
}

// pattern is where something stands in a line: "iter: {step}/" or "{s} sec/step". A pattern that begins with a word does
// not match in the middle of one.
type pattern struct{ parts []part }

// parsePattern returns the pattern of a text.
func parsePattern(text string) (*pattern, error) {
	p := &pattern{}
	for rest := text; rest != ""; {
		switch c := rest[0]; {
		case c == '{':
			name, after, closed := strings.Cut(rest[1:], "}")
			h, known := holes[name]
			if !closed || !known {
				return nil, input.Bad(input.ErrFormat, "the pattern %q has %.20q, expected {s}, {ms}, {us}, {hms}, {its}, {step}, {steps}, {epoch}, {name} or {}", text, rest)
			}
			p.parts, rest = append(p.parts, part{hole: h}), after
		case isSpace(c):
			if len(p.parts) > 0 { // a word begins where none goes on
				p.parts = append(p.parts, part{hole: blanks})
			}
			rest = strings.TrimLeft(rest, " \t")
		default:
			n := strings.IndexAny(rest, "{ \t")
			if n < 0 {
				n = len(rest)
			}
			p.parts, rest = append(p.parts, part{text: []byte(rest[:n])}), rest[n:]
		}
	}
	if p.anchor() < 0 {
		return nil, input.Bad(input.ErrFormat, "the pattern %q has no text beside its numbers", text)
	}
	if p.anchor() > 0 && (len(p.parts) < 2 || !p.parts[0].hole.isTime()) {
		return nil, input.Bad(input.ErrFormat, "the pattern %q begins with a number that is no time: put the text before it", text)
	}
	return p, nil
}

// anchor returns the first part that is text, which is searched for; −1: there is none.
func (p *pattern) anchor() int {
	for i := range p.parts {
		if p.parts[i].hole == noHole {
			return i
		}
	}
	return -1
}

// hasHole reports whether a hole is in the pattern.
func (p *pattern) hasHole(h hole) bool {
	for i := range p.parts {
		if p.parts[i].hole == h {
			return true
		}
	}
	return false
}

// shortestNeeded is the shortest text of a pattern that is searched for together with the words of dialects.
const shortestNeeded = 3

// needs returns the words without which the pattern finds nothing, and has them searched for while there is room.
func (p *pattern) needs(words *ingest.Words) (h ingest.Has) {
	for _, part := range p.parts {
		if len(part.text) >= shortestNeeded {
			one, _ := words.Set(string(part.text))
			h.Join(&one)
		}
	}
	return h
}

// match is what a pattern found.
type match struct {
	step, steps, epoch int64
	name               []byte
	ns                 int64 // of the time
	end                int   // behind it
}

// find returns the first match from a place on.
func (p *pattern) find(line []byte, from int) (m match, ok bool) {
	a := p.anchor()
	text := p.parts[a].text
	for at := from; ; at++ {
		i := bytes.Index(line[at:], text)
		if i < 0 {
			return m, false
		}
		at += i
		m = match{step: -1, steps: -1, epoch: -1}
		switch {
		case a > 0:
			ok = m.timeBefore(line, at, p.parts[:a]) && m.matchRest(line, at+len(text), p.parts[a+1:])
		case at > 0 && isWord(text[0]) && isWord(line[at-1]):
			ok = false
		default:
			ok = m.matchRest(line, at+len(text), p.parts[1:])
		}
		if ok {
			return m, true
		}
	}
}

// timeBefore matches a time, and blanks behind it, that end at a place.
func (m *match) timeBefore(line []byte, end int, parts []part) bool {
	if len(parts) > 1 {
		end = skipBack(line, end, isSpace)
	}
	begin := skipBack(line, end, func(c byte) bool { return isDigit(c) || c == '.' })
	if begin > 0 && isWord(line[begin-1]) {
		return false
	}
	return m.time(line[begin:end], parts[0].hole, "")
}

// matchRest matches the parts of a pattern from a place on.
func (m *match) matchRest(line []byte, at int, parts []part) bool {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.hole == noHole:
			if !bytes.HasPrefix(line[at:], p.text) {
				return false
			}
			at += len(p.text)
		case p.hole == blanks:
			at = skip(line, at, isSpace)
		case p.hole == timeName:
			end := skip(line, at, isName)
			if end == at || !isLetter(line[at]) {
				return false
			}
			m.name, at = line[at:end], end
		case p.hole.isTime():
			return m.timeAt(line, at, p.hole, parts[i+1:])
		default:
			end := skip(line, at, isDigit)
			if end == at || end-at > 15 {
				return false
			}
			n := wholeNumber(line[at:end])
			switch p.hole {
			case stepNumber:
				m.step = n
			case stepsNumber:
				m.steps = n
			case epochNumber:
				m.epoch = n
			case anyText:
			}
			at = end
		}
	}
	m.end = at
	return true
}

// timeAt matches a time at a place, with a unit that the line may say, and the parts behind it.
func (m *match) timeAt(line []byte, at int, unit hole, behind []part) bool {
	if unit == inClock {
		end, ok := 0, false
		if m.ns, end, ok = clockAt(line, at); !ok {
			return false
		}
		return m.matchRest(line, end, behind)
	}
	end := numberEnd(line, at)
	if end == at {
		return false
	}
	number := line[at:end]
	next := skip(line, end, isSpace)
	word := skip(line, next, isLetter)
	said := unitOf(line[next:word], len("seconds"))
	if len(behind) > 0 && m.matchRest(line, end, behind) {
		return m.time(number, unit, "")
	}
	if said != "" && (word == len(line) || !isWord(line[word])) {
		return m.matchRest(line, word, behind) && m.time(number, unit, said)
	}
	return len(behind) == 0 && (end == len(line) || !isWord(line[end])) && m.matchRest(line, end, nil) && m.time(number, unit, "")
}

// time takes a time, in the unit that the line says, else that of the pattern.
func (m *match) time(number []byte, unit hole, said string) (ok bool) {
	if unit == perSecond {
		ns, ok := nanoseconds(number, "s")
		if !ok || ns <= 0 {
			return false
		}
		m.ns = int64(1e18 / float64(ns))
		return m.ns < maxTime
	}
	if said == "" {
		switch unit {
		case inMillis:
			said = "ms"
		case inMicros:
			said = "us"
		default:
			said = "s"
		}
	}
	m.ns, ok = nanoseconds(number, said)
	return ok
}

// clockAt reads a time in hours, minutes and seconds, or minutes and seconds, ns, and where it ends.
func clockAt(line []byte, at int) (ns int64, end int, ok bool) {
	seconds, parts := int64(0), 0
	for ; parts < 3; parts++ {
		end = skip(line, at, isDigit)
		if end == at || end-at > 6 {
			return 0, at, false
		}
		seconds = 60*seconds + wholeNumber(line[at:end])
		if end+1 >= len(line) || line[end] != ':' || !isDigit(line[end+1]) {
			break
		}
		at = end + 1
	}
	return seconds * int64(time.Second), end, parts > 0 && parts < 3
}

func isName(c byte) bool { return isWord(c) || c == '-' || c == '/' || c == '.' }

// numberEnd returns where a number ends that begins at a place; the place itself where none does.
func numberEnd(line []byte, at int) int {
	end := skip(line, at, isDigit)
	if end == at {
		return at
	}
	if end+1 < len(line) && line[end] == '.' && isDigit(line[end+1]) {
		end = skip(line, end+1, isDigit)
	}
	if end < len(line) && line[end]|0x20 == 'e' {
		if digits := optional(line, end+1, "+-"); digits < len(line) && isDigit(line[digits]) {
			end = skip(line, digits, isDigit)
		}
	}
	return end
}

// wholeNumber returns the value of up to 15 digits.
func wholeNumber(digits []byte) (n int64) {
	for _, c := range digits {
		n = 10*n + int64(c-'0')
	}
	return n
}

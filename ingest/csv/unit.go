package csv

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Unit is what times are written in.
type Unit uint8

const (
	Unsaid Unit = iota // nanoseconds, unless the name of a column says another
	Nanoseconds
	Microseconds
	Milliseconds
	Seconds
)

var (
	unitNames = [...]string{"", "ns", "us", "ms", "s"}
	unitWords = [...]string{"", "nanoseconds", "microseconds", "milliseconds", "seconds"}
)

// ParseUnit returns the unit of that name: ns, us, ms or s; "" is Unsaid.
func ParseUnit(name string) (Unit, error) {
	if i := slices.Index(unitNames[:], name); i >= 0 {
		return Unit(i), nil
	}
	return Unsaid, input.Bad(input.ErrType, "unit %q, expected ns, us, ms or s", name)
}

func (u Unit) String() string { return unitNames[u] }

// exponent returns the power of ten that makes nanoseconds of a unit.
func (u Unit) exponent() int { return 3 * (int(max(u, Nanoseconds)) - int(Nanoseconds)) }

// unitWord is a unit as names of columns have it.
const unitWord = `(ns|nsecs?|nanos|nanoseconds?|us|usecs?|µs|μs|micros|microseconds?|ms|msecs?|millis|milliseconds?|s|secs?|seconds?)`

// The places of a unit in a name: data_ms, data (ms), data [ms], data/ms, data.ms, data in ms; dataMs; data_ms_avg.
var (
	unitBehind = regexp.MustCompile(`(?i)^(.+?)[\s_./]+(?:in[\s_])?[(\[{<]?` + unitWord + `[)\]}>]?$`)
	unitClosed = regexp.MustCompile(`(?i)^(.+?)[(\[{<]\s*` + unitWord + `\s*[)\]}>]$`)
	unitCamel  = regexp.MustCompile(`^(.*[a-z0-9])(Ns|Us|Ms|Sec|Secs|Seconds|Millis|Milliseconds|Micros|Microseconds)$`)
	unitInside = regexp.MustCompile(`(?i)^(.+?)[\s_.]` + unitWord + `[\s_.](time|avg|mean|duration|elapsed)$`)
)

// unitOfWord returns the unit that a word says.
func unitOfWord(word string) Unit {
	switch word = strings.ToLower(word); {
	case word == "":
		return Unsaid
	case strings.HasPrefix(word, "n"):
		return Nanoseconds
	case strings.HasPrefix(word, "u") || strings.HasPrefix(word, "mic") || strings.HasPrefix(word, "µ") || strings.HasPrefix(word, "μ"):
		return Microseconds
	case strings.HasPrefix(word, "m"):
		return Milliseconds
	}
	return Seconds
}

// isUnit reports whether text is a unit and nothing else, in brackets or not.
func isUnit(text string) (Unit, bool) {
	text = strings.Trim(strings.TrimSpace(text), "()[]")
	if m := onlyUnit.FindStringSubmatch(text); m != nil {
		return unitOfWord(m[1]), true
	}
	return Unsaid, false
}

var onlyUnit = regexp.MustCompile(`(?i)^` + unitWord + `$`)

// splitUnit takes the unit off a name, as in data_ms.
func splitUnit(name string) (string, Unit) {
	if !mayEndInUnit(name) || isRate(name) {
		return name, Unsaid
	}
	for _, p := range []*regexp.Regexp{unitBehind, unitClosed, unitCamel, unitInside} {
		if m := p.FindStringSubmatch(name); m != nil {
			return strings.TrimRight(m[1], " _./"), unitOfWord(m[2])
		}
	}
	return name, Unsaid
}

// mayEndInUnit reports whether a name may end in a unit: its last letter ends a unit or its suffix, with text before it.
func mayEndInUnit(name string) bool {
	name = strings.TrimRight(name, ")]}> \t\r\n\v\f")
	return name != "" && strings.IndexByte("sScCdDeEgGnN", name[len(name)-1]) >= 0
}

// isRate reports whether a name is that of a rate.
func isRate(name string) bool {
	if strings.IndexByte(name, '/') < 0 {
		if i := strings.LastIndexByte(name, '_'); i < len("_per") || !strings.EqualFold(name[i-len("_per"):i], "_per") {
			return false
		}
	}
	return perSecond.MatchString(name)
}

// perSecond is the name of a rate.
var perSecond = regexp.MustCompile(`(?i)(?:_per_s|(?:img|imgs|images|it|its|iters?|steps?|tok|tokens?|samples?|seqs?|batch|batches|items?|gb|mb|gib|mib|b|flops)[ ]?/[ ]?s)(?:ec|econd)?$`)

// notes lists how the columns of a table were understood, where that is not
// plain.
func (l *layout) notes() []input.Note {
	var notes []input.Note
	for unit := Microseconds; unit <= Seconds; unit++ {
		if columns := l.units[unit]; columns != nil {
			notes = append(notes, input.Note{Kind: input.NoteUnits, Text: fmt.Sprintf("times are in %s, by the names of the columns: %s", unit, strings.Join(quoteNames(columns), ", "))})
		}
	}
	if l.texts != nil {
		notes = append(notes, input.Note{Kind: input.NoteColumnsIgnored, Text: fmt.Sprintf("columns without times are left out: %s", strings.Join(quoteNames(l.texts), ", "))})
	}
	if l.clocks != nil {
		notes = append(notes, input.Note{Kind: input.NoteColumnsIgnored, Text: fmt.Sprintf("columns that say when, and not how long, are left out: %s", strings.Join(quoteNames(l.clocks), ", "))})
	}
	if l.ignored != nil {
		notes = append(notes, input.Note{Kind: input.NoteColumnsIgnored, Text: fmt.Sprintf("columns that are no stages, by their names, are left out: %s; "+
			"call one stage:NAME where it is a stage", strings.Join(quoteNames(l.ignored), ", "))})
	}
	return notes
}

// Steps of real jobs take a millisecond to an hour.
const (
	shortStep = int64(time.Millisecond)
	longStep  = int64(time.Hour)
)

// unsaidShare is the part of a step that stages without a unit take at least
// where they are in nanoseconds beside others that are not: in microseconds
// they would take a thousandth.
const unsaidShare = 0.1

// constantCells is in how many cells a duration does not repeat itself to the
// nanosecond.
const constantCells = 16

// doubts questions times of a window that no training step takes; said is the unit that the caller gave.
func (l *layout) doubts(w *trace.Window, said Unit) []input.Note {
	var asked []input.Note
	if l.guessed != "" {
		return []input.Note{{Kind: input.NoteUnitDoubt, Text: l.guessed}}
	}
	ask := func(format string, args ...any) {
		asked = append(asked, input.Note{Kind: input.NoteUnitDoubt, Text: fmt.Sprintf(format, args...)})
	}
	step := medianStep(w, func(int) bool { return true })
	if said == Unsaid && len(l.units) > 0 && len(l.unsaid) > 0 {
		if part := medianStep(w, func(s int) bool { return slices.Contains(l.unsaid, w.Schema.Stages[s]) }); float64(part) < unsaidShare*float64(step) {
			ask("no unit is in the name of %s, read as nanoseconds: %s of a step of %s. --unit says another",
				strings.Join(quoteNames(l.unsaid), ", "), length(float64(part)), length(float64(step)))
		}
	}
	if said == Unsaid {
		for s, name := range w.Schema.Stages {
			if !slices.Contains(l.unsaid, name) {
				continue
			}
			if v, ok := constant(w, s); ok && !hasCoarseTimes(w) {
				ask("%q is %d in every row: is it a duration? Leave the column out where it is none", name, v)
			} else if unit, d := likelierUnit(w, s, step); asked == nil && unit != Unsaid {
				ask("%q takes %s of a step of %s, read as nanoseconds: are these %s? Then name it %s_%s", name, length(float64(d)), length(float64(step)), unitWords[unit], name, unit)
			}
		}
	}
	if step > longStep && said != Nanoseconds || step > 0 && step < shortStep && said == Unsaid {
		ask("%s", l.askUnit(step, said))
	}
	return asked
}

// leastShare is the part of a step from which a stage in another unit is one that
// somebody would record.
const leastShare = 0.01

// likelierUnit returns the unit in which a stage below a microsecond would be a plausible part of a step, and its time
// as it is; Unsaid if there is none.
func likelierUnit(w *trace.Window, s int, step int64) (Unit, int64) {
	d := medianStep(w, func(other int) bool { return other == s })
	if d <= 0 || d >= int64(time.Microsecond) || step < shortStep {
		return Unsaid, d
	}
	for unit := Microseconds; unit <= Seconds; unit++ {
		if share := float64(d) * math.Pow10(unit.exponent()) / float64(step); share >= leastShare && share < 1 {
			return unit, d
		}
	}
	return Unsaid, d
}

// medianStep returns the median over the steps of the largest times of those stages,
// added up.
func medianStep(w *trace.Window, of func(s int) bool) int64 {
	totals := make([]int64, w.Steps())
	R := len(w.Ranks)
	for t := range totals {
		times := w.Step(t)
		for s := range w.Schema.Stages {
			if of(s) {
				totals[t] += slices.Max(times[s*R : (s+1)*R])
			}
		}
	}
	slices.Sort(totals)
	return totals[len(totals)/2]
}

// constant reports whether a stage takes one time in all of many cells.
func constant(w *trace.Window, s int) (v int64, ok bool) {
	R := len(w.Ranks)
	v = w.Step(0)[s*R]
	for t := range w.Steps() {
		for _, d := range w.Step(t)[s*R : (s+1)*R] {
			if d != v {
				return 0, false
			}
		}
	}
	return v, v != 0 && w.Steps()*R >= constantCells
}

// coarse is a resolution at which a duration repeats itself, ns: constantCells is for times to the nanosecond.
const coarse = int64(100 * time.Microsecond)

// hasCoarseTimes reports whether all times are multiples of a coarse resolution.
func hasCoarseTimes(w *trace.Window) bool {
	return !slices.ContainsFunc(w.Durations, func(d int64) bool { return d%coarse != 0 })
}

// askUnit asks for the unit of times that make a step of that length.
func (l *layout) askUnit(step int64, said Unit) string {
	from, flag := max(said, Nanoseconds), said != Unsaid || len(l.units) == 0
	for unit := range l.units {
		from = max(from, unit)
	}
	var units []string
	for unit := Nanoseconds; unit < Seconds; unit++ {
		scaled := float64(step) * math.Pow10(unit.exponent()-from.exponent())
		if unit == from || scaled < float64(shortStep) || scaled > float64(time.Minute) {
			continue
		}
		how := "a step of " + length(scaled)
		if flag {
			how = "--unit " + unit.String() + ", " + how
		}
		units = append(units, unitWords[unit]+" ("+how+")")
	}
	text := "a step takes " + length(float64(step))
	switch {
	case units != nil:
		return fmt.Sprintf("%s: are these %s?", text, strings.Join(units, " or "))
	case said == Unsaid && flag:
		return text + ": is one of the stages no duration, or are times not in nanoseconds?"
	}
	return text + ": is one of the stages no duration, or are times in another unit?"
}

// length returns a time of so many nanoseconds, to three digits.
func length(ns float64) string {
	for _, u := range []struct {
		name string
		ns   float64
	}{{"h", 3600e9}, {"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.ns {
			return fmt.Sprintf("%.3g %s", ns/u.ns, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}

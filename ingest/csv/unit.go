package csv

import (
	"fmt"
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

var unitNames = [...]string{"", "ns", "us", "ms", "s"}

// ParseUnit is the unit of that name: ns, us, ms or s; "" is Unsaid.
func ParseUnit(name string) (Unit, error) {
	if i := slices.Index(unitNames[:], name); i >= 0 {
		return Unit(i), nil
	}
	return Unsaid, input.Bad(input.ErrType, "unit %q, expected ns, us, ms or s", name)
}

func (u Unit) String() string { return unitNames[u] }

// exponent is the power of ten that makes nanoseconds of a unit.
func (u Unit) exponent() int { return 3 * (int(max(u, Nanoseconds)) - int(Nanoseconds)) }

// splitUnit takes the unit off the end of a name, as in data_ms.
func splitUnit(name string) (string, Unit) {
	for suffix, unit := range map[string]Unit{"_us": Microseconds, "_usec": Microseconds, "_µs": Microseconds,
		"_ms": Milliseconds, "_msec": Milliseconds, "_s": Seconds, "_sec": Seconds, "_seconds": Seconds} {
		if stem, ok := strings.CutSuffix(name, suffix); ok && stem != "" {
			return stem, unit
		}
	}
	if stem, ok := strings.CutSuffix(name, "_ns"); ok && plain(stem) == "wall" {
		return stem, Nanoseconds
	}
	return name, Unsaid
}

// notes say how the columns of a table were understood, where that is not
// plain.
func (l *layout) notes() []input.Note {
	var notes []input.Note
	for unit := Microseconds; unit <= Seconds; unit++ {
		if columns := l.units[unit]; columns != nil {
			notes = append(notes, input.Note{Kind: input.NoteUnits, Text: fmt.Sprintf("times are in %s, by the names of the columns: %s", unit, strings.Join(quoted(columns), ", "))})
		}
	}
	if l.ignored != nil {
		notes = append(notes, input.Note{Kind: input.NoteColumnsIgnored, Text: fmt.Sprintf("columns that are no stages, by their names, are left out: %s; "+
			"call one stage:NAME where it is a stage", strings.Join(quoted(l.ignored), ", "))})
	}
	return notes
}

// Steps of real jobs take a millisecond to an hour, and times in a unit that
// nobody said are believed when theirs do.
const (
	shortStep = int64(time.Millisecond)
	longStep  = int64(time.Hour)
)

// doubt asks about the unit of a window's times when no training step takes
// what its median step does.
func doubt(w *trace.Window) (input.Note, bool) {
	totals := make([]int64, 0, w.Steps())
	R := len(w.Ranks)
	for t := range w.Steps() {
		total, times := int64(0), w.Step(t)
		for s := range w.Schema.Stages {
			total += slices.Max(times[s*R : (s+1)*R])
		}
		totals = append(totals, total)
	}
	slices.Sort(totals)
	step := totals[len(totals)/2]
	if step == 0 || step >= shortStep && step <= longStep {
		return input.Note{}, false
	}
	text := fmt.Sprintf("a step takes %s: is one of the stages no duration, or are times not in nanoseconds?", length(float64(step)))
	var units []string
	for unit, name := range map[Unit]string{Microseconds: "microseconds", Milliseconds: "milliseconds"} {
		scaled := float64(step)
		for range unit.exponent() {
			scaled *= 10
		}
		if scaled >= float64(shortStep) && scaled <= float64(time.Minute) {
			units = append(units, fmt.Sprintf("%s (--unit %s, a step of %s)", name, unit, length(scaled)))
		}
	}
	if slices.Sort(units); units != nil {
		text = fmt.Sprintf("a step takes %s: are these %s?", length(float64(step)), strings.Join(units, " or "))
	}
	return input.Note{Kind: input.NoteUnitDoubt, Text: text}, true
}

// length is a time of so many nanoseconds, to three digits.
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

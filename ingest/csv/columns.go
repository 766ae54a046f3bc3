package csv

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/internal/decimal"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// A date, or a time of day that is no length of a step.
var date = regexp.MustCompile(`^\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|^\d{1,2}[/.]\d{1,2}[/.]\d{4}`)

// leaveOut ignores columns that are no stages by the cells of the first rows: text, dates, times of day, and numbers of processes
// beside that of the rank. One stage must be left.
func (l *layout) leaveOut(names []string, known []column, sample [][]string) {
	if l.own = isOwn(known); l.own {
		return
	}
	at := identityOf(names)
	var texts, clocks []int
	stages := 0
	for i := range known {
		own := strings.HasPrefix(names[i], prefixStage)
		if known[i].kind != stage && known[i].kind != wall || own || isChannel(names[i], names) {
			if own {
				stages++
			}
			continue
		}
		switch {
		case isText(sample, i):
			texts = append(texts, i)
		case isClock(sample, i, at.rank):
			clocks = append(clocks, i)
		case at.rank >= 0 && !at.weak && isIdentity(names[i], sample, i):
			texts = append(texts, i)
		default:
			stages++
		}
	}
	if stages == 0 {
		return
	}
	for _, i := range texts {
		known[i] = column{kind: ignored}
		l.texts = append(l.texts, names[i])
	}
	for _, i := range clocks {
		known[i] = column{kind: ignored}
		l.clocks = append(l.clocks, names[i])
	}
}

// isChannel reports whether a column is of a side channel.
func isChannel(name string, names []string) bool {
	return strings.HasPrefix(name, prefixSide) || strings.HasPrefix(name, prefixReady) || strings.HasSuffix(name, readySuffix) || slices.Contains(names, name+readySuffix)
}

// isOwn reports whether a Writer wrote a table.
func isOwn(known []column) bool {
	for _, a := range []int{attrRun, attrWorld, attrAccumulation, attrGather, attrDataWait} {
		if !slices.ContainsFunc(known, func(c column) bool { return c.kind == attr && c.index == a }) {
			return false
		}
	}
	return true
}

// columnOf returns the cells of a column that have a value.
func columnOf(rows [][]string, i int) (cells []string) {
	for _, row := range rows {
		if i < len(row) {
			if cell := strings.TrimSpace(row[i]); !isMissing(cell) {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

// isText reports whether a column has values, and no number among them.
func isText(rows [][]string, i int) bool {
	any := false
	for _, row := range rows {
		if i >= len(row) {
			continue
		}
		if cell := strings.TrimSpace(row[i]); !isMissing(cell) {
			if any = true; isNumeric(cell) {
				return false
			}
		}
	}
	return any
}

// isNumeric reports whether a cell may be a number.
func isNumeric(cell string) bool {
	bare := strings.TrimLeft(cell, "'+-. ")
	return bare != "" && bare[0] >= '0' && bare[0] <= '9' && !isDate(cell) || slices.Contains([]string{"inf", "infinity"}, strings.ToLower(bare))
}

// isDate reports whether a cell is a date.
func isDate(cell string) bool {
	return (strings.ContainsAny(cell, "-/") || strings.Count(cell, ".") > 1) && date.MatchString(cell)
}

// isIdentity reports whether a column numbers processes, by its name and by the first rows.
func isIdentity(name string, rows [][]string, i int) bool {
	return slices.Contains(weakNames(rank), normalName(leaf(name))) && !slices.ContainsFunc(columnOf(rows, i), func(c string) bool {
		v, err := strconv.Atoi(numberOf(c))
		return err != nil || v >= 1<<16
	})
}

// Times of day in seconds since 1970: from 2001 to 2096. They differ by little of what they are: those of a job of a month by a thousandth.
const (
	firstClock  = 1e9
	lastClock   = 4e9
	clockSpread = 2e-3
)

// isClock reports whether a column holds times of day rather than durations: its unit makes it one, and on no rank it
// ever decreases.
func isClock(sample [][]string, i, rank int) bool {
	least, most := math.Inf(1), 0.0
	last := make(map[string]float64)
	rises := false
	for _, row := range sample {
		if i >= len(row) || rank >= len(row) {
			continue
		}
		cell := strings.TrimSpace(row[i])
		if isMissing(cell) {
			continue
		}
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil || v < firstClock {
			return false
		}
		of := ""
		if rank >= 0 {
			of = row[rank]
		}
		before, seen := last[of]
		if seen && v < before {
			return false
		}
		rises = rises || seen && v > before
		last[of], least, most = v, min(least, v), max(most, v)
	}
	for _, tick := range []float64{1, 1e3, 1e6, 1e9} {
		if least >= firstClock*tick && most <= lastClock*tick && most-least <= clockSpread*least {
			return rises || most > maxTime
		}
	}
	return false
}

// folderOf returns the common prefix of all stage names, as "timing/" or "time_", if names without it describe stages;
// else "".
func folderOf(names []string, known []column) string {
	var stages []string
	for i, name := range names {
		if known[i].kind == stage {
			if strings.HasPrefix(name, prefixStage) {
				return ""
			}
			stages = append(stages, name)
		}
	}
	return beginningOf(stages)
}

// beginningOf finds what folderOf finds for names of stages.
func beginningOf(stages []string) string {
	if len(stages) < 2 {
		return ""
	}
	shared := len(stages[0])
	for _, s := range stages[1:] {
		n := 0
		for n < min(shared, len(s)) && s[n] == stages[0][n] {
			n++
		}
		shared = n
	}
	beginning := stages[0][:strings.LastIndexAny(stages[0][:shared], "/_. -")+1]
	says := func(without string) bool {
		return slices.ContainsFunc(stages, func(s string) bool { return stagename.KindOf(strings.TrimPrefix(s, without)) != stagename.Other })
	}
	if beginning == "" || says("") || !says(beginning) {
		return ""
	}
	return beginning
}

// sortStages puts stages into the order in which a step runs them, where their names say it of all.
func sortStages(stages []string) {
	if !slices.ContainsFunc(stages, func(s string) bool {
		k := stagename.KindOf(s)
		return k < stagename.Data || k > stagename.Callbacks
	}) {
		slices.SortStableFunc(stages, func(a, b string) int { return cmp.Compare(stagename.KindOf(a), stagename.KindOf(b)) })
	}
}

// Steps of real jobs for whose times a unit is taken without a question, and the shortest and longest of these.
const (
	likelyStep = int64(time.Minute)
)

// understand finds out by the first rows how numbers are written, and in which unit times with fractions are whose columns name none.
// The error asks what the rows do not tell.
func (l *layout) understand(sample [][]string, said Unit) error {
	var cells []string
	for i, c := range l.columns {
		if c.kind == stage || c.kind == wall {
			for _, row := range sample {
				if i >= len(row) || isPlain(row[i]) && strings.Count(row[i], ".") <= 1 { // written as is usual
					continue
				}
				if cell := strings.TrimSpace(row[i]); !isMissing(cell) {
					cells = append(cells, cell)
				}
			}
		}
	}
	var unsure bool
	if l.numbers, unsure = numbersOf(cells); unsure {
		with, without := l.numbers, l.numbers
		with.comma = true
		without.marks += ","
		l.numbers = without
		if a, b := l.stepOf(sample, with), l.stepOf(sample, without); isPlausibleStep(a) && !isPlausibleStep(b) || isPlausibleStep(a) == isPlausibleStep(b) && !l.hasWholeUnits() {
			l.numbers = with
		}
	}
	if said != Unsaid || !l.hasFractions(sample) {
		return nil
	}
	return l.guess(sample)
}

// hasWholeUnits reports whether all columns are in nanoseconds or microseconds, which mostly have no fraction.
func (l *layout) hasWholeUnits() bool {
	return !slices.ContainsFunc(l.columns, func(c column) bool { return (c.kind == stage || c.kind == wall) && c.unit > Microseconds })
}

// isPlausibleStep reports whether a step may take so many nanoseconds.
func isPlausibleStep(step float64) bool {
	return step >= float64(shortStep) && step <= float64(likelyStep)
}

// hasFractions reports whether a time in a column without a unit is none of whole nanoseconds.
func (l *layout) hasFractions(sample [][]string) bool {
	for i, c := range l.columns {
		if c.kind != stage && c.kind != wall || c.unit != Unsaid {
			continue
		}
		for _, cell := range columnOf(sample, i) {
			number, unit := l.numbers.clean(cell)
			if d, ok := decimal.Parse(number); ok && unit == Unsaid {
				if _, isWhole := d.Integer(); !isWhole {
					return true
				}
			}
		}
	}
	return false
}

// stepOf returns the median over the first rows of the times of all stages, ns, of those without a unit as nanoseconds.
func (l *layout) stepOf(sample [][]string, n numbers) float64 {
	var sums []float64
	for _, row := range sample {
		sum := 0.0
		for i, c := range l.columns {
			if c.kind != stage || i >= len(row) {
				continue
			}
			number, unit := n.clean(strings.TrimSpace(row[i]))
			v, err := strconv.ParseFloat(number, 64)
			if err == nil {
				sum += v * math.Pow10(max(unit, c.unit).exponent())
			}
		}
		sums = append(sums, sum)
	}
	if len(sums) == 0 {
		return 0
	}
	slices.Sort(sums)
	return sums[len(sums)/2]
}

// guess takes the one unit in which a step of the columns that name none is as long as steps are, and asks where there are several.
func (l *layout) guess(sample [][]string) error {
	var units []Unit
	var asked []string
	step := l.stepOf(sample, l.numbers)
	if len(l.stages) == len(l.unsaid) {
		for unit := Microseconds; unit <= Seconds; unit++ {
			if long := step * math.Pow10(unit.exponent()); isPlausibleStep(long) {
				units = append(units, unit)
				asked = append(asked, fmt.Sprintf("%s (--unit %s, a step of %s)", unitWords[unit], unit, length(long)))
			}
		}
	} else if len(l.units) == 1 { // the unit that the others name
		for unit := range l.units {
			units = append(units, unit)
		}
	}
	switch {
	case len(units) == 0:
		return nil // refused where it is read
	case len(units) > 1:
		return input.Bad(input.ErrMissing, "no name of a column says in which unit its times are: are these %s?", strings.Join(asked, " or "))
	}
	for i := range l.columns {
		if c := &l.columns[i]; (c.kind == stage || c.kind == wall) && c.unit == Unsaid {
			c.unit = units[0]
		}
	}
	l.guessed = fmt.Sprintf("times have fractions and no unit: they are read as %s, which makes a step of %s; --unit says another", unitWords[units[0]],
		length(l.stepOf(sample, l.numbers)))
	return nil
}

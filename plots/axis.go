package plots

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
)

// Axis is a quantity and its unit.
type Axis struct {
	Name string // "delay"
	Unit string // "ms"; "" for counts, shares of one and names
	// Log is a logarithmic scale, and Bytes one that is labelled at powers of two: 1 KiB.
	Log, Bytes bool
	// From and To bound what is shown where From is less than To and the data lie
	// between them; data beyond are shown too. Otherwise the data decide.
	From, To float64
	Ticks    []float64 // where labels stand, if they do not touch; nil: they are chosen
	Names    []string  // what stands at 0, 1, 2 …, instead of numbers; nil: numbers do
}

// ErrNothing is a figure of nothing.
var ErrNothing = errors.New("nothing to draw: no value is finite")

// Label returns the name with the unit: "delay (ms)".
func (a Axis) Label() string {
	if a.Unit == "" {
		return a.Name
	}
	return a.Name + " (" + a.Unit + ")"
}

// shows reports whether a value can stand on the axis.
func (a Axis) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !a.Log && !a.Bytes)
}

// set gives an axis of a plot its label and style.
func (a Axis) set(to *plot.Axis) {
	to.Label.Text, to.Label.TextStyle, to.Label.Padding = a.Label(), alignText(words(labelSize), to.Label.TextStyle), 2
	to.LineStyle, to.Padding = pen(black, 0.5), 0
	to.Tick.Label = alignText(words(tickSize), to.Tick.Label)
	to.Tick.LineStyle, to.Tick.Length = pen(black, 0.5), 2.5
	to.Tick.Marker = ticker{a}
}

// alignText returns a style of text that stands as another does.
func alignText(s, as text.Style) text.Style {
	s.XAlign, s.YAlign = as.XAlign, as.YAlign
	return s
}

// setRange sets the range of an axis of a plot by the data, in places. What is all
// equal gets a range around it.
func (a Axis) setRange(to *plot.Axis, values []float64) error {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if a.shows(v) {
			low, high = min(low, a.place(v)), max(high, a.place(v))
		}
	}
	if low > high {
		return ErrNothing
	}
	margin := 0.05 * (high - low)
	if margin == 0 {
		margin = max(math.Abs(low)*0.1, 0.1)
	}
	to.Min, to.Max = low-margin, high+margin
	if a.From < a.To {
		if a.shows(a.From) && a.place(a.From) <= low {
			to.Min = a.place(a.From)
		}
		if a.shows(a.To) && a.place(a.To) >= high {
			to.Max = a.place(a.To)
		}
	}
	return nil
}

// place returns where a value stands. Plots are drawn in places, on linear scales:
// the library puts the label of a logarithmic axis where it needs room for it.
func (a Axis) place(v float64) float64 {
	if a.Log || a.Bytes {
		return math.Log10(v)
	}
	return v
}

// ticker chooses the ticks of an axis.
type ticker struct{ axis Axis }

var _ plot.Ticker = ticker{}

// Ticks implements plot.Ticker, in places.
func (t ticker) Ticks(low, high float64) []plot.Tick {
	switch {
	case len(t.axis.Names) > 0:
		return t.nameTicks(low, high)
	case len(t.axis.Ticks) > 0:
		return t.axisTicks(low, high)
	case t.axis.Log:
		return decades(low, high)
	case t.axis.Bytes:
		return sizes(low, high)
	}
	return round(low, high)
}

// axisTicks returns the ticks that the axis asks for. One that is close to the label
// before it has none.
func (t ticker) axisTicks(low, high float64) []plot.Tick {
	const minGapShare = 1.0 / 16 // of the axis
	var out []plot.Tick
	last := math.Inf(-1)
	for _, v := range t.axis.Ticks {
		if !t.axis.shows(v) {
			continue
		}
		tick := plot.Tick{Value: t.axis.place(v)}
		if tick.Value-last >= minGapShare*(high-low) {
			tick.Label, last = Number(v), tick.Value
		}
		out = append(out, tick)
	}
	return out
}

// nameTicks returns the names of the axis, as far as they are in range.
func (t ticker) nameTicks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for i, name := range t.axis.Names {
		if at := float64(i); low <= at && at <= high {
			out = append(out, plot.Tick{Value: at, Label: short(name)})
		}
	}
	return out
}

// round returns labels at three to six multiples of 1, 2 or 5 times a power of ten.
func round(low, high float64) []plot.Tick {
	const most = 6
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	power := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	step := 10 * power
	for _, m := range []float64{5, 2, 1} {
		if (high-low)/(m*power) <= most {
			step = m * power
		}
	}
	var out []plot.Tick
	const slack = 1e-9 // of a step: for what division loses
	for k := math.Ceil(low/step - slack); k <= math.Floor(high/step+slack); k++ {
		v := k*step + 0 // −0 is 0
		out = append(out, plot.Tick{Value: v, Label: Number(v)})
	}
	return out
}

// decades returns labels at powers of ten and ticks between them, from 10^low to
// 10^high; over less than two powers there are labels at 1, 2 and 5 of each.
func decades(low, high float64) []plot.Tick {
	wide := high-low >= 2
	var out []plot.Tick
	for power := math.Floor(low); power <= high; power++ {
		for m := 1; m <= 9; m++ {
			tick := plot.Tick{Value: power + math.Log10(float64(m))}
			if tick.Value < low || tick.Value > high {
				continue
			}
			if m == 1 || !wide && (m == 2 || m == 5) {
				tick.Label = Number(float64(m) * math.Pow(10, power))
			}
			out = append(out, tick)
		}
	}
	return out
}

// sizes returns ticks at powers of two, labelled as bytes are: each, or every second, fifth or tenth, so that at
// most six have one.
func sizes(low, high float64) []plot.Tick {
	const most = 6
	first, last := math.Ceil(low/math.Log10(2)), math.Floor(high/math.Log10(2))
	every := 20.0
	for _, n := range []float64{10, 5, 2, 1} {
		if (last-first)/n < most {
			every = n
		}
	}
	var out []plot.Tick
	for power := max(first, 0); power <= min(last, 69); power++ {
		tick := plot.Tick{Value: power * math.Log10(2)}
		if math.Mod(power, every) == 0 {
			unit := [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}[int(power)/10]
			tick.Label = Number(math.Exp2(math.Mod(power, 10))) + "\u2009" + unit
		}
		out = append(out, tick)
	}
	return out
}

// Number returns a value as short as it goes, with a space between thousands.
func Number(v float64) string {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	switch rounded, err := strconv.ParseFloat(s, 64); {
	case err != nil || rounded != math.Trunc(rounded) || math.Abs(rounded) >= 1e6 || math.Abs(rounded) < 10_000:
		return strings.Replace(s, "-", "−", 1)
	}
	return strings.Replace(s[:len(s)-3]+"\u2009"+s[len(s)-3:], "-", "−", 1)
}

package trainlog

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/input"
)

//go:embed dialects.yaml
var builtIn []byte

// dialectSpec is a dialect as a person writes it: dialects.yaml says what each field is.
type dialectSpec struct {
	Dialect string
	Has     []string          `yaml:",omitempty"`
	Any     []string          `yaml:",omitempty"`
	Not     []string          `yaml:",omitempty"`
	Step    string            `yaml:",omitempty"`
	Or      string            `yaml:",omitempty"`
	Epoch   string            `yaml:",omitempty"`
	Epochs  int64             `yaml:",omitempty"`
	Times   map[string]string `yaml:",omitempty"`
	Names   map[string]string `yaml:",omitempty"`
	In      map[string]string `yaml:",omitempty"`
	Pairs   bool              `yaml:",omitempty"`
	Beside  map[string]string `yaml:",omitempty"`
	Counter bool              `yaml:",omitempty"`
	Mean    bool              `yaml:",omitempty"`
	Sum     bool              `yaml:",omitempty"`
	Smooth  bool              `yaml:",omitempty"`
	Stamps  bool              `yaml:",omitempty"`
	Skip    bool              `yaml:",omitempty"`
	Sample  string
	Gives   string `yaml:",omitempty"`
}

// Dialects is how programs print the times of their steps, the first that knows a line first.
type Dialects struct {
	list  []*dialect
	words ingest.Words // of all
	// Words that lines read otherwise have: heads of Megatron's timers and of Lightning's table, and those of [reading.pairs].
	timers, table, steps ingest.Has
	// Two letters of words that are searched for in any case: a line without them has none of these words. Unlimited where there are too
	// many words to tell them apart.
	rank, epoch, validation ingest.Has
	listened                []ingest.Has // words of each listener
	heard                   []string     // all of these
}

// dialect is one of them, ready to read lines.
type dialect struct {
	dialectSpec
	has, any, not ingest.Has
	steps         []*pattern
	epoch         *pattern
	times         []timePlace

	stepNeeds, timeNeeds []ingest.Has // words without which a pattern of steps, or of times, finds nothing
}

// timePlace is where times stand, and what they are of: a stage, or one of the words below.
type timePlace struct {
	at *pattern
	of string
}

// What a time is of that is no stage.
const (
	ofStep  = "step"  // the whole
	ofClock = "clock" // of the run
	ofWall  = "wall"  // of the run where it only grows, else the whole
	ofNames = "names" // what `names` says of the name
	ofNone  = "-"
)

var standard = sync.OnceValue(func() *Dialects {
	d, err := ParseDialects("dialects.yaml", builtIn)
	if err != nil {
		panic(err) // a test reads them
	}
	return d
})

// ParseDialects reads dialects, of which each must read its sample; name stands in errors.
func ParseDialects(name string, text []byte) (*Dialects, error) {
	var list []dialectSpec
	if err := strictyaml.Decode(name, text, &list); err != nil {
		return nil, err
	}
	out := &Dialects{}
	for i := range list {
		d, err := list[i].compile()
		if err != nil {
			return nil, input.At(input.Pos{File: name, Inside: fmt.Sprintf("dialect %q", list[i].Dialect)}, err)
		}
		out.list = append(out.list, d)
	}
	return out, out.index(name)
}

// index notes by which words each dialect is told from the others.
func (d *Dialects) index(name string, also ...Listener) error {
	full := false
	set := func(words ...string) ingest.Has {
		h, ok := d.words.Set(words...)
		full = full || !ok
		return h
	}
	for _, x := range d.list {
		x.has, x.any, x.not = set(x.Has...), set(x.Any...), set(x.Not...)
	}
	d.timers, d.table, d.steps = set(timersWord), set(tableWords...), set("tep", "ter", "TEP", "TER", "pdate", "itr")
	if full {
		return input.At(input.Pos{File: name}, input.Bad(input.ErrTooLarge, "more words (has, any, not) than can be told apart: give fewer dialects"))
	}
	for _, l := range also {
		d.listened, d.heard = append(d.listened, set(l.Words...)), append(d.heard, l.Words...)
	}
	if full { // lines may have words that are not searched for
		d.listened = nil
	}
	any := func(pairs ...string) (h ingest.Has) {
		ok := true
		for _, p := range pairs {
			low, high := strings.ToLower(p), strings.ToUpper(p)
			for _, text := range [...]string{low, high, low[:1] + high[1:], high[:1] + low[1:]} {
				one, fits := d.words.Set(text)
				ok = ok && fits
				h.Join(&one)
			}
		}
		if !ok {
			return ingest.AllWords
		}
		return h
	}
	d.rank, d.epoch, d.validation = any("nk"), any("ch"), any("va", "es")
	for _, x := range d.list {
		x.stepNeeds, x.timeNeeds = make([]ingest.Has, len(x.steps)), make([]ingest.Has, len(x.times))
		for i, p := range x.steps {
			x.stepNeeds[i] = p.needs(&d.words)
		}
		for i := range x.times {
			x.timeNeeds[i] = x.times[i].at.needs(&d.words)
		}
	}
	d.words.Find(nil) // readers side by side share it from here on
	return nil
}

// LoadDialects reads the dialects of a user's file; nil where none is named.
func LoadDialects(path string) (*Dialects, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, ingest.Unreadable(path, err)
	}
	return ParseDialects(path, text)
}

// joinBuiltin returns the dialects of a user in front of those that are built in, with the words of listeners.
func (d *Dialects) joinBuiltin(also ...Listener) *Dialects {
	if d == nil && len(also) == 0 {
		return standard()
	}
	if d != nil {
		return d.join(also...)
	}
	key := ""
	for _, l := range also {
		key += strings.Join(l.Words, "\x00") + "\x01"
	}
	if known, ok := heardBy.Load(key); ok {
		return known.(*Dialects)
	}
	out := d.join(also...)
	heardBy.Store(key, out)
	return out
}

// heardBy is the dialects that are built in with the words of listeners, by these, which are the same for all logs of a program.
var heardBy sync.Map

// join returns what joinBuiltin does, made anew.
func (d *Dialects) join(also ...Listener) *Dialects {
	list := standard().list
	if d != nil {
		list = slices.Concat(d.list, list)
	}
	out := &Dialects{}
	for _, x := range list {
		one := *x
		out.list = append(out.list, &one)
	}
	if out.index("", also...) != nil {
		return standard() // [ParseDialects] refused it
	}
	return out
}

// compile returns a dialect ready to read, or says what is wrong with it.
func (x *dialectSpec) compile() (*dialect, error) {
	d := &dialect{dialectSpec: *x}
	if x.Dialect == "" || len(x.Has)+len(x.Any) == 0 {
		return nil, input.Bad(input.ErrMissing, "a dialect needs a name (dialect) and words that stand in each of its lines (has)")
	}
	for _, text := range [...]string{x.Step, x.Or} {
		if text == "" {
			continue
		}
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		if !p.hasHole(stepNumber) {
			return nil, input.Bad(input.ErrMissing, "%q has no {step}", text)
		}
		d.steps = append(d.steps, p)
	}
	if x.Epoch != "" {
		p, err := parsePattern(x.Epoch)
		if err != nil {
			return nil, err
		}
		d.epoch = p
	}
	for _, text := range slices.Sorted(maps.Keys(x.Times)) {
		p, err := parsePattern(text)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(p.parts, func(p part) bool { return p.hole.isTime() }) {
			return nil, input.Bad(input.ErrMissing, "%q has no time: {s}, {ms}, {us} or {its}", text)
		}
		d.times = append(d.times, timePlace{p, x.Times[text]})
	}
	return d, d.readsSample()
}

// readsSample refuses a dialect that reads its sample otherwise than it says.
func (d *dialect) readsSample() error {
	if d.Sample == "" {
		return input.Bad(input.ErrMissing, "a dialect needs a line that it reads (sample)")
	}
	one := Dialects{list: []*dialect{d}}
	if err := one.index(""); err != nil {
		return err
	}
	has := one.words.Find([]byte(d.Sample))
	if !d.mayMatch(&has) {
		return input.Bad(input.ErrFormat, "its words (has, any, not) are not those of its sample")
	}
	x := reading{d: d, all: &one, has: has}
	got := "nothing"
	if !d.Skip && x.read([]byte(d.Sample)) {
		got = x.String()
	}
	if d.Gives == "" && got == "nothing" || d.Gives != "" && d.Gives != got {
		return input.Bad(input.ErrFormat, "of its sample it reads %q, expected %q", got, d.Gives)
	}
	return nil
}

// mayMatch reports whether a line with some words may be of a dialect.
func (d *dialect) mayMatch(has *ingest.Has) bool {
	return has.ContainsAll(&d.has) && (len(d.Any) == 0 || has.ContainsAny(&d.any)) && !has.ContainsAny(&d.not)
}

// reading is what was read in a line.
type reading struct {
	d                  *dialect
	all                *Dialects  // of which it is one
	has                ingest.Has // words of the line
	names              [names]named
	step, steps, epoch int64 // −1: none
	stamp              int64 // of the line, or of the run's clock; −1: none
	resolution         int64 // of the stamp
	times              []measurement
	assumed            bool // a time had no unit
	validation         bool // it is of a step of validation
}

// measurement is a time, ns, and what it is of.
type measurement struct {
	of string
	ns int64
}

// read reads a line that the dialect knows; false where it has neither a step nor a time.
func (x *reading) read(line []byte) bool {
	x.step, x.steps, x.epoch, x.stamp, x.resolution, x.times, x.assumed, x.validation = -1, -1, -1, -1, 0, x.times[:0], false, false
	if x.d.Pairs {
		return x.pairs(line)
	}
	for i, p := range x.d.steps {
		if !x.has.ContainsAll(&x.d.stepNeeds[i]) {
			continue
		}
		if m, ok := p.find(line, 0); ok {
			x.step, x.steps, x.epoch = m.step, m.steps, m.epoch
			break
		}
	}
	if x.d.Counter {
		x.step, x.steps = leadingCounter(line)
	}
	if x.step < 0 && (len(x.d.steps) > 0 || x.d.Counter) {
		return false
	}
	if x.d.epoch != nil {
		if m, ok := x.d.epoch.find(line, 0); ok {
			x.epoch = m.epoch
		}
	}
	for i := range x.d.times {
		if x.has.ContainsAll(&x.d.timeNeeds[i]) {
			x.find(line, &x.d.times[i])
		}
	}
	if x.d.Stamps && !x.hasTime(ofStep) {
		x.stamp, x.resolution = stampOf(line)
	}
	return len(x.times) > 0 || x.step >= 0 && (x.stamp >= 0 || len(x.d.times) == 0)
}

// find takes the times that a pattern finds.
func (x *reading) find(line []byte, t *timePlace) {
	for from := 0; from < len(line); {
		m, ok := t.at.find(line, from)
		if !ok {
			return
		}
		from = max(from+1, m.end)
		of := t.of
		if of == ofNames {
			name := string(m.name)
			if of, ok = x.d.Names[name]; !ok {
				of = name
			}
		}
		switch {
		case of == ofNone || x.hasTime(of):
		case of == ofClock:
			x.stamp = m.ns
		default:
			x.times = append(x.times, measurement{of, m.ns})
		}
		if t.of != ofNames {
			return
		}
	}
}

// hasTime reports whether a time of something was read.
func (x *reading) hasTime(of string) bool {
	return slices.ContainsFunc(x.times, func(t measurement) bool { return t.of == of })
}

// String writes what was read, as `gives` of a dialect does.
func (x *reading) String() string {
	var where, what []string
	if rank, ok := rankIn([]byte(x.d.Sample)); ok {
		where = append(where, fmt.Sprintf("rank %d", rank))
	}
	if x.step >= 0 {
		where = append(where, fmt.Sprintf("step %d", x.number()))
	}
	for _, t := range x.times {
		what = append(what, fmt.Sprintf("%s %v", t.of, time.Duration(t.ns)))
	}
	slices.Sort(what)
	text := strings.Join(where, ", ")
	switch {
	case x.stamp >= 0:
		return text + ", at " + time.Duration(x.stamp%int64(24*time.Hour)).String()
	case len(what) > 0:
		return strings.TrimPrefix(text+": ", ": ") + strings.Join(what, ", ")
	}
	return text
}

// number returns the number of the step, counted over epochs where the line says how long these are.
func (x *reading) number() int64 {
	if x.epoch >= x.d.Epochs && x.steps > 0 && x.epoch < 1<<24 && x.steps < 1<<32 {
		return (x.epoch-x.d.Epochs)*x.steps + x.step
	}
	return x.step
}

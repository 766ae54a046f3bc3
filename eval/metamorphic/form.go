package main

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest/auto"
)

// edit is what can be done to the content of a file.
type edit uint8

const (
	rewrite     edit = iota // read and written again, with nothing changed
	renameRanks             // editing.names
	renameHosts             // editing.names
	reorder                 // rows, by editing.rng
	shift                   // the clock of editing.rank, by editing.ns
	round                   // times, to editing.ns
	remove                  // the rows of editing.rank, from a file that holds several ranks
	split                   // into two files
	merge                   // all files of the form in a folder into one
	addStage                // zeros, or with editing.sums the sums of the other stages
	edits
)

// editing says how a file is edited, and of which recording it is.
type editing struct {
	edit  edit
	names names
	rng   *rand.Rand
	rank  int
	host  string // of rank
	ns    int64
	sums  bool
}

// form is how files of a format are edited. An edit that is missing from can is not applicable, for
// the reason in not, or in otherwise.
type form struct {
	name      string
	ranks     func(*file) []int    // recorded in a file; nil, or none: not known
	hosts     func(*file) []string // that a file is of, where it does not tell ranks
	can       map[edit]func(*file, *editing) ([]*file, error)
	together  func(files []*file) ([]*file, error) // merge
	not       map[edit]string
	otherwise string
	// bystander: the file says nothing of ranks and their times by itself, so that an edit that it has not leaves it as it is.
	bystander bool
}

// forms are those of the formats that verdicts are made of.
var forms = map[auto.Format]*form{
	auto.Packets: packets, auto.WideCSV: wideTable, auto.WideParquet: wideArchive, auto.Archive: wideArchive,
	auto.OperatorTrace: operatorTrace, auto.LaunchedOperators: operatorTrace, auto.OperatorMeta: partner, auto.Arrivals: partner,
	auto.Kineto: kinetoTrace, auto.XPlane: xplaneProfile, auto.FlightRecorder: dump, auto.SQLite: export,
	auto.NCCLLog: ncclLog, auto.InspectorDump: inspectorDump, auto.TrainLog: trainLog,
	auto.StackDump: stack, auto.RASReport: toolReport, auto.ToolReports: toolReport,
	auto.GPUTable: readings, auto.GPULines: readings, auto.Metrics: readings, auto.KernelLog: readings,
}

// partner is a file beside a table or a trace, which whoever edits that writes anew.
var partner = &form{name: "partner", can: sameForEdits(func(*file, *editing) ([]*file, error) { return nil, nil }),
	together: func([]*file) ([]*file, error) { return nil, nil }}

// sameForEdits returns a table with one function for all edits.
func sameForEdits(do func(*file, *editing) ([]*file, error)) map[edit]func(*file, *editing) ([]*file, error) {
	out := map[edit]func(*file, *editing) ([]*file, error){}
	for e := range edits {
		out[e] = do
	}
	return out
}

// editDecoded makes an edit of a change of what a reader makes of a file and a writer turns back into its
// content. Where ranks are renamed, the rank in the name of the file is too.
func editDecoded[T any](read func(*file) (T, error), change func(T, *editing) error, write func(T) ([]byte, error)) func(*file, *editing) ([]*file, error) {
	return func(f *file, e *editing) ([]*file, error) {
		value, err := read(f)
		if err != nil {
			return nil, err
		}
		if err := change(value, e); err != nil {
			return nil, err
		}
		text, err := write(value)
		if err != nil {
			return nil, err
		}
		out := f.withContent(text)
		if e.edit == renameRanks {
			out = out.withName(rankInName(out.name, f.recordedRanks(), e.names))
		}
		return []*file{out}, nil
	}
}

// contentEdit makes an edit of a change of the content alone.
func contentEdit(change func(text []byte, e *editing) ([]byte, error)) func(*file, *editing) ([]*file, error) {
	return func(f *file, e *editing) ([]*file, error) {
		text, err := f.plain()
		if err != nil {
			return nil, err
		}
		if text, err = change(text, e); err != nil {
			return nil, err
		}
		out := f.withContent(text)
		switch e.edit {
		case renameRanks:
			out = out.withName(rankInName(out.name, f.recordedRanks(), e.names))
		case renameHosts:
			out = out.withName(hostsIn(out.name, e.names))
		}
		return []*file{out}, nil
	}
}

// unchanged leaves the content of a file as it is; ranks and hosts in its name are renamed.
var unchanged = contentEdit(func(text []byte, _ *editing) ([]byte, error) { return text, nil })

// recordedRanks returns the ranks in a file, as far as the file says.
func (f *file) recordedRanks() []int {
	if f.form.ranks == nil {
		return nil
	}
	return f.form.ranks(f)
}

// edit returns a file after an edit.
func (f *file) edit(e *editing) ([]*file, error) {
	if do := f.form.can[e.edit]; do != nil {
		return do(f, e)
	}
	if f.form.bystander {
		return []*file{f}, nil
	}
	why := f.form.not[e.edit]
	if why == "" {
		why = f.form.otherwise
	}
	return nil, notApplicable("%s", why)
}

// numberInName is a number in the name of a file, behind a word that names ranks where there is one.
var numberInName = regexp.MustCompile(`(?i)((?:rank|worker|proc|trace|dump|pyspy|timings)[-_. ]?)?(\d+)`)

// rankInName returns a name in which the number of the only rank of the file is renamed: that behind a word
// for ranks, else the last.
func rankInName(name string, ranks []int, n names) string {
	if len(ranks) != 1 {
		return name
	}
	dir, base := path.Split(name)
	best := []int(nil)
	for _, at := range numberInName.FindAllStringSubmatchIndex(base, -1) {
		number, err := strconv.Atoi(base[at[4]:at[5]])
		if err != nil || number != ranks[0] {
			continue
		}
		if best == nil || at[2] >= 0 || best[2] < 0 {
			best = at
		}
		if at[2] >= 0 {
			break
		}
	}
	if best == nil {
		return name
	}
	return fmt.Sprintf("%s%s%0*d%s", dir, base[:best[4]], best[5]-best[4], n.rank(ranks[0]), base[best[5]:])
}

// hostsIn returns a text in which hosts are renamed, where they stand as words.
func hostsIn(text string, n names) string {
	var list []string
	for h := range n.hosts {
		if h != "" {
			list = append(list, regexp.QuoteMeta(h))
		}
	}
	if len(list) == 0 {
		return text
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	word := regexp.MustCompile(`(^|[^0-9A-Za-z])(` + strings.Join(list, "|") + `)($|[^0-9A-Za-z])`)
	for range 2 { // neighbours share the sign between them
		text = word.ReplaceAllStringFunc(text, func(at string) string {
			m := word.FindStringSubmatch(at)
			return m[1] + n.host(m[2]) + m[3]
		})
	}
	return text
}

// rankInTheName reads the rank of a file off its name: the number behind a word for ranks, else the last.
func rankInTheName(f *file) []int {
	found := numberInName.FindAllStringSubmatch(path.Base(f.name), -1)
	at := slices.IndexFunc(found, func(m []string) bool { return m[1] != "" })
	if at < 0 {
		at = len(found) - 1
	}
	if at < 0 {
		return nil
	}
	rank, err := strconv.Atoi(found[at][2])
	if err != nil {
		return nil
	}
	return []int{rank}
}

// roundTo returns the multiple of a unit that is nearest to a time.
func roundTo(ns, unit int64) int64 {
	if ns < 0 {
		return -roundTo(-ns, unit)
	}
	return (ns + unit/2) / unit * unit
}

package detectors

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace/health"
)

var (
	extremes   = regexp.MustCompile(`\bMnRtt/Rnk: `)
	extreme    = regexp.MustCompile(`\b(M[nx])([A-Z][A-Za-z]+)/Rnk: (\d+(?:\.\d+)?)([A-Za-z%]+)/(\d{1,7})`)
	scores     = regexp.MustCompile(`^\s*(?:.*\bINFO\b.*)?GPU (relative|individual) performance:\s*$`)
	score      = regexp.MustCompile(`^\s+Rank=(\d{1,7}) Node=(\S+) Score=(\d+(?:\.\d+)?)\s*$`)
	scored     = regexp.MustCompile(`^\s*(?:Worst|Best) performing \d+/\d+ ranks:`)
	commsTable = regexp.MustCompile(`^Comm\. Op\s+Message Size\s+Count\s+Total (Latency|comm lat)\(ms\)`)
	commsRow   = regexp.MustCompile(`^\s+(\d+(?:\.\d+)? ?[KMGTPEZY]?B)\s+(\d+)\s+(\d+(?:\.\d+)?)\s+(\d+(?:\.\d+)?)\s`)
)

// matters is from which part on a difference does.
const matters = 0.05

// quantities are those of Megatron's detector that are compared: by the side of their extremes that is bad.
var quantities = []struct{ name, bad, good, did string }{
	{"Rtt", "Mx", "Mn", "takes longest for its passes"},
	{"DRtt", "Mx", "Mn", "waits longest for its data"},
	{"Etpt", "Mn", "Mx", "has the lowest throughput"},
	{"Clk", "Mn", "Mx", "has the lowest GPU clock"},
}

// reading is an extreme of one report.
type reading struct {
	rank  int
	value float64
	unit  string
}

// Log takes the lines of a log. Its zero value is ready.
type Log struct {
	seen     bool
	extremes map[string][]reading         // by side and name: "MxRtt"
	scores   map[string]map[int][]float64 // of NVRx, by kind and rank
	hosts    map[int]string
	kind     string // of the scores that come
	table    string // of DeepSpeed that is open
	op       string
	comms    map[string]waitRow // by operation and size, of the last table
}

// waitRow is a row of DeepSpeed's second table: its latency, and what of that was waiting, ms.
type waitRow struct {
	calls          int
	latency, total float64
}

// Line takes a line, of which it is known whether it has one of the [Words].
func (l *Log) Line(line []byte, marked bool) {
	if l.extremes == nil {
		l.extremes, l.scores, l.hosts, l.comms = map[string][]reading{}, map[string]map[int][]float64{}, map[int]string{}, map[string]waitRow{}
	}
	if l.kind == "" && l.table == "" && !marked {
		return
	}
	switch text := string(line[:min(len(line), 1<<14)]); {
	case extremes.MatchString(text):
		l.seen = true
		for _, m := range extreme.FindAllStringSubmatch(text, -1) {
			value, _ := strconv.ParseFloat(m[3], 64)
			rank, _ := strconv.Atoi(m[5])
			l.extremes[m[1]+m[2]] = append(l.extremes[m[1]+m[2]], reading{rank, value, m[4]})
		}
	case scores.MatchString(text):
		l.seen, l.kind = true, scores.FindStringSubmatch(text)[1]
	case l.kind != "" && score.MatchString(text):
		l.score(score.FindStringSubmatch(text))
	case scored.MatchString(text):
	case commsTable.MatchString(text):
		l.seen, l.table, l.op = true, commsTable.FindStringSubmatch(text)[1], ""
	case l.table != "":
		l.row(text)
	default:
		l.kind = ""
	}
}

// Record returns what was concluded in the lines so far; nil without a report.
func (l *Log) Record(name string) *health.Record {
	if !l.seen {
		return nil
	}
	return &health.Record{Path: name, Events: l.events()}
}

// score takes the score of a rank.
func (l *Log) score(m []string) {
	rank, _ := strconv.Atoi(m[1])
	value, _ := strconv.ParseFloat(m[3], 64)
	if l.scores[l.kind] == nil {
		l.scores[l.kind] = map[int][]float64{}
	}
	l.scores[l.kind][rank] = append(l.scores[l.kind][rank], value)
	l.hosts[rank] = m[2]
}

// row takes a line of a table of DeepSpeed: the name of an operation, or a size of it. Anything else ends it.
func (l *Log) row(text string) {
	m := commsRow.FindStringSubmatch(text)
	switch {
	case m == nil && !strings.ContainsAny(strings.TrimSpace(text), " |:[") && strings.TrimSpace(text) != "":
		l.op = strings.TrimSpace(text)
		return
	case m == nil:
		l.table = ""
		return
	case l.table != "comm lat":
		return
	}
	calls, _ := strconv.Atoi(m[2])
	latency, _ := strconv.ParseFloat(m[3], 64)
	straggler, _ := strconv.ParseFloat(m[4], 64)
	l.comms[l.op+" of "+m[1]] = waitRow{calls, latency, straggler}
}

// events returns the conclusions of the log.
func (l *Log) events() (out []health.Event) {
	for _, q := range quantities {
		if e, ok := l.compareExtremes(q.name, q.bad, q.good, q.did); ok {
			out = append(out, e)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(l.scores)) {
		out = append(out, l.worst(kind)...)
	}
	return append(out, l.waits()...)
}

// compareExtremes compares the extremes of a quantity: one rank is the bad one in most reports, and far enough from the best.
func (l *Log) compareExtremes(name, bad, good, did string) (e health.Event, ok bool) {
	worst, best, all := l.extremes[bad+name], l.extremes[good+name], l.extremes["MxRtt"]
	times := map[int]int{}
	rank := 0
	for _, r := range worst {
		if times[r.rank]++; times[r.rank] > times[rank] || times[rank] == 0 {
			rank = r.rank
		}
	}
	if len(worst) == 0 || len(worst) != len(best) || 2*times[rank] <= len(worst) {
		return e, false
	}
	of := func(list []reading) float64 {
		var values []float64
		for _, r := range list {
			values = append(values, r.value)
		}
		return median(values)
	}
	w, b := of(worst), of(best)
	scale := b
	if name == "DRtt" { // a part of an iteration
		scale = of(all)
	}
	if diff := max(w-b, b-w); diff < matters*scale || scale == 0 {
		return e, false
	}
	return conclusion(fmt.Sprintf("Megatron's straggler detector: rank %d %s in %d of %d reports, %s against %s", rank, did, times[rank], len(worst), quantity(w, worst[0].unit), quantity(b, worst[0].unit)), "", rank), true
}

func quantity(x float64, unit string) string { return strconv.FormatFloat(x, 'f', 1, 64) + " " + unit }

// worst returns the ranks whose scores are low: at most three.
func (l *Log) worst(kind string) (out []health.Event) {
	type scoredRank struct {
		rank  int
		score float64
		n     int
	}
	var list []scoredRank
	best := 0.0
	for rank, values := range l.scores[kind] {
		list = append(list, scoredRank{rank, median(values), len(values)})
		best = max(best, median(values))
	}
	slices.SortFunc(list, func(a, b scoredRank) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.rank, b.rank))
	})
	for _, r := range list[:min(3, len(list))] {
		if r.score < best*(1-matters) {
			out = append(out, conclusion(fmt.Sprintf("NVRx: %s GPU performance of rank %d scores %.2f, the best rank %.2f (1: as fast as can be; reports: %d)", kind, r.rank, r.score, best, r.n), l.hosts[r.rank], r.rank))
		}
	}
	return out
}

// waits returns the operations of which waiting for others is a large part: at most three.
func (l *Log) waits() (out []health.Event) {
	keys := slices.SortedFunc(maps.Keys(l.comms), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.comms[b].total, l.comms[a].total), strings.Compare(a, b))
	})
	for _, k := range keys[:min(3, len(keys))] {
		if w := l.comms[k]; w.total >= matters*(w.latency+w.total) {
			out = append(out, conclusion(fmt.Sprintf("DeepSpeed's comms logger: the rank that logs (0) spent %.1f ms in %s (calls: %d), and %.1f ms more waiting for others there", w.latency, k, w.calls, w.total), ""))
		}
	}
	return out
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

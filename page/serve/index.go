package serve

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/report"
)

// view is what both layouts show.
type view struct {
	Version  uint64
	Program  string
	Failure  string
	Runs     int
	Read, Of int // inputs, as Recorded has them
	Rows     []row
	Timed    bool // a run of them all has a time
	Found    int  // rows in all
	Query    string
	Sort     string
	Status   string   // that is listed; "": every one
	Host     string   // likewise
	Statuses []chip   // of all runs
	Hosts    []chip   // that answers name, those of most runs first
	Row      row      // of one run
	Problems []string // of inputs

	Recurring []string
}

// chip is a filter: a link to the runs that it leaves, or to all where it is on.
type chip struct {
	Name, Gain string // Gain: the largest of the runs
	Runs       int
	On         bool
	Link       string

	gain float64
}

// row is one run of the index. Names are text.
type row struct {
	Path, Name, Status, Certainty, Headline, Why, Host, Gain, Step, Line, When string
	Steps                                                                      int
	Version                                                                    uint64

	certainty evidence.Confidence
	gain      float64
	step      int64
	at        time.Time
}

// Answer returns the status in words.
func (r row) Answer() string { return strings.ReplaceAll(r.Status, "_", " ") }

// mostListed bounds the rows of an index, and the problems below it.
const mostListed = 1000

// leastShown is the least gain that is not written 0.0 %.
const leastShown = 0.0005

// Columns returns what the index is sorted by, each with its heading.
func (v *view) Columns() [][2]string {
	columns := [][2]string{{"gain", "gain"}, {"run", "run"}, {"status", "status"}, {"certainty", "certainty"}, {"host", "host"}, {"step", "step time"}, {"steps", "steps"}}
	if v.Timed {
		columns = append(columns, [2]string{"when", "when (UTC)"})
	}
	return columns
}

var orders = map[string]func(a, b *row) int{
	"run":       func(a, b *row) int { return strings.Compare(a.Name, b.Name) },
	"status":    func(a, b *row) int { return strings.Compare(a.Status, b.Status) },
	"certainty": func(a, b *row) int { return cmp.Compare(b.certainty, a.certainty) },
	"host":      func(a, b *row) int { return strings.Compare(a.Host, b.Host) },
	"gain":      func(a, b *row) int { return cmp.Compare(b.gain, a.gain) },
	"step":      func(a, b *row) int { return cmp.Compare(b.step, a.step) },
	"steps":     func(a, b *row) int { return cmp.Compare(b.Steps, a.Steps) },
	"when":      func(a, b *row) int { return b.at.Compare(a.at) },
}

func (s *Server) index(w http.ResponseWriter, r *http.Request) error {
	now, _ := s.current()
	v := s.viewOf(now)
	v.Recurring = now.Recurring
	v.Query, v.Sort, v.Status, v.Host = r.FormValue("q"), r.FormValue("sort"), r.FormValue("status"), r.FormValue("host")
	statuses, hosts := map[string]chip{}, map[string]chip{}
	for i := range now.Runs {
		x := now.Runs[i].row()
		v.Timed = v.Timed || x.When != ""
		tally(statuses, x.Answer(), &x)
		if x.Host != "" {
			tally(hosts, x.Host, &x)
		}
		if x.matches(v.Query) && (v.Status == "" || v.Status == x.Answer()) && (v.Host == "" || v.Host == x.Host) {
			v.Rows = append(v.Rows, x)
		}
	}
	v.Statuses = v.linkFilters(statuses, "status", v.Status)
	v.Hosts = v.linkFilters(hosts, "host", v.Host)
	order, known := orders[v.Sort]
	if !known {
		v.Sort, order = "gain", orders["gain"]
	}
	slices.SortStableFunc(v.Rows, func(a, b row) int { return order(&a, &b) })
	v.Found = len(v.Rows)
	v.Rows = v.Rows[:min(len(v.Rows), mostListed)]
	for _, p := range now.Problems[:min(len(now.Problems), mostListed)] {
		v.Problems = append(v.Problems, glyph.Visible(p.Reason()))
	}
	return v.write(w, "index.html")
}

// mostHosts of the index have a filter.
const mostHosts = 24

// tally counts a run under a name.
func tally(chips map[string]chip, name string, x *row) {
	c := chips[name]
	c.Name = name
	if c.Runs++; x.gain > c.gain {
		c.gain, c.Gain = x.gain, x.Gain
	}
	chips[name] = c
}

// linkFilters returns filters in the order of their runs and gains, each with its link. Of more than have room, the one that is on stays.
func (v *view) linkFilters(of map[string]chip, name, on string) []chip {
	chips := slices.Collect(maps.Values(of))
	slices.SortFunc(chips, func(a, b chip) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(b.gain, a.gain), strings.Compare(a.Name, b.Name))
	})
	if len(chips) > mostHosts {
		last := slices.IndexFunc(chips, func(c chip) bool { return c.Name == on })
		if last >= mostHosts {
			chips[mostHosts-1] = chips[last]
		}
		chips = chips[:mostHosts]
	}
	for i := range chips {
		c := &chips[i]
		c.On = c.Name == on
		kept := v.linkQuery()
		if kept.Del(name); !c.On {
			kept.Set(name, c.Name)
		}
		c.Link = "/?" + kept.Encode()
	}
	return chips
}

// linkQuery returns what of a request its links keep.
func (v *view) linkQuery() url.Values {
	out := url.Values{}
	for name, value := range map[string]string{"q": v.Query, "sort": v.Sort, "status": v.Status, "host": v.Host} {
		if value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// SortLink returns the link to the same runs in another order.
func (v *view) SortLink(by string) string {
	kept := v.linkQuery()
	kept.Set("sort", by)
	return "/?" + kept.Encode()
}

// run returns a frame around the page of a run, which follows it.
func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	now, _ := s.current()
	found, err := now.find(r.PathValue("name"))
	if err != nil {
		return err
	}
	v := s.viewOf(now)
	v.Row = found.row()
	return v.write(w, "run.html")
}

func (s *Server) viewOf(now *state) *view {
	return &view{Version: now.version, Program: s.o.Version, Failure: now.Failure, Runs: len(now.Runs), Read: now.Read, Of: now.Of}
}

func (v *view) write(w http.ResponseWriter, name string) error {
	var b bytes.Buffer
	if err := layout.ExecuteTemplate(&b, name, v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // to a client that may be gone
	return nil
}

func (r *Run) row() row {
	x := row{Path: r.escapedKey(), Version: r.Version, Name: glyph.Visible(r.Name), Status: r.Status.String(), Headline: glyph.Visible(r.Headline), Why: glyph.Visible(r.Why), Steps: r.Steps, gain: r.Gain, step: r.Step, at: r.When}
	if x.gain >= leastShown { // a hang has none
		x.Gain = fmt.Sprintf("%.1f %%", 100*x.gain)
	}
	if !x.at.IsZero() {
		x.When = x.at.UTC().Format("2006-01-02 15:04")
	}
	x.Host = glyph.Visible(r.Host)
	if x.certainty = r.Certainty; x.certainty > evidence.Insufficient {
		x.Certainty = x.certainty.String()
	}
	if x.step > 0 {
		x.Step = report.Length(x.step)
	}
	x.Line = line(r.Line)
	return x
}

// line returns the points of a line, of 100 by 20, from the length 0 on; "" where there is
// none to draw. A point that is far above the others ends at the top.
func line(of []float64) string {
	if len(of) < 2 {
		return ""
	}
	top := 1.2 * min(slices.Max(of), 2*robust.Median(slices.Clone(of)))
	var b strings.Builder
	for i, ns := range of {
		fmt.Fprintf(&b, "%.1f,%.1f ", 100*float64(i)/float64(len(of)-1), 19-18*min(1, ns/max(1, top)))
	}
	return strings.TrimSpace(b.String())
}

// matches reports whether each word of a query is in the row; the name of a status
// is in those rows that have it.
func (x *row) matches(query string) bool {
	text := strings.ToLower(strings.Join([]string{x.Name, x.Status, x.Certainty, x.Host, x.Headline, x.Why}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		found := strings.Contains(text, word)
		for s := answer.TooLittleData; s <= answer.Hang; s++ {
			if word == s.String() {
				found = word == x.Status
			}
		}
		if !found {
			return false
		}
	}
	return true
}

package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/internal/glyph"
)

// metrics are in the text format of Prometheus, version 0.0.4. Runs have series of
// their own as far as Options.MetricsRuns goes, those that cost most first.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) error {
	now, _ := s.current()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(now.metrics(s.o.MetricsRuns)) // to a client that may be gone
	return nil
}

func (s *state) metrics(most int) []byte {
	var status, gain, suspect, b bytes.Buffer
	windows, refused := 0, 0
	for i := range s.Runs {
		r := &s.Runs[i]
		windows += r.Windows
		if i >= most {
			continue
		}
		run := label("run", keyOf(r.Name))
		fmt.Fprintf(&status, "sfstat_run_status{%s,%s} 1\n", run, label("status", r.Status.String()))
		fmt.Fprintf(&gain, "sfstat_gain{%s} %s\n", run, strconv.FormatFloat(r.gain(), 'g', -1, 64))
		f, rank := r.Suspect, ""
		if f == nil || !f.Flagged() {
			continue
		}
		if f.Rank != nil {
			rank = strconv.Itoa(*f.Rank)
		}
		fmt.Fprintf(&suspect, "sfstat_suspect{%s,%s,%s,%s} 1\n", run, label("rank", rank), label("host", bounded(f.Host)), label("stage", bounded(f.Stage)))
	}
	for _, p := range s.Problems {
		if len(p.PassedOver) == 0 {
			refused++
		}
	}
	stale := 0
	if s.Failure != "" {
		stale = 1
	}
	family(&b, "sfstat_run_status", "The answer to a run; 1 at the status that it has.", status.Bytes())
	family(&b, "sfstat_gain", "Fraction of the run that fixing its first suspect would save.", gain.Bytes())
	family(&b, "sfstat_suspect", "First suspect of a run, where it is certain and large enough to act on.", suspect.Bytes())
	for _, total := range []struct {
		name, help string
		n          int
	}{
		{"sfstat_runs", "Runs, those without series of their own included.", len(s.Runs)},
		{"sfstat_windows", "Windows of all runs.", windows},
		{"sfstat_problems", "Inputs that were refused.", refused},
		{"sfstat_unread", "Inputs that are still to be read for the first time.", s.Of - s.Read},
		{"sfstat_stale", "1 while a path that was named cannot be read.", stale},
	} {
		family(&b, total.name, total.help, fmt.Appendf(nil, "%s %d\n", total.name, total.n))
	}
	return b.Bytes()
}

func family(b *bytes.Buffer, name, help string, samples []byte) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	b.Write(samples)
}

var inLabel = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func label(name, value string) string { return name + `="` + inLabel.Replace(value) + `"` }

// bounded is the value of a label that names something of the input.
func bounded(name string) string {
	if name == "" {
		return ""
	}
	if len(name) > mostName {
		return keyOf(name)
	}
	return glyph.Visible(name)
}
